// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

/// Edits of source records that a device awaits for a withheld record. The value simulation found the case.
@Suite struct WithheldAwaitedEditsTests {
    /// Documents, each in a folder.
    private let mapping: RecordMapping
    private let document: RowKey

    init() throws {
        let folder = Entity(
            name: "Folder", relationships: [Relationship(name: "documents", destination: "Document", inverse: "folder", isToMany: true)])
        let document = Entity(
            name: "Document", attributes: [Attribute(name: "title", type: .string)],
            relationships: [Relationship(name: "folder", destination: "Folder", inverse: "documents", isOptional: false)])
        mapping = RecordMapping(model: try ResolvedModel(Model(entities: [folder, document])), allowing: [.requiredValues])
        self.document = RowKey(store: 0, entity: try #require(mapping.model.entity(named: "Document")).index, primaryKey: 1)
    }

    private struct Unexpected: Error {}

    private func stamp(_ milliseconds: Int64) -> RecordStamp { RecordStamp(timestamp: milliseconds, userRecordName: "mia") }

    private let folder = Record(
        recordName: "f", recordType: "CD_Folder", recordChangeTag: "a", fields: [MirrorNames.entityNameField: Field(.string("Folder"))])

    /// The document's record in the zone of a share, with its first title.
    ///
    /// - Parameter seen: The version of the source record that was forwarded.
    private func relocated(seen: Int64 = 1000, changeTag: String = "b") -> Record {
        var record = Record(
            recordName: "d", recordType: "CD_Document", recordChangeTag: changeTag,
            fields: [
                MirrorNames.entityNameField: Field(.string("Document")), "CD_title": Field(.string("Trip")),
                "CD_folder": Field(.string("f")),
            ])
        record.created = stamp(2000)
        record.modified = stamp(2000)
        var relocation = RelocationStamp(name: "d", zone: ZoneID(zoneName: MirrorNames.zone))
        relocation.seen = seen
        record.fields[MirrorNames.moveReceipt] = Field(.bytes(relocation.encoded()))
        return record
    }

    /// The record as this device withholds it: with the title that this device set in the source zone.
    private func withheld() throws -> IncompleteRecord {
        var source = RecordState(recordName: "d", key: document, stage: .uploaded)
        source.changeTag = "a"
        source.modified = stamp(1500)
        source.ancestor.fields = ["CD_title": Field(.string("Journey")), "CD_folder": Field(.string("f"))]
        guard case .adopted(_, _, let record) = RecordArrival.decide(relocated(), .init(stamped: source), mapping: mapping) else {
            throw Unexpected()
        }
        return IncompleteRecord(record: record, lacking: ["f"], generation: 1)
    }

    private func page(
        _ records: [Record] = [], deletions: [String] = [], moreComing: Bool = false, generation: Int64? = nil
    ) -> ImportPage {
        ImportPage(
            records: records, deletions: deletions, askedWith: "1", token: "2", moreComing: moreComing, generation: generation)
    }

    /// The withheld record after the deletion of its source record.
    private func flagged() throws -> IncompleteRecord { try #require(try withheld().forwardingAwaited(after: page(deletions: ["d"]))) }

    private func plan(_ records: [Record]) -> ImportPlan { ImportPlan.make(page(records), loaded: ImportPlan.Loaded(), mapping: mapping) }

    private func state(showing record: Record) throws -> RecordState {
        try #require(plan([folder, record]).bookkeeping.records.first { $0.recordName == "d" })
    }

    /// The relocating device withheld the object as well and did not forward the edit, which stayed on this device.
    @Test func editsAreSentOnceTheObjectIsShown() throws {
        let state = try state(showing: try flagged().record)
        #expect(state.stage == .needsUpload)
        #expect(state.ancestor.fields["CD_title"] == Field(.string("Trip")))
        #expect(state.ancestor.unapplied[MirrorNames.awaited] == nil)
        #expect(RelocationStamp.forwardingAwaited(to: state)?.seen == 1500)
    }

    /// The relocating device may still forward them.
    @Test func editsOfAPresentSourceRecordAreAwaited() throws {
        let state = try state(showing: try withheld().record)
        #expect(state.stage == .uploaded)
        #expect(state.ancestor.fields["CD_title"] == Field(.string("Journey")))
        #expect(state.ancestor.unapplied[MirrorNames.awaited] != nil)
    }

    @Test func aRecordThatIsWithheldAgainKeepsItsFlag() throws {
        let record = try flagged().record
        #expect(plan([record]).bookkeeping.incomplete.map(\.record) == [record])
    }

    /// A full fetch does not name deletions.
    @Test func theEndOfAFullFetchSetsTheFlag() throws {
        let flagged = try flagged()
        #expect(try withheld().forwardingAwaited(after: page(generation: 2)) == flagged)
        #expect(try withheld().forwardingAwaited(after: page(moreComing: true, generation: 2)) == nil)
    }

    @Test func theDeletionOfAnotherRecordSetsNoFlag() throws {
        #expect(try withheld().forwardingAwaited(after: page(deletions: ["e"])) == nil)
        #expect(try withheld().forwardingAwaited(after: page()) == nil)
    }

    @Test func aRecordWithoutAwaitedEditsGetsNoFlag() {
        let record = IncompleteRecord(record: relocated(), lacking: ["f"], generation: 1)
        #expect(record.forwardingAwaited(after: page(deletions: ["d"])) == nil)
    }

    // MARK: Another version of the record

    private func shown(_ record: Record, withheld: IncompleteRecord) throws -> Record {
        guard case .completed(let completed) = RecordArrival.decide(record, .init(withheld: withheld.record), mapping: mapping) else {
            throw Unexpected()
        }
        return completed
    }

    /// The edit was lost if the record changed in the zone of the share while it was withheld.
    @Test func anotherVersionKeepsTheEdits() throws {
        let record = try shown(relocated(changeTag: "c"), withheld: try withheld())
        #expect(record.title == "Journey")
        #expect(record.recordChangeTag == "c")
        #expect(try state(showing: record).stage == .uploaded)
    }

    @Test func anotherVersionKeepsTheFlag() throws {
        let record = try shown(relocated(changeTag: "c"), withheld: try flagged())
        #expect(try state(showing: record).stage == .needsUpload)
    }

    @Test func aVersionWithTheForwardedEditsReplacesThem() throws {
        let record = try shown(relocated(seen: 1500, changeTag: "c"), withheld: try flagged())
        #expect(record == relocated(seen: 1500, changeTag: "c"))
    }

    @Test func aReleasedRecordIsOrdinary() throws {
        let record = try flagged().record
        #expect(RecordArrival.decide(record, .init(withheld: record), mapping: mapping) == .ordinary)
    }
}
