// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import MirroringCore
import ObjectGraph
import Synchronization

/// Reads the change pages of one zone into a chain, and applies the chain in one transaction.
struct PageReader: Sendable {
    struct Applied {
        /// Changes of dropped pages.
        var count = ChangeCount()
        /// Whether the zone was read to its end.
        var isRead = false
        /// Whether the list of zones is known to be current after the chain.
        var isListed = false
    }

    let sync: StoreSync

    private var file: MirrorFile { sync.file }

    // MARK: Fetch

    /// Fetches the next page of a zone, with the contents of its assets, and appends it to the zone's chain.
    ///
    /// - Parameter pushed: The changes that notifications carried.
    /// - Returns: The chain of pages, the number of changes in the appended page and in dropped ones, and whether they were pushed.
    func extendChain(
        of row: ZoneTable.Row, pushed: ImportPage? = nil, _ database: SyncDatabase
    ) async throws -> (chain: ImportChain, count: ChangeCount, isPushed: Bool) {
        var chain = try await chain(of: row)
        if chain.isEmpty, var pushed, pushed.follows(row.token, generation: chain.generation) {
            let download = try await database.download(try await assetsNeeded(by: pushed, of: chain), in: row.zone.id)
            pushed.quarantine(download.unreadable)
            chain.append(pushed, download.contents)
            return (chain, ChangeCount(received: pushed.changeCount), true)
        }
        var next = row
        next.token = chain.token
        var page: ImportPage
        switch try await self.page(of: next, database) {
        case .decoded(let decoded): page = decoded
        case .undecoded(let undecoded):
            try checkPosition(.undecoded(undecoded), after: next)
            return try await stage(chain, with: undecoded, of: row, received: undecoded.recordCount)
        }
        var needed: [ImportNeeds.AssetNeed] = []
        var recordsMax = Int.max
        while true {
            try Task.checkCancellation()
            needed = try await assetsNeeded(by: page, of: chain)
            guard let count = Self.recordsThatFit(page, needed), count < page.records.count else { break }
            // A server that returns more records than requested would be asked forever.
            guard count < recordsMax else {
                throw CloudFailure(.internalError, "the server returned more records than the \(recordsMax) that were requested")
            }
            recordsMax = count
            guard case .decoded(let smaller) = try await database.page(of: next, recordsMax: count) else { break }
            let dropped = sync.state.withLock { [page, next] state in
                state.importer.remaining.giveBack(page.changeCount - smaller.changeCount)
                // Those in flight follow the larger page.
                let dropped = state.importer.prefetched.drop()
                if smaller.moreComing { state.importer.prefetched.begin(at: next.following(smaller.token)) }
                return dropped
            }
            for request in dropped { request.cancel() }
            page = smaller
            prefetch(database)
        }
        try checkPosition(.decoded(page), after: next)
        let download = try await database.download(needed, in: row.zone.id)
        page.quarantine(download.unreadable)
        chain.append(page, download.contents)
        // Once pages are in the file, each one follows them while the next one is fetched and decoded.
        if page.moreComing, chain.stagedCount > 0 || chain.bytes > sync.environment.stagingBytesMax {
            return try await stage(chain, of: row, received: page.changeCount)
        }
        sync.state.withLock { [chain] in $0.importer.chains[row.zone.number] = chain }
        return (chain, ChangeCount(received: page.changeCount), false)
    }

    /// - Throws: `CloudFailure` if the server returned the position behind a page before, and says that more pages follow.
    private func checkPosition(_ page: FetchedPage, after row: ZoneTable.Row) throws {
        let isNew = sync.state.withLock { state in
            guard page.moreComing else {
                state.importer.positions[row.zone.number] = nil
                return true
            }
            let (asked, next) = (position(row.token), position(page.token) ?? page.token)
            return state.importer.positions[row.zone.number, default: PagePositions()].advance(from: asked, to: next)
        }
        if !isNew { throw CloudFailure.repeatedPage }
    }

    /// The position of a page. That of a query is without the times of its records, which a server may change at will.
    private func position(_ token: String?) -> String? {
        file.scope == .public && token.flatMap(FeedToken.syncToken) == nil ? QueryPosition(token).page : token
    }

    /// Stages the pages of a chain that are in memory, and one behind them.
    ///
    /// - Parameter received: The number of changes in the page that arrived last.
    private func stage(
        _ chain: ImportChain, with next: UndecodedPage? = nil, of row: ZoneTable.Row, received: Int
    ) async throws -> (chain: ImportChain, count: ChangeCount, isPushed: Bool) {
        sync.state.withLock { $0.importer.mayHaveStaged = true }
        let isStaged = try await sync.onQueue { [file] in try file.stagedPages.stage(chain, with: next) }
        var staged = chain
        staged.wasStaged(with: next)
        guard isStaged else {
            try await sync.onQueue { [file] in try file.stagedPages.unstage(row.zone) }
            sync.state.withLock { $0.importer.forgetChain(of: row.zone) }
            return (ImportChain(row), ChangeCount(received: received, dropped: staged.changeCount), false)
        }
        sync.state.withLock { [staged] in $0.importer.chains[row.zone.number] = staged }
        return (staged, ChangeCount(received: received), false)
    }

    /// Returns the next page of a zone, and prefetches those behind it.
    private func page(of row: ZoneTable.Row, _ database: SyncDatabase) async throws -> FetchedPage {
        let (prefetched, dropped, isDue) = sync.state.withLock { state in
            let prefetched = state.importer.prefetched.take(row)
            let dropped = prefetched == nil ? state.importer.prefetched.drop() : []
            return (prefetched, dropped, state.importer.remaining.isDue(row.zone.number))
        }
        for request in dropped { request.cancel() }
        let page: FetchedPage
        if let prefetched {
            // The page behind it, if that is known by now.
            prefetch(database)
            page = try await withTaskCancellationHandler {
                try await prefetched.page.value
            } onCancel: {
                prefetched.page.cancel()
            }
        } else {
            page = try await fetch(row, isCounting: isDue, database)
            if page.moreComing { sync.state.withLock { [page] in $0.importer.prefetched.begin(at: row.following(page.token)) } }
        }
        sync.state.withLock { [page] in $0.importer.remaining.take(page, wasAsked: prefetched?.isCounting ?? isDue) }
        prefetch(database)
        return page
    }

    func dropPrefetched() {
        for request in sync.state.withLock({ $0.importer.prefetched.drop() }) { request.cancel() }
    }

    /// - Parameter announce: Receives the token behind the page, at most once and as soon as it is known, if there is a page behind it.
    private func fetch(
        _ row: ZoneTable.Row, isCounting: Bool, _ database: SyncDatabase, announce: @Sendable (String) -> Void = { _ in }
    ) async throws -> FetchedPage {
        let (isStaging, hasLostPages) = sync.state.withLock { state in
            (state.importer.isStaging(row.zone), state.importer.zonesThatLostPages.contains(row.zone.number))
        }
        let isAnnounced = Atomic(false)
        // Where a staged page was lost, a frame of the snapshot may be no change page.
        let fetched = try await database.page(of: row, isCounting: isCounting, isStaging: isStaging && !hasLostPages) { token in
            isAnnounced.store(true, ordering: .relaxed)
            announce(token)
        }
        guard case .decoded(var page) = fetched else { return fetched }
        if page.moreComing, !isAnnounced.load(ordering: .relaxed) { announce(page.token) }
        // A new device knows none of them: their rows are made while the page before is written.
        if page.generation != nil, !isStaging { page.newObjects = NewObjects(page.records, mapping: file.mapping) }
        return .decoded(page)
    }

    /// Starts the request for the next page; as its token is known, the one for the page behind it.
    private func prefetch(_ database: SyncDatabase) {
        // A cancelled import, or a dropped page.
        if Task.isCancelled { return }
        sync.state.withLock { state in
            guard !state.tasks.isStopped, let row = state.importer.prefetched.toRequest else { return }
            let isCounting = !state.importer.prefetched.isCounting && state.importer.remaining.isDue(row.zone.number)
            let series = state.importer.prefetched.series
            let page = Task(executorPreference: sync.environment.executor) {
                try await fetch(row, isCounting: isCounting, database) { token in
                    let isCurrent = sync.state.withLock { $0.importer.prefetched.announce(token, behind: row, in: series) }
                    if isCurrent { prefetch(database) }
                }
            }
            state.importer.prefetched.append(
                PrefetchedPage(zone: row.zone, token: row.token, isFullFetch: row.isFullFetch, isCounting: isCounting, page: page))
        }
    }

    /// Returns the pages of a zone that arrived, in this process or an earlier one, and wait for the last one.
    private func chain(of row: ZoneTable.Row) async throws -> ImportChain {
        let number = row.zone.number
        if var chain = sync.state.withLock({ $0.importer.chains[number] }), chain.follows(row) {
            // A complete chain that was not applied: later changes follow it.
            chain.reopen()
            return chain
        }
        let isFirst = sync.state.withLock { state in
            state.importer.chains[number] = nil
            return state.importer.zonesLookedUp.insert(number).inserted
        }
        return try await (isFirst ? sync.onQueue { [file] in try file.stagedPages.chain(of: row) } : nil) ?? ImportChain(row)
    }

    private func assetsNeeded(by page: ImportPage, of chain: ImportChain) async throws -> [ImportNeeds.AssetNeed] {
        guard page.records.contains(where: \.hasAssets) else { return [] }
        return try await sync.onQueue { [file] in try file.stagedPages.assetsNeeded(by: page, of: chain) }
    }

    /// Returns how many records to request instead if the assets of a page are too large; nil if they are not, or if the first record
    /// alone is.
    static func recordsThatFit(_ page: ImportPage, _ needed: [ImportNeeds.AssetNeed]) -> Int? {
        var sizes: [String: Int64] = [:]
        for need in needed { sizes[need.recordName, default: 0] += max(need.asset.size, 0) }
        var bytes: Int64 = 0
        for (index, record) in page.records.enumerated() {
            bytes += sizes[record.recordName] ?? 0
            if bytes > SyncDatabase.pageAssetBytesMax { return page.records.count > 1 ? max(index, 1) : nil }
        }
        return nil
    }

    // MARK: Apply

    func apply(_ fetched: ImportChain, of row: ZoneTable.Row, _ database: SyncDatabase) async throws -> Applied {
        let events = EventRecorder(sync: sync)
        var chain = fetched
        var withheld: Set<String> = []
        while true {
            try Task.checkCancellation()
            let ending = events.endingNow(), complete = chain, names = withheld
            switch try await sync.onQueue({ [file] in try file.imports.apply(complete, database, withholding: names, ending: ending) }) {
            case .applied(let records, let commit, let zone, let isListed, let hasShare, let unreadable):
                sync.state.withLock { $0.importer.chains[row.zone.number] = nil }
                events.didStore(ending)
                if row.zone.isHome { sync.state.withLock { $0.importer.homeRow = zone } }
                sync.merge(commit)
                // Records that change no row may still have to be sent on, or permit a rejected change.
                if commit.isEmpty, records > 0 || hasShare { sync.storeChanged() }
                try await sync.countWithheld()
                if !unreadable.isEmpty { sync.state.withLock { $0.details.newlyUnreadable.formUnion(unreadable) } }
                try await sync.countUnreadable()
                return Applied(isRead: chain.isComplete, isListed: isListed)
            case .dropped: return try await drop(chain)
            case .lost:
                let isFirst = sync.state.withLock { $0.importer.zonesThatLostPages.insert(row.zone.number).inserted }
                let dropped = try await drop(chain)
                // The next attempt comes after a delay, or the zone would be fetched again and again.
                guard isFirst else {
                    throw CloudFailure(
                        .internalError,
                        "the local store: files of pages in its folder _STAGED cannot be read, and the pages are fetched again; check the disk, and let no program delete them"
                    )
                }
                return dropped
            case .lacksAssets(let needs, let waiting):
                let (contents, missing) = try await database.contents(of: needs, in: row.zone.id)
                chain.add(contents)
                // A record with an asset that was replaced on the server is fetched again.
                guard missing.isSubset(of: waiting), !contents.isEmpty || !missing.isSubset(of: withheld) else {
                    return try await drop(chain)
                }
                withheld.formUnion(missing)
            }
        }
    }

    /// Drops a chain that does not follow the zone's state. The zone is read again from there.
    private func drop(_ chain: ImportChain) async throws -> Applied {
        sync.state.withLock { $0.importer.forgetChain(of: chain.zone) }
        try await sync.onQueue { [file] in try file.stagedPages.unstage(chain.zone) }
        return Applied(count: ChangeCount(dropped: chain.changeCount))
    }

    /// Drops the pages of all zones, when each zone is read to its end. Some may be left of a chain that a request made stale, or of a zone
    /// that was fetched again from its beginning with fewer pages.
    func dropChains() async throws {
        let mayHaveStaged = sync.state.withLock { state in
            state.importer.chains.removeAll()
            return state.importer.mayHaveStaged
        }
        guard mayHaveStaged else { return }
        try await sync.onQueue { [file] in try file.stagedPages.unstageAll() }
        sync.state.withLock { $0.importer.mayHaveStaged = false }
    }
}
