// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

/// The state that the passes over one change page share.
///
/// Each pass owns the state that only it needs. A pass changes this state in place and returns what the next one works on.
struct ImportWorkspace {
    let page: ImportPage
    /// The page's records: the last state of each name, without those that the page deletes.
    let records: [Record]
    /// Names of the page's deletions.
    let deletions: Set<String>
    let loaded: ImportPlan.Loaded
    let mapping: RecordMapping
    var rows: WorkingRows
    var objects: RecordLedger
    var deferred: DeferredLedger
    var links: LinkLedger
    /// The record that superseded another one, by the other's name.
    var redirects: [String: String]
    /// Deletions of the page that are merges: objects that another device merged into others.
    var mergedElsewhere = MergedElsewhere()
    var conflicts: [ConflictEntry] = []
    /// Rows from before the page that are withheld or were merged. The rows that refer to them have to be loaded.
    var displaced: [RowKey] = []
    /// Rows that lack a required value, with current records in other zones.
    var incompleteElsewhere: [RowKey] = []
    /// References to rows that are deleted or withheld, of objects with records in other zones.
    var clearedElsewhere: [ClearedReference] = []
    /// Records of the page with withheld rows.
    var withheld: [IncompleteRecord] = []
    /// Records and deletions of the page that had an effect.
    var recordsApplied = 0
    /// Indices of the page's records by name; made by the first lookup.
    private var recordIndices: [String: Int]?

    /// Objects that another device merged into others, and that this device merges as well.
    struct MergedElsewhere {
        private(set) var merges: [(name: String, survivor: String)] = []
        private var names: Set<String> = []

        mutating func append(_ name: String, into survivor: String) {
            merges.append((name, survivor))
            names.insert(name)
        }

        func contains(_ name: String) -> Bool { names.contains(name) }
    }

    init(page: ImportPage, loaded: ImportPlan.Loaded, mapping: RecordMapping) {
        self.page = page
        self.loaded = loaded
        self.mapping = mapping
        let deletions = Set(page.deletions)
        self.deletions = deletions
        if deletions.isEmpty, page.records.count < 2 {
            records = page.records
        } else {
            // A page may name a record twice: the later state counts.
            var latest = [String: Int](minimumCapacity: page.records.count)
            for index in page.records.indices { latest[page.records[index].recordName] = index }
            let isPlain = deletions.isEmpty && latest.count == page.records.count
            records =
                isPlain
                ? page.records
                : page.records.enumerated().filter { latest[$1.recordName] == $0 && !deletions.contains($1.recordName) }.map(\.element)
        }
        rows = WorkingRows(loaded: loaded.rows, existing: loaded.existing)
        objects = RecordLedger(loaded.records)
        deferred = DeferredLedger(loaded.parked)
        links = LinkLedger(loaded.links)
        redirects = loaded.successors
    }

    // MARK: Lookups

    func isReverted(_ name: String) -> Bool { page.reverted[name] != nil }

    /// Whether an object has a row.
    func exists(_ name: String) -> Bool { objects[name].map { rows.exists($0.key) } ?? false }

    /// Returns the row of a record, if it may be the target of a relationship.
    ///
    /// - Parameter isRelocated: Whether the source was relocated to another zone.
    func row(named name: String, fitting property: PropertyMapping, isRelocated: Bool = false) -> RowKey? {
        guard let key = objects[name]?.key ?? (isRelocated ? loaded.targetsElsewhere[name] : nil), rows.exists(key),
            case .toOne(let relationship) = property.kind,
            mapping.model.entities[relationship.destination].hierarchy.contains(key.entityIndex)
        else { return nil }
        return key
    }

    /// Returns the record that an object was merged into; nil if it was not merged, or if that record is deleted.
    ///
    /// - Parameter arriving: Names of records that arrive with the page.
    func survivor(of name: String, arriving: Set<String> = []) -> String? {
        redirect(of: name) { arriving.contains($0) || exists($0) && !deletions.contains($0) }
    }

    /// Returns the record of the row that an object was merged into here, also if the page deletes that record; nil without such a row.
    func localSurvivor(of name: String) -> String? { redirect(of: name) { exists($0) } }

    /// Returns the first record that a chain of redirects leads to and that fulfils a condition.
    private func redirect(of name: String, where isSurvivor: (String) -> Bool) -> String? {
        guard let first = redirects[name] else { return nil }
        var next: String? = first
        var seen: Set<String> = [name]
        while let record = next, seen.insert(record).inserted {
            if isSurvivor(record) { return record }
            next = redirects[record]
        }
        return nil
    }

    /// Whether the record of an object that was merged here has other unique values by now: it is another object then.
    func isSeparate(_ record: Record, _ state: RecordState) -> Bool {
        guard state.stage == .needsDelete, case .string(let values)? = state.ancestor.unapplied[MirrorNames.mergedFor]?.value else {
            return false
        }
        return !mapping.uniqueValues(of: record).contains { mapping.recordName(for: $0) == values }
    }

    /// Returns the page's last record of a name.
    mutating func pageRecord(named name: String) -> Record? {
        if recordIndices == nil {
            var indices: [String: Int] = [:]
            for (index, record) in page.records.enumerated() { indices[record.recordName] = index }
            recordIndices = indices
        }
        return recordIndices?[name].map { page.records[$0] }
    }

    /// Record names of the to-one targets of rows: those that were loaded, or those under which objects were re-keyed since.
    var presentNames: [RowKey: String] {
        var names = loaded.names
        for name in objects.renamed.values { if let key = objects[name]?.key { names[key] = name } }
        return names
    }

    func localRecord(_ row: Row, of entity: EntityMapping, _ state: RecordState, names: [RowKey: String]? = nil) -> LocalRecord {
        LocalRecord(row: row, of: entity, names: names ?? loaded.names, parked: deferred.targets(of: state.recordName), state: state)
    }

    // MARK: Changes that several passes make

    /// Sends an object with the next export, if nothing of it is pending yet.
    mutating func markChanged(_ state: RecordState) {
        var changed = state
        if changed.stage == .uploaded { changed.stage = .needsUpload }
        objects.put(changed)
    }

    /// Gives rows that waited for a record a reference to it, unless they refer to something else by now.
    mutating func resolveReferences(to name: String) {
        for reference in deferred.references(to: name) {
            guard let source = objects[reference.key.source], let row = rows[source.key],
                let property = mapping.entities[source.key.entityIndex]?.property(named: reference.key.relationship)
            else { continue }
            if row.values[property.slot].isNull {
                guard let key = self.row(named: name, fitting: property) else { continue }
                rows.set(.reference(key), slot: property.slot, of: source.key)
            } else {
                // The app set another target without seeing this one.
                log(.string(name), of: property, source, winner: .local, losing: nil, winning: nil)
            }
            deferred.resolve(reference.key.source, reference.key.relationship)
        }
    }

    /// Clears the references of a row to a row that is deleted. If the server's record still names that, the reference is deferred, so that
    /// the empty slot does not count as a local change.
    mutating func clearReferences(of referrer: RowKey, to target: RecordState, _ targetKey: RowKey) {
        guard referrer != targetKey, let row = rows[referrer], let entity = mapping.entities[referrer.entityIndex] else { return }
        for property in entity.properties where property.isToOne && row.values[property.slot] == .reference(targetKey) {
            rows.set(.null, slot: property.slot, of: referrer)
            guard let source = objects.name(of: referrer).flatMap({ objects[$0] }) else {
                clearedElsewhere.append(
                    ClearedReference(key: referrer, relationship: property.name, destination: target.recordName))
                continue
            }
            guard property.content(in: source.ancestor.fields) == .inline(.string(target.recordName)) else { continue }
            deferred.defer(source.recordName, property.name, to: target.recordName)
        }
    }

    mutating func resolveAllReferences(of name: String, _ entity: EntityMapping?) {
        for property in entity?.properties ?? [] where property.isToOne { deferred.resolve(name, property.name) }
    }

    // MARK: Conflict log

    mutating func log(
        _ losing: FieldValue?, of property: PropertyMapping, _ state: RecordState, winner: ConflictEntry.Winner,
        losing losingStamp: RecordStamp?, winning winningStamp: RecordStamp?
    ) {
        conflicts.append(
            ConflictEntry(
                entity: mapping.syncName(ofEntity: state.key.entityIndex), recordName: state.recordName,
                property: property.name, losing: losing, winner: winner, losingStamp: losingStamp, winningStamp: winningStamp))
    }

    /// Logs the edits of an object that were not sent, which a deletion elsewhere overrides.
    mutating func logLocalEdits(of row: Row, _ state: RecordState, _ entity: EntityMapping) {
        for change in RecordMerge.localChanges(of: localRecord(row, of: entity, state), entity: entity) {
            var losing = change.content.value
            // The reference was to an object of a share, and this object was deleted before it was relocated there.
            if case .unnamed(let target) = change.content { losing = loaded.namesElsewhere[target].map { .string($0) } }
            log(losing, of: change.property, state, winner: .remoteDeletion, losing: nil, winning: nil)
        }
    }

    // MARK: Result

    /// The page's changes of the sync metadata.
    var metadataChanges: BookkeepingChanges {
        var changes = BookkeepingChanges()
        changes.records = objects.changed
        changes.removedRecords = objects.removed.array
        changes.links = links.changed
        changes.removedLinks = links.removed
        deferred.write(to: &changes)
        changes.conflicts = conflicts
        if mapping.keepsIncomplete {
            changes.records = changes.records.map { $0.forwardingWithheld(mapping: mapping) ?? $0 }
            changes.arrived = page.records.map(\.recordName)
            changes.arrived += page.deletions
            changes.incomplete = withheld
        }
        return changes
    }
}
