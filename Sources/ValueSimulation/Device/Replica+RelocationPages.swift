// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore

// Relocations in the pages that arrive: of the home zone, and of the zone of a share.

extension Replica {
    // MARK: Pages of the home zone

    func withoutRelocated(_ page: ImportPage) -> ImportPage {
        var page = page
        func isLink(_ record: Record) -> Bool { record.recordType == MirrorNames.linkRecordType }
        page.records = page.recordsOfHome(
            isInHome: { isLink($0) ? home.links.contains($0.recordName) : home.records.contains($0.recordName) },
            isElsewhere: { record in
                zones.numbers.contains {
                    if isLink(record) { return zones[$0].links.contains(record.recordName) }
                    return zones[$0].records[record.recordName]?.isRelocation(of: record, mapping: mapping) == true
                }
            })
        return page
    }

    /// Undoes relocations if another device deleted the source record.
    mutating func undoRelocations(of deletions: [String]) {
        for name in deletions {
            guard let source = record(named: name, in: MirrorZone.home),
                UndoneRelocation.isDecided(byDeletionOf: source, mapping: mapping), let (zone, current) = current(source.key)
            else { continue }
            let undone = UndoneRelocation(source: source, current: stored(current), mark: lastTransaction)
            if let state = undone.destination { zones[zone].put(state) } else { zones[zone].removeRecord(named: current.recordName) }
            zones[MirrorZone.home].put(undone.source)
            var changes = BookkeepingChanges()
            for var link in zones[zone].links(touching: [current.recordName]) {
                if link.changeTag == nil {
                    changes.removedLinks.append(link.recordName)
                } else {
                    link.stage = .needsDelete
                    changes.links.append(link)
                }
            }
            write(changes, in: zone)
            zones[zone].removeDeferredReferences(from: current.recordName)
        }
    }

    /// Sends edits of source records that the relocating device did not forward.
    mutating func forwardAwaited(after page: ImportPage) {
        if canary == .unforwardedEdits { return }
        for zone in zones.shares {
            for name in page.deletions {
                guard let state = zones[zone].records[name] else { continue }
                if let forwarding = state.forwardingAwaited(ofDeleted: name, mapping: mapping) { zones[zone].put(forwarding) }
            }
            if !zones[zone].withheld.isEmpty {
                var changes = BookkeepingChanges()
                changes.incomplete = zones[zone].withheld.values.compactMap { $0.forwardingAwaited(after: page) }
                write(changes, in: zone)
            }
            if page.moreComing || page.generation == nil { continue }
            for state in zones[zone].records.values {
                if let forwarding = state.forwardingAwaited(ofDeleted: nil, mapping: mapping) { zones[zone].put(forwarding) }
            }
        }
    }

    func loadTargetsElsewhere(_ needs: ImportNeeds, _ loaded: inout ImportPlan.Loaded) {
        guard loaded.records.values.contains(where: \.isRelocated) else { return }
        for name in needs.names where loaded.records[name] == nil {
            for zone in zones.numbers {
                guard let state = record(named: name, in: zone), !state.isRelocated, state.stage != .needsDelete else { continue }
                loaded.targetsElsewhere[name] = state.key
                loaded.existing.insert(state.key)
            }
        }
    }

    /// Loads the deferred references of relocated records of a page, which are those of their current records.
    func loadRelocatedReferences(_ loaded: inout ImportPlan.Loaded) {
        for source in loaded.records.values.sorted(by: { $0.recordName < $1.recordName }) where source.isRelocated {
            guard let (zone, current) = current(source.key) else { continue }
            let references = zones[zone].deferredReferences.filter { $0.key.source == current.recordName }
            loaded.parked += RelocatedReferences.named(source.recordName, references)
        }
    }

    /// Writes the changes of a plan; deferred references of relocated records to the zones of their current records.
    mutating func writeBookkeeping(of plan: ImportPlan, in zone: Int64) {
        var changes = plan.bookkeeping
        if zone == MirrorZone.home, zones.count > 1 {
            let taken = RelocatedReferences.take(from: &changes) { source in
                guard let state = home.records[source], state.isRelocated, let (zone, current) = current(state.key) else { return nil }
                return (zone, current.recordName)
            }
            for (zone, changes) in taken { write(changes, in: zone) }
        }
        write(changes, in: zone)
    }

    // MARK: Pages of the zone of a share

    /// Returns the stamp to send with a row's record; nil for a row that was not relocated.
    func stamp(of row: Row, for state: RecordState) -> RelocationStamp? {
        guard let (number, source) = source(of: row.key) else { return RelocationStamp.forwardingAwaited(to: state) }
        if state.changeTag != nil { return RelocationStamp.forwarding(source, to: state) }
        var stamp = RelocationStamp(name: source.recordName, zone: CloudModel.id(of: number))
        if let entity = mapping.entities[row.key.entityIndex], let (zone, current) = current(row.key), zones[number].names[row.key] != nil {
            var names: [RowKey: String] = [:]
            for key in row.values.compactMap(\.reference) { names[key] = self.current(key)?.state.recordName }
            let deferred = zones[zone].deferredReferences.filter { $0.key.source == current.recordName }
            entity.addSource(source, row, names: names, parked: deferred, to: &stamp)
        }
        return stamp
    }

    func loadFormer(_ page: ImportPage, _ loaded: inout ImportPlan.Loaded) {
        for record in page.records {
            guard let state = loaded.records[record.recordName], state.stage == .needsUpload, let source = source(of: state.key),
                source.zone == MirrorZone.home
            else { continue }
            loaded.former[record.recordName] = source.state.ancestor
        }
    }

    /// Adopts and reconciles relocated records of a page, before it is planned.
    ///
    /// - Returns: Relocations of this device that are resumed with the rows of the page.
    mutating func prepareArrivals(in page: inout ImportPage, _ zone: Int64) -> [ResumedRelocation] {
        var adopted: [String] = [], reconciled: [String] = [], resumed: [ResumedRelocation] = []
        for (index, record) in page.records.enumerated() {
            if record.recordType == MirrorNames.linkRecordType {
                prepareArrival(ofLink: record.recordName, zone)
                continue
            }
            switch RecordArrival.decide(record, stored(record, zone), mapping: mapping) {
            case .ordinary: continue
            case .completed(let completed): page.replace(at: index, with: completed)
            case .adopted(let state, let source, let completed):
                moveRecord(named: source.recordName, to: zone, as: state)
                page.replace(at: index, with: completed)
                adopted.append(record.recordName)
            case .reconciled(let state, let source, let completed):
                zones[MirrorZone.home].removeRecord(named: source.recordName)
                zones[zone].put(state)
                page.replace(at: index, with: completed)
                reconciled.append(record.recordName)
            case .resumed(let relocation, let completed):
                page.replace(at: index, with: completed)
                resumed.append(relocation)
            }
        }
        for name in adopted + reconciled { resolveDeferredReferences(of: name, zone) }
        relate(arrived: adopted + reconciled, in: zone)
        if !adopted.isEmpty { zones[zone].receives = true }
        return resumed
    }

    /// Gives rows of a page the source records that they had before they were withheld.
    mutating func resume(_ relocations: [ResumedRelocation], after plan: ImportPlan, _ zone: Int64) {
        for relocation in relocations {
            let changes = relocation.changes(after: plan.bookkeeping, mapping: mapping)
            write(changes.home)
            write(changes.destination, in: zone)
        }
    }

    func stored(_ record: Record, _ zone: Int64) -> RecordArrival.Stored {
        var stored = RecordArrival.Stored(record: self.record(named: record.recordName, in: zone))
        if let known = stored.record {
            if known.changeTag == nil, let source = source(of: known.key), source.zone == MirrorZone.home { stored.source = source.state }
        } else if let stamp = RelocationStamp.ofHomeZone(record) {
            stored.stamped = self.record(named: stamp.name, in: MirrorZone.home)
            stored.withheld = zones[zone].withheld[record.recordName]?.record
        }
        return stored
    }

    private mutating func prepareArrival(ofLink name: String, _ zone: Int64) {
        guard !zones[zone].links.contains(name), let link = home.links[name] else { return }
        let ends = [link.pair.first, link.pair.second].map { zones[zone].records[$0] ?? home.records[$0] }
        var isLinked = false
        if let first = ends[0]?.key, let second = ends[1]?.key, let relationship = mapping.links[link.pair.kind] {
            isLinked = self.isLinked(first, second, relationship)
        }
        var changes = BookkeepingChanges()
        changes.removedLinks = [name]
        switch LinkArrival.decide(isKnown: false, home: link, hasBothEnds: !ends.contains(nil), isLinked: isLinked, mapping: mapping) {
        case .ordinary: return
        case .adopted(let adopted):
            write(changes)
            changes = BookkeepingChanges()
            changes.links = [adopted]
            write(changes, in: zone)
        case .forgotten: write(changes)
        }
    }

    /// Lets the next merge set references of an adopted record to targets that arrived before it.
    private mutating func resolveDeferredReferences(of name: String, _ zone: Int64) {
        guard let state = record(named: name, in: zone) else { return }
        let metadata = zones[zone]
        let deferred = metadata.deferredReferences.filter { $0.key.source == name }
        let resolved = DeferredReferenceArrival.resolvedFields(of: state, deferred, mapping: mapping) { metadata.records.contains($0) }
        if resolved.isEmpty { return }
        var changes = BookkeepingChanges()
        changes.unparked = resolved.map(\.key)
        changes.records = [state.withoutMergeBase(of: resolved.map(\.field))]
        write(changes, in: zone)
    }

    /// Takes records out of a page that this device deleted before their relocation, and marks them for deletion.
    mutating func deleteAgain(in page: inout ImportPage, _ zone: Int64) {
        if canary == .deletionsNotRepeated { return }
        var repeated = RepeatedDeletions(mapping: mapping, mark: lastTransaction, generation: page.generation)
        for record in page.records {
            let name = record.recordName
            if let pair = mapping.pair(of: record) {
                guard
                    RepeatedDeletions.isRepeated(
                        wasDeleted: deletedNames.contains(name), isKnown: zones[zone].links.contains(name),
                        isInHome: home.links.contains(name)
                    )
                else { continue }
                repeated.add(record, pair)
                continue
            }
            if zones[zone].records.contains(name) || zones[zone].withheld[name] != nil { continue }
            guard let stamp = RelocationStamp.ofHomeZone(record), let entity = mapping.entity(of: record) else { continue }
            let source = self.record(named: stamp.name, in: MirrorZone.home)
            guard
                RepeatedDeletions.isRepeated(
                    source: source, isUnique: mapping.isUnique(entity.entity.index), wasDeleted: deletedNames.contains(stamp.name),
                    isKnown: false)
            else { continue }
            lastPrimaryKey += 1
            repeated.add(
                record, entity, key: RowKey(store: 0, entity: entity.entity.index, primaryKey: lastPrimaryKey), source: source, assets: [])
        }
        if repeated.names.isEmpty { return }
        page.records.removeAll { repeated.names.contains($0.recordName) }
        write(repeated.changes, in: zone)
    }
}
