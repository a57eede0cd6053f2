// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore
import ObjectGraph
import Synchronization

/// One import: the list of changed zones, then the zones, page by page. An import that breaks off begins anew; what zones
/// have to be read is in the file.
struct ImportRound: Sendable {
    var isListed = false
    var isHomeRead = false
    /// Whether the home zone is read on from the middle, where an earlier import broke off, by queries for one type after another: of the
    /// types before that nothing is known since. nil before it is read.
    var isTakenUp: Bool?
    /// A page of the home zone that waits for the other zones: what it says is deleted may have moved to one of them.
    var held: ImportPage?
}

/// The page after the one that is being applied, on its way.
struct PageAhead: Sendable {
    let zone: MirrorZone
    let token: String
    let isFullFetch: Bool
    let isCounting: Bool
    let page: Task<ImportPage, any Error>
}

extension Mirror {
    /// Fetches one page and applies it.
    ///
    /// - Parameter isPushed: Whether what notifications brought is all that is wanted.
    func fetchChanges(isPushed: Bool = false) async throws -> SyncMachine.Outcome {
        let pushed = pushed.withLock { $0.give(isWanted: isPushed) }
        try await settleOutbox()
        let cloud = try openCloud()
        var round = round.withLock { round in
            defer { round = ImportRound() }
            return round
        }
        let records: Int
        switch file.scope {
        case .public: (records, round.isHomeRead) = try await readHome(cloud, &round)
        case .shared:
            if !round.isListed { try await list(cloud) }
            round.isListed = true
            round.isHomeRead = true
            records = try await readShared(cloud)
        default: records = try await readPrivate(cloud, &round, pushed)
        }
        let isMoreShared = file.scope == .public ? false : try await !zonesToFetch().isEmpty
        let isListed = round.isListed || file.scope == .public
        let isDone = isListed && round.isHomeRead && round.held == nil && !isMoreShared
        if !isDone { self.round.withLock { [round] in $0 = round } }
        return .pageApplied(records: records, moreComing: !isDone, remaining: coming.withLock { $0.remaining })
    }

    private func readPrivate(_ cloud: MirrorCloud, _ round: inout ImportRound, _ pushed: ImportPage?) async throws -> Int {
        if let page = round.held {
            guard try await zonesToFetch().isEmpty else { return try await readShared(cloud) }
            round.held = nil
            let (records, isRead, _) = try await apply(page, of: try await homeRow(), cloud)
            round.isHomeRead = isRead
            return records
        }
        if round.isHomeRead {
            if !round.isListed { try await list(cloud) }
            round.isListed = true
            return try await readShared(cloud)
        }
        // Most changes are in the home zone: they are there before the list of the others is asked for.
        let home = try await homeRow()
        let known = pushed.flatMap { $0.follows(home.token, generation: home.isFullFetch ? home.generation : nil) ? $0 : nil }
        let page = if let known { known } else { try await page(of: home, cloud) }
        if !page.deletions.isEmpty || page.generation != nil && !page.moreComing {
            // Deleted, or moved: the list that was asked for later than the page tells where to look first. What the last page of
            // a full fetch has not shown counts as deleted, too.
            try await list(cloud)
            round.isListed = true
            if try await !zonesToFetch().isEmpty {
                round.held = page
                return try await readShared(cloud)
            }
        }
        let (records, isRead, isListed) = try await apply(page, of: home, cloud)
        round.isHomeRead = isRead
        if isRead, known == nil { self.pushed.withLock { $0.fetched() } }
        if isListed { round.isListed = true }
        return records
    }

    private func readHome(_ cloud: MirrorCloud, _ round: inout ImportRound) async throws -> (records: Int, isRead: Bool) {
        try await askPermissionsIfDue(cloud)
        let home = try await homeRow()
        let isTakenUp = round.isTakenUp ?? QueryPosition(home.token).isPassing
        let page = try await page(of: home, cloud)
        permissions.learn(deletionsTravel: cloud.ways.hasFeed)
        followFeed(cloud)
        let (records, isRead, _) = try await apply(page, of: home, cloud)
        round.isTakenUp = isTakenUp && !isRead
        return (records, isRead && !isTakenUp)
    }

    private func homeRow() async throws -> ZoneTable.Row {
        if let known = home.withLock({ $0 }) { return known }
        guard let row = try await onQueue({ try self.file.zoneRow(MirrorZone.home) }) else {
            throw CloudFailure(.internalError, "the local store: its bookkeeping is not there")
        }
        return row
    }

    private func zonesToFetch() async throws -> [MirrorZone] { try await onQueue { try self.file.zonesToFetch() } }

    // MARK: Shared zones

    private func list(_ cloud: MirrorCloud) async throws {
        while true {
            let token = try await onQueue { try self.file.databaseToken() }
            let page: DatabaseChangesResponse
            do {
                page = try await cloud.client.databaseChanges(DatabaseChangesRequest(syncToken: token))
            } catch {
                guard CloudFailure(error).code == .changeTokenExpired, token != nil else { throw error }
                try await onQueue { try self.file.forgetDatabaseToken() }
                continue
            }
            tellContexts(deleted: try await onQueue { try self.file.apply(page, askedWith: token) })
            if !page.moreComing { return }
        }
    }

    /// One page of the first zone in which something changed.
    private func readShared(_ cloud: MirrorCloud) async throws -> Int {
        guard let zone = try await zonesToFetch().first, let row = try await onQueue({ try self.file.zoneRow(zone.number) }) else { return 0 }
        do {
            return try await apply(try await page(of: row, cloud), of: row, cloud).records
        } catch {
            let failure = CloudFailure(error)
            if failure.isZoneGone {
                try await remove(zone, failure)
                return 0
            }
            if failure.code == .changeTokenExpired, try await onQueue({ try self.file.fetchAgain(zone) }) { return 0 }
            throw failure
        }
    }

    /// Takes a zone away that the server does not have any more, or not for this user.
    func remove(_ zone: MirrorZone, _ failure: CloudFailure) async throws {
        let rest = failure.didResetEncryptedData ? MirrorFile.Rest.all : .unsent
        tellContexts(deleted: try await onQueue { try self.file.remove(zone, keeping: rest) })
    }

    /// What is to be done about a home zone that is not there: the list of zones tells why it went.
    ///
    /// What the user deleted, here or elsewhere, goes. What went with the user's keys is sent again, and so is what a server
    /// has lost that knows of no deletion.
    func explained(_ failure: CloudFailure) async -> CloudFailure {
        guard failure.code == .zoneNotFound, !failure.didResetEncryptedData, file.scope == .private else { return failure }
        do {
            let cloud = try openCloud()
            try await list(cloud)
            switch try await onQueue({ try self.file.homeDeletion() }) {
            case .deleted, .purged: return CloudFailure(.userDeletedZone, "the app's data was deleted on another device")
            case .encryptedDataReset: return failure
            case nil: break
            }
            // Meanwhile another device may have made it again; then the next request tells more.
            guard try await cloud.hasHomeZone() else { return failure }
            return CloudFailure(.zoneBusy, failure.reason, retryAfter: 0)
        } catch {
            return CloudFailure(error)
        }
    }

    // MARK: Pages

    /// The next page of a zone. If more are coming, the one after it is asked for at once, so that it comes while this one is
    /// written.
    private func page(of row: ZoneTable.Row, _ cloud: MirrorCloud) async throws -> ImportPage {
        let ahead = ahead.withLock { $0.take() }
        var isCounting = coming.withLock { $0.isDue(row.zone.number) }
        let page: ImportPage
        if let ahead, ahead.zone == row.zone, ahead.token == row.token, ahead.isFullFetch == row.isFullFetch {
            page = try await withTaskCancellationHandler { try await ahead.page.value } onCancel: { ahead.page.cancel() }
            isCounting = ahead.isCounting
        } else {
            ahead?.page.cancel()
            page = try await cloud.page(of: row, isCounting: isCounting)
        }
        let wasAsked = isCounting
        coming.withLock { $0.take(page, wasAsked: wasAsked) }
        if page.moreComing {
            var next = row
            next.token = page.token
            lookAhead(to: next, page.token, cloud)
        }
        return page
    }

    /// - Returns: Also whether the list of zones is known to stand where the page leaves the database.
    private func apply(
        _ fetched: ImportPage, of row: ZoneTable.Row, _ cloud: MirrorCloud
    ) async throws -> (records: Int, isRead: Bool, isListed: Bool) {
        var page = try await joined(fetched, row.zone)
        // What waited and comes along is not asked for again.
        var asks = fetched.records.count
        var given = fetched.changeCount
        while true {
            try Task.checkCancellation()
            let asked = page
            let needed = asked.records.contains(where: \.hasAssets) ? try await onQueue { try self.file.assetsNeeded(by: asked, of: row.zone) } : []
            if let count = Self.recordsThatFit(page, needed), count < asks {
                let smaller = try await cloud.page(of: row, recordsMax: count)
                asks = min(count, smaller.records.count)
                page = try await joined(smaller, row.zone)
                coming.withLock { $0.giveBack(given - smaller.changeCount) }
                given = smaller.changeCount
                continue
            }
            let assets = try await cloud.download(needed)
            let ending = ending()
            switch try await onQueue({ try self.file.apply(asked, of: row.zone, assets: assets, ending: ending) }) {
            case .applied(let records, let commit, let zone, let isListed):
                wrote(ending: ending)
                if row.zone.isHome { home.withLock { $0 = zone } }
                permissions.forget()
                coordinator.didCommit([commit], by: nil)
                // What changes no row may be to be sent on, or allow what was refused.
                let hasShare = asked.records.contains { $0.recordName == ShareDetails.zoneShareName }
                if commit.isEmpty, records > 0 || hasShare { storeChanged() }
                try await countIncomplete()
                return (records, !page.moreComing, isListed)
            // Asked again from where the store stands now.
            case .dropped, .lacksAssets:
                home.withLock { $0 = nil }
                return (0, false, false)
            }
        }
    }

    /// A page with what waited for its records.
    private func joined(_ page: ImportPage, _ zone: MirrorZone) async throws -> ImportPage {
        let mapping = file.mapping
        guard mapping.keepsIncomplete, incompleteCount.withLock({ $0 }) > 0, !page.records.isEmpty || mapping.hasUniqueness && !page.moreComing
        else { return page }
        var joined = try await onQueue { try self.file.joined(page, of: zone) }
        let waited = joined.records[page.records.count...]
        if waited.isEmpty { return joined }
        // What an asset's address was good for may be over.
        joined.records = page.records + (try await openCloud().fresh(Array(waited), in: zone.id))
        return joined
    }

    /// Takes in what waited for values that are free since something changed here, or in another zone.
    func release() async throws {
        guard file.mapping.hasUniqueness, incompleteCount.withLock({ $0 }) > 0, let cloud = try? openCloud() else { return }
        for row in try await onQueue({ try self.file.zonesToRelease() }) {
            guard let token = row.token else { continue }
            _ = try await apply(ImportPage(records: [], deletions: [], askedWith: token, token: token, moreComing: false), of: row, cloud)
        }
    }

    func countIncomplete() async throws {
        guard file.mapping.keepsIncomplete else { return }
        let count = try await onQueue { try self.file.incompleteCount() }
        incompleteCount.withLock { $0 = count }
    }

    /// - Returns: How many records to ask for instead, if the assets of all are too many bytes; nil if they are not, or if the
    ///   first record alone has as many.
    static func recordsThatFit(_ page: ImportPage, _ needed: [ImportNeeds.AssetNeed]) -> Int? {
        var sizes: [String: Int64] = [:]
        for need in needed { sizes[need.recordName, default: 0] += max(need.asset.size, 0) }
        var bytes: Int64 = 0
        for (index, record) in page.records.enumerated() {
            bytes += sizes[record.recordName] ?? 0
            if bytes > MirrorCloud.pageAssetBytesMax { return page.records.count > 1 ? max(index, 1) : nil }
        }
        return nil
    }
}

extension CloudFailure {
    /// Whether a zone is not there, or not for this user any more.
    var isZoneGone: Bool {
        switch code {
        case .zoneNotFound, .userDeletedZone: true
        default: false
        }
    }
}
