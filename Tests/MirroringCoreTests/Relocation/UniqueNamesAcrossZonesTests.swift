// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

private typealias Fixture = RelocationFixture

/// Record names that follow from unique values: two objects may have one name, each in its zone.
@Suite struct UniqueNamesAcrossZonesTests {
    private static let mapping: RecordMapping = {
        var tag = Entity(name: "Tag", attributes: [Attribute(name: "name", type: .string), Attribute(name: "color", type: .string)])
        tag.uniquenessConstraints = [["name"]]
        do { return RecordMapping(model: try ResolvedModel(Model(entities: [tag])), allowing: [.uniquenessConstraints]) } catch {
            preconditionFailure("the test model is valid: \(error)")
        }
    }()

    private let key = RowKey(store: 0, entity: 0, primaryKey: 1)
    private let other = RowKey(store: 0, entity: 0, primaryKey: 2)

    private func row(_ key: RowKey, _ name: String) -> Row {
        let entity = Self.mapping.model.entities[key.entityIndex]
        var row = Row(key: key, version: 1, values: entity.defaultValues)
        if case .slot(let slot)? = entity.location(of: "name") { row.values[slot] = .string(name) }
        return row
    }

    private func record(_ name: String = "tag", seen: Int64? = nil, created: Int64 = 0, changeTag: String = "b") -> Record {
        var record = Record(
            recordName: "tag", recordType: "CD_Tag", recordChangeTag: changeTag,
            fields: ["CD_name": Field(.string(name)), MirrorNames.entityNameField: Field(.string("Tag"))])
        record.created = Fixture.stamp(created)
        record.modified = record.created
        if let seen {
            var stamp = RelocationStamp(name: "tag", zone: ZoneID(zoneName: MirrorNames.zone))
            stamp.seen = seen
            record.fields[MirrorNames.moveReceipt] = Field(.bytes(stamp.encoded()))
        }
        return record
    }

    private func state(_ key: RowKey? = nil, created: Int64? = nil) -> RecordState {
        var state = RecordState(recordName: "tag", key: key ?? self.key, stage: .uploaded)
        state.changeTag = "a"
        state.system = RecordSystemFields(created: created)
        state.ancestor.fields["CD_name"] = Field(.string("tag"))
        return state
    }

    // MARK: Undone relocations

    /// Another device deleted its own object of the same name, and this object goes on to the share's zone.
    @Test func aDeletionUndoesNoRelocationOfAnUnsentObject() {
        var source = state()
        source.role = .source(isObjectDeleted: false)
        #expect(UndoneRelocation.isDecided(byDeletionOf: source, mapping: Self.mapping))
        source.changeTag = nil
        #expect(!UndoneRelocation.isDecided(byDeletionOf: source, mapping: Self.mapping))
    }

    // MARK: The source record

    @Test func objectIsAdoptedFromTheRecordThatTheStampNames() {
        let stored = RecordArrival.Stored(stamped: state(created: 100))
        let decision = RecordArrival.decide(record(seen: 100), stored, mapping: Self.mapping)
        guard case .adopted = decision else {
            Issue.record("\(decision)")
            return
        }
    }

    /// The source record was deleted, and a device that did not know of the relocation created an object with the same values.
    @Test func laterObjectOfTheNameIsNotAdopted() {
        let stored = RecordArrival.Stored(stamped: state(created: 101))
        #expect(RecordArrival.decide(record(seen: 100), stored, mapping: Self.mapping) == .ordinary)
    }

    @Test func unsentObjectOfTheNameIsNotAdopted() {
        var unsent = state()
        unsent.changeTag = nil
        unsent.stage = .needsUpload
        let stored = RecordArrival.Stored(stamped: unsent)
        #expect(RecordArrival.decide(record(seen: 100), stored, mapping: Self.mapping) == .ordinary)
    }

    /// Otherwise this device would rely on the other one to delete its source record.
    @Test func relocationIsNotReconciledWithAnEqualObjectOfTheDestinationZone() {
        var source = state(created: 100)
        source.role = .source(isObjectDeleted: false)
        var current = state()
        current.changeTag = nil
        let stored = RecordArrival.Stored(record: current, source: source)
        #expect(RecordArrival.decide(record(), stored, mapping: Self.mapping) == .ordinary)
    }

    /// The server lacked the source record when this device deleted it. Another device made an object with its name before this device
    /// received the deletion, which it never will: it receives the object as an edit, and nothing else would delete that record.
    @Test(arguments: [false, true])
    func sourceRecordThatTheServerHasAgainIsDeletedAgain(isObjectDeleted: Bool) {
        var source = state()
        source.role = .source(isObjectDeleted: isObjectDeleted)
        source.stage = .missing
        let records = plan(record(), source, hasRow: !isObjectDeleted).bookkeeping.records
        #expect(records.map(\.stage) == [.needsDelete])
        #expect(records.map(\.changeTag) == ["b"])
        #expect(records.map(\.isRelocated) == [true])
    }

    @Test func laterRecordOfTheHomeZoneIsNotTheSourceOfARelocatedObject() {
        var current = state()
        current.ancestor.unapplied = record(seen: 100).fields.filter { $0.key == MirrorNames.moveReceipt }
        #expect(current.isRelocation(of: record(created: 100), mapping: Self.mapping))
        #expect(!current.isRelocation(of: record(created: 101), mapping: Self.mapping))
        // An object that was created in the zone of the share.
        #expect(!state().isRelocation(of: record(created: 100), mapping: Self.mapping))
    }

    // MARK: Names in the destination zone

    private func isNameTaken(by record: RecordState? = nil, withheld: Record? = nil) -> Bool {
        Rekeying.isNameTaken(from: state(), row(key, "swift"), inDestination: record, withheld: withheld, mapping: Self.mapping)
    }

    @Test func relocatedObjectGetsAnotherNameIfItsNameIsTaken() {
        #expect(!isNameTaken())
        #expect(isNameTaken(by: state(other)))
        #expect(!isNameTaken(by: state(key)))
        #expect(isNameTaken(withheld: record("rust")))
        // Both will be merged.
        #expect(!isNameTaken(withheld: record("swift")))
        #expect(RelocatedRecord(state(), as: "free", mark: 9, keepsSource: true).destination.recordName == "free")
        #expect(RelocatedRecord(state(), as: "free", mark: 9, keepsSource: true).source?.recordName == "tag")
    }

    /// A participant of the share chose the name.
    @Test func anyObjectGetsAnotherNameIfItsNameIsTaken() {
        let state = Fixture.uploaded(), row = Fixture.row(Fixture.key("Post", 1))
        func isTaken(by key: RowKey?) -> Bool {
            let record = key.map { RecordState(recordName: "post-1", key: $0, stage: .uploaded) }
            return Rekeying.isNameTaken(from: state, row, inDestination: record, withheld: nil, mapping: Fixture.mapping)
        }
        #expect(!isTaken(by: nil))
        #expect(!isTaken(by: state.key))
        #expect(isTaken(by: Fixture.key("Post", 2)))
    }

    // MARK: Values

    private func plan(_ record: Record, _ state: RecordState?, hasRow: Bool = true, blocked: Set<String> = []) -> ImportPlan {
        var loaded = ImportPlan.Loaded()
        if let state {
            loaded.records["tag"] = state
            if hasRow { loaded.rows[state.key] = row(state.key, "tag") }
        }
        loaded.heldBack = blocked
        let page = ImportPage(records: [record], deletions: [], askedWith: "1", token: "2", moreComing: false)
        return ImportPlan.make(page, loaded: loaded, mapping: Self.mapping)
    }

    private func neighbours(_ plan: ImportPlan, zoneOfOther zone: Int64) -> UniqueNeighbours {
        UniqueNeighbours(of: plan, in: 0, owners: { $0.values == [.string("swift")] ? [other] : [] }, zoneOf: { _ in zone })
    }

    @Test func rowOfTheSameZoneIsLoaded() {
        let found = neighbours(plan(record("swift"), nil), zoneOfOther: 0)
        #expect(found.keys.contains(other))
        #expect(found.blocked == [])
    }

    @Test func recordWithAValueOfAnotherZoneIsBlocked() {
        let found = neighbours(plan(record("swift"), nil), zoneOfOther: 1)
        #expect(found.keys == [])
        #expect(found.blocked == ["tag"])
    }

    @Test func sourceRecordWithAUsedValueIsBlockedInAnyZone() {
        var source = state()
        source.role = .source(isObjectDeleted: false)
        source.stage = .needsDelete
        for zone in [0, 1] as [Int64] { #expect(neighbours(plan(record("swift"), source), zoneOfOther: zone).blocked == ["tag"]) }
    }

    /// A relocated object was renamed here. Its source record changed, and a record with that name arrived: the two were merged in the home
    /// zone, and the object was never sent to the zone of the share.
    @Test func aRelocatedRowIsNotMergedWithAnObjectOfItsSourceZone() {
        var source = state(), changed = record(), equal = record("swift", changeTag: "c")
        source.role = .source(isObjectDeleted: false)
        source.stage = .needsDelete
        changed.fields["CD_color"] = Field(.string("red"))
        equal.recordName = "equal"
        var loaded = ImportPlan.Loaded()
        loaded.records["tag"] = source
        // Renamed here.
        loaded.rows[source.key] = row(source.key, "swift")
        let page = ImportPage(records: [changed, equal], deletions: [], askedWith: "1", token: "2", moreComing: false)
        let plan = ImportPlan.make(page, loaded: loaded, mapping: Self.mapping)
        #expect(plan.deletedKeys == [])
        #expect(plan.insertedNames == ["equal"])
        let found = UniqueNeighbours(
            of: plan, in: 0, owners: { $0.values == [.string("swift")] ? [source.key] : [] }, zoneOf: { $0 == source.key ? 1 : nil })
        #expect(found.blocked.contains("equal"))
    }

    /// The object is shown by its record in another zone, and would be deleted there.
    @Test func blockedSourceRecordLeavesTheRowAsItIs() {
        var source = state()
        source.role = .source(isObjectDeleted: false)
        source.stage = .needsDelete
        let plan = plan(record("swift"), source, blocked: ["tag"])
        #expect(plan.rows.isEmpty)
        #expect(plan.bookkeeping.conflicts.map(\.losing) == [.string("swift")])
        #expect(plan.bookkeeping.incomplete.isEmpty)
    }
}
