// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import ManagedModel

/// A record that the server has and no row shows: something that its object needs has not come, or has gone to something else.
package struct IncompleteRecord: Hashable, Sendable {
    /// Everything that it says.
    package var record: Record
    /// Names of the records that it needs, or ``freeValues``; none for one that lacks a value, which only a change of its own brings.
    package var lacking: [String]
    /// The full fetch in which it was last seen.
    package var generation: Int64

    /// Stands in the place of a name, which is never empty: its object's values must be unique, and something has them that is in
    /// another zone, so that the two cannot be made one.
    package static let freeValues = ""

    package init(record: Record, lacking: [String], generation: Int64) {
        self.record = record
        self.lacking = lacking
        self.generation = generation
    }
}

extension ImportDraft {
    /// Takes rows back whose values belong to objects of other zones, before they are made one with anything in this one.
    mutating func holdBack() {
        for name in loaded.heldBack.sorted() {
            guard let state = states[name], let row = rows[state.key], let entity = mapping.entities[state.key.entityIndex] else { continue }
            takeBack(name, row, entity, lacking: [IncompleteRecord.freeValues])
        }
    }

    /// Takes rows back that lack what they must have, and those that must have them.
    ///
    /// All rows of the page are there at first, so that objects that need each other come together.
    mutating func takeBackIncomplete() {
        guard mapping.hasRequirements else { return }
        var open = rows.touchedKeys
        var place = 0
        while place < open.count {
            let key = open[place]
            place += 1
            guard let row = rows[key], let entity = mapping.entities[key.entityIndex], let name = name(of: key),
                entity.required.contains(where: { row.values[$0.slot].isNull })
            else { continue }
            if fallBack(name, row, entity) { continue }
            let targets = entity.required.filter { row.values[$0.slot].isNull }
                .compactMap { parked[ParkedRelationship.Key(source: name, relationship: $0.name)] }
            // What referred to the row lacks it now.
            open += takeBack(name, row, entity, lacking: targets)
        }
    }

    /// Gives a row what the server's record says that it must have, where what was set here instead is gone: nobody else would hide
    /// the object.
    private mutating func fallBack(_ name: String, _ row: Row, _ entity: EntityMapping) -> Bool {
        guard var state = states[name] else { return false }
        let named = entity.requiredTargets(of: state)
        let lacking = entity.required.filter { row.values[$0.slot].isNull }
        let found = lacking.compactMap { property in
            named[property.name].flatMap { self.row(named: $0, fitting: property) }.map { (property: property, key: $0) }
        }
        guard found.count == lacking.count else { return false }
        for (property, key) in found {
            rows.set(.reference(key), slot: property.slot, of: row.key)
            park(ParkedRelationship.Key(source: name, relationship: property.name), at: nil)
            let ranks = entity.properties.filter { $0.isRank && $0.slot == property.slot }
            state.take(ranks.map { ($0, $0.content(in: state.ancestor.fields)) })
        }
        put(state)
        return true
    }

    /// - Returns: The rows that referred to it.
    @discardableResult
    private mutating func takeBack(_ name: String, _ row: Row, _ entity: EntityMapping, lacking: [String]) -> [RowKey] {
        guard let state = states[name] else { return [] }
        let isNew = row.key.isTemporary
        if !isNew {
            takenBack.append(row.key)
            // As for a deletion: what was changed here and not sent is in the log.
            logLocalEdits(of: row, state, entity)
        }
        if state.changeTag != nil {
            let record = record(named: name) ?? entity.record(of: state)
            incomplete.append(IncompleteRecord(record: record, lacking: lacking, generation: page.generation ?? state.generation))
        }
        let referrers = rows.referrers(to: row.key) + (loaded.referrers[row.key] ?? [])
        for key in referrers { dropReference(of: key, to: state, row.key) }
        rows.delete(row.key)
        for property in entity.properties where property.isToOne { park(ParkedRelationship.Key(source: name, relationship: property.name), at: nil) }
        states[name] = nil
        if isNew { inserted.remove(name) } else { removed.append(name) }
        return referrers
    }

    /// The page's last record of a name.
    private mutating func record(named name: String) -> Record? {
        if recordPlaces.isEmpty {
            for (place, record) in page.records.enumerated() { recordPlaces[record.recordName] = place }
        }
        return recordPlaces[name].map { page.records[$0] }
    }

    private mutating func dropReference(of key: RowKey, to gone: RecordState, _ goneKey: RowKey) {
        guard key != goneKey, let row = rows[key], let entity = mapping.entities[key.entityIndex] else { return }
        for property in entity.properties where property.isToOne && row.values[property.slot] == .reference(goneKey) {
            rows.set(.null, slot: property.slot, of: key)
            guard let source = name(of: key), let state = states[source],
                property.content(in: state.ancestor.fields) == .inline(.string(gone.recordName))
            else { continue }
            park(ParkedRelationship.Key(source: source, relationship: property.name), at: gone.recordName)
        }
    }
}

extension EntityMapping {
    /// Names of what an object must refer to, by relationship, as the server's record says it.
    package func requiredTargets(of state: RecordState) -> [String: String] {
        var targets: [String: String] = [:]
        for property in required where property.isToOne {
            if case .inline(.string(let target)) = property.content(in: state.ancestor.fields) { targets[property.name] = target }
        }
        return targets
    }

    /// The server's record as far as it is known.
    fileprivate func record(of state: RecordState) -> Record {
        var record = Record(recordName: state.recordName, recordType: recordType, recordChangeTag: state.changeTag)
        record.fields = state.ancestor.fields.merging(state.ancestor.unapplied) { known, _ in known }
        record.modified = state.modified
        return record
    }
}

extension RecordMapping {
    /// Whether objects of some entity wait for what they need.
    package var hasRequirements: Bool { extensions.contains(.requiredValues) }

    /// Whether there may be records that no row shows.
    package var keepsIncomplete: Bool { hasRequirements || hasUniqueness }
}
