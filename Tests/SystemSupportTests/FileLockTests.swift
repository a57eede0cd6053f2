// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SystemSupport
import Testing

@Suite final class FileLockTests {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-lock-\(UUID().uuidString)")
    var path: String { folder.appendingPathComponent("lock").path }

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: folder) }

    @Test func twoLocksOnOneFileExcludeEachOther() throws {
        let (first, second) = (try FileLock(path: path), try FileLock(path: path))
        try first.withLock {
            #expect(!second.tryLock())
        }
        #expect(second.tryLock())
        #expect(!first.tryLock())
        second.unlock()
        #expect(first.tryLock())
    }

    @Test func theTimeLimitEndsTheWaitAndTheBodyDoesNotRun() throws {
        let (first, second) = (try FileLock(path: path), try FileLock(path: path))
        var ran = false
        _ = try first.withLock {
            #expect(throws: POSIXError(.ETIMEDOUT)) { try second.withLock(limit: .milliseconds(5)) { ran = true } }
        }
        #expect(!ran)
        try second.withLock(limit: .zero) { ran = true }
        #expect(ran, "a free lock needs no waiting")
    }

    @Test func aWaitingLockGetsItsTurn() async throws {
        let (first, second) = (try FileLock(path: path), try FileLock(path: path))
        #expect(first.tryLock())
        let waiting = Thread.detached { try second.withLock(limit: .seconds(60)) { 7 } }
        first.unlock()
        #expect(try await waiting.value == 7)
    }

    @Test func theLockEndsWithItsOwnerAndWithAnError() throws {
        var first: FileLock? = try FileLock(path: path)
        #expect(first?.tryLock() == true)
        let second = try FileLock(path: path)
        #expect(!second.tryLock())
        first = nil
        #expect(throws: CancellationError.self) { try second.withLock { throw CancellationError() } }
        #expect(try FileLock(path: path).tryLock())
    }

    @Test func aFileThatCannotBeCreatedIsAnError() {
        #expect(throws: POSIXError(.ENOENT)) { try FileLock(path: folder.path + "/missing/lock") }
    }

    @Test func theFileHasTheGivenPermissions() throws {
        _ = try FileLock(path: path)
        let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(permissions == 0o600)
    }
}

extension Thread {
    /// Runs blocking work on a thread of its own, so that no task's thread waits.
    fileprivate static func detached<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) -> Task<Value, any Error> {
        Task {
            try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
            }
        }
    }
}
