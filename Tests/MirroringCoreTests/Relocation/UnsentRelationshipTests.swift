// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

private typealias Fixture = RelocationFixture

/// Relationships to an object that this device could not relocate, and that another device has relocated.
@Suite struct UnsentRelationshipTests {
    private let post = Fixture.key("Post", 1), attachment = Fixture.key("Attachment", 5), tag = Fixture.key("Tag", 7)

    /// - Parameters:
    ///   - names: Record names of rows in the zone of the share.
    ///   - tags: Rows that the post is linked with.
    private func change(
        of state: RecordState, _ values: [String: StoredValue] = [:], names: [RowKey: String], tags: [RowKey] = [], links: [LinkState] = []
    ) -> LocalChange? {
        let toMany = TestModel.resolved.entities[state.key.entityIndex].toMany
        return UnsentRelationships.change(
            of: state, Fixture.row(state.key, values), mapping: Fixture.mapping, name: { names[$0] },
            destinations: { toMany[$0].name == "tags" ? tags : [] }, links: { links })
    }

    private var attached: RecordState {
        var state = Fixture.uploaded("attachment-5", "Attachment", 5)
        state.ancestor = Ancestor(fields: ["CD_post": Field(.string("post-2"))])
        return state
    }

    // MARK: Pairs

    /// The user linked a shared post with a tag of the home zone, whose record was missing: another device had relocated the tag.
    @Test func aPairWithAnAdoptedObjectIsSent() {
        let change = change(of: Fixture.uploaded(), names: [tag: "tag-1"], tags: [tag])
        #expect(change == LocalChange(key: post, kind: .update, changedProperties: ["tags"]))
    }

    @Test func aPairWithALinkIsNotSentAgain() {
        for stage in [MirrorStage.uploaded, .needsUpload] {
            #expect(change(of: Fixture.uploaded(), names: [tag: "tag-1"], tags: [tag], links: [Fixture.link("link-1", stage)]) == nil)
        }
    }

    /// The user unlinked the pair, and linked it again while the tag was in the home zone.
    @Test func aPairIsSentIfItsOnlyLinkIsToBeDeleted() {
        #expect(change(of: Fixture.uploaded(), names: [tag: "tag-1"], tags: [tag], links: [Fixture.link("link-1", .needsDelete)]) != nil)
    }

    @Test func aPairWithAnObjectOfAnotherZoneWaits() {
        #expect(change(of: Fixture.uploaded(), names: [:], tags: [tag]) == nil)
    }

    /// The scan gives the pair of an object that was never sent a link, too.
    @Test func aPairOfAnUnsentObjectIsSent() {
        var state = Fixture.uploaded()
        (state.changeTag, state.stage) = (nil, .needsUpload)
        #expect(change(of: state, names: [tag: "tag-1"], tags: [tag])?.changedProperties == ["tags"])
    }

    @Test(arguments: [MirrorStage.missing, .needsDelete]) func anObjectThatIsDeletedSendsNothing(stage: MirrorStage) {
        var state = Fixture.uploaded()
        state.stage = stage
        #expect(change(of: state, names: [tag: "tag-1"], tags: [tag]) == nil)
    }

    // MARK: References

    @Test func aReferenceToAnAdoptedObjectIsSent() {
        let change = change(of: attached, ["post": .reference(post)], names: [post: "post-1"])
        #expect(change == LocalChange(key: attachment, kind: .update, changedProperties: ["post"]))
    }

    @Test func aReferenceThatTheServerHasIsNotSentAgain() {
        var state = attached
        state.ancestor = Ancestor(fields: ["CD_post": Field(.string("post-1"))])
        #expect(change(of: state, ["post": .reference(post)], names: [post: "post-1"]) == nil)
    }

    @Test func aReferenceToAnObjectOfAnotherZoneWaits() {
        #expect(change(of: attached, ["post": .reference(post)], names: [:]) == nil)
    }

    /// The record is sent with all its references.
    @Test func aReferenceOfAnUnsentRecordNeedsNoChange() {
        var state = attached
        state.stage = .needsUpload
        #expect(change(of: state, ["post": .reference(post)], names: [post: "post-1"]) == nil)
    }

    /// A cleared reference is a deferred one, or a change that history has.
    @Test func aClearedReferenceIsNotSent() {
        #expect(change(of: attached, names: [post: "post-1"]) == nil)
    }
}
