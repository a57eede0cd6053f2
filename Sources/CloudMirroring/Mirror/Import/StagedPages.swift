// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Dispatch
import Foundation
import MirroringCore
import SQLiteStore
import Synchronization

/// Pages of an import that is too large for memory until its last page arrives.
struct StagedPages: FileTransactions {
    let file: MirrorFile

    /// nil for a store in memory.
    var files: StagedFiles? { StagedFiles(store) }

    /// Removes files of zones without staged pages, which an earlier process left behind.
    func removeUnneededFiles(_ reader: StoreReader) throws {
        guard let files = files else { return }
        for zone in files.zones where try !StagedPageTable.hasPages(of: zone, reader) { files.remove(zone) }
    }

    /// Returns the pages of a zone that an earlier process staged; nil if they don't follow the zone's token.
    func chain(of row: ZoneTable.Row) throws -> ImportChain? {
        guard let staged = try store.read({ try StagedPageTable.summary(row.zone.number, $0) }) else { return nil }
        let chain = ImportChain(staged, of: row.zone)
        if chain.follows(row) { return chain }
        try unstage(row.zone)
        return nil
    }

    /// Stages the pages of a chain that are in memory, behind those that are staged.
    ///
    /// - Parameter next: A page that follows them.
    /// - Returns: false if the chain doesn't follow the zone's token any more.
    func stage(_ chain: ImportChain, with next: UndecodedPage? = nil) throws -> Bool {
        let (zone, files) = (chain.zone.number, files)
        if chain.stagedCount == 0 { files?.remove(zone) }
        var staged = chain.pages.map { $0.staged(in: chain.zone) }
        if let next { staged.append(next.staged) }
        let pages = staged.enumerated().map { index, page in
            var page = page
            let number = chain.stagedCount + Int64(index)
            // Where a file cannot be written, the table is tried, and has the error.
            if case .row(let body) = page.body, let digest = try? files?.add(body, page: number, zone: zone) {
                page.body = .file(digest: digest)
            }
            return (number: number, row: page)
        }
        let contents = chain.assets.filter { asset, content in
            guard let files, content.count >= StagedFiles.assetBytesMin else { return true }
            do { try files.add(content, of: asset, zone: zone) } catch { return true }
            return false
        }
        return try store.write { writer in
            guard let row = try ZoneTable.row(zone, writer), chain.follows(row) else { return false }
            if chain.stagedCount == 0 { try StagedPageTable.remove(zone, writer) }
            for page in pages { try StagedPageTable.append(page.row, number: page.number, zone: zone, writer) }
            for (asset, content) in contents { try StagedPageTable.append(content, of: asset, zone: zone, writer) }
            return true
        }
    }

    func unstage(_ zone: MirrorZone) throws {
        try store.write { try StagedPageTable.remove(zone.number, $0) }
        files?.remove(zone.number)
    }

    /// Removes the staged pages of all zones, and files without a page.
    func unstageAll() throws {
        let zones = try store.read { reader in
            try ZoneTable.all(reader).map(\.zone).filter { try StagedPageTable.hasPages(of: $0.number, reader) }
        }
        for zone in zones { try unstage(zone) }
        guard let files = files else { return }
        for zone in files.zones { files.remove(zone) }
    }

    /// Returns the content of a staged asset; nil if it is not staged.
    ///
    /// - Parameter asset: An ``ImportNeeds/AssetNeed/contentKey``.
    func content(of asset: AssetValue, in zone: MirrorZone, _ reader: StoreReader) throws -> Data? {
        try files?.content(of: asset, zone: zone.number) ?? StagedPageTable.content(of: asset, zone: zone.number, reader)
    }

    /// Returns the assets of a page with contents that are neither in memory nor staged.
    func assetsNeeded(by page: ImportPage, of chain: ImportChain) throws -> [ImportNeeds.AssetNeed] {
        let files = files
        return try store.read { reader in
            let (loaded, details) = try file.imports.load(page, chain.zone, reader)
            return try loaded.missing(details).filter { need in
                let key = need.contentKey
                if chain.assets[key] != nil { return false }
                if chain.stagedCount == 0 { return true }
                if files?.contains(key, zone: chain.zone.number) == true { return false }
                return try !StagedPageTable.isStaged(key, zone: chain.zone.number, reader)
            }
        }
    }

    /// A staged page or its file is missing, the file is damaged, or the body is no change page.
    struct PageLost: Error {}

    /// Hands out the pages of a chain in order. A staged page is read and decoded on another thread while the page before it is applied.
    ///
    /// Pages in memory are one if the model has required values. An object with its required object on a later page would be removed, and
    /// inserted again, without edits that were not sent. Staged pages do not fit in memory, and are applied one by one.
    ///
    /// - Throws: ``PageLost``, `CloudFailure` for keys that cannot be read, and what `body` throws.
    func forEachPage(
        of chain: ImportChain, _ database: SyncDatabase, _ writer: StoreWriter, _ body: (ImportPage, _ isLast: Bool) throws -> Void
    ) throws {
        var next = try decoding(0, of: chain, database, writer)
        var number: Int64 = 0
        while let decoding = next {
            let page = try decoding.take()
            if decoding.isInRow { try StagedPageTable.removePage(number, zone: chain.zone.number, writer) }
            number += 1
            next = try self.decoding(number, of: chain, database, writer)
            try body(page, next == nil && chain.pages.isEmpty)
            // Of a large page, this takes as long as decoding.
            if !surroundings.isDeterministic { DispatchQueue.global(qos: .userInitiated).async { [page] in _ = page } }
        }
        let pages = mapping.hasRequirements ? ImportPage.joined(chain.pages).map { [$0] } ?? [] : chain.pages
        for (index, page) in pages.enumerated() { try body(page, index == pages.count - 1) }
    }

    private func decoding(
        _ number: Int64, of chain: ImportChain, _ database: SyncDatabase, _ reader: StoreReader
    ) throws -> PageDecoding? {
        guard number < chain.stagedCount else { return nil }
        guard let page = try StagedPageTable.page(number, zone: chain.zone.number, reader) else { throw PageLost() }
        let (files, zone) = (files, chain.zone)
        return PageDecoding(page, of: zone, database, isParallel: !surroundings.isDeterministic) { digest in
            guard let body = files?.body(ofPage: number, zone: zone.number, digest: digest) else { throw PageLost() }
            return body
        }
    }
}

/// A staged page that is being decoded.
private final class PageDecoding: Sendable {
    private let result = Mutex<Result<ImportPage, any Error>?>(nil)
    private let isDecoded = DispatchSemaphore(value: 0)
    /// Whether the page takes room in the database.
    let isInRow: Bool

    /// - Parameter read: Reads the body of a file with a digest.
    init(
        _ staged: StagedPageTable.Page, of zone: MirrorZone, _ database: SyncDatabase, isParallel: Bool,
        _ read: @escaping @Sendable (_ digest: [UInt8]) throws -> [UInt8]
    ) {
        isInRow = if case .row = staged.body { true } else { false }
        let decode = { @Sendable [self] in
            let decoded = Result {
                let body =
                    switch staged.body {
                    case .file(let digest): try read(digest)
                    case .row(let body): body
                    }
                return try ImportPage(staged, body, of: zone, database)
            }
            result.withLock { $0 = decoded }
            isDecoded.signal()
        }
        if isParallel { DispatchQueue.global(qos: .userInitiated).async(execute: decode) } else { decode() }
    }

    /// Waits for the page, and hands it over.
    func take() throws -> ImportPage {
        isDecoded.wait()
        guard let result = result.withLock({ $0.take() }) else { preconditionFailure("a page is decoded before the semaphore is signaled") }
        return try result.get()
    }
}

extension ImportPage {
    fileprivate func staged(in zone: MirrorZone) -> StagedPageTable.Page {
        let deleted = deletions.map { Record(recordName: $0, recordType: "", isDeleted: true) }
        let changes = ZoneChanges(zoneID: zone.id, records: records + deleted, syncToken: token, moreComing: moreComing)
        let body = ZoneChangesResponse(zones: [.changes(changes)]).encoded()
        return StagedPageTable.Page(
            askedWith: askedWith, token: token, generation: generation, hasDeletions: !deletions.isEmpty, form: .decrypted, body: .row(body)
        )
    }

    fileprivate init(_ staged: StagedPageTable.Page, _ body: [UInt8], of zone: MirrorZone, _ database: SyncDatabase) throws {
        let result: ZoneChangesResult? =
            switch staged.form {
            case .decrypted: try? ZoneChangesResponse(json: body).zones.first
            case .arrived: try? ZoneChangesResult(json: body)
            }
        guard case .changes(let changes)? = result, changes.zoneID.zoneName == zone.id.zoneName,
            changes.records.contains(where: \.isDeleted) == staged.hasDeletions
        else { throw StagedPages.PageLost() }
        var records = changes.records.filter { !$0.isDeleted }
        if staged.form == .arrived {
            // Its text did not show the asset, of which neither the content nor an address is there.
            if records.contains(where: \.hasAssets) { throw StagedPages.PageLost() }
            records = try records.map { try database.opened($0, of: zone.id) }
        }
        self.init(
            records: records, deletions: changes.records.filter(\.isDeleted).map(\.recordName), askedWith: staged.askedWith,
            token: staged.token, moreComing: changes.moreComing, generation: staged.generation)
        if generation != nil { newObjects = NewObjects(self.records, mapping: database.mapping) }
    }
}

extension UndecodedPage {
    fileprivate var staged: StagedPageTable.Page {
        StagedPageTable.Page(
            askedWith: askedWith, token: token, generation: generation, hasDeletions: false, form: .arrived, body: .row(body))
    }
}
