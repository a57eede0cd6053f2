// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

/// Ordered relationships. The store numbers the members of each list; the server has a position key in each member's record, or in the join
/// record. Invariant: once history is read, and after each import, both have the same order.
struct ListOrder: FileTransactions {
    let file: MirrorFile

    // MARK: From the store to ranks

    /// Updates the position keys of lists that this device may have reordered, and marks the members with a new key.
    func rank(after scan: ExportScan, zone: Int64, _ writer: StoreWriter) throws {
        guard mapping.hasOrder else { return }
        var lists = Set(scan.lists)
        let joining = scan.joining
        let changed = Dictionary(joining.map { ($0.key, $0.changed) }, uniquingKeysWith: { first, _ in first })
        for row in try writer.rows(joining.map(\.key)) { lists.formUnion(mapping.lists(with: row, changed: changed[row.key] ?? nil)) }
        for list in lists.sorted() { try rank(list, zone: zone, mark: scan.upTo ?? 0, writer) }
    }

    private func rank(_ list: OrderedList, zone: Int64, mark: Int64, _ writer: StoreWriter) throws {
        let metadata = reader(writer, zone: zone)
        let keys = try writer.destinations(of: list.owner, toMany: list.relationship)
        let members = try metadata.ranking(of: keys, in: list)
        let relationship = mapping.rankedName(list)
        for (index, rank) in Ranking.changes(members).sorted(by: { $0.key < $1.key }) {
            // A member with a record in another zone gets its position key there.
            guard !members[index].name.isEmpty, let state = try metadata.record(of: keys[index]),
                state.takesPositionKey(isInJoinRecord: relationship == nil)
            else { continue }
            if let relationship {
                try self.writer(writer, zone: zone).write(rank: rank.text, of: state.key, in: relationship)
                try self.writer(writer, zone: zone).markForUpload(state.key, mark: ChangeMark.next(after: state.mark, in: mark))
            } else {
                try replaceLinks(of: state.recordName, rank, in: list, mark: mark, writer, metadata)
            }
        }
    }

    private func replaceLinks(
        of member: String, _ rank: Rank, in list: OrderedList, mark: Int64, _ writer: StoreWriter, _ metadata: SyncMetadataReader
    ) throws {
        guard let owner = try metadata.name(of: list.owner), let pair = mapping.pair(in: list, owner: owner, member: member) else { return }
        var changes = BookkeepingChanges()
        changes.links = LinkState.changes(
            try metadata.links(of: pair), to: rank, inListOf: owner, mark: mark, makeName: surroundings.makeName)
        try self.writer(writer, zone: metadata.zone).write(changes, now: now)
    }

    // MARK: From ranks to the store

    /// Returns the lists that a page may have reordered. Removes the position keys of rows that it deleted.
    func listsTouched(by plan: ImportPlan, zone: Int64, _ writer: StoreWriter) throws -> Set<OrderedList> {
        guard mapping.hasOrder else { return [] }
        let metadata = reader(writer, zone: zone)
        var lists: Set<OrderedList> = []
        var seen: Set<RowKey> = []
        for intent in plan.rows {
            switch intent {
            case .insert(let row), .update(let row, _):
                seen.insert(row.key)
                lists.formUnion(mapping.lists(with: row))
            case .delete(let key, _): try PositionTable.remove([key], mapping, writer)
            }
        }
        let ranked = plan.bookkeeping.records.map(\.key).filter { mapping.isRanked($0.entityIndex) && !seen.contains($0) }
        for row in try writer.rows(ranked) { lists.formUnion(mapping.lists(with: row)) }
        for pair in Set(plan.pairsTouched) { lists.formUnion(try self.lists(of: pair, metadata)) }
        return lists
    }

    /// Returns the lists that a pair belongs to.
    func lists(of pair: LinkPair, _ metadata: SyncMetadataReader) throws -> [OrderedList] {
        guard mapping.hasOrder else { return [] }
        return try Set([pair.first, pair.second]).compactMap { try metadata.record(named: $0)?.key }
            .flatMap { mapping.lists(of: $0, linkedBy: pair.kind) }
    }

    /// Puts the members of lists in the order of their ranks, once all pages of an import are applied.
    ///
    /// - Returns: Owners of lists that changed.
    func arrange(_ lists: Set<OrderedList>, zone: Int64, _ writer: StoreWriter) throws -> [RowKey] {
        let metadata = reader(writer, zone: zone)
        var changes = StoreChanges()
        changes.author = MirrorNames.importAuthor
        for list in lists.sorted() {
            let keys = try writer.destinations(of: list.owner, toMany: list.relationship)
            let order = Ranking.order(of: try metadata.ranking(of: keys, in: list)).map { keys[$0] }
            if order != keys { changes.orders.append(OrderChange(owner: list.owner, relationship: list.relationship, destinations: order)) }
        }
        try writer.apply(changes)
        return changes.orders.map(\.owner)
    }
}

extension RecordMapping {
    /// The pair of a list's owner and a member, by record name; nil for a list that is not of pairs.
    func pair(in list: OrderedList, owner: String, member: String) -> LinkPair? {
        link(entity: list.owner.entityIndex, toMany: list.relationship)?.pair(
            owner: owner, ownersRelationship: list.relationship, ownersEntity: list.owner.entityIndex, destination: member, in: self)
    }
}

extension Set<OrderedList> {
    fileprivate func sorted() -> [OrderedList] {
        sorted {
            ($0.owner.entity, $0.owner.primaryKey, $0.relationship) < ($1.owner.entity, $1.owner.primaryKey, $1.relationship)
        }
    }
}
