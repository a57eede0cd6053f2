// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation
import GRDB

extension SQLiteServerStore {
    /// Copies everything to a new folder, from one moment's state, while the server runs and writes.
    ///
    /// The files of assets never change, so they are linked where the folder is on the same disk.
    ///
    /// - Returns: How many files of assets there are in the copy.
    /// - Throws: `StorageFailure` with `.nameTaken` if there is such a folder; `.corrupt` if the file of an asset that a
    ///   record has is missing. A copy that failed is removed.
    package func backUp(to path: String) async throws -> Int {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw StorageFailure(.nameTaken, "there is a file or folder of this name already")
        }
        let copy = try DataFolder(path: path)
        do {
            let (source, pool) = (folder, pool)
            return try await DiskQueue.run {
                do {
                    let database = try DatabaseQueue(path: copy.database)
                    try pool.backup(to: database)
                    let count = try Self.copyAssets(of: database, from: source, to: copy)
                    try database.close()
                    return count
                } catch let error as DatabaseError {
                    throw StorageFailure(error)
                }
            }
        } catch {
            try? FileManager.default.removeItem(atPath: path)
            throw error
        }
    }

    /// Makes a data folder of a copy.
    ///
    /// Change tokens that were handed out after the copy was made expire, so that devices fetch again what they have and
    /// the server no longer knows.
    ///
    /// - Throws: `StorageFailure` with `.nameTaken` if there is such a folder, `.unknownName` if there is no copy.
    package static func restore(from backup: String, to path: String) async throws {
        let files = FileManager.default
        guard files.fileExists(atPath: "\(backup)/tarn.sqlite") else { throw StorageFailure(.unknownName, "there is no copy in the folder") }
        guard !files.fileExists(atPath: path) else {
            throw StorageFailure(.nameTaken, "there is a file or folder of this name already")
        }
        do {
            let store = try SQLiteServerStore(path: backup, use: .server)
            _ = try await store.backUp(to: path)
            try store.close()
            let restored = try SQLiteServerStore(path: path, use: .command)
            try await restored.writing { try $0.execute(sql: "UPDATE partitions SET epoch = epoch + 1") }
            try restored.close()
        } catch {
            try? files.removeItem(atPath: path)
            throw error
        }
    }

    private static func copyAssets(of database: DatabaseQueue, from source: DataFolder, to copy: DataFolder) throws -> Int {
        let rows = try database.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT part, checksum, EXISTS (
                        SELECT 1 FROM asset_links l WHERE l.part = assets.part AND l.checksum = assets.checksum) FROM assets
                    """)
        }
        var count = 0
        for row in rows {
            let (part, checksum, isNeeded): (Int64, String, Bool) = (row[0], row[1], row[2])
            let (old, new) = (source.asset(part: part, checksum: checksum), copy.asset(part: part, checksum: checksum))
            do {
                try FileManager.default.createDirectory(
                    atPath: copy.assetFolder(part: part, checksum: checksum), withIntermediateDirectories: true)
                if link(old, new) != 0 { try FileManager.default.copyItem(atPath: old, toPath: new) }
                count += 1
            } catch {
                // A file that no record has may have been removed since the copy of the database was made.
                if isNeeded { throw StorageFailure(.corrupt, "the file of an asset cannot be copied") }
            }
        }
        return count
    }
}
