// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// A lock between processes, on a file of its own that stays and is empty.
///
/// The lock is the kernel's (`flock`), so it ends with the process, however that ends. Two locks on one file exclude each
/// other within a process, too; threads that share one lock don't.
package final class FileLock: Sendable {
    private static let polling = Backoff(firstSeconds: 0.000_1, longestSeconds: 0.004)

    private let descriptor: Int32

    /// Opens the file, and creates it if it is missing.
    ///
    /// - Throws: `POSIXError` of `open`.
    package init(path: String, permissions: mode_t = 0o600) throws(POSIXError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, permissions)
        guard descriptor >= 0 else { throw POSIXError(errno: errno) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Runs `body` while no other process has the lock.
    ///
    /// - Parameter limit: How long to wait for the lock; nil waits without a limit.
    /// - Throws: `POSIXError(.ETIMEDOUT)` if another process held the lock longer than `limit`: `body` did not run then. Another
    ///   `POSIXError` if the file can't be locked, and the errors of `body`.
    package func withLock<Value>(limit: Duration? = nil, _ body: () throws -> Value) throws -> Value {
        try lock(limit: limit)
        defer { unlock() }
        return try body()
    }

    /// Takes the lock, if it is free, until ``unlock()`` or the end of this object.
    package func tryLock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    package func unlock() { _ = flock(descriptor, LOCK_UN) }

    /// Waits for the lock, which is held until ``unlock()``; see ``withLock(limit:_:)``.
    package func lock(limit: Duration?) throws(POSIXError) {
        guard let limit else {
            while flock(descriptor, LOCK_EX) != 0 {
                guard errno == EINTR else { throw POSIXError(errno: errno) }
            }
            return
        }
        // `flock` has no time limit, so the lock is polled.
        let deadline = ContinuousClock.now + limit
        var attempt = 0
        while !tryLock() {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw POSIXError(errno: errno) }
            guard ContinuousClock.now < deadline else { throw POSIXError(.ETIMEDOUT) }
            attempt += 1
            usleep(UInt32(Self.polling.seconds(attempt: attempt, jitter: .random(in: 0...1)) * 1_000_000))
        }
    }
}

extension POSIXError {
    /// The error of a failed system call, from `errno`.
    package init(errno code: Int32) { self.init(POSIXErrorCode(rawValue: code) ?? .EIO) }
}
