// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import MirroringCore
import ObjectGraph
import Synchronization

/// The import operation: which zone to read next, and the meaning of a missing zone.
///
/// ``PageReader`` reads and applies the pages of one zone.
struct Importer: Sendable {
    struct State {
        /// The home zone's row as the last page left it; nil if it has to be read from the file.
        var homeRow: ZoneTable.Row?
        var remaining = RemainingCount()
        var prefetched = PrefetchedPages()
        /// Pages that arrived and are not applied, by the numbers of their zones.
        var chains: [Int64: ImportChain] = [:]
        /// Whether the store may have staged pages, of this process or an earlier one.
        var mayHaveStaged = true
        /// Numbers of the zones of which a staged page was gone.
        var zonesThatLostPages: Set<Int64> = []
        /// Numbers of the zones that were searched for staged pages of an earlier process.
        var zonesLookedUp: Set<Int64> = []
        /// Positions of the pages that were fetched of zones that have more, by the numbers of the zones.
        var positions: [Int64: PagePositions] = [:]
        /// Full fetches of shared zones that began since their last complete import, by the numbers of the zones.
        var fullFetches: [Int64: Int] = [:]
        var pushed = PushedPages()
        /// When quarantined values were last fetched again; nil before the first attempt of the launch.
        var unreadableRetried: Date?
        /// When the permissions in the public database were last requested.
        var permissionsRequested = Date.distantPast

        /// Whether the next page of a zone joins others in the file, where it is without ``ImportPage/newObjects``.
        func isStaging(_ zone: MirrorZone) -> Bool { chains[zone.number].map { $0.stagedCount > 0 } ?? false }

        /// Forgets pages of a zone that are fetched again.
        mutating func forgetChain(of zone: MirrorZone) {
            chains[zone.number] = nil
            homeRow = nil
            // The count is without the changes of the pages.
            remaining = RemainingCount()
        }
    }

    let sync: StoreSync

    private var file: MirrorFile { sync.file }
    private var pages: PageReader { PageReader(sync: sync) }

    /// Fetches one page, and applies the pages of its zone if it is the last one.
    func fetchPage(_ round: ImportRound) async throws -> SyncMachine.Outcome {
        do {
            return try await readPage(round)
        } catch {
            // Until the next round, they would lack what is saved, and the last one would end that round.
            pages.dropPrefetched()
            throw error
        }
    }

    private func readPage(_ begun: ImportRound) async throws -> SyncMachine.Outcome {
        let pushed = sync.state.withLock { $0.importer.pushed.give(isWanted: begun.isPushed) }
        try await Exporter(sync: sync).replayOutbox()
        let database = try sync.openDatabase()
        var round = begun
        round.isPushed = false
        let count: ChangeCount
        switch file.scope {
        case .public: (count, round.isHomeRead) = try await readPublic(database, &round)
        case .shared:
            if !round.isListed { try await listZones(database) }
            round.isListed = true
            round.isHomeRead = true
            count = try await readSharedZone(database)
        default: count = try await readPrivate(database, &round, pushed)
        }
        let isMoreShared = file.scope == .public ? false : try await !zonesToFetch().isEmpty
        let isListed = round.isListed || file.scope == .public
        let isDone = isListed && round.isHomeRead && !round.isHomeWithheld && !isMoreShared
        if isDone {
            // A server that announced a page and sent the last one.
            pages.dropPrefetched()
            try await pages.dropChains()
            try await UnreadableRetry(sync: sync).run(database)
        }
        return .pageApplied(count, remaining: sync.state.withLock { $0.importer.remaining.count }, next: isDone ? nil : round)
    }

    // MARK: Private and public database

    private func readPrivate(_ database: SyncDatabase, _ round: inout ImportRound, _ pushed: ImportPage?) async throws -> ChangeCount {
        if round.isHomeWithheld {
            guard try await zonesToFetch().isEmpty else { return try await readSharedZone(database) }
            round.isHomeWithheld = false
            guard let chain = sync.state.withLock({ $0.importer.chains[MirrorZone.home] }) else { return ChangeCount() }
            let applied = try await pages.apply(chain, of: try await homeRow(), database)
            round.isHomeRead = applied.isRead
            return applied.count
        }
        if round.isHomeRead {
            if !round.isListed { try await listZones(database) }
            round.isListed = true
            return try await readSharedZone(database)
        }
        // Most changes are in the home zone: they arrive before the list of the other zones is requested.
        let home = try await homeRow()
        let (chain, count, isPushed) = try await pages.extendChain(of: home, pushed: pushed, database)
        guard chain.isComplete else { return count }
        if chain.hasDeletions || chain.generation != nil {
            // A deleted record may have been relocated. A list that is requested after the page names the zones to read first. Records that
            // a full fetch does not show count as deleted as well.
            try await listZones(database)
            round.isListed = true
            if try await !zonesToFetch().isEmpty {
                round.isHomeWithheld = true
                return try await count + readSharedZone(database)
            }
        }
        let applied = try await pages.apply(chain, of: home, database)
        round.isHomeRead = applied.isRead
        if applied.isRead, !isPushed { sync.state.withLock { $0.importer.pushed.fetched() } }
        if applied.isListed { round.isListed = true }
        return count + applied.count
    }

    private func readPublic(_ database: SyncDatabase, _ round: inout ImportRound) async throws -> (count: ChangeCount, isRead: Bool) {
        try await PermissionUpdates(sync: sync).requestIfDue(database)
        let home = try await homeRow()
        let isResumed = round.isResumed ?? QueryPosition(home.token).isPassing
        let (chain, count, _) = try await pages.extendChain(of: home, database)
        sync.permissions.learn(deletionsTravel: database.traits.hasPublicFeed)
        PushListener(sync: sync).followFeed(database)
        // Queries never show one moment of the database, so that waiting for the last page has no advantage.
        guard chain.isComplete || chain.token.flatMap(FeedToken.syncToken) == nil else {
            round.isResumed = isResumed
            return (count, false)
        }
        let applied = try await pages.apply(chain, of: home, database)
        round.isResumed = isResumed && !applied.isRead
        return (count + applied.count, applied.isRead && !isResumed)
    }

    private func homeRow() async throws -> ZoneTable.Row {
        if let row = sync.state.withLock({ $0.importer.homeRow }) { return row }
        guard let row = try await sync.onQueue({ [file] in try file.zones.row(MirrorZone.home) }) else {
            throw CloudFailure(.internalError, "the local store: its bookkeeping is not there")
        }
        return row
    }

    // MARK: Shared zones

    private func zonesToFetch() async throws -> [MirrorZone] { try await sync.onQueue { [file] in try file.zones.zonesToFetch() } }

    private func listZones(_ database: SyncDatabase) async throws {
        var hasExpired = false
        var positions = PagePositions()
        while true {
            let token = try await sync.onQueue { [file] in try file.zones.databaseToken() }
            let page: DatabaseChangesResponse
            do {
                page = try await database.client.databaseChanges(DatabaseChangesRequest(syncToken: token), asking: [.lostHistory])
            } catch {
                let failure = CloudFailure(error)
                guard failure.code == .changeTokenExpired, token != nil, !hasExpired else { throw error }
                hasExpired = true
                try await sync.onQueue { [file] in try file.zones.forgetDatabaseToken(because: failure) }
                continue
            }
            if page.moreComing, !positions.advance(from: token, to: page.syncToken) { throw CloudFailure.repeatedPage }
            try await sync.merge(try await sync.onQueue { [file] in try file.zones.apply(page, askedWith: token) })
            if !page.moreComing { return }
        }
    }

    /// Reads one page of the first changed zone.
    private func readSharedZone(_ database: SyncDatabase) async throws -> ChangeCount {
        guard let zone = try await zonesToFetch().first, let row = try await sync.onQueue({ [file] in try file.zones.row(zone.number) })
        else { return ChangeCount() }
        do {
            let (chain, count, _) = try await pages.extendChain(of: row, database)
            guard chain.isComplete else { return count }
            let applied = try await pages.apply(chain, of: row, database)
            if applied.isRead { sync.state.withLock { $0.importer.fullFetches[zone.number] = nil } }
            return count + applied.count
        } catch {
            let failure = CloudFailure(error)
            if failure.isZoneGone {
                try await remove(zone, failure)
                return ChangeCount()
            }
            if failure.code == .changeTokenExpired {
                let dropped = sync.state.withLock { state in
                    defer { state.importer.forgetChain(of: zone) }
                    return state.importer.chains[zone.number]
                }
                let hadPages = dropped != nil
                let reset = try await sync.onQueue { [file] in try file.zones.fetchAgain(zone, hadPages: hadPages, because: failure) }
                if let reset {
                    try await sync.merge(reset)
                    let fullFetches = sync.state.withLock { state in
                        state.importer.fullFetches[zone.number, default: 0] += 1
                        return state.importer.fullFetches[zone.number, default: 0]
                    }
                    // A server that rejects its own tokens would be asked without end, and without a delay.
                    guard fullFetches < RetryPolicy.attemptsMax else { throw CloudFailure(.serviceUnavailable, failure.reason) }
                    return ChangeCount(dropped: dropped?.changeCount ?? 0)
                }
            }
            throw failure
        }
    }

    // MARK: Missing zones

    /// Removes a shared zone that is missing on the server, or that the user no longer has access to.
    ///
    /// The list of zones names a deletion, and removes the zone for its reason. A zone of this user that the list has not removed was lost, as
    /// with a restored server. The end of a participant's access may be in the list later.
    func remove(_ zone: MirrorZone, _ failure: CloudFailure) async throws {
        if !failure.didResetEncryptedData { try await listZones(try sync.openDatabase()) }
        let remaining: ZoneRemoval.Remaining = failure.didResetEncryptedData || file.scope == .private ? .all : .unsent
        try await sync.merge(try await sync.onQueue { [file] in try file.zoneRemovals.remove(zone, keeping: remaining) })
    }

    /// Returns the failure that decides what happens to a missing home zone: the list of zones contains the reason.
    ///
    /// If the user deleted it, on any device, its rows are deleted. If it was deleted with the user's keys, or the server lost it without a
    /// record of a deletion, this device uploads its records.
    func explanation(of failure: CloudFailure) async -> CloudFailure {
        guard failure.code == .zoneNotFound, !failure.didResetEncryptedData, file.scope == .private else { return failure }
        do {
            let database = try sync.openDatabase()
            try await listZones(database)
            switch try await sync.onQueue({ [file] in try file.zoneRemovals.homeDeletion() }) {
            case .deleted, .purged: return CloudFailure(.userDeletedZone, "the app's data was deleted on another device")
            case .encryptedDataReset: return failure
            case nil: break
            }
            // Another device may have created it again: then the next request reports more.
            guard try await database.hasHomeZone() else { return failure }
            return CloudFailure(.zoneBusy, failure.reason, retryAfter: .zero)
        } catch {
            return CloudFailure(error)
        }
    }

    // MARK: Withheld records

    /// Applies withheld records that are complete since a change on this device, or in another zone.
    func applyWithheld() async throws {
        guard file.mapping.keepsIncomplete, sync.state.withLock({ $0.details.withheldCount }) > 0, let database = try? sync.openDatabase()
        else { return }
        for row in try await sync.onQueue({ [file] in try file.withheldRecords.zonesToRelease() }) {
            guard let token = row.token else { continue }
            let page = ImportPage(records: [], deletions: [], askedWith: token, token: token, moreComing: false)
            _ = try await pages.apply(ImportChain(page, of: row.zone), of: row, database)
        }
    }
}

extension CloudFailure {
    /// Whether a zone is missing, or the user has no access to it any more.
    var isZoneGone: Bool {
        switch code {
        case .zoneNotFound, .userDeletedZone: true
        default: false
        }
    }
}
