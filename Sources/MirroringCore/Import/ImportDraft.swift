// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

/// The decisions about one page while they are made. Deletions come first, so that nothing is resolved to a row
/// that goes; relationships come after all rows, so that the order of records does not matter; links come last.
struct ImportDraft {
    let page: ImportPage
    /// Names of the page's deletions.
    let deletions: Set<String>
    let loaded: ImportPlan.Loaded
    let mapping: RecordMapping
    var rows: WorkingRows
    var linkIntents: [LinkIntent] = []
    var recordsApplied = 0

    var states: [String: RecordState]
    /// Record names of loaded bookkeeping.
    private(set) var names: [RowKey: String]
    /// Names that rows' records had before the page, with those that they have.
    private(set) var renamed: [String: String] = [:]
    private var touched: [String] = []
    var removed = RecordNames()
    var parked: [ParkedRelationship.Key: String]
    private let parkedByDestination: [String: [ParkedRelationship]]
    /// Relationships that are parked, or were, by source.
    private var waiting: [String: Set<String>]
    private var parkedTouched: [ParkedRelationship.Key] = []
    var conflicts: [ConflictEntry] = []
    var links: LinkLedger
    /// Records that were merged into others elsewhere, and are to be here.
    private(set) var goingTwins: [(name: String, into: String)] = []
    private var goingTwinNames: Set<String> = []
    /// Values of records that the page says are deleted.
    var given: [(values: UniqueValues, key: RowKey)] = []
    /// Which record took another's object over, by the other's name.
    var successors: [String: String]
    /// Records that no row shows.
    var incomplete: [IncompleteRecord] = []
    /// Places of the page's records by name, made when the first is looked up.
    var recordPlaces: [String: Int] = [:]
    /// Rows that were there before the page and lost what they must have, or were merged into others.
    var takenBack: [RowKey] = []
    /// Record names of rows that this page inserts.
    var inserted = InsertedRecords()
    /// To-one fields that rows take, to be resolved when all rows are known.
    private var references: [(source: String, property: PropertyMapping, target: String?)] = []
    /// Ends of one-to-one relationships that may have to let go.
    var claims: [Claim] = []

    init(page: ImportPage, loaded: ImportPlan.Loaded, mapping: RecordMapping) {
        self.page = page
        deletions = Set(page.deletions)
        self.loaded = loaded
        self.mapping = mapping
        rows = WorkingRows(loaded: loaded.rows, existing: loaded.existing)
        states = loaded.records
        names = Dictionary(loaded.records.values.map { ($0.key, $0.recordName) }, uniquingKeysWith: { first, _ in first })
        parked = Dictionary(loaded.parked.map { ($0.key, $0.destination) }, uniquingKeysWith: { first, _ in first })
        parkedByDestination = Dictionary(grouping: loaded.parked, by: \.destination)
        waiting = Dictionary(grouping: loaded.parked, by: \.key.source).mapValues { Set($0.map(\.key.relationship)) }
        links = LinkLedger(loaded.links)
        successors = loaded.successors
    }

    mutating func run() {
        // In a page that names a record twice the later state counts.
        var latest: [String: Int] = [:]
        for (index, record) in page.records.enumerated() { latest[record.recordName] = index }
        let isPlain = deletions.isEmpty && latest.count == page.records.count
        let records =
            isPlain
            ? page.records
            : page.records.enumerated().filter { latest[$1.recordName] == $0 && !deletions.contains($1.recordName) }.map(\.element)

        learnSuccessors(records)
        let waiting = deletionsThatWait
        setTwinsAside(records, waiting: waiting)
        for name in page.deletions {
            if waiting.contains(name) {
                putOff(name)
            } else if isGoingTwin(name) {
                continue
            } else if let other = other(of: name) {
                goOn(name, as: other)
            } else {
                delete(name)
            }
        }
        for record in records where record.recordType != MirrorNames.linkRecordType { apply(record) }
        for reference in references { resolve(reference) }
        for name in inserted { adoptParked(waitingFor: name) }
        settleClaims()
        for record in records where record.recordType == MirrorNames.linkRecordType { applyLink(record) }
        holdBack()
        mergeTwins()
        followSuccessors()
        takeBackIncomplete()
        settleLinks()
    }

    // MARK: Objects

    private mutating func apply(_ record: Record) {
        guard let named = mapping.entity(of: record) else { return }
        goOnIfTaken(record)
        let isReverted = page.reverted[record.recordName] != nil
        if isReverted, let state = states[record.recordName], state.stage == .needsDelete, rows[state.key] == nil { return insert(record, named) }
        guard var state = states[record.recordName] else { return insert(record, named) }
        if state.changeTag == nil, state.stage == .needsDelete, mapping.isUnique(state.key.entityIndex) {
            // What was made and deleted here was never sent: this is somebody else's.
            return insert(record, named)
        }
        // What was merged as the equal of another is no more its equal: it goes on as itself.
        if isSeparate(record, state) {
            separate(record.recordName)
            return insert(record, named)
        }
        guard state.changeTag != record.recordChangeTag || state.changeTag == nil || page.generation != nil || isReverted else { return }
        // An object keeps its entity, whatever a record says later.
        let entity = mapping.entities[state.key.entityIndex] ?? named
        var merge = RecordMerge(entity: entity, ancestor: state.ancestor, remote: record.fields, assets: loaded.assets, former: loaded.former[record.recordName])
        merge.isReverting = isReverted
        recordsApplied += 1

        guard let row = rows[state.key] else {
            // Deleted here, sent or not: deletion beats edits.
            for change in merge.remoteChanges {
                log(change.value, of: change.property, state, winner: .localDeletion, losing: record.modified, winning: nil)
            }
            logUnknownChanges(record, state, entity)
            passOnMerged(of: record)
            let mergedFor = state.ancestor.unapplied[MirrorNames.mergedFor]
            adopt(record, into: &state, entity: entity, digests: [:])
            state.ancestor.unapplied[MirrorNames.mergedFor] = mergedFor
            return put(state)
        }
        // What has moved from here before is called there what it was called here.
        let names = state.isMovedOut ? loaded.names.merging(loaded.namesElsewhere) { here, _ in here } : loaded.names
        let local = LocalRecord(row: row, names: names, parked: parked(of: record.recordName), state: state)
        // A record that this device made and nobody changed since: the answer to the first attempt was lost,
        // and what "loses" is an older value of our own.
        // An object whose name follows from its values may have been made by another device.
        let isEcho = state.changeTag == nil && record.created == record.modified && !mapping.isUnique(state.key.entityIndex)
        let outcome = isEcho ? merge.merge(into: local) : merge.merge(into: local) { mapping.resolver?($0) ?? $0.byPolicy }
        for lost in outcome.lostHere {
            log(lost.value, of: lost.property, state, winner: .remote, losing: nil, winning: record.modified)
        }
        for (property, value) in outcome.merged { rows.set(value, slot: property.slot, of: state.key) }
        for lost in isEcho ? [] : outcome.lost {
            log(lost.value, of: lost.property, state, winner: .local, losing: record.modified, winning: nil)
            if case .string(let name)? = lost.value { noteRefusal(of: name, by: record.recordName, lost.property) }
        }
        take(outcome.taken, of: record, into: state.key, merge)
        state.take(outcome.taken)
        if let names = outcome.mergedNames { state.merged = names }
        adopt(record, into: &state, entity: entity, digests: outcome.digests)
        if state.stage != .needsDelete { state.stage = outcome.isLocalAhead ? .needsUpload : .uploaded }
        state.failure = nil
        put(state)
    }

    /// Values of a later version of the model: the app's next version can show them, and bring them back.
    private mutating func logUnknownChanges(_ record: Record, _ state: RecordState, _ entity: EntityMapping) {
        for (property, value, _) in entity.unknownChanges(in: record, since: state.ancestor) {
            var losing = value
            if case .asset(let asset)? = value, let content = loaded.assets[asset.canonical] { losing = .bytes([UInt8](content)) }
            conflicts.append(
                ConflictEntry(
                    entity: mapping.model.entities[state.key.entityIndex].name, recordName: state.recordName, property: property,
                    losing: losing, winner: .localDeletion, losingStamp: record.modified, winningStamp: nil))
        }
    }

    private mutating func insert(_ record: Record, _ entity: EntityMapping) {
        recordsApplied += 1
        let new = page.newObjects.object(of: record, entity) ?? NewObject(record, entity, assets: loaded.assets)
        let key = rows.insert(entity: entity.entity, values: new.values)
        var state = RecordState(recordName: record.recordName, key: key, stage: .uploaded)
        state.take(new.own)
        state.adopt(new, of: record)
        adopt(record, into: &state)
        put(state)
        inserted.append(record.recordName, key)
        for (property, target) in new.references { references.append((record.recordName, property, target)) }
    }

    private mutating func take(
        _ taken: [(property: PropertyMapping, content: RemoteContent)], of record: Record, into key: RowKey,
        _ merge: RecordMerge
    ) {
        for (property, content) in taken {
            switch property.kind {
            case .attribute: rows.set(merge.stored(content, for: property), slot: property.slot, of: key)
            case .toOne: references.append((record.recordName, property, property.target(content)))
            case .rank, .merged: break
            }
        }
    }

    private func adopt(_ record: Record, into state: inout RecordState, entity: EntityMapping, digests: [String: ContentDigest]) {
        state.ancestor = entity.ancestor(of: record.fields)
        state.ancestor.digests = digests
        state.modified = record.modified
        adopt(record, into: &state)
    }

    private func adopt(_ record: Record, into state: inout RecordState) {
        state.changeTag = record.recordChangeTag
        state.system = state.system.updated(by: record)
        if let generation = page.generation { state.generation = generation }
    }

    // MARK: To-one relationships

    private mutating func resolve(_ reference: (source: String, property: PropertyMapping, target: String?)) {
        guard let source = states[reference.source] else { return }
        let key = source.key
        let parking = ParkedRelationship.Key(source: reference.source, relationship: reference.property.name)
        park(parking, at: nil)
        guard let target = reference.target else { return rows.set(.null, slot: reference.property.slot, of: key) }
        if let destination = row(named: target, fitting: reference.property, isMovedOut: source.isMovedOut) {
            rows.set(.reference(destination), slot: reference.property.slot, of: key)
            noteClaim(of: reference.source, to: target, reference.property)
        } else {
            rows.set(.null, slot: reference.property.slot, of: key)
            park(parking, at: target)
        }
    }

    /// Gives rows that waited for a record what they waited for, unless they were given something else since.
    mutating func adoptParked(waitingFor name: String) {
        for waiting in parkedByDestination[name] ?? [] where parked[waiting.key] == name {
            guard let source = states[waiting.key.source], let row = rows[source.key],
                let property = mapping.entities[source.key.entityIndex]?.property(named: waiting.key.relationship)
            else { continue }
            if row.values[property.slot].isNull {
                guard let key = self.row(named: name, fitting: property) else { continue }
                rows.set(.reference(key), slot: property.slot, of: source.key)
            } else {
                // Whoever set something else could not see what was there.
                log(.string(name), of: property, source, winner: .local, losing: nil, winning: nil)
            }
            park(waiting.key, at: nil)
        }
    }

    /// - Parameter isMovedOut: Whether it is for an object that lives in another zone.
    func row(named name: String, fitting property: PropertyMapping, isMovedOut: Bool = false) -> RowKey? {
        guard let key = states[name]?.key ?? (isMovedOut ? loaded.targetsElsewhere[name] : nil), rows.exists(key), case .toOne(let relationship) = property.kind,
            mapping.model.entities[relationship.destination].hierarchy.contains(key.entityIndex)
        else { return nil }
        return key
    }

    func parked(of name: String) -> [String: String] {
        var result: [String: String] = [:]
        for relationship in waiting[name] ?? [] {
            result[relationship] = parked[ParkedRelationship.Key(source: name, relationship: relationship)]
        }
        return result
    }

    mutating func park(_ key: ParkedRelationship.Key, at destination: String?) {
        guard parked[key] != destination else { return }
        parked[key] = destination
        waiting[key.source, default: []].insert(key.relationship)
        parkedTouched.append(key)
    }

    // MARK: Bookkeeping

    mutating func addGoingTwin(_ name: String, into staying: String) {
        goingTwins.append((name, staying))
        goingTwinNames.insert(name)
    }

    func isGoingTwin(_ name: String) -> Bool { goingTwinNames.contains(name) }

    /// The row has another record from now on.
    mutating func rename(_ key: RowKey, from old: String, to name: String) {
        names[key] = name
        renamed[old] = name
        inserted.rename(old, to: name)
    }

    mutating func put(_ state: RecordState) {
        states[state.recordName] = state
        touched.append(state.recordName)
    }

    mutating func log(
        _ losing: FieldValue?, of property: PropertyMapping, _ state: RecordState, winner: ConflictEntry.Winner,
        losing losingStamp: RecordStamp?, winning winningStamp: RecordStamp?
    ) {
        conflicts.append(
            ConflictEntry(
                entity: mapping.model.entities[state.key.entityIndex].name, recordName: state.recordName,
                property: property.name, losing: losing, winner: winner, losingStamp: losingStamp, winningStamp: winningStamp))
    }

    var changes: BookkeepingChanges {
        var changes = BookkeepingChanges()
        var seen: Set<String> = []
        changes.records = touched.compactMap { seen.insert($0).inserted ? states[$0] : nil }
        changes.removedRecords = removed.array
        changes.links = links.changed
        changes.removedLinks = links.removed
        var seenParked: Set<ParkedRelationship.Key> = []
        for key in parkedTouched where seenParked.insert(key).inserted {
            if let destination = parked[key] {
                changes.parked.append(ParkedRelationship(source: key.source, relationship: key.relationship, destination: destination))
            } else {
                changes.unparked.append(key)
            }
        }
        changes.conflicts = conflicts
        if mapping.keepsIncomplete {
            changes.arrived = page.records.map(\.recordName) + page.deletions
            changes.incomplete = incomplete
        }
        return changes
    }
}

extension RecordState {
    /// Takes what is no row's among what a record says.
    mutating func take(_ taken: [(property: PropertyMapping, content: RemoteContent)]) {
        for (property, content) in taken {
            switch property.kind {
            case .attribute, .toOne: continue
            case .rank(let relationship):
                if case .value(.string(let rank)) = property.mirrored(content) { ranks[relationship.name] = rank } else { ranks[relationship.name] = nil }
            case .merged: merged = PropertyMapping.mergedNames(content)
            }
        }
    }
}
