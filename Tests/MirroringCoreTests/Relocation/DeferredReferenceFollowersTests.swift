// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

private typealias Fixture = RelocationFixture

/// Objects of the home zone that deferred references or links connect with records of a share.
@Suite struct DeferredReferenceFollowersTests {
    private let reference = ParkedRelationship(source: "attachment-5", relationship: "post", destination: "post-1")
    private let attachment = Fixture.key("Attachment", 5), post = Fixture.key("Post", 1)

    private func attached(by user: String? = "mia") -> RecordState {
        var state = Fixture.uploaded("attachment-5", "Attachment", 5)
        if let user {
            state.modified = RecordStamp(timestamp: 2000, userRecordName: user)
        } else {
            (state.changeTag, state.modified) = (nil, nil)
        }
        return state
    }

    private func created(by user: String) -> RecordState {
        var state = Fixture.uploaded()
        state.system.creator = user
        return state
    }

    // MARK: Targets

    private func targets(home post: RecordState?, share attachment: RecordState?) -> [RowKey] {
        DeferredReferenceFollowers.targets(
            of: [reference], home: { $0 == "post-1" ? post : nil }, share: { $0 == "attachment-5" ? attachment : nil })
    }

    /// A device shared an object that referred to one it did not have: the reference led from one zone to the other forever.
    @Test(arguments: ["mia", nil]) func aTargetIsRelocatedWithTheRecordThatRefersToIt(user: String?) {
        #expect(targets(home: Fixture.uploaded(), share: attached(by: user)) == [post])
    }

    @Test func aMissingTargetIsDeferred() { #expect(targets(home: nil, share: attached()) == []) }

    @Test func aRelocatedTargetIsNotRelocatedAgain() { #expect(targets(home: Fixture.source(), share: attached()) == []) }

    @Test func aDeletedTargetIsNotRelocated() {
        var state = Fixture.uploaded()
        state.stage = .needsDelete
        #expect(targets(home: state, share: attached()) == [])
    }

    /// The names of records with unique values can be guessed.
    @Test func aParticipantsReferenceDoesNotBringAnObjectOfTheOwnerToTheShare() {
        #expect(targets(home: Fixture.uploaded(), share: attached(by: "bo")) == [])
    }

    /// This device sends a participant's record again to a restored server.
    @Test func aParticipantsUnsentRecordDoesNotBringAnObjectOfTheOwnerToTheShare() {
        var state = attached(by: nil)
        state.system.creator = "bo"
        #expect(targets(home: Fixture.uploaded(), share: state) == [])
    }

    @Test func anObjectThatTheServerNeverHadWaits() {
        var state = Fixture.uploaded()
        (state.changeTag, state.modified) = (nil, nil)
        #expect(targets(home: state, share: attached()) == [])
    }

    // MARK: Sources

    private func sources(
        home: [RecordState], share post: RecordState?, mapping: RecordMapping = Fixture.mapping, isWithheld: Bool = false
    ) -> [RowKey] {
        DeferredReferenceFollowers.sources(
            of: [reference], mapping: mapping, home: { name in home.first { $0.recordName == name } }, isWithheld: { _ in isWithheld },
            share: { $0 == "post-1" ? post : nil })
    }

    /// A device related an object to one that another device relocated, and the latter had forgotten the source record.
    @Test func aSourceIsRelocatedToTheRecordThatItRefersTo() {
        #expect(sources(home: [attached()], share: Fixture.uploaded()) == [attachment])
    }

    @Test func aSourceFollowsARecordThatThisDeviceRelocates() {
        var state = Fixture.uploaded()
        (state.changeTag, state.system) = (nil, RecordSystemFields())
        #expect(sources(home: [attached()], share: state) == [attachment])
    }

    @Test func aSourceDoesNotFollowARecordThatAParticipantMade() {
        #expect(sources(home: [attached()], share: created(by: "bo")) == [])
    }

    @Test func aSourceDoesNotFollowADeletedRecord() {
        var state = Fixture.uploaded()
        state.stage = .needsDelete
        #expect(sources(home: [attached()], share: state) == [])
    }

    @Test func aSourceStaysWithARecordOfTheHomeZone() {
        #expect(sources(home: [attached(), Fixture.uploaded()], share: Fixture.uploaded()) == [])
        #expect(sources(home: [attached()], share: Fixture.uploaded(), isWithheld: true) == [])
    }

    /// An equal object of the share has the same name.
    @Test func aSourceDoesNotFollowARecordWithUniqueValues() throws {
        #expect(sources(home: [attached()], share: Fixture.uploaded(), mapping: try Self.mappingWithUniqueTitles()) == [])
    }

    private static func mappingWithUniqueTitles() throws -> RecordMapping {
        var model = TestModel.model
        for index in model.entities.indices where model.entities[index].name == "Post" {
            model.entities[index].uniquenessConstraints = [["title"]]
        }
        return RecordMapping(model: try ResolvedModel(model), allowing: [.uniquenessConstraints])
    }

    // MARK: Links

    private let tag = Fixture.key("Tag", 7)

    /// Returns the object that a link of a post and a tag brings to the share.
    private func linked(
        home: [RecordState] = [Fixture.uploaded("tag-1", "Tag", 7)], share: [RecordState] = [Fixture.uploaded()],
        mapping: RecordMapping = Fixture.mapping, stage: MirrorStage = .uploaded, isWithheld: Bool = false
    ) -> RowKey? {
        DeferredReferenceFollowers.linked(
            by: Fixture.link("link-1", stage), mapping: mapping, home: { name in home.first { $0.recordName == name } },
            isWithheld: { _ in isWithheld }, share: { name in share.first { $0.recordName == name } })
    }

    /// A device relocated a post, and withheld the tag: the link reached the home zone of devices that had received the relocation before.
    @Test func aLinkedObjectFollowsARelocatedOne() {
        #expect(linked() == tag)
        #expect(linked(home: [Fixture.uploaded()], share: [Fixture.uploaded("tag-1", "Tag", 7)]) == post)
    }

    @Test func aLinkedObjectFollowsARecordThatThisDeviceRelocates() {
        var state = Fixture.uploaded()
        (state.changeTag, state.system) = (nil, RecordSystemFields())
        #expect(linked(share: [state]) == tag)
    }

    @Test func aLinkedObjectDoesNotFollowARecordThatAParticipantMade() { #expect(linked(share: [created(by: "bo")]) == nil) }

    @Test func aLinkedObjectDoesNotFollowADeletedRecord() {
        var state = Fixture.uploaded()
        state.stage = .needsDelete
        #expect(linked(share: [state]) == nil)
        #expect(linked(share: []) == nil)
    }

    @Test func anUnlinkedObjectStays() { #expect(linked(stage: .needsDelete) == nil) }

    @Test func aLinkedObjectStaysWithARecordOfTheHomeZone() {
        #expect(linked(home: [Fixture.uploaded("tag-1", "Tag", 7), Fixture.uploaded()]) == nil)
        #expect(linked(isWithheld: true) == nil)
    }

    @Test func anObjectThatIsDeletedOrRelocatedIsNotRelocated() {
        var deleted = Fixture.uploaded("tag-1", "Tag", 7)
        deleted.stage = .needsDelete
        #expect(linked(home: [deleted]) == nil)
        var relocated = deleted
        relocated.role = .source(isObjectDeleted: false)
        #expect(linked(home: [relocated]) == nil)
        #expect(linked(home: []) == nil)
    }

    /// An equal object of the share has the same name, and only a relocated one has a stamp.
    @Test func aLinkedObjectFollowsARecordWithUniqueValuesIfThatWasRelocated() throws {
        let mapping = try Self.mappingWithUniqueTitles()
        #expect(linked(mapping: mapping) == nil)
        func relocated(from source: String, zone: String = MirrorNames.zone) -> RecordState {
            var state = Fixture.uploaded()
            state.ancestor.unapplied = Fixture.arriving(source: source, zone: zone).fields.filter { $0.key == MirrorNames.moveReceipt }
            return state
        }
        #expect(linked(share: [relocated(from: "post-1")], mapping: mapping) == tag)
        #expect(linked(share: [relocated(from: "post-2")], mapping: mapping) == nil)
        #expect(linked(share: [relocated(from: "post-1", zone: "another")], mapping: mapping) == nil)
    }
}

/// References of objects with records in other zones than the page's.
@Suite struct ClearedReferenceTests {
    private let attachment = Fixture.key("Attachment", 5), post = Fixture.key("Post", 1)

    /// A page deletes a post to which an attachment of another zone refers.
    private var cleared: [ClearedReference] {
        var loaded = ImportPlan.Loaded()
        loaded.records["post-1"] = Fixture.uploaded()
        for row in [Fixture.row(post), Fixture.row(attachment, ["post": .reference(post)])] { loaded.rows[row.key] = row }
        loaded.referrers[post] = [attachment]
        let page = ImportPage(records: [], deletions: ["post-1"], askedWith: "1", token: "2", moreComing: false)
        return ImportPlan.make(page, loaded: loaded, mapping: Fixture.mapping).clearedElsewhere
    }

    private func deferred(_ fields: [String: Field]) -> [ParkedRelationship?] {
        var state = Fixture.uploaded("attachment-5", "Attachment", 5)
        state.ancestor = Ancestor(fields: fields)
        return cleared.map { $0.deferred(of: state, mapping: Fixture.mapping) }
    }

    @Test func aReferenceThatTheServerHasIsDeferred() {
        let reference = ParkedRelationship(source: "attachment-5", relationship: "post", destination: "post-1")
        #expect(deferred(["CD_post": Field(.string("post-1"))]) == [reference])
    }

    @Test func aReferenceThatOnlyThisDeviceHasIsCleared() {
        #expect(deferred([:]) == [nil])
        #expect(deferred(["CD_post": Field(.string("post-2"))]) == [nil])
    }
}
