// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import TestBasics
import Testing

@testable import CloudService

/// Removals for which operators on other machines ask.
@Suite struct AccountRemovalsTests {
    private let removals = AccountRemovals()
    private let clock = HandClock()

    /// Asks for the removal of `bo`.
    ///
    /// - Parameters:
    ///   - account: Its present number; nil for no account.
    ///   - zones: In the report of a removal that begins; nil fails.
    private func ask(_ account: Int64?, _ choice: AccountRemoval.PublicRecords = .keep, zones: Int? = 0) throws -> RemovalReport? {
        try removals.progress(of: "bo", account, choice, now: { [clock] in clock.now }) {
            guard let zones else { throw StorageFailure(.busy, "the removal failed") }
            var report = RemovalReport()
            report.zones = zones
            return report
        }
    }

    private func untilNoneRuns() async throws { try await until { removals.counts.running == 0 } }

    @Test func theEndOfARemovalIsReturnedOnce() async throws {
        #expect(try ask(7, zones: 1) == nil)
        try await untilNoneRuns()
        #expect(try ask(nil)?.zones == 1)
        #expect(throws: StorageFailure.unknownUser) { try ask(nil) }
        #expect(removals.counts.ended == 0)
    }

    /// The number was read before the end.
    @Test func anEndIsReturnedForTheAccountThatWasRemoved() async throws {
        #expect(try ask(7, zones: 1) == nil)
        try await untilNoneRuns()
        #expect(try ask(7)?.zones == 1)
    }

    @Test func aNewAccountOfTheNameIsRemovedItself() async throws {
        #expect(try ask(7, zones: 1) == nil)
        try await untilNoneRuns()
        #expect(try ask(8, zones: 2) == nil)
        try await untilNoneRuns()
        #expect(try ask(nil)?.zones == 2)
    }

    @Test func aRemovalThatRunsKeepsItsChoice() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let begun = try removals.progress(of: "bo", 7, .keep, now: { [clock] in clock.now }) {
            for await _ in gate { break }
            return RemovalReport()
        }
        #expect(begun == nil)
        let refused = #expect(throws: WireError.self) { try ask(7, .remove) }
        #expect(refused?.code == .conflict)
        #expect(try ask(7) == nil)
        open.yield()
        try await untilNoneRuns()
        #expect(try ask(nil) == RemovalReport())
    }

    @Test func aFailedRemovalIsBegunAgain() async throws {
        #expect(try ask(7, zones: nil) == nil)
        try await untilNoneRuns()
        let failure = #expect(throws: StorageFailure.self) { try ask(7) }
        #expect(failure?.code == .busy)
        #expect(try ask(7, zones: nil) == nil)
        try await untilNoneRuns()
        // The failure is of a removal with the other choice.
        #expect(try ask(7, .remove, zones: 3) == nil)
        try await untilNoneRuns()
        #expect(try ask(nil, .remove)?.zones == 3)
    }

    @Test func endsAreForgotten() async throws {
        #expect(try ask(7) == nil)
        try await untilNoneRuns()
        #expect(removals.counts.ended == 1)
        clock.advance(seconds: 600)
        #expect(throws: StorageFailure.unknownUser) { try ask(nil) }
        #expect(removals.counts.ended == 0)
    }
}
