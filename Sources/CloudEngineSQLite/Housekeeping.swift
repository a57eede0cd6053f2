// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudStorageSupport
import CloudWire
import GRDB

/// Housekeeping in short units of work, between which the scheduler gives users their turns.
///
/// Expired rows without an index of their times are found by readers, for which no save waits. The unit that deletes them checks them again.
extension SQLiteServerStore {
    /// How long answers, uploads and files that nothing refers to are kept.
    private static let unusedMilliseconds: Int64 = 24 * 60 * 60 * 1000
    /// How long deletions, and the log of changes, are remembered. A device that was away for longer starts again from the beginning.
    private static let deletedMilliseconds: Int64 = 90 * 24 * 60 * 60 * 1000
    /// Files that one unit of work removes at most.
    private static let filesPerUnit = 200

    /// The key of a row of a partition.
    private struct NamedKey: Sendable {
        var part = Int64.min
        var name = ""

        init() {}

        init(_ row: StoredRow) { (part, name) = (row[0], row[1]) }
    }

    private struct ZoneKey: Hashable, Sendable {
        var part = Int64.min
        var zone = Int64.min

        init() {}

        init(_ row: StoredRow) { (part, zone) = (row[0], row[1]) }
    }

    private struct NetworkKey: Sendable {
        var owner = Int64.min
        var network = Int64.min

        init() {}

        init(_ row: StoredRow) { (owner, network) = (row[0], row[1]) }
    }

    /// Removes expired rows and files: at start, and every hour.
    package func removeExpired(now: Int64) async throws {
        let (unused, deleted) = (now - Self.unusedMilliseconds, now - Self.deletedMilliseconds)
        staged.removeAll(before: unused)
        try await removeAnswers(before: unused)
        try await removeUploads(before: unused)
        try await removeHistory(now: now)
        try await removeExpiredChangeLog(before: deleted)
        try await removeFiles(unusedSince: unused)
        try await removeCredentials(now: now)
        try await forgetDeletions(before: deleted)
        try await removeUnreferencedObjects(now: now)
    }

    /// Executes units of work until one has removed less than it may.
    ///
    /// - Parameter unit: Removes ``UnitOfWork/removedRowsMax`` rows at most, and returns their number.
    func repeating(_ unit: @escaping @Sendable (Database) throws -> Int) async throws {
        while try await writing(unit) >= UnitOfWork.removedRowsMax {}
    }

    /// Removes rows that readers find, one page of them in a unit of work.
    ///
    /// - Parameters:
    ///   - page: Returns the keys of the next rows behind a key, as many as its last parameter at most.
    ///   - remove: Removes the row if it is still to be removed.
    private func remove<Key: Sendable>(
        atMost count: Int = UnitOfWork.removedRowsMax, after first: Key, _ page: @escaping @Sendable (Database, Key, Int) throws -> [Key],
        _ remove: @escaping @Sendable (Database, Key) throws -> Void
    ) async throws {
        var last = first
        while true {
            let after = last
            let keys = try await reading { try page($0, after, count) }
            guard let end = keys.last else { return }
            try await writing { db in for key in keys { try remove(db, key) } }
            guard keys.count == count else { return }
            last = end
        }
    }

    // MARK: Answers and uploads

    /// Rows that are not old enough, one after another, at which a removal ends. A clock that was set leaves a few.
    private static let answersInOrderMax = 1000

    /// Removes answers from the first row on: the rows are in the order of their times, so that they need no index of times. After a move
    /// they are in another order, and each answer is removed a day late at most.
    private func removeAnswers(before time: Int64) async throws {
        var last: Int64? = .min
        while let row = last { last = try await writing { try Self.removeAnswers(before: time, after: row, $0) } }
    }

    /// - Returns: The last row of the unit, nil if none of its rows has expired.
    private static func removeAnswers(before time: Int64, after last: Int64, _ db: Database) throws -> Int64? {
        let rows = try db.rows("SELECT rowid, at FROM answers WHERE rowid > ? ORDER BY rowid LIMIT ?", [last, answersInOrderMax])
        let expired = rows.filter { $0[1] < time }.map { $0[0] as Int64 }
        for row in expired { try db.run("DELETE FROM answers WHERE rowid = ?", [row]) }
        return expired.isEmpty ? nil : rows.last.map { $0[0] as Int64 }
    }

    private func removeUploads(before time: Int64) async throws {
        try await remove(after: NamedKey()) { db, last, count in
            try db.rows(
                "SELECT part, id FROM uploads WHERE (part, id) > (?, ?) AND created < ? ORDER BY part, id LIMIT ?",
                [last.part, last.name, time, count]
            ).map { NamedKey($0) }
        } _: { db, key in
            try db.run("DELETE FROM uploads WHERE part = ? AND id = ? AND created < ?", [key.part, key.name, time])
        }
        // The names first: they do not include the part of an upload that begins between the two.
        let parts = assetFolder.partials()
        let openUploads = try await reading { try $0.rows("SELECT id FROM uploads WHERE checksum IS NULL", []).map { $0[0] as String } }
        assetFolder.remove(partials: parts, except: openUploads)
    }

    // MARK: History and files

    /// Removes versions and kept files that have expired; all of them if the server keeps none.
    private func removeHistory(now: Int64) async throws {
        try await repeating { db in
            let replaced = try HistoryTerm(db).map { now - $0.milliseconds } ?? .max
            try db.run(
                """
                DELETE FROM record_versions WHERE rowid IN (SELECT rowid FROM record_versions WHERE replaced < ? ORDER BY replaced LIMIT ?)
                """, [replaced, UnitOfWork.removedRowsMax])
            return db.changesCount
        }
        let until: Int64 = try await reading { try HistoryTerm($0) == nil } ? .max : now
        try await remove(after: NamedKey()) { db, last, count in
            try db.rows(
                """
                SELECT part, checksum FROM kept_assets WHERE (part, checksum) > (?, ?) AND until < ? ORDER BY part, checksum LIMIT ?
                """, [last.part, last.name, until, count]
            ).map { NamedKey($0) }
        } _: { db, key in
            try db.run("DELETE FROM kept_assets WHERE part = ? AND checksum = ? AND until < ?", [key.part, key.name, until])
        }
    }

    /// Removes files that no record and no version of one refers to.
    private func removeFiles(unusedSince time: Int64) async throws {
        let folder = assetFolder
        try await remove(atMost: Self.filesPerUnit, after: NamedKey()) { db, last, count in
            try db.rows(
                """
                SELECT part, checksum FROM assets WHERE (part, checksum) > (?, ?) AND since < ?
                AND NOT EXISTS (SELECT 1 FROM asset_links l WHERE l.part = assets.part AND l.checksum = assets.checksum)
                AND NOT EXISTS (SELECT 1 FROM kept_assets k WHERE k.part = assets.part AND k.checksum = assets.checksum)
                ORDER BY part, checksum LIMIT ?
                """, [last.part, last.name, time, count]
            ).map { NamedKey($0) }
        } _: { db, key in
            let removed = try db.row(
                """
                DELETE FROM assets WHERE part = ? AND checksum = ? AND since < ?
                AND NOT EXISTS (SELECT 1 FROM asset_links l WHERE l.part = assets.part AND l.checksum = assets.checksum)
                AND NOT EXISTS (SELECT 1 FROM kept_assets k WHERE k.part = assets.part AND k.checksum = assets.checksum)
                RETURNING checksum
                """, [key.part, key.name, time])
            if removed != nil { folder.remove(part: key.part, checksum: key.name) }
        }
    }

    // MARK: Credentials

    private func removeCredentials(now: Int64) async throws {
        try await repeating { db in
            try db.run(
                "DELETE FROM used_marks WHERE mark IN (SELECT mark FROM used_marks WHERE until < ? ORDER BY until LIMIT ?)",
                [now, UnitOfWork.removedRowsMax])
            return db.changesCount
        }
        let started = now - Int64(Limits().webSessionSeconds) * 1000
        try await remove(after: [UInt8]()) { db, last, count in
            try db.rows(
                "SELECT id_hash FROM web_sessions WHERE id_hash > ? AND started < ? ORDER BY id_hash LIMIT ?", [last, started, count]
            ).map { $0[0] as [UInt8] }
        } _: { db, key in
            try db.run("DELETE FROM web_sessions WHERE id_hash = ? AND started < ?", [key, started])
        }
        let left = now - Self.networkMilliseconds
        try await remove(after: NetworkKey()) { db, last, count in
            try db.rows(
                """
                SELECT owner, network FROM password_networks WHERE (owner, network) > (?, ?) AND at < ? ORDER BY owner, network LIMIT ?
                """, [last.owner, last.network, left, count]
            ).map { NetworkKey($0) }
        } _: { db, key in
            try db.run("DELETE FROM password_networks WHERE owner = ? AND network = ? AND at < ?", [key.owner, key.network, left])
        }
    }

    // MARK: Deletions

    /// Removes old deletions and raises the floors below which tokens expire.
    private func forgetDeletions(before time: Int64) async throws {
        try await repeating { db in
            let deletions = try db.rows(
                """
                SELECT part, zone, name, change FROM records INDEXED BY records_deleted WHERE deleted = 1 AND at < ? ORDER BY at LIMIT ?
                """, [time, UnitOfWork.removedRowsMax])
            var floors: [ZoneKey: Int64] = [:]
            for row in deletions {
                let key = ZoneKey(row)
                floors[key] = max(floors[key] ?? 0, row[3])
                try db.run("DELETE FROM records WHERE part = ? AND zone = ? AND name = ?", [key.part, key.zone, row[2] as String])
            }
            for (key, floor) in floors {
                try db.run("UPDATE zones SET floor = ? WHERE part = ? AND zone = ? AND floor < ?", [floor, key.part, key.zone, floor])
            }
            return deletions.count
        }
        try await remove(after: ZoneKey()) { db, last, count in
            try db.rows(
                """
                SELECT part, zone FROM zones INDEXED BY zones_deleted WHERE deleted = 1 AND (part, zone) > (?, ?) AND at < ?
                AND NOT EXISTS (SELECT 1 FROM records r WHERE r.part = zones.part AND r.zone = zones.zone LIMIT 1)
                ORDER BY part, zone LIMIT ?
                """, [last.part, last.zone, time, count]
            ).map { ZoneKey($0) }
        } _: { db, key in
            // A zone that was made again has another key. One with records is found by its row until it is empty.
            let deleted = try db.row(
                """
                DELETE FROM zones WHERE part = ? AND zone = ? AND deleted = 1 AND at < ?
                AND NOT EXISTS (SELECT 1 FROM records r WHERE r.part = zones.part AND r.zone = zones.zone LIMIT 1) RETURNING change
                """, [key.part, key.zone, time])
            guard let floor = deleted.map({ $0[0] as Int64 }) else { return }
            try db.run("UPDATE partitions SET floor = ? WHERE part = ? AND floor < ?", [floor, key.part, floor])
        }
    }
}
