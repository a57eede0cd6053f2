// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Crypto
import Foundation
import Synchronization
import SystemSupport

/// Computes the checksum of an asset: SHA-256 in hexadecimal, as Tarn's server does. Other services use signatures of
/// their own, which the client cannot verify.
struct AssetDigest: Sendable {
    private var hash = SHA256()

    mutating func add(_ bytes: some DataProtocol) { hash.update(data: bytes) }

    /// Returns whether the bytes so far match a checksum. A checksum of another form than SHA-256 matches always.
    func matches(_ checksum: String) -> Bool {
        guard checksum.utf8.count == 2 * SHA256.byteCount, let bytes = Hex.bytes(checksum, nil) else { return true }
        return hash.finalize().elementsEqual(bytes)
    }
}

/// Receives the content of an asset. A retry of an interrupted download continues after the bytes received so far.
final class AssetSink: Sendable {
    private struct State {
        var received: Int64 = 0
        var digest = AssetDigest()
        var bytes: [UInt8] = []
        var isOversized = false
    }

    /// Bytes between two flushes to the disk, so that the final one has little left to do.
    private static let flushedBytes: Int64 = 1 << 25

    private let asset: AssetValue
    private let handle: FileHandle?
    /// First error of a background flush. The kernel reports it once only. The lock is held during the flush.
    private let failure = Mutex<Int32?>(nil)
    private let progress: ByteProgress?
    private let state = Mutex(State())

    /// - Parameter handle: The file to write to. `nil` keeps the content in memory.
    init(_ asset: AssetValue, to handle: FileHandle?, memoryMax: Int64 = 0, _ progress: ByteProgress?) {
        self.asset = asset
        self.handle = handle
        self.progress = progress
        if handle == nil { state.withLock { $0.bytes.reserveCapacity(Int(min(max(asset.size, 0), memoryMax))) } }
    }

    /// Waits until everything received is durable.
    ///
    /// - Throws: The error of the file system.
    func synchronize() throws {
        try handle?.synchronize()
        if let number = failure.withLock({ $0 }) { throw POSIXError(POSIXErrorCode(rawValue: number) ?? .EIO) }
    }

    /// Flushes in the background and drops the flushed pages from the page cache, which a large file would fill.
    private func flushInBackground(_ handle: FileHandle, to end: Int64) {
        // The owner may close the file before the flush ends.
        let descriptor = dup(handle.fileDescriptor)
        guard descriptor >= 0 else { return }
        DispatchQueue.global(qos: .utility).async { [self] in
            _ = failure.withLockIfAvailable { failure in
                guard fdatasync(descriptor) == 0 else {
                    failure = failure ?? errno
                    return
                }
                #if os(Linux)
                    posix_fadvise(descriptor, 0, off_t(end), POSIX_FADV_DONTNEED)
                #endif
            }
            close(descriptor)
        }
    }

    var received: Int64 { state.withLock { $0.received } }
    /// Whether more bytes arrived than the record states: a retry would have the same content.
    var isOversized: Bool { state.withLock { $0.isOversized } }
    var bytes: [UInt8] { state.withLock { $0.bytes } }

    /// - Throws: ``CKError`` with `.networkFailure` if more bytes arrive than the record states, or the error of the
    ///   file system.
    func receive(_ piece: ArraySlice<UInt8>) async throws {
        try state.withLock { state in
            guard state.received + Int64(piece.count) <= asset.size else {
                state.isOversized = true
                throw Self.otherSize
            }
            let receivedBefore = state.received
            if let handle { try handle.write(contentsOf: piece) } else { state.bytes.append(contentsOf: piece) }
            state.digest.add(piece)
            state.received += Int64(piece.count)
            if let handle, receivedBefore / Self.flushedBytes < state.received / Self.flushedBytes {
                flushInBackground(handle, to: state.received)
            }
        }
        await progress?.moved(Int64(piece.count))
    }

    /// - Throws: ``CKError`` with `.networkFailure` if size or checksum differ from the record's.
    func finish() throws(CKError) {
        let (received, digest) = state.withLock { ($0.received, $0.digest) }
        guard received == asset.size else { throw Self.otherSize }
        guard digest.matches(asset.fileChecksum) else {
            throw CKError(.networkFailure, "the checksum of a downloaded asset differs from its record's; fetch the record again")
        }
    }

    private static let otherSize = CKError(
        .networkFailure, "the size of a downloaded asset differs from its record's; fetch the record again")
}

/// Computes the checksum and the progress of a file while it is sent.
final class AssetUploadObserver: UploadObserver {
    private struct State {
        var digest = AssetDigest()
        /// Bytes in the digest.
        var digestedBytes: Int64 = 0
        /// Offset of the next piece.
        var position: Int64 = 0
    }

    private let progress: ByteProgress?
    private let state = Mutex(State())

    init(_ progress: ByteProgress?) { self.progress = progress }

    func begin(at offset: Int64) async {
        let repeatedBytes = state.withLock { state in
            // The digest covers a prefix of what this object sent. After a jump it starts over.
            if offset == 0 || offset > state.digestedBytes { (state.digest, state.digestedBytes) = (AssetDigest(), 0) }
            defer { state.position = offset }
            return state.position - offset
        }
        if repeatedBytes != 0 { await progress?.moved(-repeatedBytes) }
    }

    func see(_ piece: UnsafeRawBufferPointer) {
        state.withLock { state in
            let digestedCount = max(0, min(state.digestedBytes - state.position, Int64(piece.count)))
            state.digest.add(piece[Int(digestedCount)...])
            state.digestedBytes += Int64(piece.count) - digestedCount
            state.position += Int64(piece.count)
        }
    }

    func moved(_ count: Int) async { await progress?.moved(Int64(count)) }

    /// Returns whether the server received the bytes that were sent.
    func matches(_ checksum: String) -> Bool { state.withLock { $0.digest }.matches(checksum) }
}

/// Reports the progress of a record's assets: in steps of one percent, never backwards, and at most 99 %. The caller
/// reports 100 % once the record is saved or fetched.
package final class ByteProgress: Sendable {
    private let total: Int64
    private let deliver: @Sendable (Double) async -> Void
    private let state = Mutex((moved: Int64(0), reported: Int64(0)))

    /// - Parameter total: Bytes of all assets.
    package init(total: Int64, _ deliver: @escaping @Sendable (Double) async -> Void) {
        self.total = max(total, 1)
        self.deliver = deliver
    }

    package func moved(_ bytes: Int64) async {
        let step = state.withLock { state -> Int64? in
            state.moved += bytes
            let step = Int64(min(99, Double(state.moved) / Double(total) * 100))
            guard step > state.reported else { return nil }
            state.reported = step
            return step
        }
        if let step { await deliver(Double(step) / 100) }
    }
}
