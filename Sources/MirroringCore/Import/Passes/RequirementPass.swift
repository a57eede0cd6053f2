// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import ManagedModel

/// Withholds rows that lack a required value, and rows that require those.
///
/// All rows of the page are there at first, so that objects that require each other arrive together. A row with its current record in
/// another zone is left to a plan for that zone.
struct RequirementPass {
    static func run(_ work: inout ImportWorkspace) {
        guard work.mapping.hasRequirements else { return }
        var open = work.rows.touchedKeys + work.loaded.incomplete
        var index = 0
        while index < open.count {
            let key = open[index]
            index += 1
            guard let row = work.rows[key], let entity = work.mapping.entities[key.entityIndex] else { continue }
            let lacking = entity.required.filter { row.values[$0.slot].isNull }
            if lacking.isEmpty { continue }
            guard let name = work.objects.name(of: key), let state = work.objects[name], !state.isRelocated else {
                if !restoreFormer(of: row, lacking, &work), !work.incompleteElsewhere.contains(key) { work.incompleteElsewhere.append(key) }
                continue
            }
            if restoreRequired(of: name, row, entity, &work) { continue }
            // What was set here instead of the server's target may be deleted, and that target may return.
            let serverTargets = entity.requiredTargets(of: state)
            let targets = lacking.compactMap { work.deferred[name, $0.name] ?? serverTargets[$0.name] }
            // Rows that referred to it lack it now.
            open += Withholding.withhold(name, row, entity, lacking: targets, in: &work)
        }
    }

    /// Gives a relocated row the required values from before the page. An edit of its source record that refers to an unknown object is
    /// not forwarded.
    private static func restoreFormer(of row: Row, _ lacking: [PropertyMapping], _ work: inout ImportWorkspace) -> Bool {
        guard let former = work.loaded.rows[row.key] else { return false }
        let values = lacking.map { former.values[$0.slot] }
        guard values.allSatisfy({ !$0.isNull && $0.reference.map { !work.rows.isDeleted($0) } ?? true }) else { return false }
        for (property, value) in zip(lacking, values) { work.rows.set(value, slot: property.slot, of: row.key) }
        return true
    }

    /// Gives a row the required targets of the server's record, if those that were set here instead are deleted: other devices show the
    /// object.
    private static func restoreRequired(of name: String, _ row: Row, _ entity: EntityMapping, _ work: inout ImportWorkspace) -> Bool {
        guard var state = work.objects[name] else { return false }
        let serverTargets = entity.requiredTargets(of: state)
        let lacking = entity.required.filter { row.values[$0.slot].isNull }
        let restored = lacking.compactMap { property in
            serverTargets[property.name].flatMap { work.row(named: $0, fitting: property) }.map { (property: property, key: $0) }
        }
        guard restored.count == lacking.count else { return false }
        for (property, key) in restored {
            work.rows.set(.reference(key), slot: property.slot, of: row.key)
            work.deferred.resolve(name, property.name)
            let ranks = entity.properties.filter { $0.isRank && $0.slot == property.slot }
            state.adopt(ranks.map { ($0, $0.content(in: state.ancestor.fields)) })
        }
        work.objects.put(state)
        return true
    }
}

/// Withholds rows with unique values that belong to objects of other zones, before they are merged with objects of this zone. A relocated
/// row, which another zone shows, gets its former values instead.
struct BlockedValuesPass {
    static func run(_ work: inout ImportWorkspace) {
        for name in work.loaded.heldBack.sorted() {
            guard let state = work.objects[name], let row = work.rows[state.key], let entity = work.mapping.entities[state.key.entityIndex]
            else {
                continue
            }
            if state.isRelocated {
                restoreFormer(row, state, entity, &work)
            } else {
                _ = Withholding.withhold(name, row, entity, lacking: [IncompleteRecord.freeValues], in: &work)
            }
        }
    }

    private static func restoreFormer(_ row: Row, _ state: RecordState, _ entity: EntityMapping, _ work: inout ImportWorkspace) {
        guard let former = work.loaded.rows[row.key] else { return }
        let slots = Set(entity.entity.uniqueness.flatMap(\.slots))
        for property in entity.properties where slots.contains(property.slot) {
            guard case .attribute(let attribute) = property.kind else { continue }
            let (value, formerValue) = (row.values[property.slot], former.values[property.slot])
            if value == formerValue { continue }
            work.rows.set(formerValue, slot: property.slot, of: row.key)
            work.log(
                FieldCodec.encode(value, as: attribute.type), of: property, state, winner: .local, losing: state.modified, winning: nil)
        }
    }
}

/// Removes a row and keeps its record, until the object has all that it requires.
enum Withholding {
    /// - Returns: The rows that referred to it.
    static func withhold(_ name: String, _ row: Row, _ entity: EntityMapping, lacking: [String], in work: inout ImportWorkspace) -> [RowKey]
    {
        guard let state = work.objects[name] else { return [] }
        let isNew = row.key.isTemporary
        if !isNew {
            work.displaced.append(row.key)
            // As for a deletion: edits that were not sent are logged.
            work.logLocalEdits(of: row, state, entity)
        }
        if state.changeTag != nil {
            let received = work.pageRecord(named: name)
            // A full fetch that does not return the record ends with its deletion.
            let generation = (received == nil ? nil : work.page.generation) ?? state.generation
            work.withheld.append(
                IncompleteRecord(record: received ?? entity.record(of: state), lacking: lacking, generation: generation))
        } else if !isNew {
            // The server never had the object, and nothing brings it back.
            ObjectDeletion.deleteLinks(to: name, in: &work)
        }
        let referrers = work.rows.referrers(to: row.key) + (work.loaded.referrers[row.key] ?? [])
        for key in referrers { work.clearReferences(of: key, to: state, row.key) }
        work.rows.delete(row.key)
        work.resolveAllReferences(of: name, entity)
        if isNew { work.objects.dropInserted(name) } else { work.objects.remove(name) }
        return referrers
    }
}

/// A withheld record: the server has it, and no row shows it, because something that its object requires has not arrived, or is deleted.
package struct IncompleteRecord: Hashable, Sendable {
    /// All its fields.
    package var record: Record
    /// Names of the records that it requires, or ``freeValues``; empty for a missing value, which only a change of the record brings.
    package var lacking: [String]
    /// The full fetch in which it was last seen.
    package var generation: Int64

    /// Stands for a name, which is never empty: the object's unique values belong to an object of another zone, so that the two cannot be
    /// merged.
    package static let freeValues = ""

    package init(record: Record, lacking: [String], generation: Int64) {
        self.record = record
        self.lacking = lacking
        self.generation = generation
    }
}

extension EntityMapping {
    /// Returns the record names of an object's required targets, by relationship, as the server's record has them.
    package func requiredTargets(of state: RecordState) -> [String: String] {
        var targets: [String: String] = [:]
        for property in required where property.isToOne {
            if case .inline(.string(let target)) = property.content(in: state.ancestor.fields) { targets[property.name] = target }
        }
        return targets
    }

    /// Returns the server's record, as far as it is known.
    fileprivate func record(of state: RecordState) -> Record {
        var record = Record(recordName: state.recordName, recordType: recordType, recordChangeTag: state.changeTag)
        record.fields = state.ancestor.fields.merging(state.ancestor.unapplied) { known, _ in known }
        record.modified = state.modified
        // The creator decides whether the record may be a relocation when it is shown again.
        state.system.write(to: &record)
        record.fieldStates = state.fieldStates
        // The row had these values. The server has others, so that the contents cannot be fetched when the object is shown again.
        for (field, _) in state.fieldStates.quarantined { record.fields[field + MirrorNames.assetSuffix] = nil }
        return record
    }
}

extension RecordMapping {
    /// Whether objects of some entity are withheld until their required values arrive.
    package var hasRequirements: Bool { extensions.contains(.requiredValues) }

    /// Whether there may be withheld records.
    package var keepsIncomplete: Bool { hasRequirements || hasUniqueness }
}
