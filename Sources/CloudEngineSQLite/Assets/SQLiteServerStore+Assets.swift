// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
package import CloudStorageSupport
import CloudWire
import Foundation
import GRDB
import SystemSupport

extension SQLiteServerStore: FileUploads {
    package var assetFolder: AssetFolder { folder.files }

    package func note(_ size: Int64, ofUpload id: String, in partition: Partition) async throws {
        try await writing { db in
            // Not for writing: the database of a removed user is not made again.
            let unit = try SQLiteUnit(reading: partition, db)
            guard let part = unit.part else { return }
            try unit.run(
                "UPDATE uploads SET size = ? WHERE part = ? AND id = ? AND checksum IS NULL", [size, part, id])
        }
    }

    package func store(
        _ arrived: StoredAsset, ofUpload id: String, in partition: Partition, at now: Int64,
        _ isOverQuota: @escaping @Sendable (any PartitionReader) throws -> Bool,
        _ move: @escaping @Sendable (_ path: String, _ folder: String) throws -> Void
    ) async throws -> StoredAsset? {
        let folder = assetFolder
        return try await writing { db in
            let unit = try SQLiteUnit(reading: partition, db)
            guard let part = unit.part, let upload = try unit.upload(id: id) else { return nil }
            if let asset = try upload.existingAsset(arrived) { return asset }
            try unit.run(
                """
                INSERT INTO assets (part, checksum, size, since) VALUES (?, ?, ?, ?)
                ON CONFLICT (part, checksum) DO UPDATE SET since = excluded.since
                """, [part, arrived.checksum, arrived.size, now])
            try unit.run(
                "UPDATE uploads SET checksum = ?, size = ? WHERE part = ? AND id = ?",
                [arrived.checksum, arrived.size, part, id])
            guard try !isOverQuota(unit) else { throw Engine.quotaExceeded }
            // The file moves inside the unit, as removals do: a removal cannot come between the file and its row.
            try move(folder.file(part: part, checksum: arrived.checksum), folder.parent(part: part, checksum: arrived.checksum))
            return arrived
        }
    }

    package func open(checksum: String, in partition: Partition) async throws -> (any AssetReader)? {
        let found = try await reading { db -> (StoredAsset, Int64)? in
            let unit = try SQLiteUnit(reading: partition, db)
            guard let asset = try unit.asset(checksum: checksum), let part = unit.part else { return nil }
            return (asset, part)
        }
        guard let (asset, part) = found else { return nil }
        return try await open(asset, part: part)
    }

    package func part(of partition: Partition) async throws -> Int64? {
        try await reading { try SQLiteUnit(reading: partition, $0).part }
    }

    package func hasAsset(checksum: String, part: Int64) async throws -> Bool {
        try await reading { try $0.row("SELECT size FROM assets WHERE part = ? AND checksum = ?", [part, checksum]) != nil }
    }

    package func objectPart(of part: Int64) async throws -> Int64 { try await reading { try ObjectParts.number(of: part, $0) } }

    package func hasAsset(checksum: String, objectPart: Int64) async throws -> Bool {
        try await reading { try ObjectParts.hasAsset(checksum: checksum, number: objectPart, $0) }
    }

    static let assetOwnerKey = "assets.owner"

    package func assetOwner(makesOne: Bool) async throws -> String? {
        let known = try await reading { try $0.row("SELECT value FROM meta WHERE key = ?", [Self.assetOwnerKey]).map { $0[0] as String } }
        guard known == nil, makesOne else { return known }
        let owner = "tarn-\(Secrets.text(bytes: 16))"
        return try await writing { db in
            if let known = try db.row("SELECT value FROM meta WHERE key = ?", [Self.assetOwnerKey]) { return known[0] }
            try db.execute(sql: "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", arguments: [Self.assetOwnerKey, owner])
            return owner
        }
    }
}

extension SQLiteServerStore {
    /// How long answers, uploads and files that nothing refers to are kept.
    private static let unusedMilliseconds: Int64 = 24 * 60 * 60 * 1000
    /// How long deletions, and the log of changes, are remembered. A device that was away for longer starts again from the beginning.
    private static let deletedMilliseconds: Int64 = 90 * 24 * 60 * 60 * 1000

    /// Removes expired rows and files: at start, and every hour.
    package func removeExpired(now: Int64) async throws {
        let folder = assetFolder
        staged.removeAll(before: now - Self.unusedMilliseconds)
        try await writing { db in
            let unused = now - Self.unusedMilliseconds
            try Self.removeExpiredAnswers(db, before: unused)
            try db.execute(sql: "DELETE FROM uploads WHERE created < ?", arguments: [unused])
            try Self.removeExpiredHistory(db, now: now)
            try Self.removeExpiredChangeLog(db, before: now - Self.deletedMilliseconds)
            let files = try Row.fetchAll(
                db,
                sql: """
                    DELETE FROM assets WHERE since < ? AND NOT EXISTS (
                        SELECT 1 FROM asset_links l WHERE l.part = assets.part AND l.checksum = assets.checksum)
                    AND NOT EXISTS (
                        SELECT 1 FROM kept_assets k WHERE k.part = assets.part AND k.checksum = assets.checksum)
                    RETURNING part, checksum
                    """, arguments: [unused])
            for file in files { folder.remove(part: file[0], checksum: file[1]) }
            folder.removePartials(except: try String.fetchAll(db, sql: "SELECT id FROM uploads WHERE checksum IS NULL"))
            try Self.removeExpiredCredentials(db, now: now, sessionSeconds: Limits().webSessionSeconds)
            try Self.forgetDeletions(before: now - Self.deletedMilliseconds, db)
        }
        try await removeUnreferencedObjects(now: now)
    }

    /// Rows that are not old enough, one after another, at which a removal ends. A clock that was set leaves a few.
    private static let answersInOrderMax = 1000

    /// Removes answers from the first row on: the rows are in the order of their times, so that they need no index of times. After a move
    /// they are in another order, and each answer is removed a day late at most.
    private static func removeExpiredAnswers(_ db: Database, before time: Int64) throws {
        var last = Int64.min
        while true {
            let rows = try db.rows("SELECT rowid, at FROM answers WHERE rowid > ? ORDER BY rowid LIMIT ?", [last, answersInOrderMax])
            let expired = rows.filter { $0[1] < time }.map { $0[0] as Int64 }
            for row in expired { try db.run("DELETE FROM answers WHERE rowid = ?", [row]) }
            guard let end = rows.last, !expired.isEmpty else { return }
            last = end[0]
        }
    }

    /// Removes old deletions and raises the floors below which tokens expire.
    private static func forgetDeletions(before time: Int64, _ db: Database) throws {
        // For the groups SQLite would read all records by another index.
        try db.execute(
            sql: """
                UPDATE zones SET floor = gone.change FROM (
                    SELECT part, zone, max(change) AS change FROM records INDEXED BY records_deleted WHERE deleted = 1 AND at < ? GROUP BY part, zone
                ) AS gone WHERE zones.part = gone.part AND zones.zone = gone.zone AND gone.change > zones.floor
                """, arguments: [time])
        try db.execute(sql: "DELETE FROM records WHERE deleted = 1 AND at < ?", arguments: [time])
        try db.execute(
            sql: """
                UPDATE partitions SET floor = gone.change FROM (
                    SELECT part, max(change) AS change FROM zones WHERE deleted = 1 AND at < ? GROUP BY part
                ) AS gone WHERE partitions.part = gone.part AND gone.change > partitions.floor
                """, arguments: [time])
        try db.execute(sql: "DELETE FROM zones WHERE deleted = 1 AND at < ?", arguments: [time])
    }
}
