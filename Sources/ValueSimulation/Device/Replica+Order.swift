// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
package import ManagedModel
package import MirroringCore

// Ordered relationships. A device numbers the members of each list; the server has a position key in each member's record, or in the join
// record. Invariant: once history is read, and after each import, both have the same order.

extension Replica {
    /// The destinations of a to-many relationship, in their order.
    package func destinations(of list: OrderedList) -> [RowKey] {
        let relationship = mapping.model.entities[list.owner.entityIndex].toMany[list.relationship]
        var keys: [RowKey]
        if let link = mapping.link(entity: list.owner.entityIndex, toMany: list.relationship) {
            keys = pairs.compactMap { pair in
                if pair.kind != link.kind { return nil }
                if pair.first == list.owner, self.pair(link, list.relationship, list.owner, pair.second) == pair { return pair.second }
                if pair.second == list.owner, self.pair(link, list.relationship, list.owner, pair.first) == pair { return pair.first }
                return nil
            }
        } else if case .slot(let slot)? = relationship.inverse {
            let members = mapping.model.entities[relationship.destination].hierarchy
            return arranged(
                rows.values.compactMap { row in
                    members.contains(row.key.entityIndex) && row.values[slot].reference == list.owner ? row.key : nil
                }, in: list, relationship)
        } else {
            return []
        }
        keys.sort { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }
        return arranged(keys, in: list, relationship)
    }

    private func arranged(_ keys: [RowKey], in list: OrderedList, _ relationship: ResolvedRelationship) -> [RowKey] {
        guard relationship.declaration.isOrdered, let order = orders[list] else { return keys }
        let members = Set(keys)
        let known = order.filter { members.contains($0) }
        let arranged = Set(known)
        return known + keys.filter { !arranged.contains($0) }
    }

    package func list(_ owner: RowKey, _ relationship: String) -> OrderedList? {
        guard case .toMany(let index)? = mapping.model.entities[owner.entityIndex].location(of: relationship) else { return nil }
        return OrderedList(owner: owner, relationship: index)
    }

    /// Moves a member of a list, as an app does.
    package mutating func move(_ owner: RowKey, _ relationship: String, from: Int, to: Int) {
        guard let list = list(owner, relationship) else { return }
        var keys = destinations(of: list)
        guard keys.indices.contains(from), keys.indices.contains(to) else { return }
        keys.insert(keys.remove(at: from), at: to)
        orders[list] = keys
        record([LocalChange(key: owner, kind: .update, changedProperties: [relationship])])
    }

    /// Forgets the index that a member had in a list that it left.
    mutating func leaveList(_ member: RowKey, slot: Int, former owner: RowKey?) {
        guard mapping.hasOrder, let owner, case .toOne(let relationship) = mapping.model.entities[member.entityIndex].slots[slot],
            case .toMany(let index)? = relationship.inverse
        else { return }
        orders[OrderedList(owner: owner, relationship: index)]?.removeAll { $0 == member }
    }

    // MARK: From lists to position keys

    /// Updates the position keys of lists that this device may have reordered, and marks the members with a new key.
    mutating func rank(after scan: ExportScan, in zone: Int64) {
        guard mapping.hasOrder else { return }
        var lists = Set(scan.lists)
        for (key, changed) in scan.joining { if let row = rows[key] { lists.formUnion(mapping.lists(with: row, changed: changed)) } }
        for list in lists.sorted() where rows[list.owner] != nil { rank(list, in: zone, mark: scan.upTo ?? 0) }
    }

    private mutating func rank(_ list: OrderedList, in zone: Int64, mark: Int64) {
        let keys = destinations(of: list)
        orders[list] = keys
        let members = ranking(of: keys, in: list, zone: zone)
        let relationship = mapping.rankedName(list)
        for (index, rank) in Ranking.changes(members).sorted(by: { $0.key < $1.key }) {
            // A member with a record in another zone gets its position key there.
            guard !members[index].name.isEmpty, case (let number, var state)? = current(keys[index]),
                state.takesPositionKey(isInJoinRecord: relationship == nil)
            else { continue }
            if let relationship {
                positions[state.key, default: [:]][relationship] = rank.text
                state.stage = .needsUpload
                state.mark = ChangeMark.next(after: state.mark, in: mark)
                state.failure = nil
                zones[number].put(state)
            } else {
                replaceLinks(of: state.recordName, rank, in: list, mark: mark, zone)
            }
        }
    }

    private mutating func replaceLinks(of member: String, _ rank: Rank, in list: OrderedList, mark: Int64, _ zone: Int64) {
        guard let owner = zones[zone].names[list.owner], let pair = linkPair(in: list, owner: owner, member: member) else { return }
        let links = zones[zone].links.filter { $0.pair == pair }.sorted { $0.recordName < $1.recordName }
        var changes = BookkeepingChanges()
        changes.links = LinkState.changes(links, to: rank, inListOf: owner, mark: mark) {
            lastName += 1
            return "\(device)\(lastName)"
        }
        write(changes, in: zone)
    }

    private func linkPair(in list: OrderedList, owner: String, member: String) -> LinkPair? {
        mapping.link(entity: list.owner.entityIndex, toMany: list.relationship)?.pair(
            owner: owner, ownersRelationship: list.relationship, ownersEntity: list.owner.entityIndex, destination: member, in: mapping)
    }

    // MARK: From position keys to lists

    /// Members of a list in the order of their keys, with their position keys. Members without a record, or with one in another zone, have
    /// no name.
    private func ranking(of keys: [RowKey], in list: OrderedList, zone: Int64) -> [Ranking.Member] {
        let metadata = zones[zone]
        func memberName(_ key: RowKey) -> String? { metadata.currentName(of: key) }
        if let relationship = mapping.rankedName(list) {
            return keys.map { key in
                // Position keys of a one-to-many relationship belong to the row, in any zone.
                guard let name = name(of: key) else { return Ranking.Member(name: "", rank: nil) }
                return Ranking.Member(name: name, rank: positions[key]?[relationship].flatMap { Rank($0) })
            }
        }
        guard let owner = metadata.names[list.owner], let link = mapping.link(entity: list.owner.entityIndex, toMany: list.relationship)
        else {
            return keys.map { _ in Ranking.Member(name: "", rank: nil) }
        }
        let links = Dictionary(grouping: metadata.links(touching: [owner]).filter { $0.pair.kind == link.kind && $0.isLive }, by: \.pair)
        return keys.map { key in
            guard let name = memberName(key) else { return Ranking.Member(name: "", rank: nil) }
            let decisive = linkPair(in: list, owner: owner, member: name).flatMap { LinkState.decisive(links[$0] ?? [], inListOf: owner) }
            return Ranking.Member(name: name, rank: decisive?.rank(inListOf: owner))
        }
    }

    /// Returns the lists that a plan may have reordered.
    func listsTouched(by plan: ImportPlan, in zone: Int64) -> Set<OrderedList> {
        guard mapping.hasOrder else { return [] }
        var lists: Set<OrderedList> = []
        for intent in plan.rows {
            switch intent {
            case .insert(let row), .update(let row, _): lists.formUnion(mapping.lists(with: row))
            case .delete: continue
            }
        }
        for state in plan.bookkeeping.records where mapping.isRanked(state.key.entityIndex) {
            if let row = rows[state.key] { lists.formUnion(mapping.lists(with: row)) }
        }
        for pair in plan.pairsTouched { lists.formUnion(self.lists(of: pair, in: zone)) }
        return lists
    }

    /// Returns the lists that a pair belongs to.
    func lists(of pair: LinkPair, in zone: Int64) -> [OrderedList] {
        [pair.first, pair.second].compactMap { zones[zone].records.value(of: $0) { $0.key } }
            .flatMap { mapping.lists(of: $0, linkedBy: pair.kind) }
    }

    /// Puts the members of lists in the order of their position keys.
    mutating func arrange(_ lists: Set<OrderedList>, in zone: Int64) {
        if canary == .unsortedLists { return }
        for list in lists.sorted() where rows[list.owner] != nil {
            let keys = destinations(of: list)
            orders[list] = Ranking.order(of: ranking(of: keys, in: list, zone: zone)).map { keys[$0] }
        }
    }
}

extension Set<OrderedList> {
    func sorted() -> [OrderedList] {
        sorted { ($0.owner.entity, $0.owner.primaryKey, $0.relationship) < ($1.owner.entity, $1.owner.primaryKey, $1.relationship) }
    }
}
