// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import Testing

@testable import CloudMirroring

/// Which page is requested next, while pages in flight arrive and are taken.
struct PrefetchedPagesTests {
    private var pages = PrefetchedPages()

    private func zone(_ token: String?) -> ZoneTable.Row {
        ZoneTable.Row(
            zone: MirrorZone(number: MirrorZone.home, id: ZoneID(zoneName: "home")), token: token, exportedToken: nil, generation: 1,
            isFullFetch: true, needsFetch: false, receives: false, share: nil, shareGeneration: 0)
    }

    /// Requests the next page, as the importer does.
    ///
    /// - Returns: The token that it follows; nil if nothing is to be requested.
    private mutating func request() -> String? {
        guard let row = pages.toRequest else { return nil }
        pages.append(
            PrefetchedPage(
                zone: row.zone, token: row.token, isFullFetch: row.isFullFetch, isCounting: false, page: Task { throw CancellationError() })
        )
        return row.token
    }

    private mutating func announce(_ token: String, behind previous: String) {
        let isCurrent = pages.announce(token, behind: zone(previous), in: pages.series)
        #expect(isCurrent)
    }

    @Test mutating func nothingIsRequestedBeforeTheFirstPage() {
        #expect(request() == nil)
        pages.begin(at: zone("1"))
        #expect(request() == "1")
        #expect(request() == nil, "where the page in flight ends is not known")
    }

    @Test mutating func twoPagesAreRequestedAhead() {
        pages.begin(at: zone("1"))
        #expect(request() == "1")
        announce("2", behind: "1")
        #expect(request() == "2")
        announce("3", behind: "2")
        #expect(request() == nil, "two pages wait")
        #expect(pages.take(zone("1"))?.token == "1")
        #expect(request() == "3")
    }

    /// The importer took a smaller page than the one that the requests follow.
    @Test mutating func pagesOfAnotherStateAreDropped() {
        pages.begin(at: zone("1"))
        #expect(request() == "1")
        let series = pages.series
        #expect(pages.take(zone("0")) == nil)
        #expect(pages.drop().count == 1)
        #expect(pages.pages.isEmpty)
        pages.begin(at: zone("0"))
        let isCurrent = pages.announce("2", behind: zone("1"), in: series)
        #expect(!isCurrent)
        #expect(request() == "0", "a page of a dropped series continues nothing")
        var later = zone("0")
        later.isFullFetch = false
        #expect(pages.take(later) == nil)
    }
}
