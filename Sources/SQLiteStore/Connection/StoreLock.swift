// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SystemSupport

/// Lets one process at a time write a store file, or another file of a device.
///
/// SQLite before 3.51.3 can damage a write-ahead log when two connections write or checkpoint at the same instant, so writers
/// and checkpoints wait here first. The pool's writer queue serializes the threads of one process; two stores on one file each
/// have their own lock.
///
/// Source: sqlite.org, "The WAL-reset bug", fixed in 3.51.3.
package struct StoreLock: Sendable {
    private let path: String
    private let limit: Duration
    private let lock: FileLock

    /// - Throws: ``StoreError`` with `.notPermitted`, `.diskFull` or `.notFound` if the lock file can't be created.
    package init(path: String, limit: Duration) throws(StoreError) {
        self.path = path
        self.limit = limit
        do {
            lock = try FileLock(path: path, permissions: 0o644)
        } catch {
            throw Self.error(error, path)
        }
    }

    /// - Throws: ``StoreError`` with `.busy` if another process held the lock longer than the limit, and the errors of `body`.
    package func withLock<T>(_ body: () throws -> T) throws -> T {
        do {
            try lock.lock(limit: limit)
        } catch {
            throw Self.error(error, path)
        }
        defer { lock.unlock() }
        return try body()
    }

    private static func error(_ error: POSIXError, _ path: String) -> StoreError {
        let detail = "\(path): \(String(cString: strerror(error.code.rawValue)))"
        return switch error.code {
        case .ETIMEDOUT: StoreError(.busy, "another process holds the store too long", detail: path)
        case .ENOENT, .ENOTDIR: StoreError(.notFound, "the store's folder does not exist", detail: detail)
        case .ENOSPC, .EDQUOT: StoreError(.diskFull, "the disk is full", detail: detail)
        default: StoreError(.notPermitted, "the store's folder cannot be written", detail: detail)
        }
    }
}
