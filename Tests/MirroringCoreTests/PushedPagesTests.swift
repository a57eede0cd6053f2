// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import Testing

@Suite struct PushedPagesTests {
    private static func page(_ from: Int, _ to: Int, _ names: String..., without gone: [String] = []) -> ImportPage {
        let records = names.map { Record(recordName: $0, recordType: "CD_Post", fields: ["n": Field(.int64(Int64(to)))]) }
        var page = ImportPage(records: records, deletions: gone, askedWith: "\(from)", token: "\(to)", moreComing: false)
        page.database = ImportPage.DatabaseStep(from: "d\(from)", to: "d\(to)")
        return page
    }

    private static var inStep: PushedPages {
        var pages = PushedPages()
        pages.fetched()
        return pages
    }

    @Test func aFetchForAnotherReasonDiscardsPushedPages() {
        var pages = Self.inStep
        pages.take(Self.page(1, 2, "a"))
        #expect(pages.give(isWanted: false) == nil)
        #expect(pages.give(isWanted: true) == nil, "what was fetched since may be newer")
        pages.take(Self.page(2, 3, "a"))
        #expect(pages.give(isWanted: true) == Self.page(2, 3, "a"))
        #expect(pages.give(isWanted: true) == nil)
    }

    @Test func consecutivePushedPagesAreJoined() {
        var pages = Self.inStep
        pages.take(Self.page(1, 2, "a", "b", without: ["c"]))
        pages.take(Self.page(2, 3, "b", "c", without: ["d"]))
        var whole = Self.page(1, 3, without: ["d"])
        whole.records = Self.page(1, 2, "a").records + Self.page(2, 3, "b", "c").records
        #expect(pages.give(isWanted: true) == whole)

        // Changes between two pushed pages are fetched, from the stored token on.
        pages.take(Self.page(3, 4, "a"))
        pages.take(Self.page(5, 6, "a"))
        #expect(pages.give(isWanted: true) == Self.page(5, 6, "a"))
        pages.take(Self.page(6, 7, "a"))
        pages.take(nil)
        #expect(pages.give(isWanted: true) == nil)
    }

    /// Of a record in several pages, the last state counts.
    @Test func successivePagesAreOne() {
        var last = Self.page(3, 4, "a", without: ["e"])
        last.exportedToken = "x"
        let pages = [Self.page(1, 2, "a", "b", "e", without: ["c", "d"]), Self.page(2, 3, "b", "c"), last]
        var whole = Self.page(1, 4, without: ["d", "e"])
        whole.records = Self.page(2, 3, "b", "c").records + last.records
        whole.exportedToken = "x"
        #expect(ImportPage.joined(pages) == whole)
        #expect(ImportPage.joined([last]) == last)
        #expect(ImportPage.joined([]) == nil)
    }

    @Test func aGapInDatabaseTokensRequiresAFetchOfOtherZones() {
        var pages = Self.inStep, last = Self.page(2, 3, "b")
        last.database = ImportPage.DatabaseStep(from: "d2 and another zone", to: "d3")
        pages.take(Self.page(1, 2, "a"))
        pages.take(last)
        let page = pages.give(isWanted: true)
        #expect(page?.records.count == 2)
        #expect(page?.database == nil)
    }

    @Test func pushedPagesAreDiscardedIfASentChangeMayPrecedeThem() {
        var pages = PushedPages()
        pages.take(Self.page(1, 2, "a"))
        #expect(pages.give(isWanted: true) == nil, "before the first page")
        pages.fetched()
        var wasInStep = pages.sends()
        pages.sent(wasInStep: wasInStep)
        pages.take(Self.page(2, 3, "a"))
        #expect(pages.give(isWanted: true) != nil, "the server says that nothing lay before the request")

        wasInStep = pages.sends()
        pages.take(Self.page(3, 4, "a"))
        #expect(pages.give(isWanted: true) == nil)
        // A later request does not confirm an earlier one.
        wasInStep = pages.sends()
        pages.sent(wasInStep: wasInStep)
        pages.take(Self.page(4, 5, "a"))
        #expect(pages.give(isWanted: true) == nil)
        pages.fetched()
        pages.take(Self.page(5, 6, "a"))
        #expect(pages.give(isWanted: true) != nil)
    }
}
