// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import ObjectGraph

/// The change pages of one zone that one transaction applies: all that follow the zone's token, in order.
///
///     zone's token ── page ── page ── page ── page ── last page
///                     └────── staged ──────┘  └─ in memory ─┘
///
/// Only the last page leaves the zone as the server had it at some moment. A page before it may show a part of a save.
struct ImportChain: Sendable {
    let zone: MirrorZone
    /// The zone's token before the first page; nil at the beginning of a zone.
    let askedWith: String?
    /// The number of the full fetch that the pages belong to, if they do.
    let generation: Int64?
    /// How many pages are in the file, ahead of those in memory.
    private(set) var stagedCount: Int64 = 0
    private(set) var pages: [ImportPage] = []
    /// Contents of assets that aren't in the file, by ``ImportNeeds/AssetNeed/contentKey``.
    private(set) var assets: [AssetValue: Data] = [:]
    /// The token of the last page.
    private(set) var token: String?
    private(set) var hasDeletions = false
    /// Changes of the pages that this process fetched.
    private(set) var changeCount = 0
    /// Whether the last page is the zone's last one.
    private(set) var isComplete = false
    /// Bytes in memory, about. Contents that are mapped from a file count as well: it takes room on the disk.
    private(set) var bytes = 0

    init(_ row: ZoneTable.Row) {
        zone = row.zone
        askedWith = row.token
        generation = row.isFullFetch ? row.generation : nil
        token = row.token
    }

    /// A chain of one page.
    init(_ page: ImportPage, of zone: MirrorZone) {
        self.zone = zone
        askedWith = page.askedWith
        generation = page.generation
        append(page, [])
    }

    /// The chain that an earlier process staged.
    init(_ staged: StagedPageTable.Summary, of zone: MirrorZone) {
        self.zone = zone
        askedWith = staged.askedWith
        generation = staged.generation
        stagedCount = staged.count
        token = staged.token
        hasDeletions = staged.hasDeletions
    }

    /// Whether no page has arrived.
    var isEmpty: Bool { stagedCount == 0 && pages.isEmpty }

    /// Whether the chain begins where the zone stands.
    func follows(_ row: ZoneTable.Row) -> Bool {
        row.zone == zone && row.token == askedWith && (row.isFullFetch ? row.generation : nil) == generation
    }

    mutating func append(_ page: ImportPage, _ contents: [(AssetValue, Data)]) {
        isComplete = !page.moreComing
        changeCount += page.changeCount
        // A zone in which nothing has changed since the last page adds nothing.
        if !isEmpty, page.token == token, page.records.isEmpty, page.deletions.isEmpty, !pages.isEmpty {
            pages[pages.count - 1].moreComing = page.moreComing
            return
        }
        pages.append(page)
        token = page.token
        hasDeletions = hasDeletions || !page.deletions.isEmpty
        bytes += page.approximateBytes
        add(contents)
    }

    mutating func add(_ contents: [(AssetValue, Data)]) {
        for (asset, content) in contents {
            assets[asset.withoutAddress] = content
            bytes += content.count
        }
    }

    /// More changes may have been made since the last page arrived.
    mutating func reopen() { isComplete = false }

    /// Takes over that all pages in memory are in the file, and one that arrived behind them.
    mutating func wasStaged(with next: UndecodedPage? = nil) {
        stagedCount += Int64(pages.count)
        if let next {
            stagedCount += 1
            changeCount += next.recordCount
            token = next.token
            isComplete = false
        }
        pages = []
        assets = [:]
        bytes = 0
    }
}

extension AssetValue {
    /// The asset as contents are looked up by.
    var withoutAddress: AssetValue { AssetValue(fileChecksum: fileChecksum, size: size) }
}

extension ImportPage {
    fileprivate var approximateBytes: Int {
        var bytes = 64 * deletions.count
        for record in records {
            bytes += 256
            for (_, field) in record.fields { bytes += (field.value?.approximateBytes ?? 0) + 48 }
        }
        return bytes
    }
}

extension FieldValue {
    fileprivate var approximateBytes: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        case .list(let elements, _): elements.reduce(0) { $0 + $1.approximateBytes }
        default: 16
        }
    }
}

/// What several pages did to a store's rows, as one commit: each row is listed once.
struct JoinedCommit {
    private enum Change { case inserted, updated, deleted, none }

    private let store: UInt16
    private var parts: [StoreCommit] = []

    init(store: UInt16) { self.store = store }

    mutating func append(_ commit: StoreCommit) {
        if !commit.isEmpty { parts.append(commit) }
    }

    func commit() -> StoreCommit {
        if parts.count == 1 { return parts[0] }
        // Keys of inserted rows are new ones: no part has a row of another.
        guard parts.allSatisfy({ $0.updated.isEmpty && $0.deleted.isEmpty && $0.relationshipOwners.isEmpty }) else { return mergedCommit() }
        var commit = StoreCommit(store: store)
        commit.inserted = parts.flatMap(\.inserted)
        return commit
    }

    private func mergedCommit() -> StoreCommit {
        var changes: [RowKey: Change] = [:], order: [RowKey] = [], owners: Set<RowKey> = []
        func set(_ key: RowKey, _ change: Change) {
            if changes.updateValue(change, forKey: key) == nil { order.append(key) }
        }
        for part in parts {
            for key in part.inserted { set(key, changes[key] == .deleted ? .updated : .inserted) }
            for key in part.updated where changes[key] == nil { set(key, .updated) }
            for key in part.deleted { set(key, changes[key] == .inserted ? .none : .deleted) }
            owners.formUnion(part.relationshipOwners)
        }
        var commit = StoreCommit(store: store)
        for key in order {
            switch changes[key] {
            case .inserted: commit.inserted.append(key)
            case .updated: commit.updated.append(key)
            case .deleted: commit.deleted.append(key)
            case nil, .some(.none): break
            }
        }
        commit.relationshipOwners = owners.filter { key in
            switch changes[key] {
            case nil, .updated: true
            case .inserted, .deleted, .some(.none): false
            }
        }
        return commit
    }
}
