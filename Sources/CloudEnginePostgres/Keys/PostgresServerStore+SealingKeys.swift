// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
import CloudStorageSupport
import Synchronization

/// The rows of `meta`. Numbers are decimal texts.
struct PostgresMeta: MetaRows {
    static let insertOrUpdate = "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value"

    let connection: PostgresConnection

    init(_ connection: PostgresConnection) { self.connection = connection }

    func bytes(_ key: String) throws -> [UInt8]? { try connection.value("SELECT value FROM meta WHERE key = $1", [key]) }

    func number(_ key: String) throws -> Int64? {
        guard let bytes = try bytes(key) else { return nil }
        guard let number = Int64(String(decoding: bytes, as: UTF8.self)) else {
            throw StorageFailure(.corrupt, "a number of the server is unreadable")
        }
        return number
    }

    func set(_ key: String, to bytes: [UInt8]) throws { try connection.send(Self.insertOrUpdate, [key, bytes]) }

    func set(_ key: String, to number: Int64) throws { try set(key, to: Array(String(number).utf8)) }

    func remove(_ key: String) throws { try connection.send("DELETE FROM meta WHERE key = $1", [key]) }
}

extension PostgresServerStore {
    /// Makes and checks the codes in change tokens and in addresses of assets, with keys that never leave the database.
    package var sealer: Sealer { sealingKeys.sealer }

    package func sealingKeyDescriptions() async throws -> [SealingKeyDescription] {
        try await reading { try SealingKeys.read(PostgresMeta($0)) }?.descriptions ?? []
    }

    package func rotateSealingKey(now: Int64) async throws -> Int {
        let ring = try await changingKeys { try SealingKeys.rotate($0, now: now) }
        return ring.current
    }

    /// - Returns: `false`: the bytes are in the database's free space and in its log until the database server overwrites them.
    @discardableResult
    package func retireSealingKey(_ number: Int) async throws -> Bool {
        _ = try await changingKeys { try SealingKeys.retire(number, $0) }
        return false
    }

    private func changingKeys(_ body: @escaping @Sendable (PostgresMeta) throws -> SealingKeys.Ring) async throws -> SealingKeys.Ring {
        let ring = try await writing { connection in
            // Two processes wait for each other here: one ring is not read while another one is written.
            try connection.countRevocation()
            return try body(PostgresMeta(connection))
        }
        sealingKeys.set(ring)
        return ring
    }

    /// Reads again what another process may have changed: the keys, and the epoch of new partitions.
    func reloadServerValues() async throws {
        let (ring, epoch) = try await reading { connection in
            let meta = PostgresMeta(connection)
            return (try SealingKeys.read(meta), try meta.number(PartitionRows.firstEpochKey))
        }
        if let ring { sealingKeys.set(ring) }
        units.firstEpoch.store(epoch ?? PartitionState().epoch, ordering: .relaxed)
    }
}
