// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Crypto
import Foundation
import Synchronization
import SystemSupport

/// What one request wrote of an upload.
package struct Appended: Sendable {
    /// Where it ends in the file.
    package private(set) var end: Int64
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

/// A file that grows at its end by what arrives over the network.
package final class GrowingFile: Sendable {
    /// Pieces are gathered to this size before they go to the disk.
    static let pieceBytes = 1 << 18
    /// And to this while the one before is on its way there, so that neither side waits for the other at each piece.
    private static let waitingBytesMax = 1 << 20
    /// Bytes between two requests to flush, so that little is left to wait for in the end.
    private static let flushedBytes: Int64 = 1 << 25

    /// As another request may have left it.
    enum Presence { case new, oldOrNew, old }

    let descriptor: Int32
    /// Errors of the disk while more arrived, which the system reports once only. Held while they are read.
    private let failure = Mutex<Int32?>(nil)
    private let isWriting = Atomic(false)

    /// - Returns: Nil if an old file was expected and is missing.
    init?(path: String, _ presence: Presence) throws {
        let flags =
            switch presence {
            case .new: O_CREAT | O_EXCL
            case .oldOrNew: O_CREAT
            case .old: Int32(0)
            }
        descriptor = open(path, flags | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let number = errno
            guard presence == .old, number == ENOENT else { throw StorageFailure.ofDisk(number) }
            return nil
        }
    }

    deinit { close(descriptor) }

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

    /// Appends what arrives. When the sequence breaks off, what came before it stays.
    ///
    /// While one piece is hashed and goes to the disk, the next arrives.
    ///
    /// - Parameter inTurn: Carries a write out, or throws.
    /// - Returns: The written bytes, and their end.
    /// - Throws: `WireError` with `.quotaExceeded` if more arrives than the file may have.
    func append(
        _ pieces: any AsyncSequence<[UInt8], any Error> & Sendable, at offset: Int64, bytesMax: Int64,
        inTurn: @escaping @Sendable (_ write: () throws -> Void) throws -> Void = { try $0() }
    ) async throws -> Appended {
        try await withThrowingTaskGroup(of: Appended.self) { group in
            var pending: [UInt8] = []
            var end = offset
            var appended = Appended(from: offset)
            do {
                for try await piece in pieces {
                    guard end + Int64(pending.count + piece.count) <= bytesMax else {
                        throw WireError(.quotaExceeded, "an asset has at most \(bytesMax) bytes", nativeCode: .limitExceeded)
                    }
                    pending += piece
                    guard pending.count >= (isWriting.load(ordering: .relaxed) ? Self.waitingBytesMax : Self.pieceBytes) else { continue }
                    let bytes = pending
                    // What follows a piece that is not there has no place.
                    pending = []
                    pending.reserveCapacity(2 * Self.pieceBytes)
                    end += Int64(bytes.count)
                    if let before = try await group.next() { appended = before }
                    isWriting.store(true, ordering: .relaxed)
                    group.addTask { [appended] in
                        defer { self.isWriting.store(false, ordering: .relaxed) }
                        return try await self.write(bytes, after: appended, inTurn)
                    }
                }
            } catch {
                do {
                    if let before = try await group.next() { appended = before }
                    if !(error is WireError) { _ = try await write(pending, after: appended, inTurn) }
                } catch {
                    // The caller gets the reason for the end of the sequence.
                }
                throw error
            }
            if let before = try await group.next() { appended = before }
            return try await write(pending, after: appended, inTurn)
        }
    }

    private func write(
        _ bytes: [UInt8], after before: Appended, _ inTurn: @escaping @Sendable (() throws -> Void) throws -> Void
    ) async throws -> Appended {
        try await DiskQueue.run { [self] in
            try inTurn {
                try bytes.withUnsafeBytes { buffer in
                    var rest = buffer[...]
                    var place = before.end
                    while !rest.isEmpty {
                        let count = pwrite(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, off_t(place))
                        if count < 0, errno == EINTR { continue }
                        guard count >= 0 else { throw StorageFailure.ofDisk(errno) }
                        rest = rest.dropFirst(count)
                        place += Int64(count)
                    }
                }
            }
            var appended = before
            appended.add(bytes)
            if appended.end / Self.flushedBytes > before.end / Self.flushedBytes { flushMeanwhile(to: appended.end) }
            return appended
        }
    }

    /// One at a time: a slow disk takes no more threads than that.
    ///
    /// Flushed bytes leave the page cache, which a large file would fill for nothing: the databases need it more, and
    /// pages that come back are had faster than others.
    private func flushMeanwhile(to end: Int64) {
        DiskQueue.start { [self] in
            _ = failure.withLockIfAvailable { failure in
                guard fdatasync(descriptor) == 0 else {
                    failure = failure ?? errno
                    return
                }
                #if os(Linux)
                    posix_fadvise(descriptor, 0, off_t(end), POSIX_FADV_DONTNEED)
                #endif
            }
        }
    }
}
