// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// One page of a zone's changes.
package struct ImportPage: Hashable, Sendable {
    /// Saved records in their present state.
    package var records: [Record]
    /// What was made of the records before the page's turn.
    package var newObjects = NewObjects()
    /// Names of deleted records.
    package var deletions: [String]
    /// The token with which the page was asked for; nil at the beginning of a full fetch.
    package var askedWith: String?
    /// The token that the page moves to.
    package var token: String
    package var moreComing: Bool
    /// The number of the full fetch that the page belongs to; nil when only changes are fetched.
    ///
    /// A fetch that begins without a token is a full one, the first of a device included: it names no deletions.
    /// In a full fetch records whose version is known are merged as well, and every record seen gets the number:
    /// what does not have it at the end was deleted while nobody listened.
    package var generation: Int64?
    /// Whether what is not seen in a full fetch is gone: a database that is read by queries does not say so, for what
    /// one user deletes there others keep.
    package var isExhaustive: Bool
    /// Changes that come after the page; nil where the server did not say, or counted no further.
    package var remaining: Int?
    /// Names of records whose local changes give way to what the page says, with the versions that the device knew when the server
    /// was asked: see ``Reversion``.
    package var reverted: [String: String?] = [:]
    /// Between which points of the database's history the page's changes are all there are; nil where that is not known.
    package var database: DatabaseStep?

    package struct DatabaseStep: Hashable, Sendable {
        package var from: String
        package var to: String

        package init(from: String, to: String) {
            self.from = from
            self.to = to
        }
    }

    package init(
        records: [Record], deletions: [String], askedWith: String?, token: String, moreComing: Bool,
        generation: Int64? = nil, isExhaustive: Bool = true, remaining: Int? = nil
    ) {
        self.records = records
        self.deletions = deletions
        self.askedWith = askedWith
        self.token = token
        self.moreComing = moreComing
        self.generation = generation
        self.isExhaustive = isExhaustive
        self.remaining = remaining.flatMap { $0 < Capability.changesCounted ? $0 : nil }
    }

    /// Whether the page continues what was imported. A page that came twice, or late, does not, and is dropped:
    /// what it says may be older than what is known.
    ///
    /// - Parameters:
    ///   - token: The stored token.
    ///   - generation: The number of the full fetch that is under way, if one is.
    package func follows(_ token: String?, generation: Int64?) -> Bool {
        askedWith == token && self.generation == generation
    }

    /// The page with what came before it and waits, too. If something between the two is missing, or they are many, it stands
    /// alone: what it follows is to be fetched.
    package func following(_ earlier: ImportPage?) -> ImportPage {
        guard let earlier, earlier.token == askedWith, earlier.records.count + earlier.deletions.count < Self.pushedMax else { return self }
        var page = self
        let later = Set(records.map(\.recordName)).union(deletions)
        page.askedWith = earlier.askedWith
        page.records = earlier.records.filter { !later.contains($0.recordName) } + records
        page.deletions = earlier.deletions.filter { !later.contains($0) } + deletions
        page.database = nil
        if let first = earlier.database, let last = database, first.to == last.from {
            page.database = DatabaseStep(from: first.from, to: last.to)
        }
        return page
    }

    /// Records that wait to be imported at most.
    private static let pushedMax = 200

    /// Puts what is known besides into a record.
    package mutating func replace(at index: Int, with record: Record) {
        records[index] = record
        newObjects.forget(record.recordName)
    }

    /// Adds deletions that no page will tell of, when this is the last page.
    ///
    /// - Parameters:
    ///   - missing: Records and links at stage `missing`.
    ///   - unseen: Records and links that the server has, or had (with a change tag, or at stage `uploaded`), of an
    ///     older generation than the full fetch that ends here.
    package mutating func conclude(missing: [String], unseen: [String]) {
        guard !moreComing else { return }
        let live = Set(records.map(\.recordName))
        deletions += missing.filter { !live.contains($0) }
        if generation != nil, isExhaustive { deletions += unseen.filter { !live.contains($0) } }
    }
}
