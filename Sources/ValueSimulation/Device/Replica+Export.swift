// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import ManagedModel
package import MirroringCore

// History, batches and their outcomes.

extension Replica {
    /// Reads history, and commits marks, names and position keys.
    package mutating func scan() {
        readHistory()
        repairRelated()
    }

    mutating func readHistory() {
        if history.isEmpty { return }
        var unread = history
        history = []
        // What imports wrote is not sent.
        if unread.allSatisfy({ MirrorNames.isMirror($0.author) }) { return }
        if canary == .lostEdits {
            for index in unread.indices { unread[index].changes.removeAll { $0.kind == .update && $0.key.primaryKey % 3 == 0 } }
        }
        guard zones.count > 1 else { return scan(unread, in: MirrorZone.home) }
        for (zone, part) in partition(unread) { scan(part, in: zone) }
    }

    /// - Parameter history: Changes of objects in one zone.
    mutating func scan(_ history: [LocalTransaction], in zone: Int64) {
        let scan = ExportScan(history, mapping: mapping)
        let needs = scan.needs
        if needs.keys.isEmpty { return }
        var loaded = ExportScan.Loaded()
        for key in needs.keys { if let state = current(key)?.state { loaded.records[key] = stored(state) } }
        for listing in needs.listings {
            let list = OrderedList(owner: listing.owner, relationship: listing.relationship)
            // Records of different zones are never linked.
            let destinations = rows[listing.owner] == nil ? [] : destinations(of: list).filter { self.zone(of: $0) ?? zone == zone }
            loaded.destinations[listing] = destinations
            for key in destinations where loaded.records[key] == nil {
                if let state = current(key)?.state { loaded.records[key] = stored(state) }
            }
        }
        if !zones[zone].links.isEmpty {
            loaded.links = zones[zone].links(
                touching: Set((needs.listings.map(\.owner) + needs.deleted).compactMap { loaded.records[$0]?.recordName }))
        }
        for end in loaded.links.flatMap({ [$0.pair.first, $0.pair.second] }) {
            if let state = record(named: end, in: zone), loaded.records[state.key] == nil { loaded.records[state.key] = state }
        }
        loaded.parked = zones[zone].deferredReferences
        loaded.existing = Set((needs.keys + needs.listings.map(\.owner) + loaded.records.keys).filter { rows.contains($0) })
        if mapping.hasUniqueness { loaded.uniqueNames = uniqueNames(of: needs.keys.filter { loaded.records[$0] == nil }, in: zone) }
        let names = NewRecordNames(count: scan.namesAtMost(loaded)) { [device, lastName] in "\(device)\(lastName + 1 + $0)" }
        lastName += names.count
        write(scan.plan(loaded, names: names), in: zone)
        rank(after: scan, in: zone)
    }

    package func pendingRecords(in zone: Int64) -> [RecordState] {
        let pending = zones[zone].records.filter { ($0.stage == .needsUpload || $0.stage == .needsDelete) && $0.failure == nil }
        if pending.isEmpty { return [] }
        if !pending.contains(where: { $0.stage == .needsDelete }) {
            return pending.sorted { ($0.mark, $0.recordName) < ($1.mark, $1.recordName) }.map { stored($0) }
        }
        let metadata = zones[zone]
        // The server learns of the survivor of a merge before it learns of the deletion of the duplicate.
        let redirects = mapping.hasUniqueness ? metadata.redirects : [:]
        return pending.filter { state in
            guard state.stage == .needsDelete else { return true }
            // A source record is deleted after the destination record arrived.
            if state.isRelocated, let current = current(state.key), current.state.changeTag == nil { return false }
            guard let survivor = redirects[state.recordName].flatMap({ metadata.records[$0] }) else { return true }
            return survivor.stage != .needsUpload && survivor.stage != .missing
        }.sorted { ($0.mark, $0.recordName) < ($1.mark, $1.recordName) }.map { stored($0) }
    }

    package func pendingLinks(in zone: Int64) -> [LinkState] {
        if zones[zone].links.isEmpty { return [] }
        return zones[zone].links.filter { ($0.stage == .needsUpload || $0.stage == .needsDelete) && $0.failure == nil }
            .sorted { ($0.mark, $0.recordName) < ($1.mark, $1.recordName) }
    }

    package var pendingRecords: [RecordState] { pendingRecords(in: MirrorZone.home) }
    package var pendingLinks: [LinkState] { pendingLinks(in: MirrorZone.home) }

    /// Whether everything was sent.
    package var isIdle: Bool {
        history.isEmpty && zones.numbers.allSatisfy { pendingRecords(in: $0).isEmpty && pendingLinks(in: $0).isEmpty }
    }

    package mutating func planBatch(itemsMax: Int = 200, limits: Limits = Limits(), in zone: Int64 = MirrorZone.home) -> BatchPlan {
        // As many are read as a batch has room for.
        let pending = Array(pendingRecords(in: zone).prefix(itemsMax)), links = Array(pendingLinks(in: zone).prefix(itemsMax))
        if pending.isEmpty, links.isEmpty {
            return BatchPlan.plan(records: [], links: [], loaded: BatchPlan.Loaded(), mapping: mapping)
        }
        var loaded = BatchPlan.Loaded()
        loaded.rows = [RowKey: Row](minimumCapacity: pending.count)
        for state in pending where state.stage == .needsUpload {
            guard let row = rows[state.key] else { continue }
            loaded.rows[state.key] = row
            if zone != MirrorZone.home { loaded.receipts[state.recordName] = stamp(of: row, for: state) }
        }
        loaded.names = zones[zone].names
        loaded.parked = zones[zone].deferredReferences
        if mapping.hasUniqueness {
            loaded.addSeparated(by: pending) {
                record(named: $0, in: zone)
            } load: { loaded, state in
                loaded.rows[state.key] = rows[state.key]
            }
        }
        let plan = BatchPlan.plan(
            records: pending, links: links, loaded: loaded, mapping: mapping, itemsMax: itemsMax, limits: limits)
        write(plan.changes, in: zone)
        return plan
    }

    package mutating func settle(
        _ batch: BatchPlan, _ outcomes: [String: ItemOutcome], _ assets: [String: [String: AssetValue]], in zone: Int64 = MirrorZone.home
    ) -> BatchVerdict {
        let metadata = zones[zone]
        var records = [String: RecordState](minimumCapacity: batch.items.count)
        var links: [String: LinkState] = [:]
        for item in batch.items {
            if item.isLink {
                links[item.recordName] = metadata.links[item.recordName]
            } else {
                records[item.recordName] = record(named: item.recordName, in: zone)
            }
        }
        let settlement = ExportSettlement.settle(
            batch.items, outcomes: outcomes, assets: assets,
            generation: metadata.token == nil ? metadata.generation - 1 : metadata.generation, records: records, links: links,
            mapping: mapping)
        write(settlement.changes, in: zone)
        for source in settlement.changes.removedRecords.compactMap({ records[$0] }) {
            guard let current = current(source.key), let state = stored(current.state).forwarding(source) else { continue }
            var changes = BookkeepingChanges()
            changes.records = [state]
            write(changes, in: current.zone)
        }
        deletedNames.formUnion(
            DeletedNames.decide(
                settlement.changes, records, isHome: zone == MirrorZone.home,
                hasSharedRecord: { name in
                    zones.shares.contains { record(named: name, in: $0).map { !$0.isRelocated && $0.stage != .needsDelete } ?? false }
                },
                hasSharedLink: { name in zones.shares.contains { zones[$0].links.contains(name) } }))
        return settlement.verdict
    }

    // MARK: Names that follow from unique values

    private func uniqueNames(of keys: [RowKey], in zone: Int64) -> [RowKey: String] {
        var names: [RowKey: String] = [:]
        for key in keys {
            guard let row = rows[key], let name = uniqueName(of: row, besides: Set(names.values), in: zone) else { continue }
            names[key] = name
        }
        return names
    }

    func uniqueName(of row: Row, besides taken: Set<String> = [], in zone: Int64) -> String? {
        if mapping.uniqueValues(of: row).isEmpty { return nil }
        let redirects = zones[zone].redirects, deferred = Set(zones[zone].parked.values)
        return Rekeying.name(of: row, mapping: mapping) { name in
            zones.numbers.allSatisfy { !zones[$0].records.contains(name) } && !taken.contains(name)
                && !deferred.contains(name) && redirects[name] == nil
                // A link that waits for a record of the name is to another object than this one.
                && zones[zone].links(touching: [name]).allSatisfy { $0.stage == .needsDelete }
        }
    }

    /// Renames objects that were never sent, and have the names of records of the page.
    mutating func renameTaken(by page: ImportPage, in zone: Int64) {
        for record in page.records {
            guard let state = self.record(named: record.recordName, in: zone), mapping.isUnique(state.key.entityIndex),
                let row = rows[state.key],
                Rekeying.isNameTaken(from: state, row, by: record, mapping: mapping), Rekeying.isRekeyable(state),
                let name = uniqueName(of: row, in: zone)
            else { continue }
            var renamed = state
            renamed.recordName = name
            var changes = BookkeepingChanges()
            changes.removedRecords = [record.recordName]
            changes.records = [renamed]
            let links = zones[zone].links(touching: [record.recordName])
            for pair in Rekeying.pairsToUnlink(links) {
                guard let link = mapping.links[pair.kind], let first = zones[zone].records.value(of: pair.first, { $0.key }),
                    let second = zones[zone].records.value(of: pair.second, { $0.key })
                else { continue }
                pairs.remove(self.pair(link, link.first.relationship, first, second))
            }
            changes.links = Rekeying.links(
                links, renaming: record.recordName, to: name, mark: lastTransaction, mapping: mapping
            ) {
                lastName += 1
                return "\(device)\(lastName)"
            }
            for key in referrers(to: state.key) {
                guard case (zone, var referrer)? = current(key), referrer.stage == .uploaded else { continue }
                referrer.stage = .needsUpload
                changes.records.append(stored(referrer))
            }
            write(changes, in: zone)
        }
    }
}
