// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDB
import Synchronization
import SystemSupport

extension ExternalFolder {
    /// Copies missing files from another folder. Files with equal names have equal contents.
    func copyMissingFiles(from other: ExternalFolder) throws {
        let missing = Set(other.names).subtracting(names)
        if missing.isEmpty { return }
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for name in missing.sorted() {
            let draft = path(name) + "-new"
            try? FileManager.default.removeItem(atPath: draft)
            try FileManager.default.copyItem(atPath: other.path(name), toPath: draft)
            do {
                try DurableFile.synchronize(content: URL(fileURLWithPath: draft))
            } catch {
                throw refusal(error)
            }
            try FileManager.default.moveItem(atPath: draft, toPath: path(name))
        }
        try syncFolders()
    }
}

extension SQLiteStore {
    /// Removes files that no committed row names any more, once no reader can see an earlier state of the store.
    ///
    /// When the whole log was checkpointed, no reader of any process uses an earlier state, and the log's contents are
    /// durable. Until then files stay, at the latest until the store is closed and opened for a clean-up.
    func removeFiles(_ dropped: [String], on database: Database) {
        guard let folder = layout.external else { return }
        let waiting = unneededFiles.withLock { names in
            names += dropped
            return !names.isEmpty
        }
        guard waiting, let result = try? database.checkpoint(.passive), result.walFrameCount == result.checkpointedFrameCount
        else { return }
        folder.remove(
            unneededFiles.withLock { names in
                defer { names = [] }
                return names
            })
    }

    /// Removes files that no row names: leftovers of a crash. Scans all columns that may name files, among them those of
    /// entities in other configurations, those that a deferred migration left, and those of Apple's sync metadata.
    func removeUnnamedFiles(on database: Database) throws {
        guard let folder = layout.external else { return }
        let present = folder.names
        if present.isEmpty { return }
        let connection = Connection(database)
        let columns = try connection.pairs(
            """
            SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' \
            AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND m.name NOT LIKE 'TARN\\_%' ESCAPE '\\' AND m.sql NOT LIKE 'CREATE VIRTUAL%' \
            AND c.type = 'BLOB' COLLATE NOCASE
            """)
        var named: Set<String> = []
        for (table, column) in columns {
            let (table, column) = (Self.quoted(table), Self.quoted(column))
            let sql = "SELECT \(column) FROM \(table) WHERE length(\(column)) = \(ExternalValue.referenceSize)"
            try connection.query(sql) { row in
                if case .file(let name)? = row.blob(0).map(ExternalValue.init) { named.insert(name) }
            }
        }
        removeFiles(present.filter { !named.contains($0) }, on: database)
    }

    /// Quotes any name: an app may have tables of its own in the file.
    private static func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
}
