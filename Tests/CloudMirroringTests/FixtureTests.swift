// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CoreData
import Foundation
import ObjectGraph
import SQLiteStore
import Synchronization
import TestBasics
import Testing

@testable import CloudMirroring

/// The end of a test: devices are closed, their files are removed, and anything left over is a failure of the test.
@Suite(.timeLimit(.minutes(2))) struct FixtureTests {
    private struct Interrupted: Error {}

    private static func device() async throws -> Device {
        let cloud = try InProcessCloud()
        let device = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try device.edit { $0.insert("Post", ["title": "One"]) }
        try await device.sync()
        return device
    }

    /// Runs a test whose only issue is a leftover with this text.
    private static func expectLeftover(_ text: String, _ test: @escaping @Sendable () async throws -> Void) async throws {
        try await withKnownIssue {
            try await TestScope.run(test)
        } matching: { issue in
            issue.comments.contains { $0.rawValue.contains(text) }
        }
    }

    @Test func aTestThatThrowsLeavesNothing() async throws {
        let held = Mutex<Device?>(nil)
        await #expect(throws: Interrupted.self) {
            try await TestScope.run {
                let device = try await Self.device()
                held.withLock { $0 = device }
                throw Interrupted()
            }
        }
        let device = try #require(held.withLock { $0 })
        #expect(device.container.persistentStoreCoordinator.persistentStores.isEmpty)
        #expect(device.transport.openStreams == 0)
        #expect(!FileManager.default.fileExists(atPath: device.file.deletingLastPathComponent().path))
    }

    @Test func anUnacknowledgedRequestOfAnIdleStoreIsReported() async throws {
        try await Self.expectLeftover("an unacknowledged request of tablet") {
            let device = try await Self.device()
            let store = try #require(device.container.persistentStoreCoordinator.persistentStores.first)
            try store.storage.write { writer in
                try OutboxTable.append(OutboxTable.Row(key: "k", bodies: [[1]], opened: nil, notes: ""), writer)
            }
        }
    }

    @Test func aTimerThatRunsIsReported() async throws {
        try await Self.expectLeftover("1 timers of tablet") {
            let device = try await Self.device()
            Task { try await device.timers.sleep(10_000_000) }
            await device.timers.asleep(within: 10_000_000)
            try await until { device.timers.sleeperCount != 0 }
        }
    }

    @Test func anOpenFileIsReported() async throws {
        let held = Mutex<FileHandle?>(nil)
        try await Self.expectLeftover("the open file") {
            let folder = TestScope.temporaryFolder()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let file = folder.appendingPathComponent("photo")
            try Data([1]).write(to: file)
            let handle = try FileHandle(forReadingFrom: file)
            held.withLock { $0 = handle }
        }
        try held.withLock { try $0?.close() }
    }

    @Test func aFixtureWithoutScopeIsReported() {
        withKnownIssue { _ = TestScope.temporaryFolder() }
    }
}
