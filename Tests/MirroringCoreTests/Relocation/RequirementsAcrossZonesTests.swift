// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

/// Documents require a folder. The folder and the document may be in different zones for a while.
@Suite struct RequirementsAcrossZonesTests {
    private static let mapping: RecordMapping = {
        let folder = Entity(
            name: "Folder",
            relationships: [
                Relationship(name: "documents", destination: "Document", inverse: "folder", isToMany: true, deleteRule: .cascade)
            ])
        let document = Entity(
            name: "Document", relationships: [Relationship(name: "folder", destination: "Folder", inverse: "documents", isOptional: false)])
        do {
            return RecordMapping(model: try ResolvedModel(Model(entities: [folder, document])), allowing: [.requiredValues])
        } catch { preconditionFailure("the test model is valid: \(error)") }
    }()

    private static func entity(_ name: String) -> Int { mapping.model.entity(named: name)?.index ?? 0 }

    private let folder = RowKey(store: 0, entity: Self.entity("Folder"), primaryKey: 1)
    private let other = RowKey(store: 0, entity: Self.entity("Folder"), primaryKey: 2)
    private let document = RowKey(store: 0, entity: Self.entity("Document"), primaryKey: 3)

    private func row(_ key: RowKey, in folder: RowKey? = nil) -> Row {
        Row(key: key, version: 1, values: key == document ? [folder.map { .reference($0) } ?? .null] : [])
    }

    private func state(_ name: String, _ key: RowKey, folder: String? = nil) -> RecordState {
        var state = RecordState(recordName: name, key: key, stage: .uploaded)
        state.changeTag = "a"
        if let folder { state.ancestor.fields["CD_folder"] = Field(.string(folder)) }
        return state
    }

    private func page(_ records: [Record] = [], deletions: [String] = []) -> ImportPage {
        ImportPage(records: records, deletions: deletions, askedWith: "1", token: "2", moreComing: false)
    }

    private func plan(_ page: ImportPage, _ states: [RecordState], _ rows: [Row], _ change: (inout ImportPlan.Loaded) -> Void) -> ImportPlan
    {
        var loaded = ImportPlan.Loaded()
        for state in states { loaded.records[state.recordName] = state }
        for row in rows { loaded.rows[row.key] = row }
        change(&loaded)
        return ImportPlan.make(page, loaded: loaded, mapping: Self.mapping)
    }

    /// The folder that the plan gives the document; nil for a plan that leaves it alone.
    private func newFolder(_ plan: ImportPlan) -> RowKey? {
        plan.rows.lazy.compactMap { intent -> RowKey? in
            guard case .update(let row, _) = intent, row.key == document else { return nil }
            return row.values[0].reference
        }.first
    }

    @Test func aDocumentOfAnotherZoneThatLosesItsFolderIsLeftToThatZone() {
        let plan = plan(page(deletions: ["folder"]), [state("folder", folder)], [row(folder), row(document, in: folder)]) {
            $0.referrers[folder] = [document]
        }
        #expect(plan.incompleteElsewhere == [document])
        #expect(plan.deletedKeys == [folder])
    }

    @Test func aDocumentOfTheSameZoneIsWithheld() {
        let states = [state("folder", folder), state("document", document, folder: "folder")]
        let plan = plan(page(deletions: ["folder"]), states, [row(folder), row(document, in: folder)]) {
            $0.referrers[folder] = [document]
        }
        #expect(plan.incompleteElsewhere == [])
        #expect(plan.deletedKeys == [folder, document])
    }

    /// A participant's record with a forged relocation stamp stays a participant's while it is withheld.
    @Test func aWithheldRecordKeepsItsCreator() throws {
        var withheld = state("document", document, folder: "folder")
        withheld.system = RecordSystemFields(creator: "bo", created: 7)
        let plan = plan(page(deletions: ["folder"]), [state("folder", folder), withheld], [row(folder), row(document, in: folder)]) {
            $0.referrers[folder] = [document]
        }
        let record = try #require(plan.bookkeeping.incomplete.first?.record)
        #expect(record.created == RecordStamp(timestamp: 7, userRecordName: "bo"))
        #expect(!record.mayBeRelocation(by: "mia"))
    }

    @Test func theDocumentGetsTheFolderThatTheServerHas() {
        let states = [state("document", document, folder: "other"), state("other", other)]
        let plan = plan(page(), states, [row(document)]) {
            $0.existing = [other, document]
            $0.incomplete = [document]
        }
        #expect(newFolder(plan) == other)
        #expect(plan.bookkeeping.incomplete.isEmpty)
    }

    @Test func theDocumentIsWithheldUntilTheFolderThatTheServerHasReturns() {
        let plan = plan(page(), [state("document", document, folder: "other")], [row(document)]) { $0.incomplete = [document] }
        #expect(plan.deletedKeys == [document])
        #expect(plan.bookkeeping.incomplete.map(\.record.recordName) == ["document"])
        #expect(plan.bookkeeping.incomplete.map(\.lacking) == [["other"]])
    }

    /// Otherwise the object would be withheld by a zone that it has left.
    @Test func aRelocatedDocumentKeepsItsFolderIfItsSourceRecordNamesAnUnknownOne() {
        var source = state("document", document, folder: "folder")
        source.role = .source(isObjectDeleted: false)
        source.stage = .needsDelete
        let edited = Record(
            recordName: "document", recordType: "CD_Document", recordChangeTag: "b",
            fields: ["CD_folder": Field(.string("unknown")), MirrorNames.entityNameField: Field(.string("Document"))])
        let plan = plan(page([edited]), [source], [row(document, in: folder)]) { $0.names = [folder: "folder"] }
        #expect(plan.rows.isEmpty)
        #expect(plan.incompleteElsewhere == [])
        #expect(plan.bookkeeping.incomplete.isEmpty)
    }
}
