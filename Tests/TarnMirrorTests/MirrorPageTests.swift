// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
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
}
