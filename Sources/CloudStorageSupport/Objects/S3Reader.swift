// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import Crypto
import Foundation
import Synchronization
import SystemSupport

/// Bytes that readers of objects hold beyond those that were asked for, over all readers of a process.
final class ReadAhead: Sendable {
    static let bytesMax = 64 << 20

    private let left = Mutex(bytesMax)

    /// - Returns: At most `count` bytes, without waiting.
    func take(_ count: Int) -> Int {
        left.withLock { left in
            let taken = max(0, min(count, left))
            left -= taken
            return taken
        }
    }

    func give(_ count: Int) { left.withLock { $0 += count } }
}

/// Reads an object in windows, each by a request of its own: a slow client holds no connection to the store, and a failure repeats one
/// window. Windows begin with the size that is asked for, and double while the reads are in sequence.
///
/// An object that is read from start to end is checked against its checksum before its last bytes are returned.
actor S3Reader: AssetReader {
    static let windowBytesMax = 2 << 20

    nonisolated let size: Int64
    private let asset: StoredAsset
    private var name: ObjectName
    private let objects: S3Assets
    private let readAhead: ReadAhead
    private var window: [UInt8] = []
    private var windowStart: Int64 = 0
    /// Of ``readAhead``, for the window.
    private var held = 0
    /// Of all bytes before ``hashEnd``.
    private var hash = SHA256()
    private var hashEnd: Int64 = 0

    init(asset: StoredAsset, name: ObjectName, objects: S3Assets, readAhead: ReadAhead) {
        size = asset.size
        self.asset = asset
        self.name = name
        self.objects = objects
        self.readAhead = readAhead
    }

    deinit { readAhead.give(held) }

    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        guard offset >= 0, offset < size, count > 0 else { return [] }
        let end = offset + min(Int64(count), size - offset)
        var bytes: [UInt8] = []
        while case let next = offset + Int64(bytes.count), next < end {
            let windowEnd = windowStart + Int64(window.count)
            if (windowStart..<windowEnd).contains(next) {
                bytes += window[Int(next - windowStart)..<Int(min(end, windowEnd) - windowStart)]
                continue
            }
            do {
                try await fetch(at: next, atLeast: Int(end - next))
            } catch let failure as S3Failure {
                throw failure.storageFailure
            }
        }
        return bytes
    }

    private func fetch(at offset: Int64, atLeast count: Int) async throws {
        let isNext = !window.isEmpty && offset == windowStart + Int64(window.count)
        let doubled = isNext ? min(2 * window.count, Self.windowBytesMax) : count
        window = []
        readAhead.give(held)
        held = readAhead.take(min(doubled, Int(size - offset)) - count)
        let range = offset..<offset + Int64(count + held)
        let bytes = try await bytes(range)
        if offset == hashEnd {
            hash = try await Self.hash(hash, adding: bytes)
            hashEnd = range.upperBound
            if hashEnd == size, Hex.text(hash.finalize()) != asset.checksum { throw S3Failure.damaged }
        }
        (window, windowStart) = (bytes, offset)
    }

    /// The object may have been removed in favour of a newer one.
    private func bytes(_ range: Range<Int64>) async throws -> [UInt8] {
        do {
            return try await objects.client.get(name.key, range)
        } catch let failure as S3Failure where failure.isMissingObject {
            objects.forget(name)
            guard let other = try await objects.name(of: asset, part: name.part) else { throw StorageFailure.missingFile }
            guard other != name else { throw failure }
            name = other
            return try await objects.client.get(name.key, range)
        }
    }

    private static func hash(_ hash: SHA256, adding bytes: [UInt8]) async throws -> SHA256 {
        try await DiskQueue.run {
            var hash = hash
            hash.update(data: bytes)
            return hash
        }
    }
}
