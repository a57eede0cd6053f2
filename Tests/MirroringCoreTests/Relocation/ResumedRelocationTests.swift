// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

private typealias Fixture = RelocationFixture

/// Objects that this device relocated, and withheld before it had forwarded edits of their source records. A simulation found each case.
@Suite struct ResumedRelocationTests {
    /// The source record after an edit of another device.
    private var source: RecordState {
        var state = Fixture.source(isObjectDeleted: true)
        state.ancestor.fields["CD_title"] = Field(.string("Journey"))
        state.modified = Fixture.stamp(1500)
        return state
    }

    private func decide(_ source: RecordState, isWithheld: Bool = true) -> RecordArrival {
        RecordArrival.decide(
            Fixture.arriving(), .init(stamped: source, withheld: isWithheld ? Fixture.arriving() : nil), mapping: Fixture.mapping)
    }

    /// The record that the page is applied with, and the changes behind it.
    private func resume(_ makePage: (Record) -> BookkeepingChanges) throws -> (
        shown: Record, home: BookkeepingChanges, destination: BookkeepingChanges
    ) {
        guard case .resumed(let relocation, let shown) = decide(source) else { throw Unexpected() }
        let changes = relocation.changes(after: makePage(shown), mapping: Fixture.mapping)
        return (shown, changes.home, changes.destination)
    }

    private struct Unexpected: Error {}

    /// A new row of the object, as the import of the page makes it.
    private func inserted(_ record: Record) -> RecordState {
        var state = RecordState(recordName: record.recordName, key: Fixture.key("Post", 8), stage: .uploaded)
        state.changeTag = record.recordChangeTag
        state.ranks = ["folder": "V"]
        state.ancestor = Ancestor(
            fields: record.fields.filter { $0.key == "CD_title" }, unapplied: record.fields.filter { $0.key != "CD_title" })
        return state
    }

    private func page(inserting record: Record) -> BookkeepingChanges {
        var page = BookkeepingChanges()
        page.records = [inserted(record)]
        return page
    }

    @Test func aWithheldObjectIsShownWithTheEditsOfItsSource() throws {
        #expect(try resume(page).shown.title == "Journey")
    }

    @Test func theNewRowGetsTheSourceRecord() throws {
        let home = try resume(page).home
        let state = try #require(home.records.first)
        #expect(state.recordName == "post-1")
        #expect(state.key == Fixture.key("Post", 8))
        #expect(state.role == .source(isObjectDeleted: false))
        #expect(state.stage == .needsDelete)
        #expect(state.ranks == ["folder": "V"])
    }

    /// Other devices wait for this one to forward them.
    @Test func theEditsAreSent() throws {
        let state = try #require(try resume(page).destination.records.first)
        #expect(state.stage == .needsUpload)
        #expect(state.ancestor.fields["CD_title"] == Field(.string("Trip")))
        #expect(state.ancestor.unapplied[MirrorNames.awaited] == nil)
        #expect(state.ancestor.unapplied[MirrorNames.awaitedVersion] == nil)
    }

    @Test func anObjectWithoutEditsOfItsSourceIsNotSent() throws {
        var unedited = source
        unedited.modified = Fixture.stamp(1000)
        guard case .resumed(let relocation, let shown) = decide(unedited) else { throw Unexpected() }
        #expect(shown.title == "Trip")
        let changes = relocation.changes(after: page(inserting: shown), mapping: Fixture.mapping)
        #expect(changes.home.records.count == 1)
        #expect(changes.destination.isEmpty)
    }

    /// The record is stored without the edits, so that they are sent once it is shown.
    @Test func anObjectThatIsWithheldAgainKeepsTheServersRecord() throws {
        let changes = try resume { record in
            var page = BookkeepingChanges()
            page.incomplete = [IncompleteRecord(record: record, lacking: ["folder"], generation: 4)]
            return page
        }
        #expect(changes.home.isEmpty)
        #expect(changes.destination.incomplete == [IncompleteRecord(record: Fixture.arriving(), lacking: ["folder"], generation: 4)])
    }

    /// The user deleted the object in the share.
    @Test func aDeletedObjectIsNotResumed() { #expect(decide(source, isWithheld: false) == .ordinary) }

    @Test func anObjectWithARowIsNotResumed() { #expect(decide(Fixture.source()) == .ordinary) }
}

/// Withheld records that edits of their source records complete.
@Suite struct CompletedRecordTests {
    private static let mapping: RecordMapping = {
        let folder = Entity(
            name: "Folder", relationships: [Relationship(name: "posts", destination: "Post", inverse: "folder", isToMany: true)])
        let post = Entity(
            name: "Post", relationships: [Relationship(name: "folder", destination: "Folder", inverse: "posts", isOptional: false)])
        do {
            return RecordMapping(model: try ResolvedModel(Model(entities: [folder, post])), allowing: [.requiredValues])
        } catch { preconditionFailure("the test model is valid: \(error)") }
    }()

    /// The record in the share is in a deleted folder; another device has put the object into another one, in its source zone.
    private func isComplete(edited milliseconds: Int64 = 1500, lacking: [String] = ["deleted"], folders: Set<String>) throws -> Bool {
        var record = Fixture.arriving()
        record.fields["CD_folder"] = Field(.string("deleted"))
        let post = try #require(Self.mapping.model.entity(named: "Post"))
        var source = RecordState(recordName: "post-1", key: RowKey(store: 0, entity: post.index, primaryKey: 1), stage: .needsDelete)
        source.role = .source(isObjectDeleted: true)
        source.changeTag = "a"
        source.modified = Fixture.stamp(milliseconds)
        source.ancestor.fields["CD_folder"] = Field(.string("another"))
        return ResumedRelocation.isComplete(
            IncompleteRecord(record: record, lacking: lacking, generation: 1), source: source, mapping: Self.mapping
        ) { folders.contains($0) }
    }

    @Test func anEditOfTheSourceCompletesAnObject() throws { #expect(try isComplete(folders: ["another"])) }

    @Test func anEditCompletesNoObjectBeforeItsTargetArrives() throws { #expect(try !isComplete(folders: [])) }

    @Test func anOldVersionOfTheSourceCompletesNoObject() throws { #expect(try !isComplete(edited: 1000, folders: ["another"])) }

    @Test func anObjectWithUsedValuesStaysWithheld() throws {
        #expect(try !isComplete(lacking: [IncompleteRecord.freeValues], folders: ["another"]))
    }
}
