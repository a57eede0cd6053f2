// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import CoreData
import Foundation
import ManagedModel
import MirroringCore

/// Applies change pages: rows by a save of the mirror's context, sync metadata with it.
extension MirroredStore {
    enum ApplyOutcome {
        case applied
        /// The page is a duplicate, or stale.
        case dropped
        /// Contents that weren't needed when the page was fetched.
        case lacksAssets([ImportNeeds.AssetNeed])
    }

    /// Returns the assets that a page needs, as the metadata are now.
    func assetsNeeded(by page: ImportPage) throws -> [ImportNeeds.AssetNeed] {
        guard page.records.contains(where: \.hasAssets) else { return [] }
        return try transaction { try load(page).details.assets }
    }

    /// Applies a page: rows, links, sync metadata and token.
    ///
    /// - Parameter assets: Contents of assets, without their addresses.
    func apply(_ fetched: ImportPage, assets: [AssetValue: Data]) throws -> ApplyOutcome {
        try transaction {
            // First the changes of this device, so that the metadata say of every object whether it has a row.
            try scan()
            var state = try metadata.state()
            guard fetched.follows(state.token, generation: state.isFullFetch ? state.generation : nil) else { return .dropped }
            var page = fetched
            if !page.moreComing {
                let unseen = try page.generation.map { try metadata.unseenNames(before: $0) } ?? []
                page.conclude(missing: try metadata.missingNames(), unseen: unseen)
            }
            var (loaded, details) = try load(page)
            for need in details.assets { if let content = assets[need.asset.withoutAddress] { loaded.add(content, of: need.asset) } }
            let lacking = loaded.missing(details)
            if !lacking.isEmpty { return .lacksAssets(lacking) }

            let draft = ImportPlan.make(page, loaded: loaded, mapping: mapping)
            var writer = RowWriter(self)
            let plan = draft.assigning(try writer.insertObjects(of: draft))
            let repair = try repairOneToOne(plan, loaded: loaded)
            try writer.write(plan, repair)

            state.advance(past: page)
            var changes = try MetadataChanges(plan.bookkeeping, now: now, mapping: mapping) { try keys.uri(of: $0) }
            for record in repair?.records ?? [] { try changes.replace(record, repair, self) }
            changes.conflicts += (repair?.conflicts ?? []).map { ConflictColumns($0, now: now) }
            changes.state = state
            try save(with: changes)
            try scanConcurrentSaves()
            return .applied
        }
    }

    // MARK: Loading

    private func load(_ page: ImportPage) throws -> (loaded: ImportPlan.Loaded, details: ImportNeeds.Details) {
        let needs = ImportNeeds(page, mapping: mapping)
        var loaded = ImportPlan.Loaded()
        for state in try records(named: needs.names) { loaded.records[state.recordName] = state }
        let hasLinks = try metadata.hasLinks()
        if hasLinks { loaded.links += try metadata.links(named: needs.names) }
        if try metadata.has(.deferred) {
            for name in needs.parked {
                loaded.parked += try metadata.deferredReferences(from: name)
                loaded.parked += try metadata.deferredReferences(to: name)
            }
        }
        let sources = loaded.parked.map(\.key.source).filter { loaded.records[$0] == nil }
        for state in try records(named: Set(sources).sorted()) { loaded.records[state.recordName] = state }
        let details = needs.details(loaded)
        try load(details, hasLinks: hasLinks, into: &loaded)
        return (loaded, details)
    }

    private func load(_ details: ImportNeeds.Details, hasLinks: Bool, into loaded: inout ImportPlan.Loaded) throws {
        loaded.rows = try rows(details.keys)
        if hasLinks {
            for pair in details.pairs { loaded.links += try metadata.links(of: pair) }
            for name in details.linkEnds { loaded.links += try metadata.links(touching: name) }
            let ends = Set(loaded.links.flatMap { [$0.pair.first, $0.pair.second] }).filter { loaded.records[$0] == nil }
            for state in try records(named: ends.sorted()) { loaded.records[state.recordName] = state }
        }
        let referred = try objects(details.referred)
        for key in details.referred {
            guard let object = referred[key] else { continue }
            let referrers = try referrers(to: object, key)
            loaded.referrers[key] = referrers
            loaded.rows.merge(try rows(referrers)) { known, _ in known }
            for state in try records(of: referrers) { loaded.records[state.recordName] = state }
        }
        loaded.names = try names(ofTargetsIn: loaded.rows.values)
        // History was read, so objects without a row are marked. A row that the app deleted since makes the save fail, or is found missing
        // here.
        loaded.existing = Set(loaded.records.values.filter(\.hasRow).map(\.key))
        for key in details.keys where loaded.rows[key] == nil { loaded.existing.remove(key) }
    }

    /// Returns the rows that refer to a row by a to-one relationship, through its inverse.
    private func referrers(to object: NSManagedObject, _ key: RowKey) throws -> [RowKey] {
        let entity = mapping.model.entities[key.entityIndex]
        var found: Set<RowKey> = []
        for relationship in entity.toMany where relationship.shape == .oneToMany && !relationship.declaration.isTransient {
            found.formUnion(try destinations(of: object, relationship))
        }
        for case .toOne(let relationship) in entity.slots where relationship.shape == .oneToOne && !relationship.declaration.isTransient {
            if let partner = object.value(forKey: relationship.name) as? NSManagedObject, let key = try keys.key(of: partner.objectID) {
                found.insert(key)
            }
        }
        return found.sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }
    }

    // MARK: One-to-one relationships

    /// Decides which sides of one-to-one relationships win. Managed objects are two-sided at any moment: if Core Data decided by the order
    /// in which they are set, devices would differ.
    private func repairOneToOne(_ plan: ImportPlan, loaded: ImportPlan.Loaded) throws -> OneToOneRepair? {
        guard mapping.hasOneToOne else { return nil }
        let suspects = OneToOneRepair.suspects(in: plan, loaded: loaded.rows, mapping: mapping)
        if suspects.isEmpty { return nil }
        var planned: [RowKey: Row] = [:]
        for intent in plan.rows {
            switch intent {
            case .insert(let row), .update(let row, _): planned[row.key] = row
            case .delete: continue
            }
        }
        let deleted = plan.deletedKeys
        let states = Dictionary(plan.bookkeeping.records.map { ($0.key, $0) }, uniquingKeysWith: { _, last in last })
        return try OneToOneRepair.decide(
            suspects, mapping: mapping,
            row: { key in
                if deleted.contains(key) { return nil }
                return try planned[key] ?? loaded.rows[key] ?? rows([key])[key]
            },
            record: { key in try states[key] ?? records(of: [key]).first })
    }
}

extension MetadataChanges {
    /// Replaces the metadata of a record by those after a repair.
    fileprivate mutating func replace(_ state: RecordState, _ repair: OneToOneRepair?, _ store: MirroredStore) throws {
        let columns = RecordColumns(state, uri: try store.keys.uri(of: state.key), mapping: store.mapping)
        records.removeAll { $0.name == columns.name }
        records.append(columns)
        let obsolete = (repair?.changes(of: state).unparked ?? []).map { DeferredColumns(resolved: $0) }
        deferred.removeAll { reference in
            obsolete.contains { $0.source == reference.source && $0.relationship == reference.relationship }
        }
        resolved += obsolete
    }
}

extension MirrorState {
    /// Moves to the token of an applied page.
    fileprivate mutating func advance(past page: ImportPage) {
        token = page.token
        if page.moreComing { return }
        isFullFetch = false
        if exportedToken == page.exportedToken { exportedToken = nil }
    }
}

extension AssetValue {
    /// The asset as contents are looked up by.
    var withoutAddress: AssetValue { AssetValue(fileChecksum: fileChecksum, size: size) }
}
