// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The turn to write a store file, or another file of a device, taken by one process at a time.
///
/// SQLite before 3.51.3 can damage a write-ahead log when two connections write or checkpoint at the same
/// instant, so writers and checkpoints wait here first. The lock is the kernel's (`flock` on `<store>-lock`):
/// it goes with the process, however that ends, and the empty file stays. Threads of one process are put in line
/// by the pool's writer queue, on which this is called; two stores on one file each have their own lock.
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
        try take()
        defer { flock(descriptor, LOCK_UN) }
        return try body()
    }

    /// Asks again with growing pauses, since `flock` knows no time limit.
    private func take() throws(StoreError) {
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
