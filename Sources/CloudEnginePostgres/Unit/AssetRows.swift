// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The tables of uploads, files of assets, and of how many fields refer to each.
enum AssetRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS uploads (
            part bigint NOT NULL, id text COLLATE "C" NOT NULL, record text COLLATE "C" NOT NULL, field text COLLATE "C" NOT NULL,
            created bigint NOT NULL, checksum text COLLATE "C", size bigint, PRIMARY KEY (part, id))
        """,
        """
        CREATE TABLE IF NOT EXISTS assets (
            part bigint NOT NULL, checksum text COLLATE "C" NOT NULL, size bigint NOT NULL, since bigint NOT NULL,
            PRIMARY KEY (part, checksum))
        """,
        // Format 8.
        "ALTER TABLE assets ADD COLUMN IF NOT EXISTS in_store bigint NOT NULL DEFAULT 0",
        """
        CREATE TABLE IF NOT EXISTS asset_links (
            part bigint NOT NULL, zone bigint NOT NULL, checksum text COLLATE "C" NOT NULL, fields bigint NOT NULL,
            PRIMARY KEY (part, zone, checksum))
        """,
        "CREATE INDEX IF NOT EXISTS uploads_open ON uploads (part, created) WHERE checksum IS NULL",
        "CREATE INDEX IF NOT EXISTS asset_links_checksum ON asset_links (part, checksum)",
    ]

    static let uploadsOfPartition = "SELECT id FROM uploads WHERE part = $1"
}

extension PostgresUnit {
    func upload(id: String) throws -> StoredUpload? {
        try rows("SELECT record, field, created, checksum, size FROM uploads WHERE part = $1 AND id = $2", [part, id], from: .uploads)
            .first.map { row in
                let checksum: String? = row[3]
                return StoredUpload(
                    id: id, recordName: row[0], fieldName: row[1], asset: checksum.map { StoredAsset(checksum: $0, size: row[4]) },
                    created: row[2])
            }
    }

    func save(_ uploads: [StoredUpload]) throws {
        for upload in uploads {
            try run(
                "INSERT INTO uploads (part, id, record, field, created, checksum, size) VALUES ($1, $2, $3, $4, $5, $6, $7)",
                [part, upload.id, upload.recordName, upload.fieldName, upload.created, upload.asset?.checksum, upload.asset?.size],
                changing: .uploads)
            expires(after: upload.created)
        }
    }

    func hasAssets(inZone zone: Int64) throws -> Bool {
        try !rows("SELECT 1 FROM asset_links WHERE part = $1 AND zone = $2 LIMIT 1", [part, zone], from: .assetLinks, isRepeated: true)
            .isEmpty
    }

    func asset(checksum: String) throws -> StoredAsset? {
        try rows("SELECT size FROM assets WHERE part = $1 AND checksum = $2", [part, checksum], from: .assets).first.map {
            StoredAsset(checksum: checksum, size: $0[0])
        }
    }

    func unusedUploadBytes() throws -> Int64 {
        // One file for all uploads of it; parts of files have no checksum yet.
        try rows(
            """
            SELECT coalesce(sum(size), 0)::bigint FROM (
                SELECT max(coalesce(size, 0)) AS size FROM uploads u WHERE part = $1 AND NOT EXISTS (
                    SELECT 1 FROM asset_links l WHERE l.part = u.part AND l.checksum = u.checksum)
                GROUP BY coalesce(checksum, id)) AS files
            """, [part], from: .uploads, .assetLinks
        ).first.map { $0[0] } ?? 0
    }

    func openUploadCount(since time: Int64) throws -> Int {
        try rows(
            "SELECT count(*) FROM uploads WHERE part = $1 AND created > $2 AND checksum IS NULL", [part, time], from: .uploads
        ).first.map { $0[0] } ?? 0
    }

    func links(toAssets checksums: [String], in zone: Int64) throws -> [String: Int] {
        guard !checksums.isEmpty else { return [:] }
        let found = try rows(
            "SELECT found.* "
                + LookUps.each(
                    of: 3, "SELECT checksum, fields FROM asset_links WHERE part = $1 AND zone = $2 AND checksum = \(LookUps.value)"),
            [part, zone] + .texts(checksums), from: .assetLinks)
        return Dictionary(found.map { ($0[0] as String, $0[1] as Int) }, uniquingKeysWith: { first, _ in first })
    }

    func addLinks(_ differences: [String: Int], in zone: Int64, at now: Int64) throws -> Int64 {
        var bytes: Int64 = 0
        let known = try links(toAssets: Array(differences.keys), in: zone)
        for (checksum, difference) in differences.sorted(by: { $0.key < $1.key }) {
            let (before, after) = (known[checksum] ?? 0, (known[checksum] ?? 0) + difference)
            if before > 0, after <= 0 { try keepAsset(checksum, at: now) }
            if (before > 0) != (after > 0), let size = try asset(checksum: checksum)?.size { bytes += after > 0 ? size : -size }
            try run(
                """
                INSERT INTO asset_links (part, zone, checksum, fields) VALUES ($1, $2, $3, $4)
                ON CONFLICT (part, zone, checksum) DO UPDATE SET fields = asset_links.fields + excluded.fields
                """, [part, zone, checksum, difference], changing: .assetLinks)
            try run(
                "DELETE FROM asset_links WHERE part = $1 AND zone = $2 AND checksum = $3 AND fields <= 0", [part, zone, checksum],
                changing: .assetLinks)
        }
        try touch(assets: differences.keys.sorted(), at: now)
        return bytes
    }

    func touch(assets checksums: [String], at now: Int64) throws {
        guard !checksums.isEmpty else { return }
        try run(
            "UPDATE assets SET since = $2 WHERE part = $1 AND checksum = ANY ($3)", [part, now] + .texts(checksums), changing: .assets)
        expires(after: now)
    }
}
