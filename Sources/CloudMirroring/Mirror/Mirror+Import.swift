// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
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
    /// Whether the home zone was fetched to its end and its pages wait for the other zones: an object that they say is deleted may have
    /// moved to one of them.
    var isHomeHeld = false
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
    /// Fetches one page, and applies it with those before it once it is the last one of its zone.
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
        let isDone = isListed && round.isHomeRead && !round.isHomeHeld && !isMoreShared
        if !isDone { self.round.withLock { [round] in $0 = round } }
        return .pageApplied(records: records, moreComing: !isDone, remaining: coming.withLock { $0.remaining })
    }

    private func readPrivate(_ cloud: MirrorCloud, _ round: inout ImportRound, _ pushed: ImportPage?) async throws -> Int {
        if round.isHomeHeld {
            guard try await zonesToFetch().isEmpty else { return try await readShared(cloud) }
            round.isHomeHeld = false
            guard let chain = chains.withLock({ $0[MirrorZone.home] }) else { return 0 }
            let (records, isRead, _) = try await apply(chain, of: try await homeRow(), cloud)
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
        let (chain, received, isPushed) = try await extendChain(of: home, pushed: pushed, cloud)
        guard chain.isComplete else { return received }
        if chain.hasDeletions || chain.generation != nil {
            // Deleted, or moved: the list that was asked for later than the page tells where to look first. What the last page of
            // a full fetch has not shown counts as deleted, too.
            try await list(cloud)
            round.isListed = true
            if try await !zonesToFetch().isEmpty {
                round.isHomeHeld = true
                return try await readShared(cloud)
            }
        }
        let (records, isRead, isListed) = try await apply(chain, of: home, cloud)
        round.isHomeRead = isRead
        if isRead, !isPushed { self.pushed.withLock { $0.fetched() } }
        if isListed { round.isListed = true }
        return records
    }

    private func readHome(_ cloud: MirrorCloud, _ round: inout ImportRound) async throws -> (records: Int, isRead: Bool) {
        try await askPermissionsIfDue(cloud)
        let home = try await homeRow()
        let isTakenUp = round.isTakenUp ?? QueryPosition(home.token).isPassing
        let (chain, received, _) = try await extendChain(of: home, cloud)
        permissions.learn(deletionsTravel: cloud.ways.hasFeed)
        followFeed(cloud)
        // Queries never show a moment of the database, so that nothing is won by waiting for the last page.
        guard chain.isComplete || chain.token.flatMap(FeedToken.syncToken) == nil else {
            round.isTakenUp = isTakenUp
            return (received, false)
        }
        let (records, isRead, _) = try await apply(chain, of: home, cloud)
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
            let (chain, received, _) = try await extendChain(of: row, cloud)
            return chain.isComplete ? try await apply(chain, of: row, cloud).records : received
        } catch {
            let failure = CloudFailure(error)
            if failure.isZoneGone {
                try await remove(zone, failure)
                return 0
            }
            if failure.code == .changeTokenExpired {
                let hadPages = chains.withLock { $0.removeValue(forKey: zone.number) } != nil
                if try await onQueue({ try self.file.fetchAgain(zone, hadPages: hadPages, isHistoryLost: failure.isHistoryLost) }) { return 0 }
            }
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

    /// Fetches the next page of a zone with the contents of its assets, behind those that have arrived.
    ///
    /// - Parameter pushed: What notifications brought.
    /// - Returns: The chain of pages, the changes that came with this call, and whether they came with notifications.
    private func extendChain(
        of row: ZoneTable.Row, pushed: ImportPage? = nil, _ cloud: MirrorCloud
    ) async throws -> (chain: ImportChain, received: Int, isPushed: Bool) {
        var chain = try await chain(of: row)
        if chain.isEmpty, let pushed, pushed.follows(row.token, generation: chain.generation) {
            chain.append(pushed, try await contents(for: pushed, of: chain, cloud))
            return (chain, pushed.changeCount, true)
        }
        var next = row
        next.token = chain.token
        var page = try await page(of: next, cloud)
        var needed: [ImportNeeds.AssetNeed] = []
        while true {
            try Task.checkCancellation()
            needed = try await assetsNeeded(by: page, of: chain)
            guard let count = Self.recordsThatFit(page, needed), count < page.records.count else { break }
            let smaller = try await cloud.page(of: next, recordsMax: count)
            coming.withLock { [page] in $0.giveBack(page.changeCount - smaller.changeCount) }
            page = smaller
        }
        chain.append(page, try await cloud.download(needed))
        if page.moreComing, chain.bytes > surroundings.stagingBytesMax {
            let staged = chain
            guard try await onQueue({ try self.file.stage(staged) }) else {
                chains.withLock { $0[row.zone.number] = nil }
                home.withLock { $0 = nil }
                return (ImportChain(row), 0, false)
            }
            chain.wasStaged()
        }
        chains.withLock { [chain] in $0[row.zone.number] = chain }
        return (chain, page.changeCount, false)
    }

    /// The pages of a zone that have arrived, in this life of the app or an earlier one, and wait for the last one.
    private func chain(of row: ZoneTable.Row) async throws -> ImportChain {
        let number = row.zone.number
        if var chain = chains.withLock({ $0[number] }), chain.follows(row) {
            // It was complete once, and something failed: what has changed since comes after it.
            chain.reopen()
            return chain
        }
        chains.withLock { $0[number] = nil }
        let isFirst = stagedZones.withLock { $0.insert(number).inserted }
        return try await (isFirst ? onQueue { try self.file.stagedChain(of: row) } : nil) ?? ImportChain(row)
    }

    private func assetsNeeded(by page: ImportPage, of chain: ImportChain) async throws -> [ImportNeeds.AssetNeed] {
        guard page.records.contains(where: \.hasAssets) else { return [] }
        return try await onQueue { try self.file.assetsNeeded(by: page, of: chain) }
    }

    private func contents(for page: ImportPage, of chain: ImportChain, _ cloud: MirrorCloud) async throws -> [(AssetValue, Data)] {
        try await cloud.download(try await assetsNeeded(by: page, of: chain))
    }

    private func forgetChain(of zone: MirrorZone) async throws {
        chains.withLock { $0[zone.number] = nil }
        home.withLock { $0 = nil }
        try await onQueue { try self.file.unstage(zone) }
    }

    /// - Returns: Also whether the list of zones is known to stand where the chain leaves the database.
    private func apply(
        _ fetched: ImportChain, of row: ZoneTable.Row, _ cloud: MirrorCloud
    ) async throws -> (records: Int, isRead: Bool, isListed: Bool) {
        var chain = fetched
        var withheld: Set<String> = []
        while true {
            try Task.checkCancellation()
            let ending = ending(), asked = chain, names = withheld
            switch try await onQueue({ try self.file.apply(asked, withholding: names, ending: ending) }) {
            case .applied(let records, let commit, let zone, let isListed, let hasShare):
                chains.withLock { $0[row.zone.number] = nil }
                wrote(ending: ending)
                if row.zone.isHome { home.withLock { $0 = zone } }
                permissions.forget()
                coordinator.didCommit([commit], by: nil)
                // What changes no row may be to be sent on, or allow what was refused.
                if commit.isEmpty, records > 0 || hasShare { storeChanged() }
                try await countIncomplete()
                return (records, chain.isComplete, isListed)
            // Asked again from where the store stands now.
            case .dropped:
                try await forgetChain(of: row.zone)
                return (0, false, false)
            case .lacksAssets(let needs, let waiting):
                let (contents, missing) = try await cloud.contents(of: needs, in: row.zone.id)
                chain.add(contents)
                // A record of a page that has got another value by now comes again, as it is.
                guard missing.isSubset(of: waiting), !contents.isEmpty || !missing.isSubset(of: withheld) else {
                    try await forgetChain(of: row.zone)
                    return (0, false, false)
                }
                withheld.formUnion(missing)
            }
        }
    }

    /// Takes in what waited for values that are free since something changed here, or in another zone.
    func release() async throws {
        guard file.mapping.hasUniqueness, incompleteCount.withLock({ $0 }) > 0, let cloud = try? openCloud() else { return }
        for row in try await onQueue({ try self.file.zonesToRelease() }) {
            guard let token = row.token else { continue }
            let page = ImportPage(records: [], deletions: [], askedWith: token, token: token, moreComing: false)
            _ = try await apply(ImportChain(page, of: row.zone), of: row, cloud)
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
