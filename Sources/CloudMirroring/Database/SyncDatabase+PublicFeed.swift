// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore

// Some servers have a change feed of the public database. It replaces queries, and contains deletions.

extension SyncDatabase {
    /// Requests the feed, and returns whether the server has one.
    func hasPublicFeed() async throws -> Bool {
        guard traits.mayHavePublicFeed else { return false }
        do {
            let query = ZoneChangesQuery(zoneID: .defaultZone, resultsLimit: 1, desiredRecordTypes: [])
            traits.hasPublicFeed = try await client.publicChanges(query) != nil
        } catch {
            throw CloudFailure(error)
        }
        return traits.hasPublicFeed
    }

    /// The next page of the public database, by the feed or by a query.
    func publicPage(after token: String?, generation: Int64?, recordsMax: Int, isCounting: Bool) async throws -> ImportPage {
        if !traits.mayHavePublicFeed, token.flatMap(FeedToken.syncToken) != nil {
            throw CloudFailure(.changeTokenExpired, "the servers do not agree on whether they have a feed of the public database")
        }
        // A pass of queries requests the feed once, not at each record type.
        if traits.mayHavePublicFeed, !QueryPosition(token).isPassing,
            let page = try await publicFeedPage(after: token, generation: generation, recordsMax: recordsMax, isCounting: isCounting)
        {
            return page
        }
        return try await queryPage(after: token, generation: generation, recordsMax: recordsMax)
    }

    /// Returns the next changes of the server's feed; nil if it has none.
    ///
    /// - Throws: `CloudFailure` with `.changeTokenExpired` for a store that was read by queries before, or by a feed that the server no
    ///   longer has: a full fetch follows, and records that it does not show were deleted.
    private func publicFeedPage(
        after token: String?, generation: Int64?, recordsMax: Int, isCounting: Bool
    ) async throws -> ImportPage? {
        let known = token.flatMap(FeedToken.syncToken)
        let query = ZoneChangesQuery(
            zoneID: .defaultZone, syncToken: known, resultsLimit: recordsMax, desiredRecordTypes: mapping.recordTypes)
        let result: ZoneChangesResult?
        do {
            result = try await client.publicChanges(query, isCounting: isCounting)
        } catch {
            throw CloudFailure(error)
        }
        traits.hasPublicFeed = result != nil
        switch result {
        case nil:
            guard known == nil else { throw changed("the server has no feed of the public database any more") }
            return nil
        case .failure(_, let error): throw CloudFailure(error)
        case .changes(let changes):
            guard token == nil || known != nil else { throw changed("the server has a feed of the public database now") }
            return ImportPage(
                records: changes.records.filter { !$0.isDeleted }.map(\.withoutFieldStates),
                deletions: changes.records.filter(\.isDeleted).map(\.recordName),
                askedWith: token, token: FeedToken.text(changes.syncToken), moreComing: changes.moreComing, generation: generation,
                remaining: changes.remaining)
        }
    }

    private func changed(_ reason: String) -> CloudFailure {
        traits.countChange()
        return CloudFailure(.changeTokenExpired, reason)
    }
}

/// The token of a store in the feed, as distinct from the positions of stores that are read by queries.
enum FeedToken {
    private static let prefix = "feed "

    static func text(_ syncToken: String) -> String { prefix + syncToken }

    static func syncToken(_ text: String) -> String? { text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : nil }
}
