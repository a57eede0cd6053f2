// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
package import MirroringCore

// Pages of changes.

extension Replica {
    package mutating func startFullFetch(of zone: Int64 = MirrorZone.home) {
        zones[zone].token = nil
        zones[zone].generation += 1
        zones[zone].isFullFetch = true
    }

    package func fetch(_ server: ServerModel, limit: Int, zone: Int64 = MirrorZone.home) -> ImportPage {
        var page = server.page(after: zones[zone].token, limit: limit)
        page.generation = zones[zone].fetchNumber
        return page
    }

    /// - Returns: Whether the page was applied; a late or repeated one is not.
    @discardableResult
    package mutating func apply(_ page: ImportPage, from server: ServerModel, in zone: Int64 = MirrorZone.home) -> Bool {
        readHistory()
        guard page.follows(zones[zone].token, generation: zones[zone].fetchNumber) else {
            repairRelated()
            return false
        }
        var page = page
        var resumed: [ResumedRelocation] = []
        releaseWithheld(in: &page, zone)
        if zone != MirrorZone.home {
            deleteAgain(in: &page, zone)
            resumed = prepareArrivals(in: &page, zone)
        }
        if !page.moreComing {
            page.conclude(missing: zones[zone].missingNames, unseen: page.generation == nil ? [] : zones[zone].unseenNames)
        }
        if zone == MirrorZone.home, zones.count > 1 {
            page = withoutRelocated(page)
            undoRelocations(of: page.deletions)
            forwardAwaited(after: page)
        }
        if mapping.hasUniqueness { renameTaken(by: page, in: zone) }
        let withheld = zone == MirrorZone.home && zones.count > 1 ? page.deletions.filter { home.withheld[$0] != nil } : []
        if !isVoid(page, zone) { importRecords(of: page, server, zone, resumed) }
        if !withheld.isEmpty { gather(withheld: withheld) }
        let receives = zones[zone].receives
        zones[zone].token = page.token
        if !page.moreComing {
            repairOneToOne(in: zone)
            zones[zone].isFullFetch = false
            zones[zone].receives = false
            if receives { gather(into: zone) }
            followDeferredReferences()
            repairRelated()
        }
        return true
    }

    /// Whether a page has nothing to plan. Most pages of a device that is up to date have none.
    private func isVoid(_ page: ImportPage, _ zone: Int64) -> Bool {
        guard page.records.isEmpty, page.deletions.isEmpty else { return false }
        // The last page redirects references and links of superseded records.
        return page.moreComing || !mapping.hasUniqueness || zones[zone].parked.isEmpty && zones[zone].links.isEmpty
    }

    /// Plans a page, and writes the plan.
    private mutating func importRecords(
        of page: ImportPage, _ server: ServerModel, _ zone: Int64, _ resumed: [ResumedRelocation]
    ) {
        let (draft, loaded) = plan(page, server, zone)
        let released = zone == MirrorZone.home && zones.count > 1 ? page.records.map(\.recordName).filter { home.withheld[$0] != nil } : []
        let plan = commit(draft, in: zone)
        resume(resumed, after: plan, zone)
        if zone != MirrorZone.home, !home.links.isEmpty, !home.links(touching: Set(plan.insertedNames)).isEmpty {
            zones[zone].receives = true
        }
        zones[zone].suspects.formUnion(OneToOneRepair.suspects(in: plan, loaded: loaded, mapping: mapping))
        arrange(listsTouched(by: plan, in: zone), in: zone)
        completeOrWithhold(plan.incompleteElsewhere)
        if zone == MirrorZone.home {
            deletedNames.subtract(DeletedNames.ended(by: plan))
            forwardEdits(plan)
            if !released.isEmpty { followLinks(ofReleased: released) }
        }
    }

    /// Decides on rows that lost required targets to a page of another zone.
    private mutating func completeOrWithhold(_ incomplete: [RowKey]) {
        for (zone, keys) in Dictionary(grouping: incomplete, by: { zone(of: $0) }).sorted(by: { $0.key ?? -1 < $1.key ?? -1 }) {
            guard let zone else { continue }
            let page = ImportPage(records: [], deletions: [], askedWith: nil, token: "", moreComing: true)
            var loaded = ImportPlan.Loaded()
            loaded.names = zones[zone].names
            loaded.incomplete = keys
            load(keys, zone, &loaded)
            var draft = ImportPlan.make(page, loaded: loaded, mapping: mapping)
            while loadUniqueNeighbours(of: draft, zone, in: &loaded) { draft = ImportPlan.make(page, loaded: loaded, mapping: mapping) }
            let plan = commit(draft, in: zone)
            zones[zone].suspects.formUnion(OneToOneRepair.suspects(in: plan, loaded: loaded.rows, mapping: mapping))
            arrange(listsTouched(by: plan, in: zone), in: zone)
            completeOrWithhold(plan.incompleteElsewhere)
        }
    }

    /// Adds the withheld records that a page releases.
    private func releaseWithheld(in page: inout ImportPage, _ zone: Int64) {
        guard canary != .withheldForever, !zones[zone].withheld.isEmpty else { return }
        let metadata = zones[zone]
        var names = page.records.map(\.recordName)
        if mapping.hasUniqueness {
            names += page.records.flatMap { mapping.mergedNames(of: $0).names.sorted() }
            // A superseded record that others still name.
            if !page.moreComing { names += metadata.redirects.keys.sorted() }
        }
        let seen = Set(page.deletions).union(page.records.map(\.recordName))
        var released = metadata.withheldRecords(lacking: names)
        if !page.moreComing { released += releasedRecords(of: zone) }
        var added = seen
        page.records += released.filter { page.mayRelease(withheldAt: $0.generation) && added.insert($0.record.recordName).inserted }
            .map(\.record)
    }

    /// Returns the withheld records of a zone with unique values that no row of another zone has any more, and those that edits of their
    /// source records complete, with records that require them.
    private func releasedRecords(of zone: Int64) -> [IncompleteRecord] {
        if zones.count == 1 || zones[zone].withheld.isEmpty { return [] }
        let held = zones[zone].withheld.values.filter { withheld in
            withheld.lacking.contains(IncompleteRecord.freeValues) && !isTaken(withheld.record, elsewhereThan: zone)
                || isCompleted(withheld, in: zone)
        }.sorted { $0.record.recordName < $1.record.recordName }
        return held + zones[zone].withheldRecords(lacking: held.map(\.record.recordName))
    }

    /// Whether edits of its source record give a withheld record all that its object requires.
    private func isCompleted(_ withheld: IncompleteRecord, in zone: Int64) -> Bool {
        guard zone != MirrorZone.home, let stamp = RelocationStamp.ofHomeZone(withheld.record),
            let source = record(named: stamp.name, in: MirrorZone.home)
        else { return false }
        return ResumedRelocation.isComplete(withheld, source: source, mapping: mapping) { name in
            zones[zone].records.value(of: name) { rows.contains($0.key) } ?? false
        }
    }

    /// Whether another object, in another zone, has unique values of a withheld record.
    private func isTaken(_ record: Record, elsewhereThan zone: Int64) -> Bool {
        let source = RelocationStamp.ofHomeZone(record).flatMap { stamp in
            zone == MirrorZone.home
                ? nil : home.records[stamp.name].flatMap { !$0.isRelocated && stamp.names($0, mapping: mapping) ? $0.key : nil }
        }
        return mapping.uniqueValues(of: record).contains { unique in
            keys(with: unique).contains { $0 != source && self.zone(of: $0) != zone }
        }
    }

    /// Shows withheld records that are complete since a change of this device, or in another zone.
    package mutating func applyWithheld(from cloud: CloudModel) {
        guard mapping.keepsIncomplete, zones.count > 1 else { return }
        scan()
        for zone in zones.numbers where zones[zone].token != nil && !zones[zone].isFullFetch && !releasedRecords(of: zone).isEmpty {
            guard let token = zones[zone].token else { continue }
            apply(ImportPage(records: [], deletions: [], askedWith: token, token: token, moreComing: false), from: cloud[zone], in: zone)
        }
    }

    // MARK: Loading

    /// - Returns: The plan, and the rows before it.
    private func plan(_ received: ImportPage, _ server: ServerModel, _ zone: Int64) -> (ImportPlan, [RowKey: Row]) {
        let metadata = zones[zone]
        var page = received
        let needs = ImportNeeds(page, mapping: mapping)
        var loaded = ImportPlan.Loaded()
        loaded.records = [String: RecordState](minimumCapacity: needs.names.count)
        for name in needs.names { if let state = record(named: name, in: zone) { loaded.records[name] = state } }
        let references = metadata.deferredReferences
        if !references.isEmpty {
            let waiting = Set(needs.parked)
            loaded.parked = references.filter { waiting.contains($0.key.source) || waiting.contains($0.destination) }
        }
        if mapping.hasUniqueness { loadRedirects(page, needs, zone, references, &loaded) }
        if !metadata.withheld.isEmpty {
            loaded.findDeletedWithheld(in: page, mapping: mapping, withheld: { metadata.withheld[$0]?.record }) { name in
                zones.numbers.contains { $0 != zone && (zones[$0].records.contains(name) || zones[$0].withheld[name] != nil) }
            }
        }
        if zone == MirrorZone.home, zones.count > 1 { loadRelocatedReferences(&loaded) }
        for entry in loaded.parked { loaded.records[entry.key.source] = record(named: entry.key.source, in: zone) }
        if !metadata.links.isEmpty { loaded.links = needs.names.compactMap { metadata.links[$0] } }
        let details = needs.details(loaded)
        for key in details.keys { loaded.rows[key] = rows[key] }
        loadLinks(needs, details, metadata, zone, &loaded)
        for key in details.targets where rows.contains(key) { loaded.existing.insert(key) }
        for state in loaded.records.values where rows.contains(state.key) { loaded.existing.insert(state.key) }
        for key in details.referred {
            loaded.referrers[key] = referrers(to: key)
            for referrer in loaded.referrers[key] ?? [] {
                loaded.rows[referrer] = rows[referrer]
                if let (number, state) = current(referrer), number == zone { loaded.records[state.recordName] = stored(state) }
            }
        }
        loaded.names = metadata.names
        if zones.count > 1 {
            for key in loaded.rows.values.flatMap({ $0.values.compactMap(\.reference) }) where metadata.names[key] == nil {
                loaded.namesElsewhere[key] = current(key)?.state.recordName
            }
            if zone == MirrorZone.home { loadTargetsElsewhere(needs, &loaded) } else { loadFormer(page, &loaded) }
        }
        var missing: [UnreadableAsset] = []
        for need in loaded.missing(details) {
            if let bytes = server.download(need.asset) { loaded.add(Data(bytes), of: need.asset) } else { missing.append(need.missing) }
        }
        page.quarantine(missing)
        var plan = ImportPlan.make(page, loaded: loaded, mapping: mapping)
        while loadUniqueNeighbours(of: plan, zone, in: &loaded) { plan = ImportPlan.make(page, loaded: loaded, mapping: mapping) }
        return (plan, loaded.rows)
    }

    private func loadLinks(
        _ needs: ImportNeeds, _ details: ImportNeeds.Details, _ metadata: ZoneMetadata, _ zone: Int64, _ loaded: inout ImportPlan.Loaded
    ) {
        if metadata.links.isEmpty { return }
        let names = Set(needs.names), pairs = Set(details.pairs)
        let ends = Set(details.linkEnds).union(loaded.successors.keys)
        loaded.links = metadata.links.filter {
            names.contains($0.recordName) || pairs.contains($0.pair) || ends.contains($0.pair.first) || ends.contains($0.pair.second)
        }.sorted { $0.recordName < $1.recordName }
        for end in loaded.links.flatMap({ [$0.pair.first, $0.pair.second] }) where loaded.records[end] == nil {
            loaded.records[end] = record(named: end, in: zone)
        }
    }

    func referrers(to key: RowKey) -> [RowKey] {
        rows.values.compactMap { row in row.values.contains { $0.reference == key } ? row.key : nil }
    }

    private func loadRedirects(
        _ page: ImportPage, _ needs: ImportNeeds, _ zone: Int64, _ references: [ParkedRelationship], _ loaded: inout ImportPlan.Loaded
    ) {
        let metadata = zones[zone], redirects = metadata.redirects
        loaded.restoreRedirects(of: page.deletions) { record(named: $0, in: zone) }
        var names = needs.names + loaded.successors.values.sorted() + loaded.namesTakenOffLists(by: page, mapping: mapping)
        if !page.moreComing {
            loaded.parked += references.filter { redirects[$0.destination] != nil }
            names += loaded.parked.map(\.destination) + metadata.links.values.flatMap { [$0.pair.first, $0.pair.second] }.sorted()
        }
        for name in page.deletions {
            for other in metadata.records[name]?.merged.names.sorted() ?? [] {
                loaded.records[other] = record(named: other, in: zone)
                loaded.parked += references.filter { $0.destination == other }
            }
        }
        while let name = names.popLast() {
            loaded.records[name] = record(named: name, in: zone)
            guard let survivor = redirects[name], loaded.successors[name] == nil else { continue }
            loaded.successors[name] = survivor
            names.append(survivor)
        }
    }

    /// Loads rows with the same values as rows of a plan, with their referrers. Records with unique values of rows in other zones are
    /// withheld.
    ///
    /// - Returns: Whether there were any that weren't loaded.
    private func loadUniqueNeighbours(of plan: ImportPlan, _ zone: Int64, in loaded: inout ImportPlan.Loaded) -> Bool {
        guard mapping.hasUniqueness || mapping.hasRequirements else { return false }
        let neighbours = UniqueNeighbours(
            of: plan, in: zone, owners: { canary == .unmergedDuplicates ? [] : keys(with: $0) }, zoneOf: { self.zone(of: $0) })
        let heldBack = neighbours.blocked.subtracting(loaded.heldBack)
        loaded.heldBack.formUnion(heldBack)
        let new = Set(neighbours.keys).filter { !$0.isTemporary && !loaded.surrounded.contains($0) }.sorted {
            $0.primaryKey < $1.primaryKey
        }
        if new.isEmpty { return !heldBack.isEmpty }
        load(new, zone, &loaded)
        return true
    }

    /// Loads rows with their referrers, links and deferred references.
    private func load(_ new: [RowKey], _ zone: Int64, _ loaded: inout ImportPlan.Loaded) {
        let references = zones[zone].deferredReferences
        for key in new {
            loaded.rows[key] = rows[key]
            let referrers = referrers(to: key)
            loaded.referrers[key] = referrers
            for referrer in referrers + [key] {
                loaded.rows[referrer] = rows[referrer]
                guard let (number, state) = current(referrer), number == zone else { continue }
                loaded.records[state.recordName] = stored(state)
                loaded.parked += references.filter { $0.destination == state.recordName || $0.key.source == state.recordName }
                if referrer == key { loadNeighbours(of: state, zone, &loaded) }
            }
        }
        for reference in loaded.parked where loaded.records[reference.key.source] == nil {
            loaded.records[reference.key.source] = record(named: reference.key.source, in: zone)
        }
        for state in loaded.records.values where rows[state.key] != nil { loaded.existing.insert(state.key) }
        loaded.surrounded += new
    }

    /// Loads the links of a record, and the required targets that the server has: if the target of this device is deleted, that is shown.
    private func loadNeighbours(of state: RecordState, _ zone: Int64, _ loaded: inout ImportPlan.Loaded) {
        for target in mapping.entities[state.key.entityIndex]?.requiredTargets(of: state).values.sorted() ?? []
        where loaded.records[target] == nil {
            loaded.records[target] = record(named: target, in: zone)
        }
        let known = Set(loaded.links.map(\.recordName))
        for link in zones[zone].links(touching: [state.recordName]) where !known.contains(link.recordName) {
            loaded.links.append(link)
            for end in [link.pair.first, link.pair.second] where loaded.records[end] == nil {
                loaded.records[end] = record(named: end, in: zone)
            }
        }
    }

    func keys(with unique: UniqueValues) -> [RowKey] {
        mapping.model.entities[unique.constraint.entity].hierarchy.flatMap { entity in
            rows.rows(of: entity).compactMap { mapping.has(unique, in: $0) ? $0.key : nil }
        }
    }

    // MARK: Writing

    /// - Returns: The plan with the keys of new rows.
    private mutating func commit(_ draft: ImportPlan, in zone: Int64) -> ImportPlan {
        var keys: [RowKey: RowKey] = [:]
        for temporary in draft.newKeys {
            lastPrimaryKey += 1
            keys[temporary] = RowKey(store: 0, entity: temporary.entityIndex, primaryKey: lastPrimaryKey)
        }
        let plan = draft.assigning(keys)
        var changes: [LocalChange] = []
        let deleted = plan.deletedKeys
        for intent in plan.rows {
            switch intent {
            case .insert(let row):
                rows[row.key] = row
                changes.append(LocalChange(key: row.key, kind: .insert))
            case .update(var row, let slots):
                precondition(rows[row.key]?.version == row.version, "import and its rows are one transaction")
                if canary == .oneSidedRelationships, isDisplaced(row, slots, plan) { continue }
                row.version += 1
                for slot in slots { leaveList(row.key, slot: slot, former: rows[row.key]?.values[slot].reference) }
                rows[row.key] = row
                let declared = mapping.model.entities[row.key.entityIndex].slots
                changes.append(LocalChange(key: row.key, kind: .update, changedProperties: slots.map { declared[$0].name }))
            case .delete(let key, _):
                removeRow(key)
                changes.append(LocalChange(key: key, kind: .delete))
            }
        }
        if !deleted.isEmpty {
            // The store clears references to deleted rows.
            for row in rows.values {
                for (slot, value) in row.values.enumerated() {
                    if let target = value.reference, deleted.contains(target) { rows.set(.null, slot: slot, of: row.key) }
                }
            }
        }
        for link in plan.links {
            guard let mapped = mapping.link(entity: link.owner.entityIndex, toMany: link.relationship) else { continue }
            let pair = pair(mapped, link.relationship, link.owner, link.destination)
            if link.isAddition { pairs.insert(pair) } else { pairs.remove(pair) }
        }
        if !changes.isEmpty { record(changes, author: MirrorNames.importAuthor) }
        writeBookkeeping(of: plan, in: zone)
        deferCleared(plan.clearedElsewhere)
        return plan
    }

    /// Makes the one-to-one relationships of an import two-sided, after its last page.
    private mutating func repairOneToOne(in zone: Int64) {
        let suspects = zones[zone].suspects
        if suspects.isEmpty { return }
        zones[zone].suspects = []
        repairOneToOne(suspects)
    }

    /// Makes one-to-one relationships two-sided that relocations have set.
    mutating func repairRelated() {
        while !relatedSuspects.isEmpty {
            let suspects = relatedSuspects
            relatedSuspects = []
            repairOneToOne(suspects)
        }
    }

    private mutating func repairOneToOne(_ suspects: Set<RowKey>) {
        if canary == .oneSidedRelationships { return }
        let repair = OneToOneRepair.decide(
            suspects, mapping: mapping, row: { rows[$0] }, record: { current($0).map { stored($0.state) } },
            source: { source(of: $0)?.state })
        for case .update(var row, _) in repair.rows {
            row.version += 1
            rows[row.key] = row
        }
        for state in repair.records { write(repair.changes(of: state), in: self.zone(of: state.key) ?? MirrorZone.home) }
        conflicts += repair.conflicts
        follow(repair.connections)
    }

    /// Whether an update only clears a side of a one-to-one relationship.
    private func isDisplaced(_ row: Row, _ slots: [Int], _ plan: ImportPlan) -> Bool {
        slots.allSatisfy { slot in
            guard case .toOne(let relationship) = mapping.model.entities[row.key.entityIndex].slots[slot] else { return false }
            return relationship.shape == .oneToOne && row.values[slot].isNull
        }
    }
}
