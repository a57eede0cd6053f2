// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

/// One-to-one relationships of which only one side names the other object.
@Suite struct OneToOneRepairTests {
    /// Attachments A and C, and the image data B.
    private struct Sides {
        let first = RowKey(store: 0, entity: TestModel.entity("Attachment").index, primaryKey: 1)
        let second = RowKey(store: 0, entity: TestModel.entity("ImageData").index, primaryKey: 2)
        let third = RowKey(store: 0, entity: TestModel.entity("Attachment").index, primaryKey: 3)
        var rows: [RowKey: Row] = [:]
        var records: [RowKey: RecordState] = [:]
        var sources: [RowKey: RecordState] = [:]

        init() {
            for (key, name) in [(first, "A"), (second, "B"), (third, "C")] {
                let entity = TestModel.resolved.entities[key.entityIndex]
                rows[key] = Row(key: key, version: 1, values: entity.defaultValues)
                records[key] = RecordState(recordName: name, key: key, stage: .uploaded)
                records[key]?.changeTag = "1"
            }
        }

        mutating func set(_ property: String, of key: RowKey, to target: RowKey, changedAt timestamp: Int64) {
            guard case .slot(let slot)? = TestModel.resolved.entities[key.entityIndex].location(of: property) else { return }
            rows[key]?.values[slot] = .reference(target)
            change(key, at: timestamp)
        }

        mutating func change(_ key: RowKey, at timestamp: Int64) {
            records[key]?.modified = RecordStamp(timestamp: timestamp, userRecordName: "_user", deviceID: "P")
        }

        /// - Parameter fields: The fields of the source record.
        mutating func relocate(_ key: RowKey, fields: [String: Field]) {
            sources[key] = records[key]
            sources[key]?.ancestor = Ancestor(fields: fields)
            sources[key]?.role = .source(isObjectDeleted: false)
            records[key]?.stage = .needsUpload
            records[key]?.changeTag = nil
            records[key]?.modified = nil
        }

        var repair: OneToOneRepair {
            OneToOneRepair.decide(
                [first, second, third], mapping: TestModel.mapping, row: { rows[$0] }, record: { records[$0] }, source: { sources[$0] })
        }

        /// The sides after the repair, as `source.relationship → target`.
        var repaired: (sides: [String], sent: [String], conflicts: [String]) {
            let repair = repair
            var repairedRows = rows
            for case .update(let row, _) in repair.rows { repairedRows[row.key] = row }
            let sides = repairedRows.values.flatMap { row in
                TestModel.resolved.entities[row.key.entityIndex].slots.enumerated().compactMap { slot, declared -> String? in
                    guard let target = row.values[slot].reference else { return nil }
                    return "\(name(row.key)).\(declared.name) → \(name(target))"
                }
            }
            return (
                sides.sorted(), repair.records.map(\.recordName).sorted(),
                repair.conflicts.map { "\($0.recordName).\($0.property)" }.sorted()
            )
        }

        private func name(_ key: RowKey) -> String { records[key]?.recordName ?? "?" }
    }

    @Test func theInverseObjectFollowsTheLaterChange() {
        var sides = Sides()
        sides.set("imageData", of: sides.first, to: sides.second, changedAt: 2)
        sides.change(sides.second, at: 1)
        #expect(sides.repaired.sides == ["A.imageData → B", "B.attachment → A"])
        #expect(sides.repaired.sent == ["B"])
        #expect(sides.repaired.conflicts == [])
    }

    @Test func anEarlierChangeOfAOneToOneRelationshipIsCleared() {
        var sides = Sides()
        sides.set("imageData", of: sides.first, to: sides.second, changedAt: 1)
        sides.change(sides.second, at: 2)
        #expect(sides.repaired.sides == [])
        #expect(sides.repaired.sent == ["A"])
        #expect(sides.repaired.conflicts == ["A.imageData"])
    }

    @Test func theDisplacedSideIsCleared() {
        var sides = Sides()
        sides.set("imageData", of: sides.third, to: sides.second, changedAt: 1)
        sides.set("attachment", of: sides.second, to: sides.third, changedAt: 2)
        sides.set("imageData", of: sides.first, to: sides.second, changedAt: 3)
        #expect(sides.repaired.sides == ["A.imageData → B", "B.attachment → A"])
        #expect(sides.repaired.sent == ["B", "C"])
        #expect(sides.repaired.conflicts == ["B.attachment", "C.imageData"])
    }

    /// Otherwise devices that repair at the same time would end with different values.
    @Test func recordNamesDecideBetweenSimultaneousChanges() {
        var sides = Sides()
        sides.set("imageData", of: sides.first, to: sides.second, changedAt: 1)
        sides.change(sides.second, at: 1)
        #expect(sides.repaired.sides == [])
        sides = Sides()
        sides.set("attachment", of: sides.second, to: sides.first, changedAt: 1)
        sides.change(sides.first, at: 1)
        #expect(sides.repaired.sides == ["A.imageData → B", "B.attachment → A"])
    }

    @Test func anUnsentChangeCountsAsTheLatest() {
        var sides = Sides()
        sides.set("imageData", of: sides.first, to: sides.second, changedAt: 1)
        sides.records[sides.first]?.stage = .needsUpload
        sides.change(sides.second, at: 2)
        #expect(sides.repaired.sides == ["A.imageData → B", "B.attachment → A"])
    }

    /// With the mark of the item in flight, the response to it would settle the repair, and nothing would send that.
    @Test(arguments: [MirrorStage.uploaded, .needsUpload]) func aRepairedRecordHasALaterMarkThanAnItemInFlight(stage: MirrorStage) {
        var sides = Sides()
        sides.set("imageData", of: sides.first, to: sides.second, changedAt: 2)
        sides.change(sides.second, at: 1)
        sides.records[sides.first]?.mark = 5
        sides.records[sides.second]?.mark = 7
        sides.records[sides.first]?.stage = stage
        #expect(sides.repair.records.map(\.recordName) == ["B"])
        #expect(sides.repair.records.map(\.mark) == [8])
    }

    /// The first record of a relocated object is unsent, and its change is older than that.
    @Test func aRelocatedSideHasTheDateOfItsSourceRecord() {
        var sides = Sides()
        sides.set("imageData", of: sides.first, to: sides.second, changedAt: 1)
        sides.relocate(sides.first, fields: ["CD_imageData": Field(.string("B"))])
        sides.change(sides.second, at: 2)
        #expect(sides.repaired.sides == [])
        #expect(sides.repaired.conflicts == ["A.imageData"])
    }

    @Test func anUnsentChangeOfARelocatedSideCountsAsTheLatest() {
        var sides = Sides()
        sides.set("imageData", of: sides.first, to: sides.second, changedAt: 1)
        sides.relocate(sides.first, fields: [:])
        sides.change(sides.second, at: 2)
        #expect(sides.repaired.sides == ["A.imageData → B", "B.attachment → A"])
    }

    /// A deferred reference sets one side alone.
    @Test func rowsOfADeferredReferenceAreSuspects() {
        let sides = Sides()
        let attachment = TestModel.entity("Attachment")
        guard case .slot(let imageData)? = attachment.location(of: "imageData"), case .slot(let post)? = attachment.location(of: "post")
        else { preconditionFailure("the test model has both") }
        func suspects(_ slot: Int) -> Set<RowKey> {
            OneToOneRepair.suspects(setting: slot, of: sides.first, to: sides.second, mapping: TestModel.mapping)
        }
        #expect(suspects(imageData) == [sides.first, sides.second])
        #expect(suspects(post) == [])
    }

    /// The rows may be in different zones.
    @Test func aRepairNamesTheConnectedRows() {
        var sides = Sides()
        sides.set("imageData", of: sides.first, to: sides.second, changedAt: 2)
        sides.change(sides.second, at: 1)
        #expect(sides.repair.connections == [ForwardedEdits.Connection(key: sides.second, references: [sides.first])])
        sides = Sides()
        sides.set("imageData", of: sides.first, to: sides.second, changedAt: 1)
        sides.change(sides.second, at: 2)
        #expect(sides.repair.connections == [])
    }

    @Test func twoSidedRelationshipsAreNotRepaired() {
        var sides = Sides()
        sides.set("imageData", of: sides.first, to: sides.second, changedAt: 1)
        sides.set("attachment", of: sides.second, to: sides.first, changedAt: 2)
        #expect(sides.repaired.sides == ["A.imageData → B", "B.attachment → A"])
        #expect(sides.repaired.sent == [])
    }

    @Test func anObjectWithAPendingDeletionIsNotRepaired() {
        var sides = Sides()
        sides.set("imageData", of: sides.first, to: sides.second, changedAt: 2)
        sides.records[sides.second]?.stage = .missing
        #expect(sides.repaired.sent == [])
    }
}
