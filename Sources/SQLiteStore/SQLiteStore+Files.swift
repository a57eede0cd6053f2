// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
import GRDB

// Stores that aren't open: their metadata, and their files.

extension SQLiteStore {
    /// Returns the metadata of a file that apps see. Needs no model.
    ///
    /// - Throws: ``StoreError``: `.notFound`, `.corrupt` for a file that isn't a store, `.busy`, `.notPermitted`.
    package static func metadata(at url: URL) throws(StoreError) -> [String: Any] {
        // Read-only, so that closing the file leaves its log unchanged.
        try onFile(url, isReadOnly: true) { connection in
            let (identifier, metadata) = try storedMetadata(connection)
            return metadata.visible(identifier: identifier, connection)
        }
    }

    /// Replaces the app's metadata of a file.
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

    /// Empties a file: processes that have it open find no tables any more. The file stays, since processes may have it
    /// open.
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

    /// Copies a store over another, including the UUID. Both files may be open in other processes.
    package static func replace(at destination: URL, withStoreAt source: URL) throws(StoreError) {
        _ = try metadata(at: source)
        do {
            // Files are copied before the rows that name them, and removed after.
            let (external, old) = (ExternalFolder(of: source), ExternalFolder(of: destination))
            try old.copyMissingFiles(from: external)
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

    /// The folder of external values.
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
            if isReadOnly {
                do { return try run() } catch let error where StoreError(error).code == .notPermitted {
                    return try StoreFile(url).read(body)
                }
            }
            return try StoreLock(path: url.path + "-lock", limit: .seconds(10)).withLock(run)
        } catch {
            throw StoreError(error).about(url.path)
        }
    }

    private static func storedMetadata(_ connection: Connection) throws -> (String, StoreMetadata) {
        let hasTable = try connection.first("SELECT count(*) FROM sqlite_master WHERE name = 'Z_METADATA'") { $0.int(0) }
        guard hasTable == 1 else { throw StoreError(.corrupt, "the file isn't a store") }
        let row = try connection.first("SELECT Z_UUID, Z_PLIST FROM Z_METADATA LIMIT 1") { row in (row.text(0) ?? "", row.blob(1) ?? Data())
        }
        guard let row, !row.0.isEmpty else { throw StoreError(.corrupt, "the store has lost its metadata") }
        return (row.0, try StoreMetadata(decoding: row.1))
    }
}

/// ``identifier(_:)``, which the store's own property hides.
private func quoted(_ name: String) -> String { identifier(name) }
