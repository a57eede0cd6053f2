// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Crypto
import Foundation
import Synchronization

/// Whose turn it is to write to an upload that arrives in parts: whoever came last. An older request, whose connection may
/// be broken without anybody having noticed, writes nothing more.
final class UploadTurns: Sendable {
    private struct State {
        var last = 0
        var turns: [String: Int] = [:]
    }

    private let state = Mutex(State())

    func take(_ id: String) -> Int {
        state.withLock { state in
            state.last += 1
            state.turns[id] = state.last
            return state.last
        }
    }

    func end(_ id: String, _ turn: Int) {
        state.withLock { state in
            if state.turns[id] == turn { state.turns[id] = nil }
        }
    }

    /// - Returns: Nil if it is another's turn.
    func run<Value>(_ id: String, _ turn: Int, _ body: () throws -> Value) rethrows -> Value? {
        try state.withLock { state in state.turns[id] == turn ? try body() : nil }
    }
}

/// What one request wrote of an upload.
struct Appended: Sendable {
    /// Where it ends in the file.
    private(set) var end: Int64
    /// Nil if it does not begin where the file does.
    private var hash: SHA256?

    init(from offset: Int64) {
        end = offset
        hash = offset == 0 ? SHA256() : nil
    }

    mutating func add(_ bytes: [UInt8]) {
        hash?.update(data: bytes)
        end += Int64(bytes.count)
    }

    /// Of the whole file, if it is all there is.
    var checksum: String? { hash.map { Hex.text($0.finalize()) } }
}

/// An upload that arrives in parts, as a file that grows.
final class PartialFile: Sendable {
    private static let pieceBytes = 1 << 18
    /// As often the disk is told to begin, so that there is little left to wait for in the end.
    private static let flushedBytes: Int64 = 1 << 25

    let path: String
    private let descriptor: Int32
    /// What the disk said while more arrived, which the system says once only. Held while it is asked.
    private let failure = Mutex<Int32?>(nil)
    private let turns: UploadTurns
    private let id: String
    private let turn: Int

    /// - Parameter makesFile: Whether to make the file where there is none.
    /// - Returns: Nil if there is none.
    init?(path: String, id: String, turns: UploadTurns, makesFile: Bool) throws {
        self.path = path
        self.id = id
        self.turns = turns
        turn = turns.take(id)
        descriptor = Foundation.open(path, (makesFile ? O_CREAT : 0) | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let number = errno
            turns.end(id, turn)
            guard !makesFile, number == ENOENT else { throw StorageFailure.ofDisk(number) }
            return nil
        }
    }

    deinit {
        close(descriptor)
        turns.end(id, turn)
    }

    /// Bytes that are there, durably.
    func size() async throws -> Int64 {
        try await DiskQueue.run {
            let isFlushed = fsync(self.descriptor) == 0
            let number = errno
            if let earlier = self.failure.withLock({ $0 }) { throw StorageFailure.ofDisk(earlier) }
            guard isFlushed else { throw StorageFailure.ofDisk(number) }
            return Int64(lseek(self.descriptor, 0, SEEK_END))
        }
    }

    /// One at a time: a slow disk takes no more threads than that.
    private func flushMeanwhile() {
        DiskQueue.start { [self] in
            _ = failure.withLockIfAvailable { failure in
                if fdatasync(descriptor) != 0 { failure = failure ?? errno }
            }
        }
    }

    /// Appends what arrives. When the sequence breaks off, what came before it stays.
    ///
    /// While one piece goes to the disk, the next arrives.
    ///
    /// - Returns: What was written, and where it ends.
    func append(
        _ pieces: any AsyncSequence<[UInt8], any Error> & Sendable, at offset: Int64, bytesMax: Int64
    ) async throws -> Appended {
        try await withThrowingTaskGroup(of: Appended.self) { group in
            var pending: [UInt8] = []
            var end = offset
            var written = Appended(from: offset)
            do {
                for try await piece in pieces {
                    guard end + Int64(pending.count + piece.count) <= bytesMax else {
                        unlink(path)
                        throw WireError(.quotaExceeded, "an asset has at most \(bytesMax) bytes", nativeCode: .limitExceeded)
                    }
                    pending += piece
                    guard pending.count >= Self.pieceBytes else { continue }
                    do {
                        if let before = try await group.next() { written = before }
                    } catch {
                        // What follows a piece that is not there has no place.
                        pending = []
                        throw error
                    }
                    end += Int64(pending.count)
                    group.addTask { [pending, written] in try await self.write(pending, after: written) }
                    pending = []
                    pending.reserveCapacity(2 * Self.pieceBytes)
                }
            } catch {
                do {
                    if let before = try await group.next() { written = before }
                    if !(error is WireError) { _ = try await write(pending, after: written) }
                } catch {
                    // Why nothing more arrives is what the caller is told.
                }
                throw error
            }
            if let before = try await group.next() { written = before }
            return try await write(pending, after: written)
        }
    }

    private func write(_ bytes: [UInt8], after written: Appended) async throws -> Appended {
        try await DiskQueue.run { [self] in
            var written = written
            let offset = written.end
            let isOurs: Void? = try turns.run(id, turn) {
                try bytes.withUnsafeBytes { buffer in
                    var rest = buffer[...]
                    var place = offset
                    while !rest.isEmpty {
                        let count = pwrite(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, off_t(place))
                        if count < 0, errno == EINTR { continue }
                        guard count >= 0 else { throw StorageFailure.ofDisk(errno) }
                        rest = rest.dropFirst(count)
                        place += Int64(count)
                    }
                }
            }
            guard isOurs != nil else { throw WireError(.conflict, "another request goes on with the upload") }
            written.add(bytes)
            if written.end / Self.flushedBytes > offset / Self.flushedBytes { flushMeanwhile() }
            return written
        }
    }

    /// What the file is, once it is complete and durable.
    ///
    /// - Parameter appended: What was written last; it need not be read again where it is the whole file.
    func asset(_ appended: Appended) async throws -> StoredAsset {
        let size = try await size()
        if let checksum = appended.checksum, appended.end == size { return StoredAsset(checksum: checksum, size: size) }
        var hash = SHA256()
        var place: Int64 = 0
        while place < size {
            let start = place
            let piece = try await DiskQueue.run { [self] in
                try [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { buffer, count in
                    var got = pread(descriptor, buffer.baseAddress, Self.pieceBytes, off_t(start))
                    while got < 0, errno == EINTR { got = pread(descriptor, buffer.baseAddress, Self.pieceBytes, off_t(start)) }
                    guard got > 0 else { throw StorageFailure.ofDisk(got < 0 ? errno : EIO) }
                    count = got
                }
            }
            hash.update(data: piece)
            place += Int64(piece.count)
        }
        return StoredAsset(checksum: Hex.text(hash.finalize()), size: size)
    }
}
