// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

/// The full fetch in which a withheld record counts as returned. The value simulation found the case.
@Suite struct WithheldGenerationTests {
    /// Documents, each in a folder.
    private let mapping: RecordMapping
    private let folder: RowKey
    private let document: RowKey

    init() throws {
        let folder = Entity(
            name: "Folder", relationships: [Relationship(name: "documents", destination: "Document", inverse: "folder", isToMany: true)])
        let document = Entity(
            name: "Document",
            relationships: [Relationship(name: "folder", destination: "Folder", inverse: "documents", isOptional: false)])
        mapping = RecordMapping(model: try ResolvedModel(Model(entities: [folder, document])), allowing: [.requiredValues])
        self.folder = RowKey(store: 0, entity: try #require(mapping.model.entity(named: "Folder")).index, primaryKey: 1)
        self.document = RowKey(store: 0, entity: try #require(mapping.model.entity(named: "Document")).index, primaryKey: 2)
    }

    private func state(_ name: String, _ key: RowKey) -> RecordState {
        var state = RecordState(recordName: name, key: key, stage: .uploaded)
        state.changeTag = "a"
        state.generation = 1
        return state
    }

    private var record: Record {
        Record(
            recordName: "d", recordType: "CD_Document", recordChangeTag: "b",
            fields: [MirrorNames.entityNameField: Field(.string("Document")), "CD_folder": Field(.string("f"))])
    }

    /// Returns the generation of the withheld document after a page of the second full fetch that deletes its folder.
    private func generation(returning records: [Record]) throws -> Int64? {
        let page = ImportPage(records: records, deletions: ["f"], askedWith: nil, token: "2", moreComing: true, generation: 2)
        var loaded = ImportPlan.Loaded()
        loaded.records = ["f": state("f", folder), "d": state("d", document)]
        var row = Row(key: document, version: 1, values: mapping.model.entities[document.entityIndex].defaultValues)
        guard case .slot(let slot)? = mapping.model.entities[document.entityIndex].location(of: "folder") else { throw Unexpected() }
        row.values[slot] = .reference(folder)
        let parent = Row(key: folder, version: 1, values: mapping.model.entities[folder.entityIndex].defaultValues)
        loaded.rows = [folder: parent, document: row]
        loaded.existing = [folder, document]
        loaded.names = [folder: "f", document: "d"]
        loaded.referrers = [folder: [document]]
        return ImportPlan.make(page, loaded: loaded, mapping: mapping).bookkeeping.incomplete.first?.generation
    }

    private struct Unexpected: Error {}

    /// The server has deleted the document as well: the end of the fetch deletes what it did not return.
    @Test func aRecordThatTheFetchHasNotReturnedIsOfAnEarlierOne() throws { #expect(try generation(returning: []) == 1) }

    @Test func aRecordThatTheFetchReturnsIsOfIt() throws { #expect(try generation(returning: [record]) == 2) }
}
