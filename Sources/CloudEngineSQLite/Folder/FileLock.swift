// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation

/// A lock between processes, on a file of its own.
///
/// Libraries of SQLite before 3.51.3 can corrupt a write-ahead log when two connections write and checkpoint at the
/// same instant, so processes that share a database take turns by this lock.
final class FileLock: Sendable {
    private let descriptor: Int32

    /// - Throws: `StorageFailure` with `.notWritable`.
    init(path: String) throws {
        descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StorageFailure(.notWritable, "the lock file could not be opened") }
    }

    deinit { close(descriptor) }

    /// Waits for the lock, runs `body`, and gives the lock back. Threads of one process do not exclude each other.
    func withLock<Value>(_ body: () throws -> Value) throws -> Value {
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw StorageFailure(.unavailable, "the lock file could not be locked") }
        }
        defer { _ = flock(descriptor, LOCK_UN) }
        return try body()
    }

    /// Takes the lock until it is given back or this object goes, if nobody has it.
    func take() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    func giveBack() { _ = flock(descriptor, LOCK_UN) }
}
