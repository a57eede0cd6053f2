// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
import GRDB

// Stores that are not open: their metadata, and their files as a whole.

extension SQLiteStore {
    /// What an app finds in the metadata of a file. No model is needed.
    ///
    /// - Throws: ``StoreError``: `.notFound`, `.corrupt` for a file that is no store, `.busy`, `.notPermitted`.
    package static func metadata(at url: URL) throws(StoreError) -> [String: Any] {
        // Read-only, so that closing the file leaves its log alone.
        try onFile(url, isReadOnly: true) { connection in
            let (identifier, metadata) = try storedMetadata(connection)
            return metadata.visible(identifier: identifier, connection)
        }
    }

    /// Replaces what an app may set in the metadata of a file.
    package static func setMetadata(_ metadata: [String: Any], at url: URL) throws(StoreError) {
        try onFile(url, isReadOnly: false) { connection in
            var (_, stored) = try storedMetadata(connection)
            stored.replaceVisible(with: metadata)
            try connection.execute("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(try stored.encoded())])
            if let identifier = metadata[StoreFormat.MetadataKey.identifier] as? String {
                try connection.execute("UPDATE Z_METADATA SET Z_UUID = ?", [.text(identifier.uppercased())])
            }
        }
    }

    /// Empties a file: whoever has it open finds no tables any more. The file stays, since others may hold it.
    ///
    /// - Parameter force: Whether a file that SQLite cannot read is emptied, too.
    package static func destroy(at url: URL, force: Bool) throws(StoreError) {
        guard FileManager.default.fileExists(atPath: url.path) else { return }
        do {
            let lock = try StoreLock(path: url.path + "-lock", limit: .seconds(10))
            try lock.withLock {
                let queue = try DatabaseQueue(path: url.path, configuration: configuration())
                try queue.writeWithoutTransaction { database in
                    try database.inTransaction(.immediate) {
                        let names = try String.fetchAll(
                            database, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
                        for name in names { try database.execute(sql: "DROP TABLE \(quoted(name))") }
                        return .commit
                    }
                    try database.execute(sql: "VACUUM")
                    try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
                }
                try queue.close()
            }
        } catch {
            let failure = StoreError(error)
            guard force || failure.code == .corrupt else { throw failure.about(url.path) }
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: url.path + suffix) }
            guard truncate(url.path, 0) == 0 else { throw failure.about(url.path) }
        }
        try? FileManager.default.removeItem(at: supportFolder(of: url))
    }

    /// Copies a store over another, UUID included. Both files may be open elsewhere.
    package static func replace(at destination: URL, withStoreAt source: URL) throws(StoreError) {
        _ = try metadata(at: source)
        do {
            // Files come before the rows that name them, and go after.
            let (external, old) = (ExternalFolder(of: source), ExternalFolder(of: destination))
            try old.take(from: external)
            let lock = try StoreLock(path: destination.path + "-lock", limit: .seconds(10))
            try lock.withLock {
                let from = try DatabaseQueue(path: source.path, configuration: configuration(isReadOnly: true))
                let to = try DatabaseQueue(path: destination.path, configuration: configuration())
                try from.backup(to: to)
                try from.close()
                try to.close()
            }
            old.remove(Set(old.names).subtracting(external.names))
        } catch {
            throw StoreError(error).about(destination.path)
        }
    }

    /// Where values are kept that are files of their own.
    ///
    /// Source: `core-data-sqlite-format`, "External binary data".
    package static func supportFolder(of url: URL) -> URL {
        let name = ".\(url.deletingPathExtension().lastPathComponent)_SUPPORT"
        return url.deletingLastPathComponent().appendingPathComponent(name, isDirectory: true)
    }

    private static func configuration(isReadOnly: Bool = false) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        configuration.label = "store file"
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(10)
        return configuration
    }

    private static func onFile<T>(_ url: URL, isReadOnly: Bool, _ body: (Connection) throws -> T) throws(StoreError) -> T {
        guard FileManager.default.fileExists(atPath: url.path) else {
            throw StoreError(.notFound, "the store does not exist", detail: url.path)
        }
        func run() throws -> T {
            let queue = try DatabaseQueue(path: url.path, configuration: configuration(isReadOnly: isReadOnly))
            let result = try isReadOnly ? queue.read { try body(Connection($0)) } : queue.write { try body(Connection($0)) }
            try queue.close()
            return result
        }
        do {
            if isReadOnly { return try run() }
            return try StoreLock(path: url.path + "-lock", limit: .seconds(10)).withLock(run)
        } catch {
            throw StoreError(error).about(url.path)
        }
    }

    private static func storedMetadata(_ connection: Connection) throws -> (String, StoreMetadata) {
        let hasTable = try connection.first("SELECT count(*) FROM sqlite_master WHERE name = 'Z_METADATA'") { $0.int(0) }
        guard hasTable == 1 else { throw StoreError(.corrupt, "the file is no store") }
        let row = try connection.first("SELECT Z_UUID, Z_PLIST FROM Z_METADATA LIMIT 1") { row in (row.text(0) ?? "", row.blob(1) ?? Data()) }
        guard let row, !row.0.isEmpty else { throw StoreError(.corrupt, "the store has lost its metadata") }
        return (row.0, try StoreMetadata(decoding: row.1))
    }
}

/// The name as SQL writes it, where the store's own identifier is in the way.
private func quoted(_ name: String) -> String { identifier(name) }
