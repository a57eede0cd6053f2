// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

private typealias Fixture = RelocationFixture

/// Edits that other devices made to source records.
@Suite struct ForwardedEditsTests {
    private let post = Fixture.key("Post", 1)

    private func update(_ key: RowKey, _ values: [String: StoredValue] = [:]) -> RowIntent {
        .update(Fixture.row(key, values), changedSlots: [0])
    }

    @Test func aForwardedEditIsSentFromTheDestination() {
        #expect(ForwardedEdits(rows: [update(post)], records: [Fixture.source()], links: []).edited == [post])
    }

    /// Other devices awaited an edit that made no difference on the relocating device.
    @Test func aVersionWithoutDifferencesIsForwarded() {
        #expect(ForwardedEdits(rows: [], records: [Fixture.source()], links: []).edited == [post])
    }

    // MARK: The forwarded version

    private func current(seen: Int64?) -> RecordState {
        var state = Fixture.uploaded()
        state.ancestor.unapplied = Fixture.arriving(seen: seen).fields
        return state
    }

    @Test func theStampNamesTheForwardedVersion() {
        var source = Fixture.source()
        source.modified = Fixture.stamp(1500)
        #expect(RelocationStamp.forwarding(source, to: current(seen: 1000))?.seen == 1500)
    }

    @Test(arguments: [1500, 1600, nil] as [Int64?])
    func aVersionNamedByTheStampIsNotForwardedAgain(seen: Int64?) {
        var source = Fixture.source()
        source.modified = Fixture.stamp(1500)
        #expect(RelocationStamp.forwarding(source, to: current(seen: seen)) == nil)
    }

    @Test func theStampIsSentEvenIfNoValueChanged() throws {
        var state = Fixture.uploaded()
        state.stage = .needsUpload
        state.ancestor = Ancestor(fields: ["CD_title": Field(.string("Trip")), "CD_views": Field(.int64(7))])
        var loaded = BatchPlan.Loaded()
        loaded.rows[state.key] = Fixture.row(state.key, ["title": .string("Trip")])
        #expect(BatchPlan.plan(records: [state], links: [], loaded: loaded, mapping: Fixture.mapping).items.isEmpty)
        var stamp = RelocationStamp(name: "post-1", zone: ZoneID(zoneName: MirrorNames.zone))
        stamp.seen = 1500
        loaded.receipts["post-1"] = stamp
        let item = try #require(BatchPlan.plan(records: [state], links: [], loaded: loaded, mapping: Fixture.mapping).items.first)
        #expect(RelocationStamp(item.record)?.seen == 1500)
        #expect(Array(item.record.fields.keys) == [MirrorNames.moveReceipt])
    }

    @Test func anEditOfAnObjectInTheHomeZoneIsNotForwarded() {
        let edits = ForwardedEdits(rows: [update(post)], records: [Fixture.uploaded()], links: [])
        #expect(edits.edited.isEmpty)
        #expect(edits.unapplied.isEmpty)
    }

    /// Fields that a newer app version wrote while an older one shared the object did not arrive in the share.
    @Test func fieldsOfNewerVersionsAreForwarded() {
        let edits = ForwardedEdits(rows: [], records: [Fixture.source()], links: [])
        #expect(edits.unapplied.map(\.key) == [post])
        #expect(edits.unapplied.map(\.fields) == [["CD_later": Field(.string("newer"))]])
    }

    /// Objects related to a relocated object at its source did not follow it.
    @Test func changedRowsNameTheirTargets() {
        let attachment = Fixture.key("Attachment", 5)
        let edits = ForwardedEdits(
            rows: [.insert(Fixture.row(attachment, ["post": .reference(post)])), update(post)], records: [], links: [])
        #expect(edits.connections == [.init(key: attachment, references: [post]), .init(key: post, references: [])])
    }

    @Test func deletedRowsConnectNoObjects() {
        #expect(ForwardedEdits(rows: [.delete(post, version: 1)], records: [], links: []).connections.isEmpty)
    }

    /// The third has taken the place of the second, since the page merged one of its objects: the other object was not relocated.
    @Test func linksAreFollowedUnlessTheyAreDeleted() {
        let links = [Fixture.link("a"), Fixture.link("b", .needsDelete), Fixture.link("c", .needsUpload)]
        #expect(ForwardedEdits(rows: [], records: [], links: links).links.map(\.recordName) == ["a", "c"])
    }

    // MARK: Following

    @Test(
        arguments: [
            (Int64?.some(0), [Int64?.some(3), 2], Int64?.some(2)), (0, [0, nil], nil), (0, [], nil), (4, [2], nil), (nil, [2], nil),
            (0, [nil, 5, 0], 5),
        ] as [(Int64?, [Int64?], Int64?)])
    func anObjectInTheHomeZoneIsRelocatedToTheOldestShare(zone: Int64?, others: [Int64?], destination: Int64?) {
        #expect(ForwardedEdits.destination(ofObjectIn: zone, following: others, home: Fixture.home) == destination)
    }
}

/// Deferred references of objects that reach a zone by a relocation.
@Suite struct DeferredReferenceArrivalTests {
    private let post = Fixture.key("Post", 1), attachment = Fixture.key("Attachment", 5)
    private let reference = ParkedRelationship(source: "attachment-5", relationship: "post", destination: "post-1")

    private func source(_ stage: MirrorStage = .uploaded) -> RecordState {
        RecordState(recordName: "attachment-5", key: attachment, stage: stage)
    }

    private func decide(_ reference: ParkedRelationship? = nil, source: RecordState?, _ values: [String: StoredValue]?, target: RowKey?)
        -> DeferredReferenceArrival
    {
        DeferredReferenceArrival.decide(
            reference ?? self.reference, source: source, row: values.map { Fixture.row(attachment, $0) }, target: target,
            mapping: Fixture.mapping)
    }

    /// A reference came into a share before its target, which this device then relocated there: it was never set.
    @Test func aForwardedReferenceIsSetWhenItsTargetArrives() throws {
        guard case .slot(let slot)? = TestModel.entity("Attachment").location(of: "post") else { return }
        #expect(decide(source: source(), [:], target: post) == .set(slot: slot, target: post))
    }

    @Test func aForwardedReferenceIsDeferredUntilItsTargetArrives() { #expect(decide(source: source(), [:], target: nil) == .waits) }

    @Test func aForwardedReferenceIsDeferredUntilItsSourceArrives() {
        #expect(decide(source: nil, nil, target: post) == .waits)
        #expect(decide(source: source(), nil, target: post) == .waits)
    }

    @Test func aForwardedReferenceOfADeletedObjectIsNotSet() { #expect(decide(source: source(.needsDelete), [:], target: post) == .waits) }

    @Test func aForwardedReferenceThatIsAlreadySetIsResolved() {
        #expect(decide(source: source(), ["post": .reference(post)], target: post) == .done)
    }

    /// A relationship was set before its target had arrived, and the target was in no conflict log when it arrived.
    @Test func aConcurrentLocalValueWinsOverAForwardedReference() {
        guard case .lost(let conflict) = decide(source: source(), ["post": .reference(Fixture.key("Post", 2))], target: post) else {
            Issue.record("the reference is not in the conflict log")
            return
        }
        #expect(conflict.entity == "Attachment")
        #expect(conflict.property == "post")
        #expect(conflict.losing == .string("post-1"))
        #expect(conflict.winner == .local)
    }

    @Test func aForwardedReferenceToAnotherEntityIsNotSet() {
        #expect(decide(source: source(), [:], target: Fixture.key("Tag", 1)) == .waits)
    }

    @Test func aForwardedReferenceToASubentityIsSet() throws {
        let target = Fixture.key("ImagePost", 3)
        guard case .set(_, let set) = decide(source: source(), [:], target: target) else {
            Issue.record("the reference is not set")
            return
        }
        #expect(set == target)
    }

    @Test func aForwardedReferenceOfAnUnknownRelationshipIsIgnored() {
        let unknown = ParkedRelationship(source: "attachment-5", relationship: "album", destination: "post-1")
        #expect(decide(unknown, source: source(), [:], target: post) == .waits)
    }

    /// An object arrived in a share after its target, and did not refer to it.
    @Test func fieldsWhoseTargetArrivedFirstLoseTheirMergeBase() {
        let other = ParkedRelationship(source: "attachment-5", relationship: "imageData", destination: "image-1")
        let resolved = DeferredReferenceArrival.resolvedFields(of: source(), [reference, other], mapping: Fixture.mapping) {
            $0 == "post-1"
        }
        #expect(resolved.map(\.field) == ["CD_post"])
        #expect(resolved.map(\.key) == [reference.key])
    }

    // MARK: Links

    private func links(_ first: RecordState?, _ second: RecordState?, rows: Set<RowKey>) throws -> Bool {
        try #require(Fixture.mapping.links[Fixture.postTags]).links(first, second, in: Fixture.mapping) { rows.contains($0) }
    }

    @Test func rowsAreLinkedIfBothAreVisible() throws {
        let tag = Fixture.uploaded("tag-1", "Tag", 2)
        #expect(try links(Fixture.uploaded(), tag, rows: [post, tag.key]))
        #expect(try !links(Fixture.uploaded(), tag, rows: [post]))
        #expect(try !links(Fixture.uploaded(), nil, rows: [post, tag.key]))
    }

    @Test func deletedObjectsAreNotLinked() throws {
        var tag = Fixture.uploaded("tag-1", "Tag", 2)
        tag.stage = .needsDelete
        #expect(try !links(Fixture.uploaded(), tag, rows: [post, tag.key]))
    }

    @Test func objectsOfOtherEntitiesAreNotLinked() throws {
        let other = Fixture.uploaded("post-2", "Post", 2)
        #expect(try !links(Fixture.uploaded(), other, rows: [post, other.key]))
    }
}
