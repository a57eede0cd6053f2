// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Dispatch
import Foundation
import MirroringCore
import SQLiteStore
import Synchronization

// Pages of an import that is too large for memory until its last page arrives.

extension MirrorFile {
    /// nil for a store in memory.
    var stagedFiles: StagedAssetFiles? { StagedAssetFiles(store) }

    /// Removes files of zones without staged pages, which an earlier process left behind.
    func removeUnneededFiles(_ reader: StoreReader) throws {
        guard let files = stagedFiles else { return }
        for zone in files.zones where try !StagedPageTable.hasPages(of: zone, reader) { files.remove(zone) }
    }

    /// Returns the pages of a zone that an earlier process staged; nil if they don't follow the zone's token.
    func stagedChain(of row: ZoneTable.Row) throws -> ImportChain? {
        guard let staged = try store.read({ try StagedPageTable.summary(row.zone.number, $0) }) else { return nil }
        let chain = ImportChain(staged, of: row.zone)
        if chain.follows(row) { return chain }
        try unstage(row.zone)
        return nil
    }

    /// Writes the pages of a chain that are in memory to the file, behind those that are there.
    ///
    /// - Returns: false if the chain doesn't follow the zone's token any more.
    func stage(_ chain: ImportChain) throws -> Bool {
        let pages = chain.pages.map { $0.staged(in: chain.zone) }
        let files = stagedFiles
        if chain.stagedCount == 0 { files?.remove(chain.zone.number) }
        // Where a file cannot be written, the table is tried, and has the error.
        let contents = chain.assets.filter { asset, content in
            guard let files, content.count >= StagedAssetFiles.bytesMin else { return true }
            do { try files.add(content, of: asset, zone: chain.zone.number) } catch { return true }
            return false
        }
        return try store.write { writer in
            guard let row = try ZoneTable.row(chain.zone.number, writer), chain.follows(row) else { return false }
            if chain.stagedCount == 0 { try StagedPageTable.remove(chain.zone.number, writer) }
            for (index, page) in pages.enumerated() {
                try StagedPageTable.append(page, number: chain.stagedCount + Int64(index), zone: chain.zone.number, writer)
            }
            for (asset, content) in contents { try StagedPageTable.append(content, of: asset, zone: chain.zone.number, writer) }
            return true
        }
    }

    func unstage(_ zone: MirrorZone) throws {
        try store.write { try StagedPageTable.remove(zone.number, $0) }
        stagedFiles?.remove(zone.number)
    }

    /// Returns the content of a staged asset; nil if it is not staged.
    func stagedContent(of asset: AssetValue, in zone: MirrorZone, _ reader: StoreReader) throws -> Data? {
        try stagedFiles?.content(of: asset, zone: zone.number) ?? StagedPageTable.content(of: asset, zone: zone.number, reader)
    }

    /// Returns the assets of a page with contents that are neither in memory nor staged.
    func assetsNeeded(by page: ImportPage, of chain: ImportChain) throws -> [ImportNeeds.AssetNeed] {
        let files = stagedFiles
        return try store.read { reader in
            let (loaded, details) = try load(page, chain.zone, reader)
            return try loaded.missing(details).filter { need in
                if chain.assets[need.asset.withoutAddress] != nil { return false }
                if chain.stagedCount == 0 { return true }
                if files?.contains(need.asset, zone: chain.zone.number) == true { return false }
                return try !StagedPageTable.isStaged(need.asset, zone: chain.zone.number, reader)
            }
        }
    }

    /// Hands out the pages of a chain in order. A staged page is decoded on another thread while the page before it is applied.
    ///
    /// Pages in memory are one if the model has required values. An object with its required object on a later page would be removed, and
    /// inserted again, without edits that were not sent. Staged pages do not fit in memory, and are applied one by one.
    func forEachPage(of chain: ImportChain, _ writer: StoreWriter, _ body: (ImportPage, _ isLast: Bool) throws -> Void) throws {
        var next = try decoding(0, of: chain, writer)
        var number: Int64 = 0
        while let decoding = next {
            let page = try decoding.page()
            try StagedPageTable.removePage(number, zone: chain.zone.number, writer)
            number += 1
            next = try self.decoding(number, of: chain, writer)
            try body(page, next == nil && chain.pages.isEmpty)
        }
        let pages = mapping.hasRequirements ? ImportPage.joined(chain.pages).map { [$0] } ?? [] : chain.pages
        for (index, page) in pages.enumerated() { try body(page, index == pages.count - 1) }
    }

    private func decoding(_ number: Int64, of chain: ImportChain, _ reader: StoreReader) throws -> PageDecoding? {
        guard number < chain.stagedCount else { return nil }
        guard let page = try StagedPageTable.page(number, zone: chain.zone.number, reader) else {
            throw CloudFailure(.internalError, "the local store: a staged change page is missing")
        }
        return PageDecoding(page, mapping, isParallel: !surroundings.isDeterministic)
    }
}

/// A staged page that is being decoded.
private final class PageDecoding: Sendable {
    private let result = Mutex<Result<ImportPage, any Error>?>(nil)
    private let isDecoded = DispatchSemaphore(value: 0)

    init(_ staged: StagedPageTable.Page, _ mapping: RecordMapping, isParallel: Bool) {
        let decode = { @Sendable [self] in
            let decoded = Result { try ImportPage(staged, mapping) }
            result.withLock { $0 = decoded }
            isDecoded.signal()
        }
        if isParallel { DispatchQueue.global(qos: .userInitiated).async(execute: decode) } else { decode() }
    }

    /// Waits for the page.
    func page() throws -> ImportPage {
        isDecoded.wait()
        guard let result = result.withLock({ $0 }) else { preconditionFailure("a page is decoded before the semaphore is signaled") }
        return try result.get()
    }
}

extension ImportPage {
    /// The staged form of the page.
    fileprivate func staged(in zone: MirrorZone) -> StagedPageTable.Page {
        let deleted = deletions.map { Record(recordName: $0, recordType: "", isDeleted: true) }
        let changes = ZoneChanges(zoneID: zone.id, records: records + deleted, syncToken: token, moreComing: moreComing)
        return StagedPageTable.Page(
            askedWith: askedWith, token: token, generation: generation, hasDeletions: !deletions.isEmpty,
            body: ZoneChangesResponse(zones: [.changes(changes)]).encoded())
    }

    fileprivate init(_ staged: StagedPageTable.Page, _ mapping: RecordMapping) throws {
        guard case .changes(let changes)? = try ZoneChangesResponse(json: staged.body).zones.first else {
            throw CloudFailure(.internalError, "the local store: a staged change page cannot be read")
        }
        self.init(
            records: changes.records.filter { !$0.isDeleted }, deletions: changes.records.filter(\.isDeleted).map(\.recordName),
            askedWith: staged.askedWith, token: staged.token, moreComing: changes.moreComing, generation: staged.generation)
        if generation != nil { newObjects = NewObjects(records, mapping: mapping) }
    }
}
