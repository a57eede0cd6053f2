// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore

/// A request for a page behind those that the importer has taken.
struct PrefetchedPage: Sendable {
    let zone: MirrorZone
    /// The token that the page follows.
    let token: String?
    let isFullFetch: Bool
    let isCounting: Bool
    let page: Task<FetchedPage, any Error>

    func isPage(of row: ZoneTable.Row) -> Bool { zone == row.zone && token == row.token && isFullFetch == row.isFullFetch }
}

/// The pages of one zone that are fetched while the ones before them are staged or applied, in order.
///
///     taken ── page ── page ── next
///              └ in flight or arrived
///
/// A page has the token that the one behind it follows. That of a snapshot is known before the page is decoded, so that pages are decoded
/// in parallel, as far as they are decoded; of other pages, at most the last one is in flight.
struct PrefetchedPages: Sendable {
    /// Pages that arrived or are in flight. With one, decoding waits whenever the file takes longer for a page than usual, as at a checkpoint.
    private static let countMax = 2

    private(set) var pages: [PrefetchedPage] = []
    /// The zone as of the page that is to be fetched next; nil if that is not known, or if there is none.
    private var next: ZoneTable.Row?
    /// Distinguishes the series of pages: one that was dropped is not continued.
    private(set) var series = 0

    /// Removes and returns the page that follows a zone's state, if it is the first one.
    mutating func take(_ row: ZoneTable.Row) -> PrefetchedPage? {
        guard let first = pages.first, first.isPage(of: row) else { return nil }
        return pages.removeFirst()
    }

    /// Starts a series behind a page that was not prefetched. The earlier one was dropped.
    mutating func begin(at row: ZoneTable.Row) { next = row }

    /// The zone to request the next page of; nil if that is not known, or if enough pages wait.
    var toRequest: ZoneTable.Row? { pages.count < Self.countMax ? next : nil }

    var isCounting: Bool { pages.contains { $0.isCounting } }

    /// Appends the page of ``toRequest``.
    mutating func append(_ page: PrefetchedPage) {
        pages.append(page)
        next = nil
    }

    /// Notes the token behind the page that follows a zone's state.
    ///
    /// - Returns: `false` if the series was dropped.
    mutating func announce(_ token: String, behind row: ZoneTable.Row, in series: Int) -> Bool {
        guard series == self.series else { return false }
        next = row.following(token)
        return true
    }

    /// Forgets all pages.
    ///
    /// - Returns: Their requests, which the caller cancels outside the lock of the state.
    mutating func drop() -> [Task<FetchedPage, any Error>] {
        defer { (pages, next, series) = ([], nil, series + 1) }
        return pages.map(\.page)
    }
}

extension ZoneTable.Row {
    /// The row as it is behind the page with a token.
    func following(_ token: String) -> ZoneTable.Row {
        var row = self
        row.token = token
        return row
    }
}
