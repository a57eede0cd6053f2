// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

// Two objects with values that must be unique are one thing that was made twice, or that got the name of another later. Every device
// that knows both makes one of them, and the same one, whoever is first: the other's values fill what is empty, what differs goes to the
// conflict log, and what was related to the other is related to the one that stays.

extension ImportDraft {
    /// Finds deletions of the page that are none: somebody else has merged the object into one that comes with the page, or that
    /// has come before, when it had other values here.
    ///
    /// - Parameter waiting: Deletions that are not looked at yet.
    mutating func setTwinsAside(_ records: [Record], waiting: Set<String>) {
        guard mapping.hasUniqueness, !page.deletions.isEmpty else { return }
        let coming = Set(records.map(\.recordName))
        var others: [UniqueValues: String] = [:]
        for key in loaded.surrounded {
            // Nobody else could merge anything into what only this device knows.
            guard let name = names[key], !deletions.contains(name), let state = states[name], state.changeTag != nil else { continue }
            for unique in values(of: state) { others[unique] = name }
        }
        for record in records { for unique in mapping.uniqueValues(of: record) { others[unique] = record.recordName } }
        for name in page.deletions where !waiting.contains(name) {
            guard let state = states[name], state.changeTag != nil, rows[state.key] != nil, mapping.isUnique(state.key.entityIndex) else { continue }
            let values = values(of: state)
            given += values.map { ($0, state.key) }
            if let into = successor(of: name, coming: coming) ?? values.lazy.compactMap({ others[$0] }).first { addGoingTwin(name, into: into) }
        }
    }

    /// Values that an object has here, and those that the server knew: who merged it knew those.
    private func values(of state: RecordState) -> [UniqueValues] {
        guard let row = rows[state.key], let entity = mapping.entities[state.key.entityIndex] else { return [] }
        let known = Record(recordName: state.recordName, recordType: entity.recordType, fields: state.ancestor.fields)
        return mapping.uniqueValues(of: row) + mapping.uniqueValues(of: known)
    }

    /// Whether a record that is to be deleted, because its object was merged into another, has other values by now.
    func isSeparate(_ record: Record, _ state: RecordState) -> Bool {
        guard state.stage == .needsDelete, case .string(let values)? = state.ancestor.unapplied[MirrorNames.mergedFor]?.value else { return false }
        return !mapping.uniqueValues(of: record).contains { mapping.recordName(for: $0) == values }
    }

    /// Merges until all values that must be unique are.
    mutating func mergeTwins() {
        guard mapping.hasUniqueness else { return }
        var owners: [UniqueValues: RowKey] = [:]
        var open = (rows.touchedKeys + loaded.surrounded + goingTwins.compactMap { states[$0.name]?.key }).reversed() as [RowKey]
        while let key = open.popLast() {
            guard let owner = claimValues(of: key, &owners) else { continue }
            let isOwnerFirst = stays(owner, rather: key)
            let staying = isOwnerFirst ? owner : key
            merge(isOwnerFirst ? key : owner, into: staying)
            // What stays may have got values of what goes.
            open.append(staying)
        }
        for (name, into) in goingTwins where !removed.contains(name) {
            guard let key = states[name]?.key, rows[key] != nil else { continue }
            // What it was merged into elsewhere may itself have been merged here.
            let target = isThere(into) ? into : successor(of: name)
            if let staying = target.flatMap({ states[$0]?.key }), staying != key, rows[staying] != nil {
                merge(key, into: staying)
            } else {
                delete(name)
            }
        }
    }

    /// Makes a row the owner of its values, unless another row has one of them: that row is returned.
    private func claimValues(of key: RowKey, _ owners: inout [UniqueValues: RowKey]) -> RowKey? {
        guard mapping.isUnique(key.entityIndex), let row = rows[key] else { return nil }
        for unique in mapping.uniqueValues(of: row) {
            // An owner may have been merged into another row since.
            if let owner = owners[unique], owner != key, let other = rows[owner], mapping.uniqueValues(of: other).contains(unique) {
                if name(of: owner) != nil, name(of: key) != nil { return owner }
            } else {
                owners[unique] = key
            }
        }
        return nil
    }

    func name(of key: RowKey) -> String? {
        if let name = names[key] { return name }
        guard let name = inserted.name(of: key), inserted.contains(name), states[name]?.key == key else { return nil }
        return name
    }

    /// The same on every device, whatever else it knows: what says more, then the smaller name. What the server has no more goes, then what
    /// the other took over elsewhere.
    private func stays(_ one: RowKey, rather other: RowKey) -> Bool {
        func rank(_ key: RowKey, _ other: RowKey) -> (Int, Int, Int, String) {
            let entity = mapping.model.entities[key.entityIndex]
            let name = name(of: key) ?? "", otherName = self.name(of: other) ?? ""
            return (isGoing(name) ? 1 : 0, isTaken(name, by: otherName) ? 1 : 0, -(entity.slots.count + entity.toMany.count), name)
        }
        return rank(one, other) < rank(other, one)
    }

    /// Whether a record says that it took an object over: then that one's deletion is under way, and comes with a later page. Where both
    /// say so the names decide.
    private func isTaken(_ name: String, by other: String) -> Bool { states[other]?.merged.names.contains(name) == true }

    /// Whether the server has an object no more.
    private func isGoing(_ name: String) -> Bool { isGoingTwin(name) || states[name]?.stage == .missing }

    private mutating func merge(_ going: RowKey, into staying: RowKey) {
        guard let goingName = name(of: going), let stayingName = name(of: staying), var gone = states[goingName], var stayed = states[stayingName],
            let entity = mapping.entities[staying.entityIndex], let goingEntity = mapping.entities[going.entityIndex], let row = rows[going]
        else { preconditionFailure("twins are rows with records") }
        let own = Set(rows[staying].map { mapping.uniqueValues(of: $0) } ?? [])
        let shared = mapping.uniqueValues(of: row).first(where: own.contains)
        for property in entity.properties {
            guard let other = goingEntity.property(named: property.name), let before = rows[staying]?.values[property.slot] else { continue }
            let value = row.values[other.slot]
            switch property.kind {
            case .rank, .merged: continue
            case .toOne:
                let source = ParkedRelationship.Key(source: goingName, relationship: property.name)
                let target = ParkedRelationship.Key(source: stayingName, relationship: property.name)
                if before.isNull, parked[target] == nil {
                    if !value.isNull { rows.set(value, slot: property.slot, of: staying) }
                    if let waiting = parked[source] { park(target, at: waiting) }
                    if let rank = gone.ranks[property.name] { stayed.ranks[property.name] = rank }
                } else if !value.isNull, value != before, value != .reference(staying) {
                    log(value.reference.flatMap { loaded.names[$0] }.map { .string($0) }, of: property, stayed, winner: .remote, losing: gone.modified, winning: stayed.modified)
                }
            case .attribute(let attribute):
                if value == before || value.isNull || value == attribute.defaultValue { continue }
                if before.isNull || before == attribute.defaultValue {
                    rows.set(value, slot: property.slot, of: staying)
                } else {
                    log(FieldCodec.encode(value, as: attribute.type), of: property, stayed, winner: .remote, losing: gone.modified, winning: stayed.modified)
                }
            }
        }
        // What refers to it has to be known: the page is planned again if it is not.
        if !going.isTemporary { takenBack.append(going) }
        repoint(from: going, to: staying)
        for property in goingEntity.properties where property.isToOne { park(.init(source: goingName, relationship: property.name), at: nil) }
        moveLinks(from: goingName, to: stayingName)
        rows.delete(going)
        // What still names the other is to find this one, whatever both are called by then.
        if gone.changeTag != nil { stayed.merged.insert(goingName) }
        // Also what something took over that was never sent.
        stayed.merged.formUnion(gone.merged)
        stayed.merged.remove(stayingName)
        for name in stayed.merged.names { successors[name] = stayingName }
        if gone.changeTag == nil || isGoing(goingName) {
            states[goingName] = nil
            removed.append(goingName)
        } else {
            gone.stage = .needsDelete
            gone.failure = nil
            gone.ancestor.unapplied[MirrorNames.mergedFor] = shared.map { Field(.string(mapping.recordName(for: $0))) }
            put(gone)
        }
        if stayed.stage == .uploaded { stayed.stage = .needsUpload }
        stayed.failure = nil
        put(stayed)
    }

    /// Rows that refer to the one refer to the other, and say so to the server.
    private mutating func repoint(from going: RowKey, to staying: RowKey) {
        for key in Set(rows.referrers(to: going) + (loaded.referrers[going] ?? [])).sorted(by: { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }) {
            guard key != going, let row = rows[key], let entity = mapping.entities[key.entityIndex] else { continue }
            for property in entity.properties where property.isToOne && row.values[property.slot] == .reference(going) {
                // Of a one-to-one relationship only one end can stay.
                let isTaken = isPartnerTaken(property, of: staying, by: key)
                rows.set(isTaken || key == staying ? .null : .reference(staying), slot: property.slot, of: key)
                guard let source = name(of: key), var state = states[source] else { continue }
                if isTaken { log(states[name(of: staying) ?? ""].map { .string($0.recordName) }, of: property, state, winner: .remote, losing: state.modified, winning: nil) }
                if state.stage == .uploaded { state.stage = .needsUpload }
                put(state)
            }
        }
    }

    private func isPartnerTaken(_ property: PropertyMapping, of staying: RowKey, by key: RowKey) -> Bool {
        guard case .toOne(let relationship) = property.kind, relationship.shape == .oneToOne, case .slot(let slot)? = relationship.inverse,
            let partner = rows[staying]?.values[slot].reference
        else { return false }
        return partner != key
    }

    /// Names of new links follow from those of the old ones, so that all devices make the same.
    mutating func moveLinks(from going: String, to staying: String) {
        for link in links.touching(going) {
            if link.isLive {
                func other(_ end: String) -> String { end == going ? staying : end }
                var (first, second) = (other(link.pair.first), other(link.pair.second))
                if mapping.links[link.pair.kind]?.isSymmetric == true { (first, second) = (min(first, second), max(first, second)) }
                let pair = LinkPair(kind: link.pair.kind, first: first, second: second)
                if !links.isLive(pair), first != second {
                    var new = LinkState(
                        recordName: RecordMapping.name(from: [UInt8]("\(link.recordName) \(staying)".utf8)), pair: pair, stage: .needsUpload, mark: link.mark)
                    new.ranks = link.ranks
                    links.put(new)
                }
            }
            if !deletions.contains(link.recordName) { links.markForDeletion(link.recordName) }
        }
    }
}
