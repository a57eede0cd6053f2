// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService

/// One page of the accounts with a prefix of their names: `/console/users?q=PREFIX&after=NAME`.
struct AccountPage {
    static let accountsPerPage = 50

    let prefix: String
    let profiles: [AccountProfile]
    /// Addresses of the adjacent pages.
    private(set) var next: String?
    private(set) var previous: String?

    init(_ storage: any AdministrationStorage, _ query: QueryItems) async throws {
        let prefix = query["q"] ?? ""
        let cursor: AccountCursor =
            if let name = query["after"] { .after(name) } else if let name = query["before"] { .before(name) } else { .start }
        // One account more than a page shows that another page follows.
        var profiles = try await storage.profiles(named: prefix, cursor, limit: Self.accountsPerPage + 1)
        let isMore = profiles.count > Self.accountsPerPage
        var (hasNext, hasPrevious) = (isMore, false)
        switch cursor.within(prefix) {
        case .start: break
        case .after: hasPrevious = true
        case .before:
            (hasNext, hasPrevious) = (true, isMore)
            if isMore { profiles.removeFirst() }
        }
        self.prefix = prefix
        self.profiles = Array(profiles.prefix(Self.accountsPerPage))
        if hasNext, let last = self.profiles.last { next = Self.address([("q", prefix), ("after", last.accountName)]) }
        if hasPrevious, let first = self.profiles.first { previous = Self.address([("q", prefix), ("before", first.accountName)]) }
    }

    private static func address(_ items: [(String, String)]) -> String { "/console/users?" + RecordQuery.text(items) }
}
