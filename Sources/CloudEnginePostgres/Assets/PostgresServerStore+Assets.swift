// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
package import CloudStorageSupport
import CloudWire
import Foundation
import SystemSupport

extension PostgresServerStore: FileUploads {
    package func note(_ size: Int64, ofUpload id: String, in partition: Partition) async throws {
        try await writeUnit(partition) { unit in
            try unit.run(
                "UPDATE uploads SET size = $3 WHERE part = $1 AND id = $2 AND checksum IS NULL", [unit.part, id, size], changing: .uploads)
        }
    }

    /// The unit may run again after a conflict, when the file has been moved already.
    package func store(
        _ arrived: StoredAsset, _ place: AssetPlace, ofUpload id: String, in partition: Partition, at now: Int64,
        _ isOverQuota: @escaping @Sendable (any PartitionReader) throws -> Bool,
        _ move: @escaping @Sendable (_ path: String, _ folder: String) throws -> Void
    ) async throws -> StoredAsset? {
        let folder = assetFolder
        return try await writeUnit(partition) { unit in
            guard let upload = try unit.upload(id: id) else { return nil }
            if let asset = try upload.existingAsset(arrived) { return asset }
            try unit.run(
                """
                INSERT INTO assets (part, checksum, size, since, in_store) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (part, checksum) DO UPDATE SET since = excluded.since, in_store = excluded.in_store
                """, [unit.part, arrived.checksum, arrived.size, now, place.rawValue], changing: .assets)
            try unit.run(
                "UPDATE uploads SET checksum = $3, size = $4 WHERE part = $1 AND id = $2", [unit.part, id, arrived.checksum, arrived.size],
                changing: .uploads)
            guard try !isOverQuota(unit) else { throw Quotas.exceeded }
            // The file moves inside the unit, so that a removal cannot come between the file and its row.
            let path = folder.file(part: unit.part, checksum: arrived.checksum)
            do {
                try move(path, folder.parent(part: unit.part, checksum: arrived.checksum))
            } catch {
                guard FileManager.default.fileExists(atPath: path) else { throw error }
            }
            return arrived
        }
    }

    package func open(checksum: String, in partition: Partition) async throws -> (any AssetReader)? {
        let found = try await readUnit(partition) { unit in
            try unit.asset(checksum: checksum).map { ($0, unit.part) }
        }
        guard let (asset, part) = found else { return nil }
        return try await open(asset, part: part)
    }

    package func part(of partition: Partition) async throws -> Int64? {
        try await readUnit(partition) { $0.part }
    }

    package func hasAsset(checksum: String, part: Int64) async throws -> Bool {
        try await reading { connection in
            try !connection.query("SELECT size FROM assets WHERE part = $1 AND checksum = $2", [part, checksum]).rows.isEmpty
        }
    }

    package func place(ofAsset checksum: String, part: Int64) async throws -> AssetPlace {
        let number: Int64? = try await reading { connection in
            try connection.query("SELECT in_store FROM assets WHERE part = $1 AND checksum = $2", [part, checksum]).rows.first.map { $0[0] }
        }
        return AssetPlace(stored: number ?? 0)
    }

    package func objectPart(of part: Int64) async throws -> Int64 {
        try await reading { try $0.query(ObjectPartRows.number, [part]).rows.first.map { $0[0] } ?? part }
    }

    package func place(ofObject checksum: String, objectPart: Int64) async throws -> AssetPlace? {
        let number: Int64? = try await reading { connection in
            try connection.query(ObjectPartRows.place, [objectPart, checksum]).rows.first.map { $0[0] }
        }
        return number.map { AssetPlace(stored: $0) }
    }

    package func storePlace(ofObject checksum: String, objectPart: Int64) async throws {
        try await writing { connection in _ = try connection.query(ObjectPartRows.storePlace, [objectPart, checksum]) }
    }

    private static let ownerKey = "assets.owner"

    package func assetOwner(makesOne: Bool) async throws -> String? {
        @Sendable func owner(_ connection: PostgresConnection) throws -> String? {
            try connection.query("SELECT value FROM meta WHERE key = $1", [Self.ownerKey]).rows.first.map {
                String(decoding: $0[0] as [UInt8], as: UTF8.self)
            }
        }
        let known = try await reading { try owner($0) }
        guard known == nil, makesOne else { return known }
        let new = Array("tarn-\(Secrets.text(bytes: 16))".utf8)
        try await writing { connection in
            try connection.send("INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING", [Self.ownerKey, new])
        }
        // Another process may have made one.
        return try await reading { try owner($0) }
    }
}
