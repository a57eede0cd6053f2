// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Crypto
import Foundation
import Synchronization
import SystemSupport

/// A checksum of an asset that can be computed here: SHA-256 in hexadecimal, as Tarn's server has it. Other services sign
/// contents in ways of their own, which cannot be checked.
struct AssetDigest: Sendable {
    private var hash = SHA256()

    mutating func add(_ bytes: some DataProtocol) { hash.update(data: bytes) }

    /// Whether the bytes so far can be those that a checksum stands for.
    func agrees(with checksum: String) -> Bool {
        guard checksum.utf8.count == 2 * SHA256.byteCount, let bytes = Hex.bytes(checksum, nil) else { return true }
        return hash.finalize().elementsEqual(bytes)
    }
}

/// Where the content of an asset goes as it arrives; what arrived stays when the exchange breaks off and goes on.
final class AssetSink: Sendable {
    private struct State {
        var received: Int64 = 0
        var digest = AssetDigest()
        var bytes: [UInt8] = []
    }

    /// As often the disk is told to begin, so that there is little left to wait for in the end.
    private static let flushedBytes: Int64 = 1 << 25

    private let asset: AssetValue
    private let handle: FileHandle?
    /// What the disk said while more arrived, which the system says once only. Held while it is asked.
    private let failure = Mutex<Int32?>(nil)
    private let progress: ByteProgress?
    private let state = Mutex(State())

    /// - Parameter handle: The file to write to; nil keeps everything in memory.
    init(_ asset: AssetValue, to handle: FileHandle?, memoryMax: Int64 = 0, _ progress: ByteProgress?) {
        self.asset = asset
        self.handle = handle
        self.progress = progress
        if handle == nil { state.withLock { $0.bytes.reserveCapacity(Int(min(max(asset.size, 0), memoryMax))) } }
    }

    /// Waits until what arrived is durable.
    ///
    /// - Throws: What the file system says.
    func synchronize() throws {
        try handle?.synchronize()
        if let number = failure.withLock({ $0 }) { throw POSIXError(POSIXErrorCode(rawValue: number) ?? .EIO) }
    }

    /// What is on the disk does not stay in memory, which a large file would fill for nothing.
    private func flushMeanwhile(_ handle: FileHandle, to end: Int64) {
        // Whoever has the file may close it before the disk is done.
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
    var bytes: [UInt8] { state.withLock { $0.bytes } }

    /// - Throws: ``CKError`` with `.networkFailure` if there is more than the record says; what the file system says.
    func take(_ piece: ArraySlice<UInt8>) async throws {
        try state.withLock { state in
            guard state.received + Int64(piece.count) <= asset.size else { throw Self.otherSize }
            let before = state.received
            if let handle { try handle.write(contentsOf: piece) } else { state.bytes.append(contentsOf: piece) }
            state.digest.add(piece)
            state.received += Int64(piece.count)
            if let handle, before / Self.flushedBytes < state.received / Self.flushedBytes { flushMeanwhile(handle, to: state.received) }
        }
        await progress?.moved(Int64(piece.count))
    }

    /// - Throws: ``CKError`` with `.networkFailure` if that is not the content that the record names.
    func finish() throws(CKError) {
        let (received, digest) = state.withLock { ($0.received, $0.digest) }
        guard received == asset.size else { throw Self.otherSize }
        guard digest.agrees(with: asset.fileChecksum) else {
            throw CKError(.networkFailure, "the content of an asset came with another checksum than its record says; try again")
        }
    }

    private static let otherSize = CKError(
        .networkFailure, "an asset came with another size than its record says; try again")
}

/// Watches a file while it is sent.
final class SentFile: SentBytes {
    private struct State {
        var digest = AssetDigest()
        /// Bytes in the digest.
        var seen: Int64 = 0
        /// Where the next piece begins.
        var position: Int64 = 0
    }

    private let progress: ByteProgress?
    private let state = Mutex(State())

    init(_ progress: ByteProgress?) { self.progress = progress }

    func begin(at offset: Int64) async {
        let again = state.withLock { state in
            // What was not sent by this object cannot be in its digest.
            if offset == 0 || offset > state.seen { (state.digest, state.seen) = (AssetDigest(), 0) }
            defer { state.position = offset }
            return state.position - offset
        }
        if again != 0 { await progress?.moved(-again) }
    }

    func see(_ piece: UnsafeRawBufferPointer) {
        state.withLock { state in
            let known = max(0, min(state.seen - state.position, Int64(piece.count)))
            state.digest.add(piece[Int(known)...])
            state.seen += Int64(piece.count) - known
            state.position += Int64(piece.count)
        }
    }

    func moved(_ count: Int) async { await progress?.moved(Int64(count)) }

    /// Whether what was sent is what arrived.
    func agrees(with checksum: String) -> Bool { state.withLock { $0.digest }.agrees(with: checksum) }
}

/// How much of a record's assets was moved. Told in steps of a hundredth and never backwards, so that a block of the app is
/// not called for every piece; the whole is told by who knows that the record is there, too.
package final class ByteProgress: Sendable {
    private let total: Int64
    private let tell: @Sendable (Double) async -> Void
    private let state = Mutex((moved: Int64(0), told: Int64(0)))

    /// - Parameter total: Bytes of all assets.
    package init(total: Int64, _ tell: @escaping @Sendable (Double) async -> Void) {
        self.total = max(total, 1)
        self.tell = tell
    }

    package func moved(_ bytes: Int64) async {
        let step = state.withLock { state -> Int64? in
            state.moved += bytes
            let step = Int64(min(99, Double(state.moved) / Double(total) * 100))
            guard step > state.told else { return nil }
            state.told = step
            return step
        }
        if let step { await tell(Double(step) / 100) }
    }
}
