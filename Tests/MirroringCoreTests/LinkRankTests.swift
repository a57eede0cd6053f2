// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import Testing

private typealias Fixture = RelocationFixture

/// New positions of linked objects. A join record is immutable.
@Suite struct LinkRankTests {
    private static let rank = Rank("m")

    private func changes(_ links: [LinkState], inListOf owner: String = "post-1") throws -> [LinkState] {
        LinkState.changes(links, to: try #require(Self.rank), inListOf: owner, mark: 9) { "link-new" }
    }

    @Test func aLinkOfTheServerIsReplaced() throws {
        var old = Fixture.link()
        old.failure = "rejected"
        old.ranks.second = "c"
        let changed = try changes([old])
        #expect(changed.map(\.recordName) == ["link-1", "link-new"])
        #expect(changed.map(\.stage) == [.needsDelete, .needsUpload])
        #expect(changed.map(\.mark) == [9, 9])
        #expect(changed[0].failure == nil)
        #expect(changed[1].changeTag == nil)
        // The position in the list of the other object stays.
        #expect(changed[1].ranks == LinkRanks(first: "m", second: "c"))
    }

    @Test func aLinkOfTheSameScanGetsThePosition() throws {
        var link = Fixture.link("link-1", .needsUpload)
        link.changeTag = nil
        link.mark = 9
        let changed = try changes([link])
        #expect(changed.map(\.recordName) == ["link-1"])
        #expect(changed.map(\.ranks) == [LinkRanks(first: "m")])
    }

    @Test func eachLinkOfThePairIsReplacedByOne() throws {
        let changed = try changes([Fixture.link("link-1"), Fixture.link("link-2")], inListOf: "tag-1")
        #expect(changed.map(\.recordName) == ["link-1", "link-2", "link-new"])
        #expect(changed.last?.ranks == LinkRanks(second: "m"))
    }

    @Test func aPairWithoutALinkGetsNone() throws {
        #expect(try changes([Fixture.link("link-1", .needsDelete)]).isEmpty)
        #expect(try changes([]).isEmpty)
    }
}
