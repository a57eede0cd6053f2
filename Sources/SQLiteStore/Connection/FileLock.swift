// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// An exclusive lock between processes for writing a store file, or another file of a device.
///
/// SQLite before 3.51.3 can corrupt a write-ahead log when two connections write or checkpoint concurrently, so writers
/// and checkpoints take this lock first. It is the kernel's (`flock` on `<store>-lock`): it is released with the process,
/// however that ends, and the empty file stays. The pool's writer queue, on which this is called, serializes threads of
/// one process; two stores on one file have separate locks.
///
/// Source: sqlite.org, "The WAL-reset bug", fixed in 3.51.3.
package final class FileLock: Sendable {
    private let path: String
    private let patience: Duration
    private let descriptor: Int32

    /// - Throws: ``StoreError`` with `.notPermitted` or `.notFound` when the lock file cannot be made.
    package init(path: String, patience: Duration) throws(StoreError) {
        self.path = path
        self.patience = patience
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Self.error(errno, path) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    package func withTurn<T>(_ body: () throws -> T) throws -> T {
        try acquire()
        defer { flock(descriptor, LOCK_UN) }
        return try body()
    }

    /// Retries with growing delays, since `flock` has no time-out.
    private func acquire() throws(StoreError) {
        let clock = ContinuousClock()
        let deadline = clock.now + patience
        var pause: UInt32 = 50
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw Self.error(errno, path) }
            guard clock.now < deadline else {
                throw StoreError(.busy, "another process holds the store too long", detail: path)
            }
            usleep(pause)
            pause = min(pause * 2, 2_000)
        }
    }

    private static func error(_ code: Int32, _ path: String) -> StoreError {
        let detail = "\(path): \(String(cString: strerror(code)))"
        return switch code {
        case ENOENT, ENOTDIR: StoreError(.notFound, "the store's folder does not exist", detail: detail)
        case ENOSPC, EDQUOT: StoreError(.diskFull, "the disk is full", detail: detail)
        default: StoreError(.notPermitted, "the store's folder cannot be written", detail: detail)
        }
    }
}
