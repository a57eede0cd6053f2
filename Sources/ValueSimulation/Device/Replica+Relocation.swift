// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
package import ManagedModel
import MirroringCore

// Relocations: objects of the home zone go to the zone of a share, with everything that they are connected with.

extension Replica {
    // MARK: Changes of this device

    /// Relocates objects to the zone of a share, as sharing them does.
    package mutating func share(_ keys: [RowKey], in zone: Int64) {
        scan()
        relocate(keys, to: zone)
    }

    /// Returns the history of each zone, after objects that were related to shared ones are relocated.
    mutating func partition(_ history: [LocalTransaction]) -> [(zone: Int64, history: [LocalTransaction])] {
        let assignment = ZoneAssignment(history, mapping: mapping)
        let changes = assignment.existing.map { key in
            ZoneAssignment.Change(
                key: key, zone: zone(of: key) ?? MirrorZone.home,
                neighbours: neighbours(of: key, changed: assignment.changedProperties(of: key)).map {
                    ZoneAssignment.Neighbour(key: $0, zone: zone(of: $0) ?? MirrorZone.home)
                })
        }
        for relocation in ZoneAssignment.relocations(changes, home: MirrorZone.home) { relocate([relocation.key], to: relocation.zone) }
        var assigned: [RowKey: Int64] = [:]
        for key in assignment.keys { assigned[key] = zone(of: key) ?? MirrorZone.home }
        return assignment.parts(zones: assigned)
    }

    /// Returns the rows that a row is related to.
    ///
    /// - Parameter changed: Only by these properties; nil for all. The many side of a one-to-many relationship is left out then: the
    ///   objects that are related by it changed themselves.
    func neighbours(of key: RowKey, changed: Set<String>?) -> [RowKey] {
        guard let row = rows[key] else { return [] }
        let entity = mapping.model.entities[key.entityIndex]
        var keys: [RowKey] = []
        for (slot, declared) in entity.slots.enumerated() where changed?.contains(declared.name) ?? true {
            if let target = row.values[slot].reference { keys.append(target) }
        }
        for (index, relationship) in entity.toMany.enumerated() {
            if let changed { guard relationship.shape == .manyToMany, changed.contains(relationship.name) else { continue } }
            keys += destinations(of: OrderedList(owner: key, relationship: index))
        }
        return keys
    }

    mutating func relocate(_ keys: [RowKey], to zone: Int64) {
        var connected = ConnectedObjects(from: keys)
        while let key = connected.next() {
            guard self.zone(of: key) ?? MirrorZone.home == MirrorZone.home else { continue }
            connected.include(key, neighbours: neighbours(of: key, changed: nil))
        }
        var names: [(source: String, destination: String)] = []
        var unrecorded: [LocalChange] = []
        for key in connected.keys {
            guard let (_, current) = current(key) else {
                unrecorded.append(LocalChange(key: key, kind: .insert))
                continue
            }
            let state = stored(current)
            guard RelocatedRecord.isRelocatable(state) else { continue }
            let name = destinationName(of: state, in: zone)
            names.append((state.recordName, name))
            let relocated = RelocatedRecord(state, as: name, mark: lastTransaction, keepsSource: true)
            moveRecord(named: state.recordName, to: zone, as: relocated.destination)
            if let source = relocated.source { zones[MirrorZone.home].put(source) }
        }
        // First: a pair that is relocated may have been unlinked in history that is still to be read.
        relate(arrived: names.map(\.destination), in: zone)
        relocateLinks(of: names.map(\.source), to: zone)
        if !unrecorded.isEmpty { scan([LocalTransaction(number: max(lastTransaction, 1), author: nil, changes: unrecorded)], in: zone) }
    }

    /// Returns the record name of an object that is relocated.
    private mutating func destinationName(of state: RecordState, in zone: Int64) -> String {
        let name = state.recordName
        guard mapping.hasUniqueness, let row = rows[state.key],
            Rekeying.isNameTaken(
                from: state, row, inDestination: zones[zone].records[name], withheld: zones[zone].withheld[name]?.record, mapping: mapping)
        else { return name }
        if let free = uniqueName(of: row, in: zone) { return free }
        lastName += 1
        return "\(device)\(lastName)"
    }

    /// Moves the record of a row from the home zone, with its deferred references.
    private mutating func moveRecord(named name: String, to zone: Int64, as state: RecordState) {
        zones[MirrorZone.home].removeRecord(named: name)
        zones[zone].put(state)
        let references = zones[MirrorZone.home].takeDeferredReferences(of: name)
        zones[zone].addDeferredReferences(references, of: state.recordName)
    }

    /// Relocates the links of records that have both ends in a zone now.
    private mutating func relocateLinks(of names: [String], to zone: Int64) {
        var lists: Set<OrderedList> = []
        for name in names { relocateLinks(of: name, to: zone, &lists) }
        // Last: a list has the positions of all its members once all join records are there.
        arrange(lists, in: zone)
    }

    /// - Parameter lists: Lists with members that were not linked before.
    private mutating func relocateLinks(of name: String, to zone: Int64, _ lists: inout Set<OrderedList>) {
        for link in home.links(touching: [name]) {
            let isSymmetric = mapping.links[link.pair.kind]?.isSymmetric == true
            let pair = RelocatedLink.pair(of: link, isSymmetric: isSymmetric) { name in
                RelocatedLink.destinationName(
                    of: name, source: home.records[name], hasRecord: { zones[zone].records.contains($0) },
                    isWithheld: { zones[zone].withheld[$0] != nil },
                    nameOf: { zones[zone].names[$0] })
            }
            guard let pair else {
                var changes = BookkeepingChanges()
                if let deletion = RelocatedLink.deletion(ofStaying: link, mark: lastTransaction, isLinked: isLinkedInHome(link)) {
                    changes.links = [deletion]
                }
                write(changes)
                continue
            }
            let relocated = RelocatedLink(
                link, as: pair, mark: lastTransaction, keepsSource: true,
                hasBothEndsAtSource: RelocatedLink.hasBothEnds(link, hasRecord: { home.records.contains($0) }) { home.withheld[$0] != nil })
            var (atSource, atDestination) = (BookkeepingChanges(), BookkeepingChanges())
            if let source = relocated.source { atSource.links = [source] } else { atSource.removedLinks = [link.recordName] }
            atDestination.links = [relocated.destination]
            write(atSource)
            write(atDestination, in: zone)
            if relocated.isLinkedOnArrival {
                join(relocated.destination, in: zone)
                lists.formUnion(self.lists(of: pair, in: zone))
            }
        }
    }

    /// Whether the rows of a home zone's link are linked; nil if an object has no row.
    private func isLinkedInHome(_ link: LinkState) -> Bool? {
        guard let first = home.records[link.pair.first]?.key, let second = home.records[link.pair.second]?.key,
            rows.contains(first), rows.contains(second), let relationship = mapping.links[link.pair.kind]
        else { return nil }
        return isLinked(first, second, relationship)
    }

    // MARK: Objects that arrived in a zone

    /// Relates objects that are in a zone from now on.
    private mutating func relate(arrived names: [String], in zone: Int64) {
        let arrived = Set(names)
        var lists: Set<OrderedList> = []
        for reference in zones[zone].deferredReferences
        where arrived.contains(reference.destination) || arrived.contains(reference.key.source) {
            let source = record(named: reference.key.source, in: zone)
            let row = source.flatMap { rows[$0.key] }
            let target = record(named: reference.destination, in: zone).flatMap { rows[$0.key]?.key }
            var changes = BookkeepingChanges()
            changes.unparked = [reference.key]
            switch DeferredReferenceArrival.decide(reference, source: source, row: row, target: target, mapping: mapping) {
            case .waits: continue
            case .done: break
            case .lost(let conflict): changes.conflicts = [conflict]
            case .set(let slot, let target):
                guard var row else { continue }
                row.values[slot] = .reference(target)
                row.version += 1
                rows[row.key] = row
                lists.formUnion(mapping.lists(with: row))
            }
            write(changes, in: zone)
        }
        for link in zones[zone].links(touching: arrived) where link.isLive {
            join(link, in: zone)
            lists.formUnion(self.lists(of: link.pair, in: zone))
        }
        arrange(lists, in: zone)
    }

    /// Links the rows of a pair, if both are shown.
    private mutating func join(_ link: LinkState, in zone: Int64) {
        guard let relationship = mapping.links[link.pair.kind] else { return }
        let first = record(named: link.pair.first, in: zone), second = record(named: link.pair.second, in: zone)
        guard let first, let second, relationship.links(first, second, in: mapping, hasRow: { rows[$0] != nil }) else { return }
        pairs.insert(pair(relationship, relationship.first.relationship, first.key, second.key))
    }

    private func isLinked(_ first: RowKey, _ second: RowKey, _ relationship: LinkMapping) -> Bool {
        pairs.contains(pair(relationship, relationship.first.relationship, first, second))
    }

    // MARK: Edits of other devices in the home zone

    /// Relocates what this device alone connected with objects of a zone, after other devices relocated objects to it.
    mutating func gather(into zone: Int64) {
        let keys = liveKeysOfRecords(in: zone)
        let nearby = keys.flatMap { neighbours(of: $0, changed: nil) }.filter { self.zone(of: $0) ?? MirrorZone.home == MirrorZone.home }
        let followers = keys.flatMap { key in
            let name = zones[zone].names[key] ?? ""
            // A record of this name in the home zone is another object's, or its links have a relocated end.
            return home.records.contains(name) || home.withheld[name] != nil
                ? [] : home.links(touching: [name]).compactMap { RelocatedLink.follower(of: $0, to: name) { home.records[$0] } }
        }
        relocate(nearby + followers, to: zone)
        // Links that the device that shared the objects did not have.
        relocateLinks(of: liveKeysOfRecords(in: zone).compactMap { home.names[$0] ?? zones[zone].names[$0] }, to: zone)
    }

    /// Relocates objects of the home zone that records of other zones refer to.
    mutating func followDeferredReferences() {
        for zone in zones.shares {
            let references = zones[zone].deferredReferences
            relocate(ParkedRelationship.followers(of: references) { record(named: $0, in: MirrorZone.home) }, to: zone)
        }
    }

    private func liveKeysOfRecords(in zone: Int64) -> [RowKey] {
        zones[zone].records.filter { !$0.isRelocated && $0.stage != .needsDelete }.map(\.key)
            .sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }
    }

    /// Forwards edits that other devices made to source records, and relocates objects that they connected with relocated ones.
    mutating func forwardEdits(_ plan: ImportPlan) {
        if canary == .unforwardedEdits { return }
        guard zones.count > 1 else { return }
        let edits = ForwardedEdits(plan)
        for key in edits.edited {
            guard let (zone, state) = current(key), state.stage == .uploaded else { continue }
            var changed = state
            changed.stage = .needsUpload
            zones[zone].put(changed)
        }
        for unapplied in edits.unapplied {
            guard let (zone, current) = current(unapplied.key), zone != MirrorZone.home, current.changeTag == nil else { continue }
            var state = current
            state.ancestor.unapplied = unapplied.fields
            zones[zone].put(state)
        }
        follow(edits.connections)
        for link in edits.links {
            let ends = [link.pair.first, link.pair.second].compactMap { record(named: $0, in: MirrorZone.home) }
            guard ends.count == 2, ends.contains(where: \.isRelocated) else { continue }
            for (end, other) in [(0, 1), (1, 0)] { follow(ends[end].key, [ends[other].key]) }
            guard let zone = zone(of: ends[0].key), zone != MirrorZone.home else { continue }
            relocateLinks(of: [link.pair.first], to: zone)
            // The page of the home zone had no positions of relocated members.
            arrange(Set(ends.flatMap { mapping.lists(of: $0.key, linkedBy: link.pair.kind) }), in: zone)
        }
    }

    /// Relocates objects of the home zone that were connected with objects of other zones.
    mutating func follow(_ connections: [ForwardedEdits.Connection]) {
        if zones.count == 1 { return }
        for connection in connections {
            follow(connection.key, connection.references)
            for key in connection.references { follow(key, [connection.key]) }
        }
    }

    /// Relocates an object of the home zone to the zone of one of others.
    private mutating func follow(_ key: RowKey, _ others: [RowKey]) {
        guard !others.isEmpty, let zone = zone(of: key), zone == MirrorZone.home,
            let destination = ForwardedEdits.destination(
                ofObjectIn: zone, following: others.map { self.zone(of: $0) }, home: MirrorZone.home)
        else { return }
        relocate([key], to: destination)
    }

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
            switch RecordArrival.decide(record, stored(record, zone), isFullFetch: page.generation != nil, mapping: mapping) {
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

    private func stored(_ record: Record, _ zone: Int64) -> RecordArrival.Stored {
        var stored = RecordArrival.Stored(record: self.record(named: record.recordName, in: zone))
        if let known = stored.record {
            if known.changeTag == nil, let source = source(of: known.key), source.zone == MirrorZone.home { stored.source = source.state }
        } else if let stamp = RelocationStamp.ofHomeZone(record) {
            stored.stamped = self.record(named: stamp.name, in: MirrorZone.home)
            stored.isWithheld = zones[zone].withheld[record.recordName] != nil
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
            guard let stamp = RelocationStamp.ofHomeZone(record), let entity = mapping.entity(of: record) else { continue }
            let source = self.record(named: stamp.name, in: MirrorZone.home)
            guard
                RepeatedDeletions.isRepeated(
                    source: source, isUnique: mapping.isUnique(entity.entity.index), wasDeleted: deletedNames.contains(stamp.name),
                    isKnown: zones[zone].records.contains(name) || zones[zone].withheld[name] != nil)
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
