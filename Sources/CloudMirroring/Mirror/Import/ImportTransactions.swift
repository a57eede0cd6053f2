// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore

/// Pages of changes that become rows.
struct ImportTransactions: FileTransactions {
    let file: MirrorFile

    enum ChainOutcome {
        /// - Parameters:
        ///   - zone: The row of the zone after the pages.
        ///   - isListed: Whether no other zone changed since they were listed.
        ///   - hasShare: Whether the zone's share was among the records.
        ///   - unreadable: Values that were quarantined.
        case applied(
            records: Int, StoreCommit, zone: ZoneTable.Row?, isListed: Bool, hasShare: Bool, unreadable: Set<UnreadableValues.Unreadable>)
        /// The pages are duplicates, or stale.
        case dropped
        /// A staged page is gone.
        case lost
        /// Contents that weren't needed when the pages were fetched, or that an earlier process had; `waiting` are records of no page,
        /// which were withheld until now.
        case lacksAssets([ImportNeeds.AssetNeed], waiting: Set<String>)
    }

    /// Undoes a transaction that lacks assets.
    private struct AssetsLacking: Error {
        let needs: [ImportNeeds.AssetNeed]
        let waiting: Set<String>
    }

    /// Applies the pages of a chain in one transaction: rows, links, sync metadata and token, with one history transaction.
    ///
    /// - Parameters:
    ///   - database: Decrypts pages that were staged as they arrived.
    ///   - names: Withheld records that stay withheld, because their assets cannot be downloaded.
    ///   - ending: The event that ends with this, if the pages are applied.
    func apply(
        _ chain: ImportChain, _ database: SyncDatabase, withholding names: Set<String> = [], ending: EventTable.Row?
    ) throws -> Committed<ChainOutcome> {
        let number = chain.zone.number
        do {
            let applied: Committed<ChainOutcome> = try write { writer, related in
                writer.joinHistory()
                // First the changes of this device, so that the sync metadata say of every object whether it has a row.
                try file.history.scan(writer, &related)
                guard let row = try ZoneTable.row(number, writer), chain.follows(row) else { return .dropped }
                guard try chain.pages.allSatisfy({ try file.rejectedChanges.prepareReverting($0, of: chain.zone, writer) }) else {
                    return .dropped
                }
                var joined = JoinedCommit(store: store.number)
                var records = 0, isListed = false, hasShare = false
                let quarantined = try file.unreadableValues.unreadable(in: chain.zone, writer)
                var lists: Set<OrderedList> = []
                var suspects: Set<RowKey> = []
                try file.stagedPages.forEachPage(of: chain, database, writer) { page, isLast in
                    var page = page
                    // A page that was the last one when it arrived may have got successors.
                    page.moreComing = !isLast || page.moreComing
                    hasShare = hasShare || page.records.indices.contains { page.records[$0].recordName == ShareDetails.zoneShareName }
                    let applied = try apply(page, of: chain, isLast: isLast, withholding: names, &lists, &suspects, writer, &related)
                    joined.append(applied.commit)
                    records += applied.records
                    isListed = applied.isListed
                }
                if chain.stagedCount > 0 { try StagedPageTable.remove(number, writer) }
                if let ending { try EventTable.end(ending, writer) }
                return .applied(
                    records: records, joined.commit(), zone: try ZoneTable.row(number, writer), isListed: isListed, hasShare: hasShare,
                    unreadable: try file.unreadableValues.unreadable(in: chain.zone, writer).filter { !quarantined.contains($0) })
            }
            if case .applied = applied.value, chain.stagedCount > 0 { file.stagedPages.files?.remove(number) }
            return applied
        } catch let error as AssetsLacking {
            return Committed(value: .lacksAssets(error.needs, waiting: error.waiting))
        } catch is StagedPages.PageLost {
            return Committed(value: .lost)
        }
    }

    /// Applies one page of a chain.
    ///
    /// - Parameters:
    ///   - lists: Lists that the pages may have reordered. The last page sorts them.
    ///   - suspects: Rows that the pages may have left in one-sided relationships. The last page repairs them.
    private func apply(
        _ fetched: ImportPage, of chain: ImportChain, isLast: Bool, withholding names: Set<String>, _ lists: inout Set<OrderedList>,
        _ suspects: inout Set<RowKey>, _ writer: StoreWriter, _ related: inout RelatedRows
    ) throws -> (records: Int, commit: StoreCommit, isListed: Bool) {
        let zone = chain.zone
        var page = try file.withheldRecords.joined(fetched, of: zone, withholding: names, writer)
        let waiting = Set(page.records[fetched.records.count...].map(\.recordName))
        var deleted = 0, resumed: [ResumedRelocation] = []
        if !zone.isHome {
            // As the page before left it.
            if let row = try ZoneTable.row(zone.number, writer) { try file.shares.keep(in: page, row, writer) }
            deleted = try file.deletions.deleteAgain(in: &page, zone, writer) { try content(of: $0, chain, writer) }
            resumed = try file.relocationArrivals.prepareArrivals(in: &page, zone, writer, &related)
        }
        let metadata = reader(writer, zone: zone.number)
        if !page.moreComing {
            let unseen = try page.generation.map { try metadata.unseenNames(before: $0) } ?? []
            page.conclude(missing: try metadata.missingNames(), unseen: unseen)
        }
        if zone.isHome {
            try file.relocationArrivals.restoreSources(in: page, writer)
            page = try file.relocationArrivals.withoutRelocated(page, writer)
            try file.relocationArrivals.undoRelocations(of: page.deletions, writer)
            try file.relocationArrivals.forwardAwaited(after: page, writer)
        }
        let hasWithheld = try zone.isHome && metadata.hasIncomplete()
        let withheld = try hasWithheld ? page.deletions.filter { try metadata.isWithheld($0) } : []
        let released = try hasWithheld ? page.records.map(\.recordName).filter { try metadata.isWithheld($0) } : []
        try file.uniqueObjects.makeRoom(for: page, zone: zone.number, writer, &related)
        var (loaded, details) = try load(page, zone, writer)
        let reused = details.reusedAssets
        if !reused.isEmpty {
            page.quarantine(reused)
            (loaded, details) = try load(page, zone, writer)
        }
        for need in details.assets {
            if let content = try content(of: need, chain, writer) { loaded.add(content, of: need.asset) }
        }
        let lacking = loaded.missing(details)
        if !lacking.isEmpty { throw AssetsLacking(needs: lacking, waiting: waiting) }

        var draft = ImportPlan.make(page, loaded: loaded, mapping: mapping)
        while try file.uniqueObjects.surround(draft, in: &loaded, zone: zone.number, writer) {
            draft = ImportPlan.make(page, loaded: loaded, mapping: mapping)
        }
        let plan = draft.assigning(try realKeys(for: draft.newKeys, writer))
        var commit = try write(plan, loaded: loaded, writer)
        try file.relocationArrivals.writeBookkeeping(of: plan, zone, writer)
        try file.followers.deferCleared(plan.clearedElsewhere, writer)
        try file.relocationArrivals.resume(resumed, after: plan, zone, writer)
        lists.formUnion(try file.order.listsTouched(by: plan, zone: zone.number, writer))
        try file.withheldRecords.completeOrWithhold(plan.incompleteElsewhere, &suspects, &commit, writer)
        let arranged = isLast ? try file.order.arrange(lists, zone: zone.number, writer) : []
        commit.relationshipOwners.formUnion(arranged.filter { !commit.inserted.contains($0) })
        var connections: [ForwardedEdits.Connection] = []
        if mapping.hasOneToOne {
            suspects.formUnion(OneToOneRepair.suspects(in: plan, loaded: loaded.rows, mapping: mapping))
            if isLast { connections = try file.oneToOne.repair(suspects, &commit, writer) }
        }
        if zone.isHome { try file.followers.forwardEdits(plan, writer, &related) }
        try file.followers.followLinks(ofReleased: released, writer, &related)
        try file.followers.gather(withheld: withheld, writer, &related)
        try file.followers.follow(connections, writer, &related)
        if !page.moreComing { try self.writer(writer, zone: zone.number).clearStaleReferences() }
        // Records that were looked up to revert changes say nothing about the rest of the zone, which may still have to be fetched.
        guard page.reverted.isEmpty else { return (plan.recordsApplied + deleted, commit, false) }
        let receives = try ZoneTable.row(zone.number, writer)?.receives == true
        try ZoneTable.advance(zone.number, to: page.token, moreComing: page.moreComing, passing: page.exportedToken, writer)
        if receives, !page.moreComing { try file.followers.gather(into: zone, writer, &related) }
        if !page.moreComing { try file.followers.followDeferredReferences(writer, &related) }
        let isListed = try zone.isHome && page.database.map { try file.zones.step($0, writer) } == true
        return (plan.recordsApplied + deleted, commit, isListed)
    }

    private func content(of need: ImportNeeds.AssetNeed, _ chain: ImportChain, _ reader: StoreReader) throws -> Data? {
        let key = need.contentKey
        if let content = chain.assets[key] { return content }
        return chain.stagedCount == 0 ? nil : try file.stagedPages.content(of: key, in: chain.zone, reader)
    }

    func realKeys(for temporary: [RowKey], _ writer: StoreWriter) throws -> [RowKey: RowKey] {
        var keys: [RowKey: RowKey] = [:]
        for (entity, wanted) in Dictionary(grouping: temporary, by: \.entityIndex).sorted(by: { $0.key < $1.key }) {
            for (old, new) in zip(wanted, try writer.allocateKeys(for: entity, count: wanted.count)) { keys[old] = new }
        }
        return keys
    }

    // MARK: Loading

    func load(
        _ page: ImportPage, _ zone: MirrorZone, _ reader: StoreReader
    ) throws -> (ImportPlan.Loaded, ImportNeeds.Details) {
        let metadata = self.reader(reader, zone: zone.number)
        let needs = ImportNeeds(page, mapping: mapping)
        var loaded = ImportPlan.Loaded()
        let hasLinks = try metadata.hasLinks()
        let lastKnown = try metadata.lastName()
        for name in needs.names {
            // New names are the greatest, where they were made in the order of time.
            if let lastKnown, !lastKnown.utf8.lexicographicallyPrecedes(name.utf8) {
                loaded.records[name] = try metadata.record(named: name)
            }
            if hasLinks, let link = try metadata.link(named: name) { loaded.links.append(link) }
        }
        for name in try metadata.hasDeferredReferences() ? needs.parked : [] {
            loaded.parked += try metadata.deferredReferences(from: name)
            loaded.parked += try metadata.deferredReferences(to: name)
        }
        try file.uniqueObjects.loadSuccessors(page, needs, metadata, into: &loaded)
        if try !page.deletions.isEmpty && metadata.hasIncomplete() {
            try loaded.findDeletedWithheld(
                in: page, mapping: mapping, withheld: { try metadata.withheldRecord(named: $0) },
                isElsewhere: { try metadata.isElsewhere($0) })
        }
        if zone.isHome { try file.relocationArrivals.loadRelocatedReferences(reader, into: &loaded) }
        for parked in loaded.parked where loaded.records[parked.key.source] == nil {
            loaded.records[parked.key.source] = try metadata.record(named: parked.key.source)
        }
        let details = needs.details(loaded)
        try load(details, reader, metadata, into: &loaded)
        if zone.isHome {
            try file.relocationArrivals.loadTargetsElsewhere(needs, reader, into: &loaded)
        } else {
            try file.relocationArrivals.loadFormer(page, reader, into: &loaded)
        }
        return (loaded, details)
    }

    func load(
        _ details: ImportNeeds.Details, _ reader: StoreReader, _ metadata: SyncMetadataReader,
        into loaded: inout ImportPlan.Loaded
    ) throws {
        for row in try reader.rows(details.keys) { loaded.rows[row.key] = row }
        if try metadata.hasLinks() {
            for pair in details.pairs { loaded.links += try metadata.links(of: pair) }
            for name in details.linkEnds { loaded.links += try metadata.links(touching: name) }
        }
        for end in Set(loaded.links.flatMap { [$0.pair.first, $0.pair.second] }) where loaded.records[end] == nil {
            loaded.records[end] = try metadata.record(named: end)
        }
        for key in details.referred {
            let referrers = try referrers(to: key, loaded.rows[key], reader)
            loaded.referrers[key] = referrers
            for row in try reader.rows(referrers) { loaded.rows[row.key] = row }
            for referrer in referrers {
                guard try metadata.zone(of: referrer) == metadata.zone else { continue }
                if let state = try metadata.record(of: referrer) { loaded.records[state.recordName] = state }
            }
        }
        for row in loaded.rows.values {
            for key in row.references where loaded.names[key] == nil {
                loaded.names[key] = try metadata.name(of: key)
                if loaded.names[key] == nil { loaded.namesElsewhere[key] = try metadata.record(of: key)?.recordName }
            }
        }
        // History was read, so objects without a row are marked.
        loaded.existing = Set(loaded.records.values.filter(\.hasRow).map(\.key))
    }

    /// Returns the rows that refer to a row by a to-one relationship, through its inverse.
    func referrers(to key: RowKey, _ row: Row?, _ reader: StoreReader) throws -> [RowKey] {
        let entity = mapping.model.entities[key.entityIndex]
        var keys: Set<RowKey> = []
        for (index, relationship) in entity.toMany.enumerated() where relationship.shape == .oneToMany {
            keys.formUnion(try reader.destinations(of: key, toMany: index))
        }
        for (slot, declared) in entity.slots.enumerated() {
            if case .toOne(let relationship) = declared, relationship.shape == .oneToOne, let partner = row?.values[slot].reference {
                keys.insert(partner)
            }
        }
        return keys.sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }
    }

    // MARK: Writing

    func write(_ plan: ImportPlan, loaded: ImportPlan.Loaded, _ writer: StoreWriter) throws -> StoreCommit {
        var changes = StoreChanges()
        changes.author = MirrorNames.importAuthor
        var deletes: [RowKey] = []
        var commit = StoreCommit(store: store.number)
        for intent in plan.rows {
            switch intent {
            case .insert(let row):
                changes.inserts.append(row)
                commit.inserted.append(row.key)
                commit.relationshipOwners.formUnion(row.references)
            case .update(let row, let changedSlots):
                changes.updates.append(
                    RowUpdate(key: row.key, expectedVersion: row.version, values: row.values, changedSlots: changedSlots))
                commit.updated.append(row.key)
                for slot in changedSlots {
                    for owner in [row.values[slot].reference, loaded.rows[row.key]?.values[slot].reference] {
                        if let owner { commit.relationshipOwners.insert(owner) }
                    }
                }
            case .delete(let key, _):
                deletes.append(key)
                commit.deleted.append(key)
                commit.relationshipOwners.formUnion(loaded.rows[key]?.references ?? [])
            }
        }
        for link in plan.links {
            changes.links.append(
                LinkChange(
                    owner: link.owner, relationship: link.relationship, destination: link.destination, isAddition: link.isAddition))
            commit.relationshipOwners.formUnion([link.owner, link.destination])
        }
        if mapping.hasUniqueness { try writer.vacate(deletes) }
        try writer.apply(changes)
        if !deletes.isEmpty {
            // References without an inverse, and pairs. Contexts merge rows that lose one.
            let touched = try writer.nullifyReferences(to: deletes)
            let known = Set(commit.inserted).union(commit.updated)
            commit.updated += touched.filter { !known.contains($0) }
            commit.relationshipOwners.formUnion(touched)
            var removal = StoreChanges()
            removal.author = MirrorNames.importAuthor
            removal.deletes = deletes.map { RowDelete(key: $0, expectedVersion: nil) }
            try writer.apply(removal)
        }
        commit.relationshipOwners.subtract(commit.inserted)
        commit.relationshipOwners.subtract(commit.deleted)
        return commit
    }
}
