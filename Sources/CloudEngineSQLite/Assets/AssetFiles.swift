// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Crypto
import Dispatch
import Foundation
import Synchronization

/// Runs calls that wait for the disk on threads of their own, away from those that answer requests.
enum DiskQueue {
    private static let queue = DispatchQueue(label: "tarn.disk", attributes: .concurrent, target: .global(qos: .userInitiated))

    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Does not wait for it.
    static func start(_ body: @escaping @Sendable () -> Void) { queue.async { body() } }
}

/// A file that is arriving: hashed and written piece by piece, under a name of its own until it is complete. Removed
/// when this object goes, unless it was moved.
final class IncomingFile: Sendable {
    private struct State {
        var hash = SHA256()
        var size: Int64 = 0
        var pending: [UInt8] = []
        var isMoved = false
    }

    /// Pieces are gathered to this size before they go to the disk.
    private static let pieceBytes = 1 << 18

    private let path: String
    private let descriptor: Int32
    private let state = Mutex(State())

    init(in folder: String) throws {
        path = "\(folder)/\(UUID().uuidString)"
        descriptor = Foundation.open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StorageFailure.ofDisk(errno) }
    }

    deinit {
        close(descriptor)
        if !state.withLock({ $0.isMoved }) { unlink(path) }
    }

    func append(_ piece: [UInt8], bytesMax: Int64) async throws {
        let isFull = try state.withLock { state in
            state.size += Int64(piece.count)
            guard state.size <= bytesMax else {
                throw WireError(.quotaExceeded, "an asset has at most \(bytesMax) bytes", nativeCode: .limitExceeded)
            }
            state.hash.update(data: piece)
            state.pending += piece
            return state.pending.count >= Self.pieceBytes
        }
        if isFull { try await DiskQueue.run { try self.writePending() } }
    }

    /// Brings everything to durable storage.
    func finish() async throws -> StoredAsset {
        try await DiskQueue.run {
            try self.writePending()
            guard fsync(self.descriptor) == 0 else { throw StorageFailure.ofDisk(errno) }
        }
        return state.withLock { StoredAsset(checksum: Hex.text($0.hash.finalize()), size: $0.size) }
    }

    /// Gives the file its final name, durably.
    func move(to destination: String, in folder: String) throws {
        try Self.move(path, to: destination, in: folder)
        state.withLock { $0.isMoved = true }
    }

    static func move(_ path: String, to destination: String, in folder: String) throws {
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw StorageFailure(.unavailable, "a folder for assets could not be made")
        }
        guard rename(path, destination) == 0 else { throw StorageFailure.ofDisk(errno) }
        let directory = Foundation.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw StorageFailure.ofDisk(errno) }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw StorageFailure.ofDisk(errno) }
    }

    private func writePending() throws {
        let bytes = state.withLock { state in
            defer { state.pending.removeAll(keepingCapacity: true) }
            return state.pending
        }
        try bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw StorageFailure.ofDisk(errno) }
                rest = rest.dropFirst(count)
            }
        }
    }
}

/// A complete file that is being sent. It can be read to its end even if it is removed meanwhile.
final class OpenFile: AssetReader {
    let size: Int64
    private let descriptor: Int32

    /// - Throws: `StorageFailure` if the file is not there though its row is.
    init(path: String) throws {
        descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageFailure.ofDisk(errno) }
        size = Int64(lseek(descriptor, 0, SEEK_END))
    }

    deinit { close(descriptor) }

    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        try await DiskQueue.run { [self] in
            try [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
                var got = pread(descriptor, buffer.baseAddress, count, off_t(offset))
                while got < 0, errno == EINTR { got = pread(descriptor, buffer.baseAddress, count, off_t(offset)) }
                guard got >= 0 else { throw StorageFailure.ofDisk(errno) }
                initializedCount = got
            }
        }
    }
}

extension StorageFailure {
    static func ofDisk(_ number: Int32) -> StorageFailure {
        switch number {
        case ENOSPC, EDQUOT: StorageFailure(.full, "system error \(number)")
        case EACCES, EROFS, EPERM: StorageFailure(.notWritable, "system error \(number)")
        default: StorageFailure(.unavailable, "system error \(number)")
        }
    }
}
