// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
import Crypto
import Foundation
import Synchronization
import SystemSupport

/// The objects of assets in a bucket of an S3-compatible store.
///
/// ```
/// PREFIX/owner                       the identifier of the database
/// PREFIX/assets/PART/CHECKSUM/NAME   objects by partition and checksum; see `ObjectName`
/// ```
package final class S3Assets: AssetObjects {
    /// Larger files are sent in parts, so that a failure repeats one part.
    package static let partBytesDefault: Int64 = 16 << 20
    /// Source: *Amazon S3 User Guide*, "Multipart upload limits".
    private static let partsMax: Int64 = 10_000
    /// An object without a row is removed after this time, in milliseconds.
    static let settledMilliseconds: Int64 = 24 * 60 * 60 * 1000
    /// ``add(_:at:part:)`` fails after this time, so that no object is settled before its row is committed.
    private static let addingMillisecondsMax = settledMilliseconds / 2
    private static let ownerKey = "owner"
    private static let namesMax = 10_000

    private struct Place: Hashable {
        let part: Int64
        let checksum: String
    }

    package let client: S3Client
    private let partBytes: Int64
    private let sharedWindows = ReadAhead()
    private let claimed = Atomic(false)
    private let lastRemoval = Mutex<Int64?>(nil)
    /// A cache, which is emptied at any time.
    private let names = Mutex<[Place: ObjectName]>([:])

    /// - Parameter partBytes: The size of parts, of which a file has 10,000 at most: larger files have larger parts. Stores require 5 MiB.
    package init(client: S3Client, partBytes: Int64 = partBytesDefault) {
        self.client = client
        self.partBytes = partBytes
    }

    package var isClaimed: Bool { claimed.load(ordering: .acquiring) }

    package func hasOwner() async throws -> Bool { try await client.get(Self.ownerKey) != nil }

    package func claim(_ owner: String, makesOwner: Bool) async throws {
        if try await client.get(Self.ownerKey) == nil, makesOwner {
            let body = Array(owner.utf8)
            try await client.put(Self.ownerKey, .bytes(body), bodySHA256: Hex.text(SHA256.hash(data: Data(body))))
        }
        // Read again: another database may have written concurrently.
        guard try await client.get(Self.ownerKey) == Array(owner.utf8) else { throw S3Failure.foreignOwner }
        claimed.store(true, ordering: .releasing)
    }

    // MARK: Adding

    package func add(_ asset: StoredAsset, at path: String, part: Int64) async throws -> String {
        try await Self.translating {
            let file = try OpenFile(path: path)
            guard file.size == asset.size else { throw S3Failure.damaged }
            let start = client.now()
            let name = ObjectName(part: part, checksum: asset.checksum, milliseconds: start, random: Secrets.text(bytes: 8))
            if asset.size <= partBytes {
                try await client.put(name.key, .file(file, 0..<asset.size), bodySHA256: asset.checksum)
            } else {
                try await addParts(of: file, asset, name.key)
            }
            guard client.now() - start < Self.addingMillisecondsMax else {
                try? await client.delete(name.key)
                throw S3Failure.unreachable
            }
            remember(name)
            return name.key
        }
    }

    private func addParts(of file: OpenFile, _ asset: StoredAsset, _ key: String) async throws {
        let upload = try await client.beginParts(key)
        do {
            let partBytes = max(self.partBytes, (asset.size + Self.partsMax - 1) / Self.partsMax)
            var hash = SHA256()
            var tags: [String] = []
            var offset: Int64 = 0
            while offset < asset.size {
                let range = offset..<min(offset + partBytes, asset.size)
                let partHash = try await Self.hash(file, range, into: &hash)
                tags.append(
                    try await client.putPart(key, upload: upload, number: tags.count + 1, .file(file, range), bodySHA256: partHash))
                offset = range.upperBound
            }
            // The store checked each part against its hash, and this is the hash of all.
            guard Hex.text(hash.finalize()) == asset.checksum else { throw S3Failure.damaged }
            try await client.completeParts(key, upload: upload, tags: tags, size: asset.size)
        } catch {
            // One that stays is aborted with the abandoned ones.
            try? await client.abortParts(key, upload: upload)
            throw error
        }
    }

    /// - Parameter whole: Gets the same bytes.
    private static func hash(_ file: OpenFile, _ range: Range<Int64>, into whole: inout SHA256) async throws -> String {
        var (own, all) = (SHA256(), whole)
        var offset = range.lowerBound
        while offset < range.upperBound {
            let piece = try await file.read(at: offset, count: min(GrowingFile.pieceBytes, Int(range.upperBound - offset)))
            guard !piece.isEmpty else { throw S3Failure.damaged }
            (own, all) = try await DiskQueue.run { [own, all] in
                var (own, all) = (own, all)
                own.update(data: piece)
                all.update(data: piece)
                return (own, all)
            }
            offset += Int64(piece.count)
        }
        whole = all
        return Hex.text(own.finalize())
    }

    package func discard(_ name: String) async {
        if let name = ObjectName(key: name) { forget(name) }
        try? await client.delete(name)
    }

    // MARK: Reading

    package func open(_ asset: StoredAsset, part: Int64) async throws -> any AssetReader {
        try await Self.translating {
            guard let name = try await name(of: asset, part: part) else { throw StorageFailure.missingFile }
            return S3Reader(asset: asset, name: name, objects: self, readAhead: sharedWindows)
        }
    }

    package func contains(_ asset: StoredAsset, part: Int64) async throws -> Bool {
        try await Self.translating {
            if asset.size > 0, let known = knownName(of: asset, part: part) {
                do {
                    _ = try await client.get(known.key, 0..<1)
                    return true
                } catch let failure as S3Failure where failure.isMissingObject {
                    forget(known)
                }
            }
            return try await name(of: asset, part: part) != nil
        }
    }

    private func knownName(of asset: StoredAsset, part: Int64) -> ObjectName? {
        names.withLock { $0[Place(part: part, checksum: asset.checksum)] }
    }

    /// The newest object of an asset.
    ///
    /// - Throws: ``S3Failure``, with `.damaged` if it has another size.
    func name(of asset: StoredAsset, part: Int64) async throws -> ObjectName? {
        if let known = knownName(of: asset, part: part) { return known }
        var newest: (name: ObjectName, size: Int64)?
        var continuation: String?
        repeat {
            let page = try await client.list(ObjectName.prefix(part: part, checksum: asset.checksum), continuation: continuation)
            for object in page.objects { if let name = ObjectName(key: object.key) { newest = (name, object.size) } }
            continuation = page.continuation
        } while continuation != nil
        guard let newest else { return nil }
        guard newest.size == asset.size else { throw S3Failure.damaged }
        remember(newest.name)
        return newest.name
    }

    private func remember(_ name: ObjectName) {
        names.withLock { names in
            if names.count >= Self.namesMax { names.removeAll() }
            names[Place(part: name.part, checksum: name.checksum)] = name
        }
    }

    /// For an object that was removed in favour of a newer one.
    func forget(_ name: ObjectName) {
        names.withLock { names in
            let place = Place(part: name.part, checksum: name.checksum)
            if names[place] == name { names[place] = nil }
        }
    }

    // MARK: Removal

    package func removeAll(part: Int64) async throws {
        try await Self.translating {
            for open in try await client.openParts(ObjectName.prefix(part: part)) {
                try await client.abortParts(open.key, upload: open.upload)
            }
            var continuation: String?
            repeat {
                let page = try await client.list(ObjectName.prefix(part: part), continuation: continuation)
                for object in page.objects {
                    if let name = ObjectName(key: object.key) { forget(name) }
                    try await client.delete(object.key)
                }
                continuation = page.continuation
            } while continuation != nil
        }
    }

    package func removeUnreferenced(
        now: Int64, isReferenced: @Sendable (_ part: Int64, _ checksum: String) async throws -> Bool
    ) async throws {
        let isDue = lastRemoval.withLock { last in
            if let last, now - last < Self.settledMilliseconds { return false }
            last = now
            return true
        }
        guard isDue else { return }
        do {
            try await Self.translating {
                for open in try await client.openParts(ObjectName.root) {
                    guard let name = ObjectName(key: open.key), now - name.milliseconds >= Self.settledMilliseconds else { continue }
                    try await client.abortParts(open.key, upload: open.upload)
                }
                var group: [ObjectName] = []
                var continuation: String?
                repeat {
                    let page = try await client.list(ObjectName.root, continuation: continuation)
                    for name in page.objects.compactMap({ ObjectName(key: $0.key) }) {
                        if let last = group.last, !last.isOfSameAsset(as: name) {
                            try await remove(group, now: now, isReferenced)
                            group = []
                        }
                        group.append(name)
                        // A group without an end is not collected in memory: its older objects are superseded in any case.
                        if group.count > Self.groupMax, now - name.milliseconds >= Self.settledMilliseconds {
                            for old in group.dropLast() { try await remove(old) }
                            group = [name]
                        }
                    }
                    continuation = page.continuation
                } while continuation != nil
                try await remove(group, now: now, isReferenced)
            }
        } catch {
            // It is retried at the next call.
            lastRemoval.withLock { $0 = nil }
            throw error
        }
    }

    private static let groupMax = 1000

    /// Removes the objects of one asset that nothing needs.
    ///
    /// An unsettled object may replace the older ones or be discarded, so none of its asset is removed then.
    ///
    /// - Parameter group: Oldest first.
    private func remove(
        _ group: [ObjectName], now: Int64, _ isReferenced: @Sendable (_ part: Int64, _ checksum: String) async throws -> Bool
    ) async throws {
        guard let newest = group.last, now - newest.milliseconds >= Self.settledMilliseconds else { return }
        for old in group.dropLast() { try await remove(old) }
        if try await !isReferenced(newest.part, newest.checksum) { try await remove(newest) }
    }

    private func remove(_ name: ObjectName) async throws {
        forget(name)
        try await client.delete(name.key)
    }

    private static func translating<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let failure as S3Failure {
            throw failure.storageFailure
        }
    }
}

/// The name of an object, below the prefix of the bucket. Names of one asset are in the order of their time.
struct ObjectName: Hashable, Sendable {
    static let root = "assets/"

    let part: Int64
    /// Hexadecimal SHA-256.
    let checksum: String
    /// When it was made, since 1970 UTC.
    let milliseconds: Int64
    let random: String

    init(part: Int64, checksum: String, milliseconds: Int64, random: String) {
        self.part = part
        self.checksum = checksum
        self.milliseconds = milliseconds
        self.random = random
    }

    /// - Returns: Nil for a key of another form: such objects are not this server's.
    init?(key: String) {
        let parts = key.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 4, "\(parts[0])/" == Self.root, let part = Int64(parts[1]), Hex.bytes(parts[2])?.count == 32 else {
            return nil
        }
        let name = parts[3].split(separator: "-", omittingEmptySubsequences: false)
        guard name.count == 2, name[0].count == 16, let milliseconds = Int64(name[0], radix: 16), milliseconds >= 0,
            Hex.bytes(name[1])?.count == 8
        else { return nil }
        self.init(part: part, checksum: String(parts[2]), milliseconds: milliseconds, random: String(name[1]))
    }

    static func prefix(part: Int64) -> String { "\(root)\(part)/" }
    static func prefix(part: Int64, checksum: String) -> String { "\(prefix(part: part))\(checksum)/" }

    /// 16 digits of time, so that text order is the order of time.
    var key: String { "\(Self.prefix(part: part, checksum: checksum))\(Hex.text(UInt64(max(0, milliseconds))))-\(random)" }

    func isOfSameAsset(as other: ObjectName) -> Bool { part == other.part && checksum == other.checksum }
}
