// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudWire
import CoreData
import Foundation
import MirroringCore
import TestBasics
import Testing

@testable import TarnMirror

/// The pages of an import.
@Suite(.closesFixtures, .timeLimit(.minutes(2))) struct MirrorPageTests {
    /// A page has as many records as there is memory for their assets, and each counts once in the progress.
    @Test func assetsOfAPageHaveALimit() async throws {
        let cloud = try InProcessCloud()
        let tablet = try ContainerDevice(try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { context in
            for number in 0..<5 { context.insert("Note", ["title": "\(number)", "scan": Data(repeating: UInt8(number), count: 800_000)]) }
        }
        try await tablet.sync()
        let phone = try MirrorDevice(try await cloud.addDevice("phone", of: "mia"), starts: false, assetBytesMax: 2_000_000)
        let run = OperationRun(session: phone.mirror.session)
        #expect(await run.outcome(of: .setUp) == .done)
        var pages: [[Int?]] = []
        var next: ImportRound? = ImportRound()
        while let round = next {
            guard case .pageApplied(let count, let remaining, let following) = await run.outcome(of: .fetchPage(round)) else {
                Issue.record("a page failed")
                return
            }
            #expect(count.dropped == 0)
            pages.append([count.received, remaining])
            next = following
        }
        #expect(pages == [[2, 3], [2, 1], [1, 0]])
        #expect(try phone.dump == tablet.dump)
    }

    // MARK: Servers that repeat pages

    /// Runs the set-up and rounds of an import until one of them fails.
    private func failure(answering operation: String, _ body: [UInt8]) async throws -> (failure: CloudFailure?, requests: Int) {
        let cloud = try InProcessCloud()
        let faults = Refusals()
        let phone = try MirrorDevice(try await cloud.addUser("mia", device: "phone"), starts: false, faults: faults)
        faults.answerAll(operation, body)
        let run = OperationRun(session: phone.mirror.session)
        var outcome = await run.outcome(of: .setUp)
        for _ in 0..<50 {
            switch outcome {
            case .failed(let failure): return (failure, faults.repeatedCount)
            case .pageApplied(_, _, let next?): outcome = await run.outcome(of: .fetchPage(next))
            case .done: outcome = await run.outcome(of: .fetchPage(ImportRound()))
            case .pageApplied, .batchPlanned, .batchSettled: return (nil, faults.repeatedCount)
            }
        }
        return (nil, faults.repeatedCount)
    }

    @Test func aRepeatedPageEndsTheImport() async throws {
        let page = ZoneChanges(zoneID: ZoneID(zoneName: MirrorNames.zone), records: [], syncToken: "same", moreComing: true)
        let (failure, requests) = try await self.failure(
            answering: "changes/zone", ZoneChangesResponse(zones: [.changes(page)]).encoded())
        #expect(failure == CloudFailure.repeatedPage)
        #expect(requests == 2)
    }

    @Test func aRepeatedListOfZonesEndsTheSetUp() async throws {
        let list = DatabaseChangesResponse(zones: [], syncToken: "same", moreComing: true)
        let (failure, requests) = try await self.failure(answering: "changes/database", list.encoded())
        #expect(failure == CloudFailure.repeatedPage)
        #expect(requests == 2)
    }
}
