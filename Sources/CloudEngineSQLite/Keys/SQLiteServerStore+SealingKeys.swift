// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
import CloudStorageSupport
import Foundation
import GRDB

/// The rows of `meta`.
struct SQLiteMeta: MetaRows {
    let db: Database

    init(_ db: Database) { self.db = db }

    func bytes(_ key: String) throws -> [UInt8]? {
        try Data.fetchOne(db, sql: "SELECT value FROM meta WHERE key = ?", arguments: [key]).map { [UInt8]($0) }
    }

    func number(_ key: String) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT value FROM meta WHERE key = ?", arguments: [key])
    }

    func set(_ key: String, to bytes: [UInt8]) throws { try put(Data(bytes), key) }

    func set(_ key: String, to number: Int64) throws { try put(number, key) }

    func remove(_ key: String) throws { try db.execute(sql: "DELETE FROM meta WHERE key = ?", arguments: [key]) }

    private func put(_ value: some DatabaseValueConvertible, _ key: String) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", arguments: [key, value])
    }
}

extension SQLiteServerStore {
    /// Makes and checks the codes in change tokens and in addresses of assets, with keys that never leave the database.
    package var sealer: Sealer { sealingKeys.sealer }

    package func sealingKeyDescriptions() async throws -> [SealingKeyDescription] {
        try await reading { try SealingKeys.read(SQLiteMeta($0)) }?.descriptions ?? []
    }

    package func rotateSealingKey(now: Int64) async throws -> Int {
        let ring = try await writing { db in
            let ring = try SealingKeys.rotate(SQLiteMeta(db), now: now)
            try Self.countRevocation(db)
            return ring
        }
        sealingKeys.set(ring)
        return ring.current
    }

    /// - Returns: `false` if the key is still in the write-ahead log, since readers prevented that it was emptied.
    @discardableResult
    package func retireSealingKey(_ number: Int) async throws -> Bool {
        let ring = try await writing { db in
            try db.execute(sql: "PRAGMA secure_delete = ON")
            let ring = try SealingKeys.retire(number, SQLiteMeta(db))
            try Self.countRevocation(db)
            return ring
        }
        sealingKeys.set(ring)
        return try await truncateLog()
    }

    /// Reads the ring again, which another process may have changed.
    func reloadSealingKeys() throws {
        guard let ring = try lookingUp({ try SealingKeys.read(SQLiteMeta($0)) }) else { return }
        sealingKeys.set(ring)
    }
}
