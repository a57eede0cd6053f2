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
        readHistory()
        relocate(keys, to: zone)
        repairRelated()
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
        guard let row = rows[state.key],
            Rekeying.isNameTaken(
                from: state, row, inDestination: zones[zone].records[name], withheld: zones[zone].withheld[name]?.record, mapping: mapping)
        else { return name }
        if let free = uniqueName(of: row, in: zone) { return free }
        lastName += 1
        return "\(device)\(lastName)"
    }

    /// Moves the record of a row from the home zone, with its deferred references.
    mutating func moveRecord(named name: String, to zone: Int64, as state: RecordState) {
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
    mutating func relate(arrived names: [String], in zone: Int64) {
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
                relatedSuspects.formUnion(OneToOneRepair.suspects(setting: slot, of: row.key, to: target, mapping: mapping))
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

    func isLinked(_ first: RowKey, _ second: RowKey, _ relationship: LinkMapping) -> Bool {
        pairs.contains(pair(relationship, relationship.first.relationship, first, second))
    }

    // MARK: Edits of other devices in the home zone

    /// Relocates what this device alone connected with objects of a zone, after other devices relocated objects to it.
    mutating func gather(into zone: Int64) { gather(liveKeysOfRecords(in: zone), into: zone) }

    /// Relocates what this device alone connected with relocated objects whose records the home zone withheld until they were deleted.
    mutating func gather(withheld names: [String]) {
        for zone in zones.shares {
            let keys = names.compactMap { zones[zone].records[$0] }.filter { !$0.isRelocated && $0.stage != .needsDelete }.map(\.key)
            if !keys.isEmpty { gather(keys, into: zone) }
        }
    }

    private mutating func gather(_ keys: [RowKey], into zone: Int64) {
        let nearby = keys.flatMap { neighbours(of: $0, changed: nil) }.filter { self.zone(of: $0) ?? MirrorZone.home == MirrorZone.home }
        let followers = keys.flatMap { key -> [RowKey] in
            let name = zones[zone].names[key] ?? ""
            // A record of this name in the home zone is another object's, or its links have a relocated end.
            guard let target = zones[zone].records[name], !home.records.contains(name), home.withheld[name] == nil else { return [] }
            return home.links(touching: [name]).compactMap { RelocatedLink.follower(of: $0, to: target) { home.records[$0] } }
        }
        relocate(nearby + followers, to: zone)
        // Links that the device that shared the objects did not have.
        relocateLinks(of: keys.compactMap { home.names[$0] ?? zones[zone].names[$0] }, to: zone)
        sendRelationships(of: keys, in: zone)
    }

    /// Sends relationships to objects that this device could not relocate, and that another device has.
    private mutating func sendRelationships(of keys: [RowKey], in zone: Int64) {
        let changes = keys.compactMap { key -> LocalChange? in
            guard let name = zones[zone].currentName(of: key), let state = zones[zone].records[name], let row = rows[key] else {
                return nil
            }
            return UnsentRelationships.change(
                of: state, row, mapping: mapping, name: { zones[zone].currentName(of: $0) },
                destinations: { destinations(of: OrderedList(owner: key, relationship: $0)) },
                links: { zones[zone].links(touching: [name]) })
        }
        if changes.isEmpty { return }
        scan([LocalTransaction(number: max(lastTransaction, 1), author: nil, changes: changes)], in: zone)
    }

    /// Relocates objects of the home zone that deferred references connect with records of other zones.
    mutating func followDeferredReferences() {
        for zone in zones.shares {
            let targets = DeferredReferenceFollowers.targets(
                of: zones[zone].deferredReferences, home: { record(named: $0, in: MirrorZone.home) },
                share: { record(named: $0, in: zone) })
            let sources = DeferredReferenceFollowers.sources(
                of: home.deferredReferences, mapping: mapping, home: { record(named: $0, in: MirrorZone.home) },
                isWithheld: { home.withheld[$0] != nil }, share: { record(named: $0, in: zone) })
            if !targets.isEmpty || !sources.isEmpty { relocate(targets + sources, to: zone) }
        }
    }

    /// Defers references of objects in other zones to rows that a plan deletes or withholds.
    mutating func deferCleared(_ references: [ClearedReference]) {
        for reference in references {
            guard let (zone, current) = current(reference.key), let deferred = reference.deferred(of: stored(current), mapping: mapping)
            else { continue }
            var changes = BookkeepingChanges()
            changes.parked = [deferred]
            write(changes, in: zone)
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
        for link in edits.links { follow(link) }
    }

    /// Relocates objects that the home zone withheld until now, and that links there join with relocated ones.
    mutating func followLinks(ofReleased names: [String]) {
        for link in home.links(touching: Set(names)) where link.isLive { follow(link) }
    }

    /// Relocates an object that a link of the home zone joins with a relocated one, and the link.
    private mutating func follow(_ link: LinkState) {
        let ends = [link.pair.first, link.pair.second].compactMap { record(named: $0, in: MirrorZone.home) }
        if ends.count == 1 { return followRelocatedEnd(of: link) }
        guard ends.count == 2, ends.contains(where: \.isRelocated) else { return }
        for (end, other) in [(0, 1), (1, 0)] { follow(ends[end].key, [ends[other].key]) }
        guard let zone = zone(of: ends[0].key), zone != MirrorZone.home else { return }
        relocateLinks(of: [link.pair.first], to: zone)
        // The page of the home zone had no positions of relocated members.
        arrange(Set(ends.flatMap { mapping.lists(of: $0.key, linkedBy: link.pair.kind) }), in: zone)
    }

    private mutating func followRelocatedEnd(of link: LinkState) {
        for zone in zones.shares {
            let key = DeferredReferenceFollowers.linked(
                by: link, mapping: mapping, home: { record(named: $0, in: MirrorZone.home) }, isWithheld: { home.withheld[$0] != nil },
                share: { record(named: $0, in: zone) })
            if let key { return relocate([key], to: zone) }
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
}
