// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The tables of zones and of devices' last client tokens.
enum ZoneRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS zones (
            part bigint NOT NULL, zone bigint NOT NULL, name text COLLATE "C" NOT NULL, change bigint NOT NULL, deleted boolean NOT NULL,
            floor bigint NOT NULL, at bigint NOT NULL, reason text COLLATE "C" NOT NULL, record_bytes bigint NOT NULL,
            asset_bytes bigint NOT NULL, PRIMARY KEY (part, zone), UNIQUE (part, name))
        """,
        "CREATE INDEX IF NOT EXISTS zones_by_change ON zones (part, change) WHERE change >= 0",
        "CREATE INDEX IF NOT EXISTS zones_deleted ON zones (part, zone) WHERE deleted",
        """
        CREATE TABLE IF NOT EXISTS client_tokens (
            part bigint NOT NULL, zone bigint NOT NULL, user_name text COLLATE "C" NOT NULL, device text COLLATE "C" NOT NULL,
            token bytea NOT NULL, PRIMARY KEY (part, zone, user_name, device))
        """,
    ]
    static let addRecordBytes = "UPDATE zones SET record_bytes = record_bytes + $3 WHERE part = $1 AND zone = $2"
    static let columns = "SELECT zone, name, change, deleted, floor, reason, record_bytes, asset_bytes FROM zones"

    static func zone(_ row: PostgresRow) -> StoredZone {
        var zone = StoredZone(key: row[0], name: row[1], change: row[2], isDeleted: row[3], floor: row[4])
        zone.deletionReason = ZoneDeletionReason(rawValue: row[5]) ?? .deleted
        zone.usage = StoredBytes(records: row[6], assets: row[7])
        return zone
    }
}

extension PostgresUnit {
    func zone(named name: String) throws -> StoredZone? {
        let zone = try rows(ZoneRows.columns + " WHERE part = $1 AND name = $2", [part, name], from: .zones, isRepeated: true).first
            .map(ZoneRows.zone)
        zoneKeys[name] = zone?.key
        return zone
    }

    func zones() throws -> [StoredZone] {
        try rows(ZoneRows.columns + " WHERE part = $1 AND NOT deleted ORDER BY name", [part], from: .zones).map(ZoneRows.zone)
    }

    func zones(changedAfter change: Int64, limit: Int) throws -> [StoredZone] {
        try rows(
            ZoneRows.columns + " WHERE part = $1 AND change > $2 AND change >= 0 AND zone <> $3 ORDER BY change LIMIT $4",
            [part, change, StoredZone.defaultKey, limit], from: .zones
        ).map(ZoneRows.zone)
    }

    /// A zone replaces the one of its name, which has another key if it was made again.
    func save(_ zone: StoredZone, at now: Int64) throws {
        if zoneKeys[zone.name] != zone.key {
            try run("DELETE FROM zones WHERE part = $1 AND name = $2 AND zone <> $3", [part, zone.name, zone.key], changing: .zones)
            zoneKeys[zone.name] = zone.key
        }
        try run(
            """
            INSERT INTO zones (part, zone, name, change, deleted, floor, at, reason, record_bytes, asset_bytes)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (part, zone) DO UPDATE
            SET name = excluded.name, change = excluded.change, deleted = excluded.deleted, floor = excluded.floor, at = excluded.at,
                reason = excluded.reason, record_bytes = excluded.record_bytes, asset_bytes = excluded.asset_bytes
            """,
            [
                part, zone.key, zone.name, zone.change, zone.isDeleted, zone.floor, now, zone.deletionReason.rawValue, zone.usage.records,
                zone.usage.assets,
            ], changing: .zones)
        if zone.isDeleted { expires(after: now) }
    }

    func removeContents(ofZone key: Int64, atMost count: Int, at now: Int64) throws -> Bool {
        expires(after: now)
        try keepAssets(ofZone: key, atMost: count, at: now)
        for (table, columns, cached) in [
            ("asset_links", "checksum", .assetLinks), ("index_entries", "number, key, name", .indexEntries),
            ("record_references", "target, action, source", .references), ("client_tokens", "user_name, device", .clientTokens),
        ] as [(String, String, PostgresTable)] {
            let removed = try written(
                """
                DELETE FROM \(table) WHERE part = $1 AND zone = $2 AND (\(columns)) IN (
                    SELECT \(columns) FROM \(table) WHERE part = $1 AND zone = $2 ORDER BY \(columns) LIMIT $3) RETURNING 1
                """, [part, key, count], changing: cached)
            if removed.count == count { return false }
        }
        // Records are last: a zone without them is empty.
        let last: String? = try rows(
            "SELECT name FROM records WHERE part = $1 AND zone = $2 ORDER BY name LIMIT 1 OFFSET $3", [part, key, count - 1], from: .records
        ).first.map { $0[0] }
        try keepContents(ofZone: key, upTo: last, at: now)
        guard let last else {
            try run("DELETE FROM records WHERE part = $1 AND zone = $2", [part, key], changing: .records)
            return true
        }
        try run("DELETE FROM records WHERE part = $1 AND zone = $2 AND name <= $3", [part, key, last], changing: .records)
        return false
    }

    func hasRecords(inZone zone: Int64) throws -> Bool {
        try !rows("SELECT 1 FROM records WHERE part = $1 AND zone = $2 LIMIT 1", [part, zone], from: .records).isEmpty
    }

    func clientToken(ofUser user: String, device: String, in zone: Int64) throws -> [UInt8]? {
        try rows(
            "SELECT token FROM client_tokens WHERE part = $1 AND zone = $2 AND user_name = $3 AND device = $4", [part, zone, user, device],
            from: .clientTokens
        ).first.map { $0[0] }
    }

    func setClientToken(_ token: [UInt8], ofUser user: String, device: String, in zone: Int64) throws {
        // A client names its device: without a limit one could store any number of tokens. Others are stored with the devices' next saves.
        // The deletion sees the rows before the insertion, so it counts them for a new device alone.
        try run(
            """
            WITH saved AS (
                INSERT INTO client_tokens (part, zone, user_name, device, token) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (part, zone, user_name, device) DO UPDATE SET token = excluded.token WHERE client_tokens.token <> excluded.token)
            DELETE FROM client_tokens WHERE part = $1 AND zone = $2 AND user_name = $3 AND device <> $4
            AND NOT EXISTS (SELECT 1 FROM client_tokens WHERE part = $1 AND zone = $2 AND user_name = $3 AND device = $4)
            AND (SELECT count(*) FROM client_tokens WHERE part = $1 AND zone = $2 AND user_name = $3) >= $6
            """, [part, zone, user, device, token, StoredClientTokens.devicesMax], changing: .clientTokens)
    }
}
