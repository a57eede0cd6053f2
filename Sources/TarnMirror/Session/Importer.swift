// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import CoreData
import Foundation
import MirroringCore
import Synchronization

/// The change pages that arrived and wait for the last one: only that one leaves the store as the server had it at some moment.
struct PageChain: Sendable {
    /// Records and deletions at which pages are applied without waiting for the last one.
    static let changesMax = 4000

    /// The pages so far, as one.
    var page: ImportPage?
    /// Contents of assets, without their addresses.
    var assets: [AssetValue: Data] = [:]
    /// Changes that arrived, with earlier states of a record.
    private(set) var receivedCount = 0
    private var assetBytes = 0

    mutating func append(_ next: ImportPage) {
        receivedCount += next.changeCount
        guard var page else { return page = next }
        // A later state of a record replaces an earlier one.
        let later = Set(next.records.map(\.recordName)).union(next.deletions)
        page.records = page.records.filter { !later.contains($0.recordName) } + next.records
        page.deletions = page.deletions.filter { !later.contains($0) } + next.deletions
        page.token = next.token
        page.moreComing = next.moreComing
        page.exportedToken = next.exportedToken
        self.page = page
    }

    mutating func add(_ content: Data, of asset: AssetValue) {
        if assets.updateValue(content, forKey: asset.withoutAddress) == nil { assetBytes += content.count }
    }

    /// Whether the pages are to be applied.
    ///
    /// - Parameter assetBytesMax: Bytes of assets at which they are, without waiting for the last one.
    func isDue(assetBytesMax: Int) -> Bool {
        guard let page else { return false }
        return !page.moreComing || page.changeCount >= Self.changesMax || assetBytes >= assetBytesMax
    }
}

/// The import operation: fetches one page of the zone's changes, and applies the pages once they are complete.
struct Importer: Sendable {
    let session: MirrorSession

    /// Attempts to save an import while the app saves the same objects.
    private static let attemptsMax = 8

    func fetchPage() async throws -> SyncMachine.Outcome {
        try await Exporter(session: session).replayOutbox()
        let state = try await session.onFile { [mirrored = session.mirrored] in try mirrored.state() }
        let generation = state.isFullFetch ? state.generation : nil
        session.chain.withLock { chain in
            if let page = chain.page, !page.follows(state.token, generation: generation) || !page.moreComing { chain = PageChain() }
        }
        let token = session.chain.withLock { $0.page?.token } ?? state.token
        let assetBytesMax = session.environment.assetBytesMax
        let (page, needs) = try await fetch(after: token, state, assetBytesMax: assetBytesMax)
        if page.moreComing, !session.positions.withLock({ $0.advance(from: token, to: page.token) }) { throw CloudFailure.repeatedPage }
        var fetched = page
        fetched.quarantine(try await download(needs))
        let due = session.chain.withLock { [fetched] chain in
            chain.append(fetched)
            return chain.isDue(assetBytesMax: assetBytesMax) ? chain.page : nil
        }
        if let due {
            let isApplied = try await apply(due)
            let received = session.chain.withLock { chain in
                defer { chain = PageChain() }
                return chain.receivedCount
            }
            // A dropped chain is fetched, and counted, again.
            guard isApplied else {
                return .pageApplied(ChangeCount(received: fetched.changeCount, dropped: received), next: ImportRound())
            }
            if !fetched.moreComing { try await retryQuarantined() }
        }
        return .pageApplied(
            ChangeCount(received: fetched.changeCount), remaining: fetched.remaining, next: fetched.moreComing ? ImportRound() : nil)
    }

    /// Fetches a page, with as many records as there is memory for their assets.
    private func fetch(
        after token: String?, _ state: MirrorState, assetBytesMax: Int
    ) async throws -> (page: ImportPage, needs: [ImportNeeds.AssetNeed]) {
        var recordsMax = MirrorClient.pageRecordsMax
        while true {
            try Task.checkCancellation()
            let changes = try await session.client.changes(after: token, saved: state.exportedToken, recordsMax: recordsMax)
            var page = ImportPage(
                records: changes.records.filter { !$0.isDeleted }.map(\.withoutFieldStates),
                deletions: changes.records.filter(\.isDeleted).map(\.recordName),
                askedWith: token, token: changes.syncToken, moreComing: changes.moreComing,
                generation: state.isFullFetch ? state.generation : nil, remaining: changes.remaining)
            page.exportedToken = state.exportedToken
            let needs = try await session.onFile { [mirrored = session.mirrored, page] in try mirrored.assetsNeeded(by: page) }
            guard let count = page.recordsThatFit(needs, assetBytesMax: assetBytesMax), count < page.records.count else {
                return (page, needs)
            }
            // A server that returns more records than requested would be asked forever.
            guard count < recordsMax else {
                throw CloudFailure(.internalError, "the server returned more records than the \(recordsMax) that were requested")
            }
            recordsMax = count
        }
    }

    /// - Returns: `false` if the page was dropped: it does not follow the zone's token.
    private func apply(_ received: ImportPage) async throws -> Bool {
        var page = received
        for attempt in 1...Self.attemptsMax {
            try Task.checkCancellation()
            let assets = session.chain.withLock { $0.assets }
            do {
                switch try await session.onFile({ [mirrored = session.mirrored, page] in try mirrored.apply(page, assets: assets) }) {
                case .applied: return true
                case .dropped: return false
                case .lacksAssets(let needs): page.quarantine(try await download(needs))
                }
            } catch let error as CocoaError where error.code.rawValue == NSManagedObjectMergeError && attempt < Self.attemptsMax {
                // The app saved one of the objects since they were read: they are read again.
                continue
            }
        }
        throw CloudFailure(.zoneBusy, "the app keeps saving the objects that an import changes", retryAfter: .seconds(1))
    }

    /// Downloads contents that the chain lacks.
    ///
    /// - Returns: The assets that the server does not have.
    /// - Throws: `.assetNotAvailable` for an asset that was replaced since its page was fetched: the page is fetched again later.
    private func download(_ needs: [ImportNeeds.AssetNeed]) async throws -> [UnreadableAsset] {
        let unavailable = try await attempt(needs)
        if unavailable.isEmpty { return [] }
        let records = try await session.client.lookUp(Set(unavailable.map(\.recordName)).sorted())
        let (present, replaced) = ImportNeeds.AssetNeed.addressed(unavailable, by: records)
        if !replaced.isEmpty { throw CloudFailure.assetReplaced }
        return try await attempt(present).map(\.missing)
    }

    /// - Returns: The needs of assets that the server does not have at their addresses.
    private func attempt(_ needs: [ImportNeeds.AssetNeed]) async throws -> [ImportNeeds.AssetNeed] {
        var unavailable: [ImportNeeds.AssetNeed] = []
        for need in needs where session.chain.withLock({ $0.assets[need.asset.withoutAddress] == nil }) {
            do {
                let content = try await session.client.download(need.asset)
                session.chain.withLock { $0.add(content, of: need.asset) }
            } catch {
                guard CloudFailure(error).isAssetMissing else { throw error }
                unavailable.append(need)
            }
        }
        return unavailable
    }

    // MARK: Quarantined values

    /// Records that are imported together: the contents of their assets are in memory.
    private static let retriedMax = 50

    /// Fetches records with quarantined values again, at the end of an import: once after each start, and a day after the last attempt. A
    /// record that another device changes arrives with the next import.
    private func retryQuarantined() async throws {
        guard session.retriesQuarantined() else { return }
        let names = try await session.onFile { [mirrored = session.mirrored] in try mirrored.quarantinedNames() }
        do {
            var parts = LookUpParts(names, session.client.limits, atMost: Self.retriedMax)
            while let records = try await session.client.lookUp(&parts) { try await add(records) }
        } catch let failure as CloudFailure where failure.code == .assetNotAvailable {
            // An asset that can't be downloaded, and that the server may have: the values stay quarantined until the end of the next import.
            return
        }
        session.didRetryQuarantined()
    }

    /// Imports the present versions of records.
    private func add(_ records: [Record]) async throws {
        let state = try await session.onFile { [mirrored = session.mirrored] in try mirrored.state() }
        // A full fetch returns them as well.
        guard !records.isEmpty, let token = state.token, !state.isFullFetch else { return }
        var page = ImportPage(
            records: records.map(\.withoutFieldStates), deletions: [], askedWith: token, token: token, moreComing: false)
        session.chain.withLock { $0 = PageChain() }
        defer { session.chain.withLock { $0 = PageChain() } }
        let needs = try await session.onFile { [mirrored = session.mirrored, page] in try mirrored.assetsNeeded(by: page) }
        page.quarantine(try await download(needs))
        _ = try await apply(page)
    }
}

extension ImportPage {
    fileprivate var changeCount: Int { records.count + deletions.count }

    /// Returns how many records to request instead if the assets of a page are too large; nil if they are not, or if the first record
    /// alone is.
    fileprivate func recordsThatFit(_ needs: [ImportNeeds.AssetNeed], assetBytesMax: Int) -> Int? {
        var sizes: [String: Int64] = [:]
        for need in needs { sizes[need.recordName, default: 0] += max(need.asset.size, 0) }
        var bytes: Int64 = 0
        for (index, record) in records.enumerated() {
            bytes += sizes[record.recordName] ?? 0
            if bytes > Int64(assetBytesMax) { return records.count > 1 ? max(index, 1) : nil }
        }
        return nil
    }
}
