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
    /// Bytes of assets at which they are.
    static let assetBytesMax = 32_000_000

    /// The pages so far, as one.
    var page: ImportPage?
    /// Contents of assets, without their addresses.
    var assets: [AssetValue: Data] = [:]
    private var assetBytes = 0

    mutating func append(_ next: ImportPage) {
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
    var isDue: Bool {
        guard let page else { return false }
        return !page.moreComing || page.records.count + page.deletions.count >= Self.changesMax || assetBytes >= Self.assetBytesMax
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
        let changes = try await session.client.changes(after: token, saved: state.exportedToken)
        var page = ImportPage(
            records: changes.records.filter { !$0.isDeleted }, deletions: changes.records.filter(\.isDeleted).map(\.recordName),
            askedWith: token, token: changes.syncToken, moreComing: changes.moreComing, generation: generation,
            remaining: changes.remaining)
        page.exportedToken = state.exportedToken
        let fetched = page
        let needs = try await session.onFile { [mirrored = session.mirrored] in try mirrored.assetsNeeded(by: fetched) }
        try await download(needs)
        let isDue = session.chain.withLock { chain in
            chain.append(fetched)
            return chain.isDue
        }
        let next = ImportRound()
        guard isDue else { return .pageApplied(records: fetched.records.count + fetched.deletions.count, next: next) }
        let chain = session.chain.withLock { $0 }
        guard let complete = chain.page else { return .pageApplied(records: 0, next: next) }
        let records = try await apply(complete)
        session.chain.withLock { $0 = PageChain() }
        guard let records else { return .pageApplied(records: 0, next: next) }
        return .pageApplied(records: records, next: complete.moreComing ? next : nil)
    }

    /// - Returns: nil if the page was dropped: it does not follow the zone's token.
    private func apply(_ page: ImportPage) async throws -> Int? {
        for attempt in 1...Self.attemptsMax {
            try Task.checkCancellation()
            let assets = session.chain.withLock { $0.assets }
            do {
                switch try await session.onFile({ [mirrored = session.mirrored] in try mirrored.apply(page, assets: assets) }) {
                case .applied(let records): return records
                case .dropped: return nil
                case .lacksAssets(let needs): try await download(needs)
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
    /// - Throws: `.assetNotAvailable` for an asset that was replaced since its page was fetched: the page is fetched again later.
    private func download(_ needs: [ImportNeeds.AssetNeed]) async throws {
        for need in needs where session.chain.withLock({ $0.assets[need.asset.withoutAddress] == nil }) {
            let content = try await session.client.download(need.asset)
            session.chain.withLock { $0.add(content, of: need.asset) }
        }
    }
}
