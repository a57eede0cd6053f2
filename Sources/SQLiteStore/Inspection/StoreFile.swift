// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDB
import GRDBSQLite

/// A store's file, opened without changing anything in its folder, while an app has it open or not.
///
///     log and its index        → read with a reader's locks; the index is mapped read-only
///     log without its index    → a copy is read, since reading creates an index
///     log mode, but no log     → no connection is open: read as an immutable file
///     rollback journal         → read with a reader's locks; a copy if a journal must be rolled back
///
/// The file is untrusted: functions in its schema do not run, and triggers and views are not used.
///
/// Source: sqlite.org, "Write-Ahead Logging", section 5 (read-only databases); "Defense Against The Dark Arts".
struct StoreFile {
    let url: URL
    let database: DatabaseQueue
    private let copy: TemporaryCopy?

    /// - Parameter isBounded: Whether reading ends after a number of steps that follows from the file's size; see ``ReadBudget``.
    /// - Throws: ``StoreError``: `.notFound`, `.notPermitted`, or `.corrupt` for a file that isn't a database.
    init(_ url: URL, isBounded: Bool = true) throws(StoreError) {
        self.url = url
        try Self.checkHeader(url)
        let path = url.path
        let (hasLog, hasIndex) = (Self.size(path + "-wal") > 0, Self.exists(path + "-shm") && Self.exists(path + "-wal"))
        do {
            if hasIndex, let live = try Self.openBesideLog(url, isBounded) {
                (copy, database) = (nil, live)
            } else if hasLog || hasIndex || Self.size(path + "-journal") > 0 {
                let copy = try TemporaryCopy(of: url)
                (self.copy, database) = (copy, try Self.open(copy.url.path, isBounded))
            } else if Self.usesLog(url) {
                (copy, database) = (nil, try Self.open(url.absoluteURI + "?immutable=1", isBounded))
            } else {
                (copy, database) = (nil, try Self.open(path, isBounded))
            }
        } catch {
            throw StoreError(error).about(path)
        }
    }

    /// - Returns: nil if reading the log would write its index.
    private static func openBesideLog(_ url: URL, _ isBounded: Bool) throws -> DatabaseQueue? {
        do {
            let database = try open(url.absoluteURI + "?readonly_shm=1", isBounded)
            // The log is opened with the first read.
            _ = try database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM sqlite_master") }
            return database
        } catch let error as DatabaseError where [.SQLITE_CANTOPEN, .SQLITE_READONLY].contains(error.resultCode) {
            return nil
        }
    }

    /// Whether the file's header selects a write-ahead log.
    static func usesLog(_ url: URL) -> Bool {
        guard let file = FileHandle(forReadingAtPath: url.path) else { return false }
        defer { try? file.close() }
        guard let header = try? file.read(upToCount: 20), header.count == 20 else { return false }
        return header[18] == 2 || header[19] == 2
    }

    /// - Throws: ``StoreError``.
    func read<T>(_ body: (Connection) throws -> T) throws(StoreError) -> T {
        do {
            return try database.read { try body(Connection($0)) }
        } catch {
            throw StoreError(error).about(url.path)
        }
    }

    private static func open(_ path: String, _ isBounded: Bool) throws -> DatabaseQueue {
        let budget = isBounded ? ReadBudget(bytes: size(path.hasPrefix("file:") ? URL(string: path)?.path ?? "" : path)) : nil
        var configuration = Configuration()
        configuration.label = "inspection"
        configuration.readonly = true
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { database in
            if let handle = database.sqliteConnection {
                SQLFunctions.register(on: handle)
                SQLFunctions.registerApples(on: handle)
            }
            budget?.watch(database)
            try database.execute(sql: "PRAGMA trusted_schema = OFF")
            try database.execute(sql: "PRAGMA cell_size_check = ON")
            // Another process may truncate the file under a mapping.
            try database.execute(sql: "PRAGMA mmap_size = 0")
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Reports a more specific cause before SQLite reports only that the file isn't a database.
    private static func checkHeader(_ url: URL) throws(StoreError) {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw StoreError(.notFound, "the file does not exist", detail: url.path)
        }
        if isFolder.boolValue { throw StoreError(.notFound, "this is a folder and not a store's file", detail: url.path) }
        guard let file = FileHandle(forReadingAtPath: url.path) else {
            throw StoreError(.notPermitted, "the file cannot be read", detail: url.path)
        }
        defer { try? file.close() }
        let start = (try? file.read(upToCount: 16)) ?? Data()
        if start.isEmpty { throw StoreError(.corrupt, "the file is empty", detail: url.path) }
        if start != Data("SQLite format 3\0".utf8) {
            throw StoreError(.corrupt, "the file is not a SQLite database", detail: url.path)
        }
    }

    static func size(_ path: String) -> Int64 {
        ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.int64Value ?? 0
    }

    static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
}

/// The number of steps that SQLite may take on a connection. Pages of a damaged file may reference each other so that a
/// few of them yield billions of rows.
private final class ReadBudget: @unchecked Sendable {
    // Unchecked: SQLite calls back on the thread that uses the connection, one at a time.
    private var steps: Int

    private static let stepsBetweenCalls = 100_000
    /// An export takes about ten steps per byte.
    private static let stepsPerByte = 500
    private static let stepsMin = 100_000_000

    init(bytes: Int64) { steps = Self.stepsMin + Int(clamping: bytes) * Self.stepsPerByte }

    /// The budget lives as long as the connection's configuration.
    func watch(_ database: Database) {
        sqlite3_progress_handler(
            database.sqliteConnection, Int32(Self.stepsBetweenCalls),
            { context in
                guard let context else { return 0 }
                let budget = Unmanaged<ReadBudget>.fromOpaque(context).takeUnretainedValue()
                budget.steps -= ReadBudget.stepsBetweenCalls
                return budget.steps < 0 ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }
}

extension URL {
    /// The file in SQLite's URI syntax.
    fileprivate var absoluteURI: String { URL(fileURLWithPath: path).absoluteString }
}

/// A copy of a file and its log, in a folder that is deleted with this object.
private final class TemporaryCopy: Sendable {
    let url: URL
    private let folder: URL

    init(of original: URL) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-store-\(UUID().uuidString)")
        url = folder.appendingPathComponent("store.sqlite")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for suffix in ["", "-wal", "-journal"] where StoreFile.exists(original.path + suffix) {
            try FileManager.default.copyItem(atPath: original.path + suffix, toPath: url.path + suffix)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url.path + suffix)
        }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }
}
