// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore

/// A device without disk: rows, links, history and the mirror's bookkeeping, as values.
struct Replica {
    struct Pair: Hashable { var kind: LinkKind, first: RowKey, second: RowKey }

    let device: String
    var mapping = TestModel.mapping
    private(set) var rows: [RowKey: Row] = [:]
    private(set) var pairs: Set<Pair> = []
    private var history: [LocalTransaction] = []
    private var historyRead: Int64 = 0
    private var lastPrimaryKey: Int64 = 0
    private var lastName = 0

    private(set) var records: [String: RecordState] = [:]
    private(set) var links: [String: LinkState] = [:]
    private(set) var parked: [ParkedRelationship.Key: String] = [:]
    private(set) var conflicts: [ConflictEntry] = []
    private(set) var token: String?
    private var generation: Int64 = 1
    private var isFullFetch = true

    init(_ device: String) { self.device = device }

    var liveKeys: [RowKey] { rows.keys.sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) } }

    func keys(of entity: String) -> [RowKey] {
        liveKeys.filter { TestModel.entity(entity).hierarchy.contains($0.entityIndex) }
    }

    func name(of key: RowKey) -> String? { records.values.first { $0.key == key }?.recordName }
    func key(named name: String) -> RowKey? { records[name]?.key }

    func value(_ property: String, of key: RowKey) -> StoredValue? {
        guard let row = rows[key], case .slot(let slot)? = mapping.model.entities[key.entityIndex].location(of: property) else { return nil }
        return row.values[slot]
    }

    // MARK: What a user does

    @discardableResult
    mutating func insert(_ entity: String, _ values: [String: StoredValue] = [:]) -> RowKey {
        let key = insert(entity: TestModel.entity(entity))
        for (property, value) in values.sorted(by: { $0.key < $1.key }) { set(property, of: key, to: value) }
        return key
    }

    mutating func insert(entity: ResolvedEntity) -> RowKey {
        lastPrimaryKey += 1
        let key = RowKey(store: 0, entity: entity.index, primaryKey: lastPrimaryKey)
        rows[key] = Row(key: key, version: 1, values: entity.defaultValues)
        record([LocalChange(key: key, kind: .insert)])
        return key
    }

    /// Opens the store with a later model, which only adds properties.
    mutating func upgrade(to newer: RecordMapping) {
        for (key, row) in rows {
            let names = mapping.model.entities[key.entityIndex].slots.map(\.name)
            var values = newer.model.entities[key.entityIndex].defaultValues
            for (index, slot) in newer.model.entities[key.entityIndex].slots.enumerated() {
                if let old = names.firstIndex(of: slot.name) { values[index] = row.values[old] }
            }
            rows[key]?.values = values
        }
        mapping = newer
    }

    mutating func set(_ property: String, of key: RowKey, to value: StoredValue) {
        guard case .slot(let slot)? = mapping.model.entities[key.entityIndex].location(of: property), rows[key] != nil else { return }
        let old = rows[key]?.values[slot].reference
        rows[key]?.values[slot] = value
        var changes = [LocalChange(key: key, kind: .update, changedProperties: [property])]
        // The other side of a one-to-one relationship follows, as in a context.
        if case .toOne(let relationship) = mapping.model.entities[key.entityIndex].slots[slot], relationship.shape == .oneToOne,
            case .slot(let inverse)? = relationship.inverse, let inverseName = relationship.inverseName
        {
            if let old, rows[old]?.values[inverse] == .reference(key) {
                rows[old]?.values[inverse] = .null
                changes.append(LocalChange(key: old, kind: .update, changedProperties: [inverseName]))
            }
            if let new = value.reference, let row = rows[new] {
                if let former = row.values[inverse].reference, former != key, rows[former]?.values[slot] == .reference(new) {
                    rows[former]?.values[slot] = .null
                    changes.append(LocalChange(key: former, kind: .update, changedProperties: [property]))
                }
                rows[new]?.values[inverse] = .reference(key)
                changes.append(LocalChange(key: new, kind: .update, changedProperties: [inverseName]))
            }
        }
        record(changes)
    }

    /// Ends of one-to-one relationships whose other end says something else.
    var oneSided: [String] {
        liveKeys.flatMap { key in
            mapping.model.entities[key.entityIndex].slots.enumerated().compactMap { slot, declared -> String? in
                guard case .toOne(let relationship) = declared, relationship.shape == .oneToOne, case .slot(let inverse)? = relationship.inverse,
                    let other = rows[key]?.values[slot].reference, rows[other]?.values[inverse] != .reference(key)
                else { return nil }
                return "\(device): \(name(of: key) ?? "?").\(declared.name)"
            }
        }
    }

    mutating func setLinked(_ isLinked: Bool, _ owner: RowKey, _ relationship: String, _ destination: RowKey) {
        let entity = mapping.model.entities[owner.entityIndex]
        guard case .toMany(let index)? = entity.location(of: relationship), let link = mapping.link(entity: owner.entityIndex, toMany: index)
        else { return }
        let pair = pair(link, index, owner, destination)
        if isLinked { pairs.insert(pair) } else { pairs.remove(pair) }
        record([LocalChange(key: owner, kind: .update, changedProperties: [relationship])])
    }

    private func pair(_ link: LinkMapping, _ relationship: Int, _ owner: RowKey, _ destination: RowKey) -> Pair {
        let isFirst =
            link.isSymmetric
            ? owner.primaryKey <= destination.primaryKey
            : link.first.relationship == relationship && mapping.model.entities[link.first.entity].hierarchy.contains(owner.entityIndex)
        return Pair(kind: link.kind, first: isFirst ? owner : destination, second: isFirst ? destination : owner)
    }

    /// Deletes as a context does: references become nil and links go, in the same transaction.
    mutating func delete(_ key: RowKey) {
        guard rows[key] != nil else { return }
        var changes: [LocalChange] = []
        for other in liveKeys where other != key {
            for (slot, declared) in mapping.model.entities[other.entityIndex].slots.enumerated()
            where rows[other]?.values[slot] == .reference(key) {
                rows[other]?.values[slot] = .null
                changes.append(LocalChange(key: other, kind: .update, changedProperties: [declared.name]))
            }
        }
        remove(key)
        record(changes + [LocalChange(key: key, kind: .delete)])
    }

    private mutating func remove(_ key: RowKey) {
        rows[key] = nil
        pairs = pairs.filter { $0.first != key && $0.second != key }
    }

    private mutating func record(_ changes: [LocalChange], author: String? = nil) {
        history.append(LocalTransaction(number: Int64(history.count + 1), author: author, changes: changes))
    }

    // MARK: Export

    /// Reads history and commits marks and names.
    mutating func scan() {
        let unread = history.filter { $0.number > historyRead }
        let scan = ExportScan(unread, mapping: mapping)
        var loaded = ExportScan.Loaded()
        let needs = scan.needs
        let byKey = Dictionary(records.values.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        for key in needs.keys { loaded.records[key] = byKey[key] }
        for listing in needs.listings {
            guard let link = mapping.link(entity: listing.owner.entityIndex, toMany: listing.relationship) else { continue }
            let declared = mapping.model.entities[listing.owner.entityIndex].toMany[listing.relationship]
            let members = mapping.model.entities[declared.destination].hierarchy
            loaded.destinations[listing] = liveKeys.filter {
                members.contains($0.entityIndex) && pairs.contains(pair(link, listing.relationship, listing.owner, $0))
            }
            for destination in loaded.destinations[listing] ?? [] { loaded.records[destination] = byKey[destination] }
        }
        let ends = Set((needs.listings.map(\.owner) + needs.deleted).compactMap { byKey[$0]?.recordName })
        loaded.links = links.values.filter { ends.contains($0.pair.first) || ends.contains($0.pair.second) }
            .sorted { $0.recordName < $1.recordName }
        for end in loaded.links.flatMap({ [$0.pair.first, $0.pair.second] }) {
            if let state = records[end] { loaded.records[state.key] = state }
        }
        loaded.existing = Set(rows.keys)
        loaded.parked = parkedList
        loaded.uniqueNames = uniqueNames(of: needs.keys.filter { byKey[$0] == nil })
        let names = (0..<scan.namesAtMost(loaded)).map { "\(device)\(lastName + 1 + $0)" }
        lastName += names.count
        write(scan.plan(loaded, names: NewRecordNames(names)))
        if let upTo = scan.upTo { historyRead = upTo }
    }

    private func uniqueNames(of keys: [RowKey]) -> [RowKey: String] {
        var names: [RowKey: String] = [:]
        for key in keys {
            guard let row = rows[key], let name = uniqueName(of: row, besides: Set(names.values)) else { continue }
            names[key] = name
        }
        return names
    }

    private func uniqueName(of row: Row, besides taken: Set<String> = []) -> String? {
        guard let unique = mapping.uniqueValues(of: row).first else { return nil }
        return (0..<8).lazy.map { mapping.recordName(for: unique, attempt: $0) }.first {
            records[$0] == nil && !taken.contains($0) && !parked.values.contains($0) && successors[$0] == nil
        }
    }

    /// Which record took another's object over.
    private var successors: [String: String] {
        var successors: [String: String] = [:]
        for state in records.values.sorted(by: { $0.recordName < $1.recordName }) { for name in state.merged.names { successors[name] = state.recordName } }
        return successors
    }

    /// Renames what was never sent and has the name of something else.
    private mutating func makeRoom(for page: ImportPage) {
        for record in page.records {
            guard var state = records[record.recordName], state.changeTag == nil, state.stage == .needsUpload, mapping.isUnique(state.key.entityIndex),
                let row = rows[state.key], Set(mapping.uniqueValues(of: row)).isDisjoint(with: mapping.uniqueValues(of: record)),
                let name = uniqueName(of: row)
            else { continue }
            records[record.recordName] = nil
            state.recordName = name
            records[name] = state
            for (key, other) in rows where other.values.contains(.reference(state.key)) {
                guard let source = self.name(of: key), records[source]?.stage == .uploaded else { continue }
                records[source]?.stage = .needsUpload
            }
        }
    }

    private var parkedList: [ParkedRelationship] {
        parked.map { ParkedRelationship(source: $0.key.source, relationship: $0.key.relationship, destination: $0.value) }
            .sorted { ($0.key.source, $0.key.relationship) < ($1.key.source, $1.key.relationship) }
    }

    var pendingRecords: [RecordState] {
        // The server learns what an object was merged into before it learns that it is gone.
        let successors = successors
        let isWaiting = { (state: RecordState) in
            guard state.stage == .needsDelete, let into = successors[state.recordName].flatMap({ records[$0] }) else { return false }
            return into.stage == .needsUpload || into.stage == .missing
        }
        return records.values.filter { ($0.stage == .needsUpload || $0.stage == .needsDelete) && $0.failure == nil && !isWaiting($0) }
            .sorted { ($0.mark, $0.recordName) < ($1.mark, $1.recordName) }
    }

    var pendingLinks: [LinkState] {
        links.values.filter { ($0.stage == .needsUpload || $0.stage == .needsDelete) && $0.failure == nil }
            .sorted { ($0.mark, $0.recordName) < ($1.mark, $1.recordName) }
    }

    mutating func planBatch(itemsMax: Int = 200, limits: Limits = Limits()) -> BatchPlan {
        let needs = BatchPlan.needs(of: pendingRecords)
        var loaded = BatchPlan.Loaded()
        for key in needs.keys { loaded.rows[key] = rows[key] }
        for state in records.values { loaded.names[state.key] = state.recordName }
        loaded.parked = parkedList
        let plan = BatchPlan.plan(
            records: pendingRecords, links: pendingLinks, loaded: loaded, mapping: mapping, itemsMax: itemsMax, limits: limits)
        write(plan.changes)
        return plan
    }

    mutating func settle(_ batch: BatchPlan, _ outcomes: [String: ItemOutcome], _ assets: [String: [String: AssetValue]]) -> BatchVerdict {
        let settlement = ExportSettlement.settle(batch.items, outcomes: outcomes, assets: assets, generation: token == nil ? generation - 1 : generation, records: records, links: links, mapping: mapping)
        write(settlement.changes)
        return settlement.verdict
    }

    // MARK: Import

    mutating func startFullFetch() {
        token = nil
        generation += 1
        isFullFetch = true
    }

    func ask(_ server: ServerModel, limit: Int) -> ImportPage {
        var page = server.page(after: token, limit: limit)
        page.generation = isFullFetch ? generation : nil
        return page
    }

    /// - Returns: Whether the page was applied; a late or repeated one is not.
    @discardableResult
    mutating func apply(_ page: ImportPage, from server: ServerModel) -> Bool {
        guard page.follows(token, generation: isFullFetch ? generation : nil) else { return false }
        var page = page
        page.conclude(
            missing: records.values.filter { $0.stage == .missing }.map(\.recordName).sorted(),
            unseen: (unseen(records.values.map { ($0.recordName, $0.changeTag, $0.stage, $0.generation) })
                + unseen(links.values.map { ($0.recordName, $0.changeTag, $0.stage, $0.generation) })))
        if mapping.hasUniqueness {
            scan()
            makeRoom(for: page)
        }
        let plan = plan(page, server)
        commit(plan, token: page.token)
        if !page.moreComing { isFullFetch = false }
        return true
    }

    private func unseen(_ states: [(name: String, tag: String?, stage: MirrorStage, generation: Int64)]) -> [String] {
        states.filter { ($0.tag != nil || $0.stage == .uploaded) && $0.generation < generation }.map(\.name).sorted()
    }

    private func plan(_ page: ImportPage, _ server: ServerModel) -> ImportPlan {
        let needs = ImportNeeds(page, mapping: mapping)
        var loaded = ImportPlan.Loaded()
        for name in needs.names { loaded.records[name] = records[name] }
        let waiting = Set(needs.parked)
        loaded.parked = parkedList.filter { waiting.contains($0.key.source) || waiting.contains($0.destination) }
        if mapping.hasUniqueness { loadSuccessors(page, needs, &loaded) }
        for entry in loaded.parked { loaded.records[entry.key.source] = records[entry.key.source] }
        loaded.links = needs.names.compactMap { links[$0] }
        let details = needs.details(loaded)
        for key in details.keys { loaded.rows[key] = rows[key] }
        loaded.existing = Set((details.targets + loaded.records.values.map(\.key)).filter { rows[$0] != nil })
        let names = Set(needs.names), pairs = Set(details.pairs), ends = Set(details.linkEnds)
        loaded.links = links.values.filter {
            names.contains($0.recordName) || loaded.successors[$0.pair.first] != nil || loaded.successors[$0.pair.second] != nil || pairs.contains($0.pair) || ends.contains($0.pair.first) || ends.contains($0.pair.second)
        }
        for link in loaded.links {
            for end in [link.pair.first, link.pair.second] {
                guard let state = records[end] else { continue }
                loaded.records[end] = state
                if rows[state.key] != nil { loaded.existing.insert(state.key) }
            }
        }
        for key in details.referred {
            let referrers = rows.values.filter { $0.values.contains(.reference(key)) }
            loaded.referrers[key] = referrers.map(\.key).sorted { $0.primaryKey < $1.primaryKey }
            for row in referrers {
                loaded.rows[row.key] = row
                if let state = records.values.first(where: { $0.key == row.key }) { loaded.records[state.recordName] = state }
            }
        }
        for state in records.values { loaded.names[state.key] = state.recordName }
        for need in loaded.missing(details) { if let bytes = server.download(need.asset) { loaded.add(Data(bytes), of: need.asset) } }
        var plan = ImportPlan.make(page, loaded: loaded, mapping: mapping)
        while surround(plan, in: &loaded) { plan = ImportPlan.make(page, loaded: loaded, mapping: mapping) }
        return plan
    }

    private func loadSuccessors(_ page: ImportPage, _ needs: ImportNeeds, _ loaded: inout ImportPlan.Loaded) {
        let successors = successors
        var names = needs.names
        if !page.moreComing {
            loaded.parked += parkedList.filter { successors[$0.destination] != nil }
            names += loaded.parked.map(\.destination) + links.values.flatMap { [$0.pair.first, $0.pair.second] }
        }
        for name in page.deletions {
            for other in records[name]?.merged.names.sorted() ?? [] {
                loaded.records[other] = records[other]
                loaded.parked += parkedList.filter { $0.destination == other }
            }
        }
        while let name = names.popLast() {
            loaded.records[name] = records[name]
            guard let into = successors[name], loaded.successors[name] == nil else { continue }
            loaded.successors[name] = into
            names.append(into)
        }
    }

    /// Loads what has the same values as rows of a plan, with what refers to it.
    private func surround(_ plan: ImportPlan, in loaded: inout ImportPlan.Loaded) -> Bool {
        var found = Set(plan.takenBack)
        let deleted = plan.deletedKeys
        for (unique, key) in plan.unique {
            let same = plan.unique.filter { $0.values == unique && $0.key != key }.map(\.key)
                + liveKeys.filter { rows[$0].map { mapping.uniqueValues(of: $0).contains(unique) } == true && $0 != key && !deleted.contains($0) }
            if !same.isEmpty { found.formUnion(same + [key]) }
        }
        for (unique, key) in plan.given {
            let same = liveKeys.filter { rows[$0].map { mapping.uniqueValues(of: $0).contains(unique) } == true }
            found.formUnion(same.filter { $0 != key && !deleted.contains($0) })
        }
        let new = found.filter { !$0.isTemporary && !loaded.surrounded.contains($0) }.sorted { $0.primaryKey < $1.primaryKey }
        for key in new {
            loaded.rows[key] = rows[key]
            let referrers = liveKeys.filter { rows[$0]?.values.contains(.reference(key)) == true }
            loaded.referrers[key] = referrers
            for referrer in referrers + [key] {
                loaded.rows[referrer] = rows[referrer]
                guard let name = name(of: referrer), let state = records[name] else { continue }
                loaded.records[name] = state
                loaded.existing.insert(referrer)
                loaded.parked += parkedList.filter { $0.destination == name || $0.key.source == name }
            }
        }
        loaded.surrounded += new
        return !new.isEmpty
    }

    private mutating func commit(_ draft: ImportPlan, token: String) {
        var keys: [RowKey: RowKey] = [:]
        for temporary in draft.newKeys {
            lastPrimaryKey += 1
            keys[temporary] = RowKey(store: 0, entity: temporary.entityIndex, primaryKey: lastPrimaryKey)
        }
        let plan = draft.assigning(keys)
        var changes: [LocalChange] = []
        for intent in plan.rows {
            switch intent {
            case .insert(let row):
                rows[row.key] = row
                changes.append(LocalChange(key: row.key, kind: .insert))
            case .update(var row, let slots):
                precondition(rows[row.key]?.version == row.version, "import and its rows are one transaction")
                row.version += 1
                rows[row.key] = row
                let declared = mapping.model.entities[row.key.entityIndex].slots
                changes.append(LocalChange(key: row.key, kind: .update, changedProperties: slots.map { declared[$0].name }))
            case .delete(let key, _):
                remove(key)
                changes.append(LocalChange(key: key, kind: .delete))
            }
        }
        for link in plan.links {
            guard let mapped = mapping.link(entity: link.owner.entityIndex, toMany: link.relationship) else { continue }
            let pair = pair(mapped, link.relationship, link.owner, link.destination)
            if link.isAddition { pairs.insert(pair) } else { pairs.remove(pair) }
        }
        if !changes.isEmpty { record(changes, author: MirrorNames.importAuthor) }
        write(plan.bookkeeping)
        self.token = token
    }

    private mutating func write(_ changes: BookkeepingChanges) {
        for state in changes.records { records[state.recordName] = state }
        for name in changes.removedRecords { records[name] = nil }
        for link in changes.links { links[link.recordName] = link }
        for name in changes.removedLinks { links[name] = nil }
        for key in changes.unparked { parked[key] = nil }
        for entry in changes.parked { parked[entry.key] = entry.destination }
        conflicts += changes.conflicts
    }
}
