// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
import CloudService
import CloudWire
import Crypto
import Foundation
import Synchronization
import SystemSupport

/// Runs calls that wait for the disk on threads of their own, away from those that answer requests.
package enum DiskQueue {
    /// Concurrent calls: disks serve several at a time, and a backup takes a thread for long.
    static let threadsMax = 8

    private static let threads = BlockingThreads(label: "tarn.disk", count: threadsMax)

    package static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await threads.run(body)
    }

    /// Does not wait for it.
    package static func start(_ body: @escaping @Sendable () -> Void) { threads.start(body) }
}

/// A file that arrives in one request, under a temporary name until it is complete. Removed with this object, unless it was
/// moved.
package final class IncomingFile: Sendable {
    let path: String
    private let file: GrowingFile
    private let isMoved = Mutex(false)

    package init(in folder: String) throws {
        path = "\(folder)/\(UUID().uuidString)"
        guard let file = try GrowingFile(path: path, .new) else { preconditionFailure("a new file is made") }
        self.file = file
    }

    deinit {
        if !isMoved.withLock({ $0 }) { unlink(path) }
    }

    /// Brings all that arrives to durable storage.
    package func receive(_ pieces: any AsyncSequence<[UInt8], any Error> & Sendable, bytesMax: Int64) async throws -> StoredAsset {
        let appended = try await file.append(pieces, at: 0, bytesMax: bytesMax)
        let size = try await file.size()
        guard let checksum = appended.checksum, appended.end == size else { throw StorageFailure.ofDisk(EIO) }
        return StoredAsset(checksum: checksum, size: size)
    }

    /// Gives the file its final name, durably.
    package func move(to destination: String, in folder: String) throws {
        try Self.move(path, to: destination, in: folder)
        isMoved.withLock { $0 = true }
    }

    package static func move(_ path: String, to destination: String, in folder: String) throws {
        do {
            try DurableFile.createFolder(URL(fileURLWithPath: folder))
        } catch {
            throw StorageFailure(.unavailable, "a folder for assets could not be made")
        }
        do {
            try DurableFile.move(path, to: destination)
        } catch let error as POSIXError {
            throw StorageFailure.ofDisk(error.code.rawValue)
        }
    }
}

/// A complete file that is being sent. It can be read to its end even if it is removed concurrently.
package final class OpenFile: AssetReader {
    package let size: Int64
    private let descriptor: Int32

    /// - Throws: `StorageFailure` if the file is not there though its row is.
    package init(path: String) throws {
        descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageFailure.ofDisk(errno) }
        size = Int64(lseek(descriptor, 0, SEEK_END))
    }

    deinit { close(descriptor) }

    package func read(at offset: Int64, count: Int) async throws -> [UInt8] {
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
    package static func ofDisk(_ number: Int32) -> StorageFailure {
        switch number {
        case ENOSPC, EDQUOT: StorageFailure(.full, "system error \(number)")
        case EACCES, EROFS, EPERM: StorageFailure(.notWritable, "system error \(number)")
        default: StorageFailure(.unavailable, "system error \(number)")
        }
    }
}
