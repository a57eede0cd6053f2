// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
package import ManagedModel

/// Makes one-to-one relationships two-sided again, at the end of an import.
///
/// Each side is a field of its own record, and the fields are merged apart from each other. After concurrent edits, or while another device
/// has sent only one of two records, an object may name an inverse object that does not name it. The side that changed last decides, with
/// the same result on every device: the other side is set to it, or the side that changed first is cleared.
///
///     A.partner = B, changed last     B.partner = A, and B's former inverse object is cleared
///     A.partner = B, changed first    A.partner = nil
///
/// A side with an unsent change counts as changed last. Of two sides with the same date, that of the greater record name does. The first
/// record of a relocated object repeats its source record, which has the date of the change.
package struct OneToOneRepair: Hashable, Sendable {
    package private(set) var rows: [RowIntent] = []
    /// Current records of the rows, to be sent.
    package private(set) var records: [RecordState] = []
    package private(set) var conflicts: [ConflictEntry] = []
    /// Relationships that are set, and whose deferred references are obsolete.
    private var resolved: Set<ParkedRelationship.Key> = []

    private init() {}

    /// Rows that the repair related to others. Records are never related across zones: an object of the home zone follows the other one.
    package var connections: [ForwardedEdits.Connection] {
        rows.compactMap { intent in
            guard case .update(let row, let changedSlots) = intent else { return nil }
            let references = changedSlots.compactMap { row.values[$0].reference }
            return references.isEmpty ? nil : ForwardedEdits.Connection(key: row.key, references: references)
        }
    }

    /// Returns the changes of the sync metadata in the zone of a record.
    package func changes(of state: RecordState) -> BookkeepingChanges {
        var changes = BookkeepingChanges()
        changes.records = [state]
        changes.unparked = resolved.filter { $0.source == state.recordName }.sorted { $0.relationship < $1.relationship }
        return changes
    }

    /// Returns the rows of a plan that may be in a one-sided relationship, before the pages behind it are applied.
    ///
    /// - Parameters:
    ///   - plan: A plan with the keys of the store.
    ///   - loaded: The rows before the plan.
    package static func suspects(in plan: ImportPlan, loaded: [RowKey: Row], mapping: RecordMapping) -> Set<RowKey> {
        var rows: [RowKey: Row] = [:]
        var suspects: Set<RowKey> = []
        for intent in plan.rows {
            if case .insert(let row) = intent { rows[row.key] = row } else if case .update(let row, _) = intent { rows[row.key] = row }
        }
        for row in rows.values {
            for side in mapping.oneToOneSides(of: row.key.entityIndex) {
                let target = row.values[side.slot].reference, former = loaded[row.key]?.values[side.slot].reference
                if let target, (rows[target] ?? loaded[target])?.values[side.inverse] != .reference(row.key) {
                    suspects.formUnion([row.key, target])
                }
                if let former, former != target,
                    (rows[former] ?? loaded[former])?.values[side.inverse] ?? .reference(row.key) == .reference(row.key)
                {
                    suspects.formUnion([row.key, former])
                }
            }
        }
        return suspects
    }

    /// Returns the rows that may be in a one-sided relationship since a deferred reference was set; empty for other relationships.
    ///
    /// - Parameter slot: The relationship by which `key` names `target`.
    package static func suspects(setting slot: Int, of key: RowKey, to target: RowKey, mapping: RecordMapping) -> Set<RowKey> {
        mapping.oneToOneSides(of: key.entityIndex).contains { $0.slot == slot } ? [key, target] : []
    }

    /// - Parameters:
    ///   - suspects: Rows to check.
    ///   - row: Returns a row of the store; nil for a deleted one.
    ///   - record: Returns the current record of a row, in any zone: a page of the home zone changes relocated objects as well.
    ///   - source: Returns the source record of a relocated row; nil for other rows.
    package static func decide(
        _ suspects: Set<RowKey>, mapping: RecordMapping, row: (RowKey) throws -> Row?, record: (RowKey) throws -> RecordState?,
        source: (RowKey) throws -> RecordState? = { _ in nil }
    ) rethrows -> OneToOneRepair {
        var draft = Draft(mapping: mapping)
        var pending = suspects.sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }
        var visited: Set<RowKey> = []
        while let key = pending.popLast() {
            for side in mapping.oneToOneSides(of: key.entityIndex) {
                guard let target = try draft.load(key, row, record, source)?.values[side.slot].reference,
                    let other = try draft.load(target, row, record, source),
                    other.values[side.inverse] != .reference(key)
                else { continue }
                // The former inverse object of the target may name it, too.
                if let former = other.values[side.inverse].reference {
                    _ = try draft.load(former, row, record, source)
                }
                draft.repair(key, side, target)
            }
            // Their inverse objects may be one-sided as well.
            guard visited.insert(key).inserted else { continue }
            for side in mapping.oneToOneSides(of: key.entityIndex) {
                if let target = draft[key]?.values[side.slot].reference { pending.append(target) }
            }
        }
        var repair = OneToOneRepair()
        repair.rows = draft.intents
        repair.records = draft.changed.compactMap { draft.records[$0] }
        repair.conflicts = draft.conflicts
        repair.resolved = draft.resolved
        return repair
    }

    private struct Draft {
        let mapping: RecordMapping
        private var before: [RowKey: Row] = [:]
        private var rows: [RowKey: Row] = [:]
        private(set) var records: [RowKey: RecordState] = [:]
        /// The source records of rows with a current record that the server does not have.
        private var sources: [RowKey: RecordState] = [:]
        private(set) var changed: [RowKey] = []
        private(set) var conflicts: [ConflictEntry] = []
        private(set) var resolved: Set<ParkedRelationship.Key> = []

        init(mapping: RecordMapping) { self.mapping = mapping }

        subscript(key: RowKey) -> Row? { rows[key] }

        var intents: [RowIntent] {
            changed.compactMap { key in
                guard let old = before[key], let new = rows[key] else { return nil }
                let slots = old.values.indices.filter { old.values[$0] != new.values[$0] }
                return slots.isEmpty ? nil : .update(new, changedSlots: Array(slots))
            }
        }

        mutating func load(
            _ key: RowKey, _ row: (RowKey) throws -> Row?, _ record: (RowKey) throws -> RecordState?,
            _ source: (RowKey) throws -> RecordState?
        ) rethrows -> Row? {
            if let known = rows[key] { return known }
            guard let loaded = try row(key) else { return nil }
            before[key] = loaded
            rows[key] = loaded
            records[key] = try record(key)
            if let current = records[key], current.changeTag == nil { sources[key] = try source(key) }
            return loaded
        }

        /// - Parameters:
        ///   - side: The relationship by which `key` names `target`.
        mutating func repair(_ key: RowKey, _ side: OneToOneSide, _ target: RowKey) {
            guard let state = records[key], let other = records[target], state.stage.isLive, other.stage.isLive else { return }
            let date = date(of: side.name, state), otherDate = self.date(of: side.inverseName, other)
            let isLater = date == otherDate ? state.recordName > other.recordName : date > otherDate
            guard isLater else { return set(.null, side.slot, side.name, of: key) }
            if let former = rows[target]?.values[side.inverse].reference, rows[former]?.values[side.slot] == .reference(target) {
                set(.null, side.slot, side.name, of: former)
            }
            set(.reference(key), side.inverse, side.inverseName, of: target)
            resolved.insert(ParkedRelationship.Key(source: other.recordName, relationship: side.inverseName))
        }

        /// When a side was last changed, in milliseconds by the server's clock.
        private func date(of relationship: String, _ state: RecordState) -> Int64 {
            guard state.stage == .needsUpload, let entity = mapping.entities[state.key.entityIndex],
                let property = entity.property(named: relationship),
                let row = before[state.key]
            else { return state.modified?.timestamp ?? 0 }
            let server = sources[state.key] ?? state
            let sent = property.target(property.content(in: server.ancestor.fields))
            let target = row.values[property.slot].reference.flatMap { (sources[$0] ?? records[$0])?.recordName }
            return sent == target && server.changeTag != nil ? server.modified?.timestamp ?? 0 : .max
        }

        private mutating func set(_ value: StoredValue, _ slot: Int, _ relationship: String, of key: RowKey) {
            guard var state = records[key], let old = rows[key]?.values[slot] else { return }
            if let lost = old.reference.flatMap({ records[$0]?.recordName }) {
                conflicts.append(
                    ConflictEntry(
                        entity: mapping.syncName(ofEntity: key.entityIndex), recordName: state.recordName, property: relationship,
                        losing: .string(lost), winner: .local, losingStamp: state.modified, winningStamp: nil))
            }
            rows[key]?.values[slot] = value
            if !changed.contains(key) { changed.append(key) }
            state.stage = .needsUpload
            // A relocation repairs relationships while a batch is in flight.
            state.mark = ChangeMark.next(after: state.mark)
            state.failure = nil
            records[key] = state
        }
    }
}

extension MirrorStage {
    /// Whether the object is not being deleted.
    fileprivate var isLive: Bool { self == .uploaded || self == .needsUpload }
}

/// A one-to-one relationship with an inverse, seen from one entity.
struct OneToOneSide: Hashable, Sendable {
    /// The name in sync metadata, as ``inverseName``.
    let name: String
    let slot: Int
    let inverseName: String
    /// The slot of the inverse in rows of the destination.
    let inverse: Int

    /// nil for another property than a one-to-one relationship with an inverse.
    init?(_ property: PropertyMapping, in model: ResolvedModel) {
        guard case .toOne(let relationship) = property.kind, relationship.shape == .oneToOne,
            case .slot(let inverse)? = relationship.inverse
        else { return nil }
        name = property.name
        slot = property.slot
        inverseName = model.entities[relationship.destination].slots[inverse].syncName
        self.inverse = inverse
    }
}

extension EntityMapping {
    /// nil for another property than a one-to-one relationship with an inverse.
    func oneToOneSide(of property: PropertyMapping) -> OneToOneSide? {
        property.isToOne ? oneToOneSides.first { $0.slot == property.slot } : nil
    }
}

extension RecordMapping {
    func oneToOneSides(of entity: Int) -> [OneToOneSide] { entities[entity]?.oneToOneSides ?? [] }

    /// Whether a mirrored entity has a one-to-one relationship.
    package var hasOneToOne: Bool { entities.values.contains { !$0.oneToOneSides.isEmpty } }
}
