// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
package import Crypto
import Foundation
import Synchronization

/// The table of the server's own values, inside of a transaction.
package protocol MetaRows {
    func bytes(_ key: String) throws -> [UInt8]?
    func number(_ key: String) throws -> Int64?
    func set(_ key: String, to bytes: [UInt8]) throws
    func set(_ key: String, to number: Int64) throws
    func remove(_ key: String) throws
}

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
package final class SealingKeys: Sendable {
    package struct Ring: Sendable {
        package var current: Int
        var keys: [Int: SymmetricKey]
        /// Milliseconds since 1970 UTC, by number; the first key has none.
        var made: [Int: Int64]
        var identity: [UInt8]?

        package var descriptions: [SealingKeyDescription] {
            keys.keys.sorted().map { SealingKeyDescription(number: $0, isCurrent: $0 == current, made: made[$0]) }
        }
    }

    package static let firstKey = "sealer"
    package static let currentKey = "sealer.current"
    private static let identityKey = "sealer.identity"

    private let ring: Mutex<Ring>

    package init(_ ring: Ring) { self.ring = Mutex(ring) }

    private var value: Ring { ring.withLock { $0 } }

    package func set(_ new: Ring) { ring.withLock { $0 = new } }

    package var sealer: Sealer {
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
    package static func read(_ meta: some MetaRows) throws -> Ring? {
        let current = Int(try meta.number(currentKey) ?? 1)
        var ring = Ring(current: current, keys: [:], made: [:])
        for number in 1...max(1, current) {
            guard let bytes = try meta.bytes(name(number)) else { continue }
            ring.keys[number] = SymmetricKey(data: bytes)
            ring.made[number] = try meta.number(madeName(number))
        }
        ring.identity = try meta.bytes(identityKey)
        guard ring.keys[current] != nil else {
            guard current == 1, ring.identity == nil else { throw StorageFailure(.corrupt, "the current key is missing") }
            return nil
        }
        return ring
    }

    /// Makes the first key.
    package static func make(_ key: SymmetricKey, _ meta: some MetaRows) throws -> Ring {
        try meta.set(firstKey, to: bytes(of: key))
        return Ring(current: 1, keys: [1: key], made: [:])
    }

    /// Adds a key and makes it the current one.
    package static func rotate(_ meta: some MetaRows, now: Int64) throws -> Ring {
        guard let ring = try read(meta) else { throw StorageFailure(.corrupt, "the current key is missing") }
        if ring.identity == nil { try meta.set(identityKey, to: SealingKeys(ring).sealer.serverIdentity) }
        let number = ring.current + 1
        try meta.set(name(number), to: bytes(of: SymmetricKey(size: .bits256)))
        try meta.set(madeName(number), to: now)
        try meta.set(currentKey, to: Int64(number))
        guard let new = try read(meta) else { throw StorageFailure(.corrupt, "the current key is missing") }
        return new
    }

    /// Deletes an earlier key.
    ///
    /// - Throws: `StorageFailure` with `.unknownName` for the current key, and one that does not exist.
    package static func retire(_ number: Int, _ meta: some MetaRows) throws -> Ring {
        guard var ring = try read(meta), ring.keys[number] != nil else {
            throw StorageFailure(.unknownName, "no key has this number; 'tarn key list' lists the keys")
        }
        guard number != ring.current else { throw StorageFailure(.unknownName, "the current key can't be retired: rotate first") }
        for name in [name(number), madeName(number)] { try meta.remove(name) }
        ring.keys[number] = nil
        return ring
    }

    private static func bytes(of key: SymmetricKey) -> [UInt8] { key.withUnsafeBytes { Array($0) } }
}
