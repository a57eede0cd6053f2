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
        _ arrived: StoredAsset, _ place: AssetPlace, ofUpload id: String, in partition: Partition, at now: Int64,
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
                INSERT INTO assets (part, checksum, size, since, in_store) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (part, checksum) DO UPDATE SET since = excluded.since, in_store = excluded.in_store
                """, [part, arrived.checksum, arrived.size, now, place.rawValue])
            try unit.run(
                "UPDATE uploads SET checksum = ?, size = ? WHERE part = ? AND id = ?",
                [arrived.checksum, arrived.size, part, id])
            guard try !isOverQuota(unit) else { throw Quotas.exceeded }
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

    package func place(ofAsset checksum: String, part: Int64) async throws -> AssetPlace {
        let number: Int64? = try await reading {
            try $0.row("SELECT in_store FROM assets WHERE part = ? AND checksum = ?", [part, checksum]).map { $0[0] }
        }
        return AssetPlace(stored: number ?? 0)
    }

    package func objectPart(of part: Int64) async throws -> Int64 { try await reading { try ObjectParts.number(of: part, $0) } }

    package func place(ofObject checksum: String, objectPart: Int64) async throws -> AssetPlace? {
        try await reading { try ObjectParts.place(ofObject: checksum, number: objectPart, $0) }.map { AssetPlace(stored: $0) }
    }

    package func storePlace(ofObject checksum: String, objectPart: Int64) async throws {
        try await writing { try ObjectParts.storePlace(ofObject: checksum, number: objectPart, $0) }
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
