// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDB

extension SQLiteStore {
    struct Opened {
        let database: any DatabaseWriter
        let lock: StoreLock?
        let result: StoreOpening.Result
        var inspected: StoreFile?
    }

    typealias Preparation = (Database) throws(StoreError) -> StoreOpening.Result

    static func open(_ url: URL?, _ options: Options, _ prepare: Preparation) throws -> Opened {
        let configuration = configuration(options)
        guard let url else {
            let queue = try DatabaseQueue(configuration: configuration)
            return Opened(database: queue, lock: nil, result: try prepared(queue, prepare))
        }
        let path = url.path
        if options.isInspection {
            let file = try StoreFile(url)
            let result = try file.database.read { database in try prepare(database) }
            return Opened(database: file.database, lock: nil, result: result, inspected: file)
        }
        if options.isReadOnly {
            guard FileManager.default.fileExists(atPath: path) else {
                throw StoreError(.notFound, "a store that does not exist cannot be opened read-only")
            }
            do {
                let pool = try DatabasePool(path: path, configuration: configuration)
                return Opened(database: pool, lock: nil, result: try pool.read { database in try prepare(database) })
            } catch let error where StoreError(error).code == .notPermitted {
                // A log is read with an index file beside it, which cannot be created in a folder that is read-only.
                let file = try StoreFile(url, isBounded: false)
                let result = try file.database.read { database in try prepare(database) }
                return Opened(database: file.database, lock: nil, result: result, inspected: file)
            }
        }
        let lock = try StoreLock(path: path + "-lock", limit: options.busyTimeout)
        // Opening may recover or checkpoint the log, so it takes the lock, too.
        return try lock.withLock {
            createPrivately(path)
            let pool = try DatabasePool(path: path, configuration: configuration)
            // A pool sets the synchronous mode when it begins its log, after the connection was prepared.
            for (name, value) in options.pragmas where name.lowercased() == "synchronous" {
                try pool.writeWithoutTransaction { try setPragma(name, value, on: $0) }
            }
            let result = try prepared(pool, prepare)
            if options.analyzes { try pool.writeWithoutTransaction { try $0.execute(sql: "ANALYZE") } }
            if options.vacuums { try pool.writeWithoutTransaction(vacuum) }
            return Opened(database: pool, lock: lock, result: result)
        }
    }

    private static func prepared(_ database: some DatabaseWriter, _ prepare: Preparation) throws -> StoreOpening.Result {
        try database.writeWithoutTransaction { database in
            var result: StoreOpening.Result?
            try database.inTransaction(.immediate) {
                result = try prepare(database)
                return .commit
            }
            guard let result else { preconditionFailure("a committed transaction has run its body") }
            return result
        }
    }

    /// Rebuilds the file without its free pages, and checkpoints the result.
    ///
    /// SQLite rebuilds into the log, and the file shrinks with the checkpoint that copies all of it. The automatic one of
    /// a commit is passive: it never truncates the log, and copies nothing past a reader's snapshot. If another process
    /// reads an earlier state, the last connection to close does the rest: opening waits for no reader.
    private static func vacuum(_ database: Database) throws {
        try database.execute(sql: "VACUUM")
        let patience = try Int.fetchOne(database, sql: "PRAGMA busy_timeout") ?? 0
        try database.execute(sql: "PRAGMA busy_timeout = 0")
        defer { try? database.execute(sql: "PRAGMA busy_timeout = \(patience)") }
        // Its result row reports a blocking reader; it throws for other reasons only.
        _ = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Journal modes that concurrent readers and crash safety need are protected; other pragmas are the app's choice.
    private static func setPragma(_ name: String, _ value: String, on database: Database) throws {
        let fixed = ["journal_mode", "auto_vacuum", "locking_mode", "foreign_keys", "encoding", "page_size"]
        let isName = !name.isEmpty && name.allSatisfy { $0.isLetter || $0 == "_" }
        guard isName, !fixed.contains(name.lowercased()) else { return }
        try database.execute(sql: "PRAGMA \(name) = \(textLiteral(value))")
    }

    static func configuration(_ options: Options) -> Configuration {
        var configuration = Configuration()
        configuration.label = "store"
        configuration.readonly = options.isReadOnly
        // The layout has no foreign keys; the object graph maintains relationships.
        configuration.foreignKeysEnabled = false
        let patience =
            Double(options.busyTimeout.components.seconds) + Double(options.busyTimeout.components.attoseconds) * 1e-18
        configuration.busyMode = .timeout(patience)
        configuration.persistentReadOnlyConnections = true
        if let count = options.readerCount, count > 0 { configuration.maximumReaderCount = count }
        configuration.prepareDatabase { database in
            if let handle = database.sqliteConnection {
                SQLFunctions.register(on: handle)
                SQLFunctions.registerApples(on: handle)
            }
            if !database.configuration.readonly {
                try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
                try database.execute(sql: "PRAGMA secure_delete = FAST")
            }
            // After the defaults, so that an app can override them.
            for (name, value) in options.pragmas.sorted(by: { $0.key < $1.key }) { try setPragma(name, value, on: database) }
        }
        return configuration
    }
}

/// Creates a new store's file for its owner alone; SQLite gives the log the mode of the file. A file that is there keeps its mode.
///
/// A failure is SQLite's to report.
private func createPrivately(_ path: String) {
    let file = openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if file >= 0 { close(file) }
}
