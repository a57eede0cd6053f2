// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// One page of a zone's changes.
package struct ImportPage: Hashable, Sendable {
    /// Saved records in their present state.
    package var records: [Record]
    /// Rows that were made from the records while the page before was applied.
    package var newObjects = NewObjects()
    /// Names of deleted records.
    package var deletions: [String]
    /// The token of the request; nil at the beginning of a full fetch.
    package var askedWith: String?
    /// The token that the page moves to.
    package var token: String
    /// The token of the device's last export that the request named; nil for changes that were pushed.
    package var exportedToken: String?
    package var moreComing: Bool
    /// The number of the full fetch that the page belongs to; nil when only changes are fetched.
    ///
    /// A fetch that begins without a token is a full one, the first of a device included: it names no deletions.
    /// In a full fetch, records with a known version are merged as well, and every record gets the number: records without it at the end
    /// were deleted on the server.
    package var generation: Int64?
    /// Whether records that a full fetch does not show are deleted: queries do not show that, and other devices keep deleted objects of a
    /// public database.
    package var isExhaustive: Bool
    /// Changes behind the page; nil if the server did not count them.
    package var remaining: Int?
    /// Names of records with local changes that the page reverts, with the versions that the device had at the request: see
    /// ``Reversion``.
    package var reverted: [String: String?] = [:]
    /// The interval of the database's history in which the page has all changes; nil if it is unknown.
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

    /// Whether the page continues the import. A repeated or late page does not, and is dropped: its records may be stale.
    ///
    /// - Parameters:
    ///   - token: The stored token.
    ///   - generation: The number of the full fetch in progress; nil without one.
    package func follows(_ token: String?, generation: Int64?) -> Bool {
        askedWith == token && self.generation == generation
    }

    /// Returns `true` if the page may release a record that was withheld at a generation.
    ///
    /// During a full fetch, the server may no longer have a withheld record that the fetch has not returned yet. A released record counts
    /// as returned: the end of the fetch would not remove the deleted object.
    package func mayRelease(withheldAt generation: Int64) -> Bool {
        self.generation.map { generation >= $0 } ?? true
    }

    /// Returns the page joined with the pending one before it. If changes between the two are missing, or they have too many, the page
    /// stays alone, and the changes before it are fetched.
    package func following(_ earlier: ImportPage?) -> ImportPage {
        guard let earlier, earlier.token == askedWith, earlier.records.count + earlier.deletions.count < Self.pushedMax else { return self }
        return Self.joined([earlier, self]) ?? self
    }

    /// Returns successive pages as one. Of a record that several pages have, the last state counts.
    ///
    /// - Returns: nil without pages.
    package static func joined(_ pages: [ImportPage]) -> ImportPage? {
        guard var page = pages.last, pages.count > 1 else { return pages.last }
        var later: Set<String> = []
        var records: [[Record]] = [], deletions: [[String]] = []
        for part in pages.reversed() {
            records.append(part.records.filter { !later.contains($0.recordName) })
            deletions.append(part.deletions.filter { !later.contains($0) })
            later.formUnion(part.records.lazy.map(\.recordName))
            later.formUnion(part.deletions)
        }
        page.records = records.reversed().flatMap(\.self)
        page.deletions = deletions.reversed().flatMap(\.self)
        page.askedWith = pages[0].askedWith
        page.database = pages.dropFirst().reduce(pages[0].database) { before, next in
            guard let before, let step = next.database, before.to == step.from else { return nil }
            return DatabaseStep(from: before.from, to: step.to)
        }
        for part in pages.dropLast() { page.newObjects.formUnion(part.newObjects) }
        return page
    }

    /// The largest number of pending pushed records.
    private static let pushedMax = 200

    /// Replaces a record by one with further fields.
    package mutating func replace(at index: Int, with record: Record) {
        records[index] = record
        newObjects.forget(record.recordName)
    }

    /// Adds deletions that no page contains, to the last page.
    ///
    /// - Parameters:
    ///   - missing: Records and links at stage `missing`.
    ///   - unseen: Records and links that the server has, or had (with a change tag, or at stage `uploaded`), of an
    ///     older generation than the full fetch that ends here.
    package mutating func conclude(missing: [String], unseen: [String]) {
        guard !moreComing, !missing.isEmpty || !unseen.isEmpty else { return }
        let live = Set(records.map(\.recordName))
        deletions += missing.filter { !live.contains($0) }
        if generation != nil, isExhaustive { deletions += unseen.filter { !live.contains($0) } }
    }
}
