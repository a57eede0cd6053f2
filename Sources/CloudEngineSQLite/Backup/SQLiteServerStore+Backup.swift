// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudStorageSupport
import Foundation
import GRDB
import SystemSupport

extension SQLiteServerStore {
    /// Copies everything to a new folder, from one moment's state, while the server runs and writes.
    ///
    /// The files of assets never change, so they are linked where the folder is on the same disk. Files in ``AssetObjects`` are copied into
    /// the folder, so that the copy is complete; it owns no objects.
    ///
    /// - Returns: How many files of assets there are in the copy.
    /// The folder gets its name once it is complete: a program that ends before leaves no half copy, but a
    /// folder that ends in `.partial`, which the next copy of the name takes away.
    ///
    /// - Throws: `StorageFailure` with `.nameTaken` if there is such a folder; `.corrupt` if the file of an asset that a
    ///   record has is missing; `.objectStore`. A copy that failed is removed.
    package func backUp(to path: String) async throws -> Int {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw StorageFailure(.nameTaken, "there is a file or folder of this name already")
        }
        return try await Self.completing(path) { partial in
            let copy = try DataFolder(path: partial)
            let (source, pool) = (self.folder, self.pool)
            let hasObjects = try await self.assetOwner(makesOne: false) != nil
            let (count, objects) = try await DiskQueue.run {
                do {
                    let database = try DatabaseQueue(path: copy.database)
                    try pool.backup(to: database)
                    try database.write { try SQLiteMoveEnd.forget($0) }
                    if hasObjects {
                        try database.write { db in
                            try db.execute(sql: "DELETE FROM meta WHERE key = ?", arguments: [Self.assetOwnerKey])
                            try db.execute(sql: "UPDATE assets SET in_store = 0 WHERE in_store <> 0")
                        }
                    }
                    let result = try Self.copyAssets(of: database, from: source, to: copy, hasObjects: hasObjects)
                    try database.close()
                    return result
                } catch let error as DatabaseError {
                    throw StorageFailure(error)
                }
            }
            var objectCount = 0
            for file in objects { if try await self.copyObject(file, to: copy) { objectCount += 1 } }
            return count + objectCount
        }
    }

    /// An asset without a file in the folder.
    private struct AssetElsewhere: Sendable {
        let asset: StoredAsset
        let part: Int64
        /// Whether a record has it.
        let isNeeded: Bool
    }

    private static let pieceBytes = 1 << 20

    /// - Returns: `false` for an object that no record has, and that was removed since the copy of the database was made.
    private func copyObject(_ file: AssetElsewhere, to copy: DataFolder) async throws -> Bool {
        let reader: any AssetReader
        var piece: [UInt8]
        do {
            reader = try await open(file.asset, part: file.part)
            // The first read finds that an object was lost.
            piece = try await reader.read(at: 0, count: Self.pieceBytes)
        } catch let failure as StorageFailure where failure == .missingFile || failure == .missingFolder {
            guard file.isNeeded else { return false }
            throw StorageFailure(.corrupt, "the object of an asset is missing")
        }
        let path = copy.files.file(part: file.part, checksum: file.asset.checksum)
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw StorageFailure(.notWritable, "the file of an asset cannot be made") }
        defer { try? handle.close() }
        var offset: Int64 = 0
        while offset < reader.size {
            guard !piece.isEmpty else { throw StorageFailure(.corrupt, "an object became shorter") }
            try await DiskQueue.run { [piece] in
                do {
                    try handle.write(contentsOf: Data(piece))
                } catch {
                    throw StorageFailure(.full, "the file of an asset cannot be written")
                }
            }
            offset += Int64(piece.count)
            piece = try await reader.read(at: offset, count: Self.pieceBytes)
        }
        return true
    }

    /// Makes a folder under another name, and gives it its own once it is complete.
    private static func completing<Value: Sendable>(
        _ path: String, _ make: (_ partial: String) async throws -> Value
    ) async throws -> Value {
        let files = FileManager.default
        let partial = "\(path.hasSuffix("/") ? String(path.dropLast()) : path).partial"
        if files.fileExists(atPath: partial) { try DataFolder.removeRemains(partial) }
        do {
            let value = try await make(partial)
            do {
                try DurableFile.move(partial, to: path)
            } catch let error as POSIXError {
                throw StorageFailure.ofDisk(error.code.rawValue)
            }
            return value
        } catch {
            try? files.removeItem(atPath: partial)
            throw error
        }
    }

    /// Makes a data folder of a copy.
    ///
    /// Sync tokens that the server issued after the copy was made expire, with ``WireError/isHistoryLost``: devices send again what the
    /// copy does not have. Older tokens stay valid.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC. One backup may be restored twice, and the time tells the two histories apart.
    /// - Throws: `StorageFailure` with `.nameTaken` if the folder exists, `.unknownName` if the copy does not.
    package static func restore(from backup: String, to path: String, now: Int64) async throws {
        let files = FileManager.default
        guard files.fileExists(atPath: "\(backup)/tarn.sqlite") else { throw StorageFailure(.unknownName, "the folder has no copy") }
        guard !files.fileExists(atPath: path) else {
            throw StorageFailure(.nameTaken, "there is a file or folder of this name already")
        }
        try await completing(path) { partial in
            let store = try SQLiteServerStore(path: backup, use: .server)
            _ = try await store.backUp(to: partial)
            try store.close()
            let restored = try SQLiteServerStore(path: partial, use: .command)
            try await restored.writing { db in
                try db.execute(
                    sql: """
                        INSERT OR REPLACE INTO restores (part, epoch, counter, next_epoch)
                        SELECT part, epoch, counter, MAX(epoch + 1, ?) FROM partitions
                        """, arguments: [now])
                try db.execute(sql: "UPDATE partitions SET epoch = MAX(epoch + 1, ?)", arguments: [now])
                // The replaced data may have had accounts that the backup lacks. Record names follow from numbers of accounts.
                try Self.neverAgain(now, in: .account, db)
                let first = max(try Self.firstEpoch(db) + 1, now)
                try db.execute(sql: "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", arguments: [Self.firstEpochKey, first])
            }
            try restored.close()
        }
    }

    private static let firstEpochKey = "epoch.first"

    /// The epoch of partitions that are made from now on. The replaced data may have had partitions that the backup lacks: those that
    /// take their place are of another history.
    static func firstEpoch(_ db: Database) throws -> Int64 {
        try db.row("SELECT value FROM meta WHERE key = ?", [firstEpochKey]).map { $0[0] } ?? PartitionState().epoch
    }

    /// Assets, each with whether a record has it, and its size.
    static let assetsOfBackup = """
        SELECT part, checksum, EXISTS (
            SELECT 1 FROM asset_links l WHERE l.part = assets.part AND l.checksum = assets.checksum), size FROM assets
        """

    /// - Returns: The number of copied files, and the assets that have objects instead.
    private static func copyAssets(
        of database: DatabaseQueue, from source: DataFolder, to copy: DataFolder, hasObjects: Bool
    ) throws -> (count: Int, elsewhere: [AssetElsewhere]) {
        let rows = try database.read { db in
            try Row.fetchAll(db, sql: assetsOfBackup)
        }
        var count = 0
        var elsewhere: [AssetElsewhere] = []
        for row in rows {
            let (part, checksum, isNeeded): (Int64, String, Bool) = (row[0], row[1], row[2])
            let (old, new) = (source.files.file(part: part, checksum: checksum), copy.files.file(part: part, checksum: checksum))
            do {
                try FileManager.default.createDirectory(
                    atPath: copy.files.parent(part: part, checksum: checksum), withIntermediateDirectories: true)
                guard !hasObjects || access(old, F_OK) == 0 else {
                    let asset = StoredAsset(checksum: checksum, size: row[3])
                    elsewhere.append(AssetElsewhere(asset: asset, part: part, isNeeded: isNeeded))
                    continue
                }
                if link(old, new) != 0 { try FileManager.default.copyItem(atPath: old, toPath: new) }
                count += 1
            } catch {
                // A file that no record has may have been removed since the copy of the database was made.
                if isNeeded { throw StorageFailure(.corrupt, "the file of an asset cannot be copied") }
            }
        }
        return (count, elsewhere)
    }
}
