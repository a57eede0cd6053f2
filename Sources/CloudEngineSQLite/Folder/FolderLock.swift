// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation
import SystemSupport

/// A lock file of a data folder.
///
/// SQLite before 3.51.3 can corrupt a write-ahead log when two connections write and checkpoint at the same instant, so
/// processes that share a database write under this lock. Threads of one process share it.
struct FolderLock: Sendable {
    private let lock: FileLock

    /// - Throws: `StorageFailure` with `.notWritable`.
    init(path: String) throws(StorageFailure) {
        do {
            lock = try FileLock(path: path)
        } catch {
            throw StorageFailure(.notWritable, "the lock file could not be opened")
        }
    }

    /// Waits for the lock, without a limit, and runs `body`.
    ///
    /// - Throws: `StorageFailure` with `.unavailable` if the file can't be locked, and the errors of `body`.
    func withLock<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            try lock.lock(limit: nil)
        } catch {
            throw StorageFailure(.unavailable, "the lock file could not be locked")
        }
        defer { lock.unlock() }
        return try body()
    }

    /// Takes the lock, if it is free, until ``unlock()`` or the end of this value.
    func tryLock() -> Bool { lock.tryLock() }

    func unlock() { lock.unlock() }

    /// Waits for the lock.
    ///
    /// - Returns: `false` if it isn't free within the time.
    func lock(limit: Duration) -> Bool { (try? lock.lock(limit: limit)) != nil }
}
