// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

/// Relationships of merged objects. A simulation found each case.
@Suite struct UniqueMergeTests {
    private static func mapping() throws -> RecordMapping {
        var tag = Entity(
            name: "Tag", attributes: [Attribute(name: "color", type: .string), Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "notes", destination: "Note", inverse: "tags", isToMany: true)])
        tag.uniquenessConstraints = [["name"]]
        let note = Entity(name: "Note", relationships: [Relationship(name: "tags", destination: "Tag", inverse: "notes", isToMany: true)])
        return RecordMapping(model: try ResolvedModel(Model(entities: [tag, note])), allowing: [.uniquenessConstraints])
    }

    private static func replica(_ name: String) throws -> Replica {
        var replica = Replica(name)
        replica.mapping = try mapping()
        return replica
    }

    /// Two values, the first of which makes the smaller record name.
    private static func values() throws -> (smaller: StoredValue, larger: StoredValue) {
        var maker = try replica("any")
        var named: [(record: String, value: StoredValue)] = []
        for value in ["a", "b"].map({ StoredValue.string($0) }) {
            let key = try insert("Tag", into: &maker, ["name": value])
            maker.scan()
            named.append((try #require(maker.name(of: key)), value))
        }
        named.sort { $0.record < $1.record }
        return (named[0].value, named[1].value)
    }

    @discardableResult
    private static func insert(_ entity: String, into replica: inout Replica, _ values: [String: StoredValue] = [:]) throws -> RowKey {
        let key = replica.insert(entity: try #require(replica.mapping.model.entity(named: entity)))
        for (property, value) in values.sorted(by: { $0.key < $1.key }) { replica.set(property, of: key, to: value) }
        return key
    }

    private static func key(_ entity: String, of replica: Replica) throws -> RowKey {
        try #require(replica.liveKeys.first { replica.mapping.model.entities[$0.entityIndex].name == entity })
    }

    @Test func aLinkToADuplicateIsRedirectedToTheMergedObject() throws {
        let (smaller, larger) = try Self.values()
        var server = ServerModel()
        var maker = try Self.replica("A"), merger = try Self.replica("B")
        let tag = try Self.insert("Tag", into: &maker, ["name": larger]), note = try Self.insert("Note", into: &maker)
        maker.sync(&server)
        merger.sync(&server)
        maker.set("name", of: tag, to: smaller)
        maker.export(to: &server)
        // Never sent, and the one that stays.
        try Self.insert("Tag", into: &merger, ["name": smaller])
        merger.scan()
        merger.importAll(from: server)
        maker.setLinked(true, note, "tags", tag)
        maker.export(to: &server)
        merger.importAll(from: server)
        for _ in 0..<2 {
            merger.sync(&server)
            maker.sync(&server)
        }
        #expect(maker.dump == merger.dump)
        #expect(maker.pairs.count == 1)
        #expect(server.links.count == 1)
    }

    /// The deletion of a superseded record was sent before the record that lists it: it waited for the one that had listed it before.
    @Test func aMergedObjectLeavesItsListToItsSurvivor() throws {
        let mapping = try Self.mapping()
        let tag = try #require(mapping.model.entity(named: "Tag"))
        guard case .slot(let slot)? = tag.location(of: "name") else { return }
        func row(_ key: Int64, _ name: String) -> Row {
            var row = Row(key: RowKey(store: 0, entity: tag.index, primaryKey: key), version: 1, values: tag.defaultValues)
            row.values[slot] = .string(name)
            return row
        }
        let unsent = row(1, "trips"), renamed = row(2, "travel")
        let survivor = RecordState(recordName: "a", key: unsent.key, stage: .needsUpload)
        var duplicate = RecordState(recordName: "b", key: renamed.key, stage: .uploaded)
        duplicate.changeTag = "2"
        duplicate.merged = MergedNames(["c"])
        duplicate.ancestor.fields = ["CD_name": Field(.string("travel")), MirrorNames.merged: Field(.string("c"))]
        var loaded = ImportPlan.Loaded()
        loaded.records = ["a": survivor, "b": duplicate]
        for row in [unsent, renamed] {
            loaded.rows[row.key] = row
            loaded.existing.insert(row.key)
        }
        loaded.surrounded = [unsent.key, renamed.key]
        loaded.successors = ["c": "b"]
        var record = Record(recordName: "b", recordType: "CD_Tag", recordChangeTag: "3")
        record.fields = [
            "CD_name": Field(.string("trips")), MirrorNames.entityNameField: Field(.string("Tag")), MirrorNames.merged: Field(.string("c")),
        ]
        let page = ImportPage(records: [record], deletions: [], askedWith: "1", token: "2", moreComing: false)
        let records = ImportPlan.make(page, loaded: loaded, mapping: mapping).bookkeeping.records
        #expect(records.first { $0.recordName == "a" }?.merged.names == ["b", "c"])
        #expect(records.first { $0.recordName == "b" }?.stage == .needsDelete)
        #expect(records.first { $0.recordName == "b" }?.merged.names == [])
    }

    /// Two devices merged two tags in opposite directions, and a third one deletes the record that this device kept.
    @Test func anObjectLivesOnUnderTheRecordThatAnotherDeviceKept() throws {
        let mapping = try Self.mapping()
        let tag = try #require(mapping.model.entity(named: "Tag"))
        let rowKey = RowKey(store: 0, entity: tag.index, primaryKey: 1)
        var row = Row(key: rowKey, version: 1, values: tag.defaultValues)
        guard case .slot(let slot)? = tag.location(of: "name") else { return }
        row.values[slot] = .string("trips")
        var kept = RecordState(recordName: "a", key: rowKey, stage: .needsUpload)
        kept.changeTag = "1"
        kept.merged = MergedNames(["b"])
        kept.ancestor.fields = ["CD_name": Field(.string("trips"))]
        var merged = RecordState(recordName: "b", key: RowKey(store: 0, entity: tag.index, primaryKey: 2), stage: .needsDelete)
        merged.changeTag = "2"
        merged.ancestor.fields = ["CD_name": Field(.string("trips"))]
        let values = try #require(mapping.uniqueValues(of: row).first)
        merged.ancestor.unapplied[MirrorNames.mergedFor] = Field(.string(mapping.recordName(for: values)))
        var loaded = ImportPlan.Loaded()
        loaded.records = ["a": kept, "b": merged]
        loaded.rows = [rowKey: row]
        loaded.existing = [rowKey]
        loaded.successors = ["b": "a"]

        var record = Record(recordName: "b", recordType: "CD_Tag", recordChangeTag: "3")
        record.fields = [
            "CD_name": Field(.string("trips")), MirrorNames.entityNameField: Field(.string("Tag")), MirrorNames.merged: Field(.string("a")),
        ]
        let page = ImportPage(records: [record], deletions: ["a"], askedWith: "1", token: "2", moreComing: false)
        let plan = ImportPlan.make(page, loaded: loaded, mapping: mapping)
        #expect(plan.deletedKeys == [])
        #expect(plan.bookkeeping.removedRecords == ["a"])
        let state = try #require(plan.bookkeeping.records.first { $0.recordName == "b" })
        #expect(state.key == rowKey)
        #expect(state.hasRow)
    }

    @Test func aReKeyedObjectKeepsItsValuesAfterTheDeletionOfADuplicate() throws {
        let (smaller, larger) = try Self.values()
        var server = ServerModel()
        var deleter = try Self.replica("A"), merger = try Self.replica("B")
        let first = try Self.insert("Tag", into: &deleter, ["name": smaller, "color": .string("old")])
        let note = try Self.insert("Note", into: &deleter)
        deleter.setLinked(true, note, "tags", first)
        deleter.sync(&server)
        merger.sync(&server)
        merger.set("name", of: try Self.key("Tag", of: merger), to: larger)
        merger.export(to: &server)
        // A device that has not received the rename creates another object with the name.
        deleter.delete(first)
        deleter.scan()
        try Self.insert("Tag", into: &deleter, ["name": larger, "color": .string("new")])
        deleter.sync(&server)
        for _ in 0..<2 {
            // The new one comes before the other is gone.
            merger.importAll(from: server, pageSize: 1)
            merger.sync(&server)
            deleter.sync(&server)
        }
        #expect(deleter.dump == merger.dump)
        #expect(server.records.values.count { $0.recordType == "CD_Tag" } == 1)
        #expect(merger.value("color", of: try Self.key("Tag", of: merger)) == .string("new"))
    }
}
