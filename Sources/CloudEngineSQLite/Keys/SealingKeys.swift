// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
import Crypto
import Foundation
import GRDB
import Synchronization

/// The server's authentication keys by their numbers: the current one, and earlier ones that are not retired yet.
///
/// ```
/// rotate    1           →  1 accepted, 2 current
/// rotate    1, 2        →  1 and 2 accepted, 3 current
/// retire 1  1, 2, 3     →  2 accepted, 3 current
/// ```
///
/// They are rows of `meta`, so that a backup has them; no key ever leaves the database. The identity of the server's data is made with the
/// first key and stored when that key is not the only one any more.
final class SealingKeys: Sendable {
    struct Ring: Sendable {
        var current: Int
        var keys: [Int: SymmetricKey]
        /// Milliseconds since 1970 UTC, by number; the first key has none.
        var made: [Int: Int64]
        var identity: [UInt8]?
    }

    private static let firstKey = "sealer"
    private static let currentKey = "sealer.current"
    private static let identityKey = "sealer.identity"

    private let ring: Mutex<Ring>

    init(_ ring: Ring) { self.ring = Mutex(ring) }

    var value: Ring { ring.withLock { $0 } }

    func set(_ new: Ring) { ring.withLock { $0 = new } }

    var sealer: Sealer {
        Sealer(
            functions: { [self] in
                let ring = value
                guard let current = ring.keys[ring.current] else { preconditionFailure("a ring has its current key") }
                let earlier = ring.keys.filter { $0.key != ring.current }
                return (Self.authentication(current), earlier.map { Self.authentication($0.value) })
            }, identity: value.identity)
    }

    private static func authentication(_ key: SymmetricKey) -> Sealer.Authentication {
        { Array(HMAC<SHA256>.authenticationCode(for: $0, using: key)) }
    }

    // MARK: Rows

    private static func name(_ number: Int) -> String { number == 1 ? firstKey : "\(firstKey).\(number)" }
    private static func madeName(_ number: Int) -> String { "\(firstKey).made.\(number)" }

    /// Reads the ring.
    ///
    /// - Returns: Nil for a database without a key.
    static func read(_ db: Database) throws -> Ring? {
        let current = try Int.fetchOne(db, sql: "SELECT value FROM meta WHERE key = ?", arguments: [currentKey]) ?? 1
        var ring = Ring(current: current, keys: [:], made: [:])
        for number in 1...max(1, current) {
            guard let bytes = try Data.fetchOne(db, sql: "SELECT value FROM meta WHERE key = ?", arguments: [name(number)]) else {
                continue
            }
            ring.keys[number] = SymmetricKey(data: bytes)
            ring.made[number] = try Int64.fetchOne(db, sql: "SELECT value FROM meta WHERE key = ?", arguments: [madeName(number)])
        }
        ring.identity = try Data.fetchOne(db, sql: "SELECT value FROM meta WHERE key = ?", arguments: [identityKey]).map { [UInt8]($0) }
        guard ring.keys[current] != nil else {
            guard current == 1, ring.identity == nil else { throw StorageFailure(.corrupt, "the current key is missing") }
            return nil
        }
        return ring
    }

    /// Makes the first key.
    static func make(_ key: SymmetricKey, _ db: Database) throws -> Ring {
        try put(key.withUnsafeBytes { Data($0) }, firstKey, db)
        return Ring(current: 1, keys: [1: key], made: [:])
    }

    /// Adds a key and makes it the current one.
    static func rotate(_ db: Database, now: Int64) throws -> Ring {
        guard let ring = try read(db) else { throw StorageFailure(.corrupt, "the current key is missing") }
        if ring.identity == nil { try put(Data(SealingKeys(ring).sealer.serverIdentity), identityKey, db) }
        let number = ring.current + 1
        try put(SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }, name(number), db)
        try put(now, madeName(number), db)
        try put(number, currentKey, db)
        guard let new = try read(db) else { throw StorageFailure(.corrupt, "the current key is missing") }
        return new
    }

    /// Deletes an earlier key.
    ///
    /// - Throws: `StorageFailure` with `.unknownName` for the current key, and one that does not exist.
    static func retire(_ number: Int, _ db: Database) throws -> Ring {
        guard var ring = try read(db), ring.keys[number] != nil else {
            throw StorageFailure(.unknownName, "no key has this number")
        }
        guard number != ring.current else { throw StorageFailure(.unknownName, "the current key can't be retired: rotate first") }
        for name in [name(number), madeName(number)] { try db.execute(sql: "DELETE FROM meta WHERE key = ?", arguments: [name]) }
        ring.keys[number] = nil
        return ring
    }

    private static func put(_ value: some DatabaseValueConvertible, _ key: String, _ db: Database) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", arguments: [key, value])
    }
}

/// One of the server's authentication keys, as listed to an operator.
package struct SealingKeyDescription: Hashable, Sendable {
    package var number: Int
    package var isCurrent: Bool
    /// Milliseconds since 1970 UTC; nil for the first key.
    package var made: Int64?
}

extension SQLiteServerStore {
    /// Makes and checks the codes in change tokens and in addresses of assets, with keys that never leave the database.
    package var sealer: Sealer { sealingKeys.sealer }

    package func sealingKeyDescriptions() async throws -> [SealingKeyDescription] {
        let ring = try await reading { try SealingKeys.read($0) }
        return (ring?.keys.keys.sorted() ?? []).map {
            SealingKeyDescription(number: $0, isCurrent: $0 == ring?.current, made: ring?.made[$0])
        }
    }

    /// Makes a new authentication key, with which codes are made from then on; earlier ones stay valid. Other processes use it within a
    /// second.
    ///
    /// - Returns: Its number.
    package func rotateSealingKey(now: Int64) async throws -> Int {
        let ring = try await writing { db in
            let ring = try SealingKeys.rotate(db, now: now)
            try Self.countRevocation(db)
            return ring
        }
        sealingKeys.set(ring)
        return ring.current
    }

    /// Ends the codes of an earlier key: change tokens, web tokens, and addresses of assets, couriers and participants.
    ///
    /// - Returns: `false` if the key is still in the write-ahead log, since readers prevented that it was emptied.
    /// - Throws: `StorageFailure` with `.unknownName` for the current key, and one that does not exist.
    @discardableResult
    package func retireSealingKey(_ number: Int) async throws -> Bool {
        let ring = try await writing { db in
            try db.execute(sql: "PRAGMA secure_delete = ON")
            let ring = try SealingKeys.retire(number, db)
            try Self.countRevocation(db)
            return ring
        }
        sealingKeys.set(ring)
        return try await truncateLog()
    }

    /// Reads the ring again, which another process may have changed.
    func reloadSealingKeys() throws {
        guard let ring = try lookingUp({ try SealingKeys.read($0) }) else { return }
        sealingKeys.set(ring)
    }
}
