// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import GRDB
import GRDBSQLite

extension SQLiteUnit {
    func raiseCounter(by count: Int, adding usage: StoredBytes) throws -> Int64 {
        let before: Int64? = try remembered(.counter(part: writtenPart)) {
            try row("SELECT counter FROM partitions WHERE part = ?", [writtenPart]).map { $0[0] }
        }
        guard let before else { throw StorageFailure(.corrupt, "a partition has no row") }
        let counter = before + Int64(count)
        // Without RETURNING, for which SQLite fills a table of its own.
        try keeping {
            try run(
                "UPDATE partitions SET counter = ?, record_bytes = record_bytes + ?, asset_bytes = asset_bytes + ? WHERE part = ?",
                [counter, usage.records, usage.assets, writtenPart])
        }
        remember(Int64?.some(counter), as: .counter(part: writtenPart))
        return counter
    }

    func save(_ zone: StoredZone, at now: Int64) throws {
        // Nearly always it is there under this name, and its name is not to be indexed again.
        try keeping {
            try run(
                """
                UPDATE zones SET change = ?, deleted = ?, floor = ?, at = ?, reason = ?, record_bytes = ?, asset_bytes = ?
                WHERE part = ? AND zone = ? AND name = ?
                """,
                [
                    zone.change, zone.isDeleted, zone.floor, now, zone.deletionReason.rawValue, zone.usage.records,
                    zone.usage.assets, writtenPart, zone.key, zone.name,
                ])
        }
        guard db.changesCount == 0 else {
            remember(StoredZone?.some(zone), as: .zone(part: writtenPart, name: zone.name))
            return
        }
        try run(
            """
            INSERT OR REPLACE INTO zones (part, zone, name, change, deleted, floor, at, reason, record_bytes, asset_bytes)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                writtenPart, zone.key, zone.name, zone.change, zone.isDeleted, zone.floor, now, zone.deletionReason.rawValue,
                zone.usage.records, zone.usage.assets,
            ])
    }

    func removeContents(ofZone key: Int64, atMost count: Int, at now: Int64) throws -> Bool {
        try keepAssets(ofZone: key, atMost: count, at: now)
        for (table, columns) in [
            ("asset_links", "checksum"), ("index_entries", "number, key, name"), ("record_references", "target, action, source"),
            ("client_tokens", "user, device"),
        ] {
            try run(
                """
                DELETE FROM \(table) WHERE (part, zone, \(columns)) IN (
                    SELECT part, zone, \(columns) FROM \(table) WHERE part = ? AND zone = ? ORDER BY \(columns) LIMIT ?)
                """, [writtenPart, key, count])
            if db.changesCount == count { return false }
        }
        // Records are last: a zone without them is empty.
        let last: String? = try rows(
            "SELECT name FROM records WHERE part = ? AND zone = ? ORDER BY name LIMIT 1 OFFSET ?", [writtenPart, key, count - 1]
        ).first.map { $0[0] }
        try keepContents(ofZone: key, upTo: last, at: now)
        guard let last else {
            try run("DELETE FROM records WHERE part = ? AND zone = ?", [writtenPart, key])
            return true
        }
        try run("DELETE FROM records WHERE part = ? AND zone = ? AND name <= ?", [writtenPart, key, last])
        return false
    }

    func clientToken(ofUser user: String, device: String, in zone: Int64) throws -> [UInt8]? {
        guard let part else { return nil }
        return try rows(
            "SELECT token FROM client_tokens WHERE part = ? AND zone = ? AND user = ? AND device = ?", [part, zone, user, device]
        ).first.map { $0[0] }
    }

    func setClientToken(_ token: [UInt8], ofUser user: String, device: String, in zone: Int64) throws {
        let stored = try clientToken(ofUser: user, device: device, in: zone)
        guard stored != token else { return }
        try run(
            "INSERT OR REPLACE INTO client_tokens (part, zone, user, device, token) VALUES (?, ?, ?, ?, ?)",
            [writtenPart, zone, user, device, token])
        guard stored == nil else { return }
        // A client names its device: without a limit one could store any number of tokens. Others are stored with the devices' next saves.
        try run(
            """
            DELETE FROM client_tokens WHERE part = ? AND zone = ? AND user = ? AND device <> ?
            AND (SELECT count(*) FROM client_tokens WHERE part = ? AND zone = ? AND user = ?) > ?
            """, [writtenPart, zone, user, device, writtenPart, zone, user, StoredClientTokens.devicesMax])
    }

    func save(_ records: [StoredRecord], in zone: Int64, at now: Int64) throws {
        try keep(records.map(\.record.recordName), in: zone, at: now)
        try keeping {
            for stored in records {
                try run(
                    """
                    INSERT INTO records (part, zone, name, change, deleted, at, body) VALUES (?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (part, zone, name) DO UPDATE
                    SET change = excluded.change, deleted = excluded.deleted, at = excluded.at, body = excluded.body
                    """,
                    [
                        writtenPart, zone, stored.record.recordName, stored.change, stored.record.isDeleted, now,
                        stored.record.encoded(),
                    ])
            }
        }
    }

    func addUsage(_ difference: StoredBytes) throws {
        try keeping {
            try run(
                "UPDATE partitions SET record_bytes = record_bytes + ?, asset_bytes = asset_bytes + ? WHERE part = ?",
                [difference.records, difference.assets, writtenPart])
        }
    }

    func addTombstones(_ difference: Int64) throws {
        try keeping { try run("UPDATE partitions SET tombstones = tombstones + ? WHERE part = ?", [difference, writtenPart]) }
    }

    func addLinks(_ differences: [String: Int], in zone: Int64, at now: Int64) throws -> Int64 {
        var bytes: Int64 = 0
        let known = try links(toAssets: Array(differences.keys), in: zone)
        for (checksum, difference) in differences {
            let (before, after) = (known[checksum] ?? 0, (known[checksum] ?? 0) + difference)
            if before > 0, after <= 0 { try keepAsset(checksum, at: now) }
            if (before > 0) != (after > 0), let size = try asset(checksum: checksum)?.size { bytes += after > 0 ? size : -size }
            try run(
                """
                INSERT INTO asset_links (part, zone, checksum, fields) VALUES (?, ?, ?, ?)
                ON CONFLICT (part, zone, checksum) DO UPDATE SET fields = fields + excluded.fields
                """, [writtenPart, zone, checksum, difference])
            try run(
                "DELETE FROM asset_links WHERE part = ? AND zone = ? AND checksum = ? AND fields <= 0",
                [writtenPart, zone, checksum])
            try run("UPDATE assets SET since = ? WHERE part = ? AND checksum = ?", [now, writtenPart, checksum])
        }
        return bytes
    }

    func save(_ uploads: [StoredUpload]) throws {
        for upload in uploads {
            try run(
                "INSERT INTO uploads (part, id, record, field, created, checksum, size) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    writtenPart, upload.id, upload.recordName, upload.fieldName, upload.created, upload.asset?.checksum,
                    upload.asset?.size,
                ])
        }
    }

    func touch(assets checksums: [String], at now: Int64) throws {
        for checksum in checksums {
            try run("UPDATE assets SET since = ? WHERE part = ? AND checksum = ?", [now, writtenPart, checksum])
        }
    }

    func save(_ subscription: Subscription) throws {
        try run(
            "INSERT OR REPLACE INTO subscriptions (part, id, body) VALUES (?, ?, ?)",
            [writtenPart, subscription.subscriptionID, subscription.encoded()])
        try listPublicly(subscription)
    }

    func removeSubscription(id: String) throws {
        try run("DELETE FROM subscriptions WHERE part = ? AND id = ?", [writtenPart, id])
        try unlistPublicly(id, part: writtenPart)
    }

    /// The rows of all databases are in the order of their times, by which they expire: a new answer never takes the place of an old one.
    func remember(_ answer: StoredAnswer, forKey key: String, at now: Int64) throws {
        try keeping {
            let arguments: Arguments = [writtenPart, key, Int64(bitPattern: answer.fingerprint), now, answer.body]
            let sql = "INSERT INTO answers (part, key, fingerprint, at, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (part, key) DO NOTHING"
            try run(sql, arguments)
            guard db.changesCount == 0 else { return }
            try run("DELETE FROM answers WHERE part = ? AND key = ?", [writtenPart, key])
            try run(sql, arguments)
        }
    }

    func removeAnswers(freeing bytes: Int64, exceptKey key: String?) throws {
        var removed: [Int64] = []
        var freed: Int64 = 0
        try visit("SELECT rowid, key, length(key) + length(body) FROM answers WHERE part = ? ORDER BY at, rowid", [writtenPart]) { handle in
            if String(cString: sqlite3_column_text(handle, 1)) != key {
                removed.append(sqlite3_column_int64(handle, 0))
                freed += sqlite3_column_int64(handle, 2)
            }
            return freed < bytes
        }
        try keeping { for row in removed { try run("DELETE FROM answers WHERE rowid = ?", [row]) } }
    }
}
