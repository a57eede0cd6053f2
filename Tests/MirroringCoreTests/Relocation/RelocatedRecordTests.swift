// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

private typealias Fixture = RelocationFixture

/// The two records of a relocated object.
@Suite struct RelocatedRecordTests {
    @Test func theDestinationIsSentAsANewRecord() {
        let destination = RelocatedRecord(Fixture.uploaded(), mark: 9, keepsSource: true).destination
        #expect(destination.role == .current)
        #expect(destination.stage == .needsUpload)
        #expect(destination.changeTag == nil)
        #expect(destination.mark == 9)
        #expect(destination.generation == 0)
        #expect(destination.modified == nil)
        #expect(destination.ancestor.fields.isEmpty)
        #expect(destination.ancestor.digests.isEmpty)
    }

    /// A later version of the app wrote fields that this version does not know.
    @Test func theDestinationHasFieldsOfNewerModelVersions() {
        let destination = RelocatedRecord(Fixture.uploaded(), mark: 9, keepsSource: true).destination
        #expect(destination.ancestor.unapplied == ["CD_later": Field(.string("newer"))])
    }

    /// The device has no content of an asset of such a field.
    @Test func assetsOfNewerModelVersionsAreReusedFromTheSource() throws {
        var state = Fixture.uploaded()
        state.ancestor.unapplied["CD_long_ckAsset"] = Field(.asset(AssetValue(fileChecksum: "aa", size: 3)))
        let destination = RelocatedRecord(state, as: "post-2", mark: 9, keepsSource: true).destination
        var loaded = BatchPlan.Loaded()
        loaded.rows[destination.key] = Fixture.row(destination.key, ["title": .string("Trip")])
        let home = ZoneID(zoneName: MirrorNames.zone)
        loaded.receipts["post-2"] = RelocationStamp(name: "post-1", zone: home)
        let item = try #require(BatchPlan.plan(records: [destination], links: [], loaded: loaded, mapping: Fixture.mapping).items.first)
        #expect(item.record.fields["CD_later"] == Field(.string("newer")))
        #expect(item.record.fields["CD_long_ckAsset"] == nil)
        #expect(item.reusedAssets == [ExportBatch.ReusedAsset(field: "CD_long_ckAsset", recordName: "post-1", zone: home)])
        #expect(!item.isWritable)
        let asset = AssetValue(fileChecksum: "aa", size: 3, receipt: "receipt")
        let written = item.written(with: ["CD_long_ckAsset": asset])
        #expect(written.record.fields["CD_long_ckAsset"] == Field(.asset(asset)))
        #expect(written.isWritable)
        #expect(item.written(with: [:]).record.fields["CD_long_ckAsset"] == nil)
    }

    @Test func theDestinationKeepsTheCreatorAndNoOtherSystemField() {
        let destination = RelocatedRecord(Fixture.uploaded(), mark: 9, keepsSource: true).destination
        #expect(destination.system == RecordSystemFields(creator: "mia"))
    }

    @Test func theDestinationClearsARejection() {
        var state = Fixture.uploaded()
        state.failure = "not yours"
        let relocated = RelocatedRecord(state, mark: 9, keepsSource: true)
        #expect(relocated.destination.failure == nil)
        #expect(relocated.source?.failure == nil)
    }

    @Test func theDestinationKeepsNameAndRow() {
        let destination = RelocatedRecord(Fixture.uploaded(), mark: 9, keepsSource: true).destination
        #expect(destination.recordName == "post-1")
        #expect(destination.key == Fixture.key("Post", 1))
    }

    @Test func theSourceIsDeletedWithItsLastChangeTag() throws {
        let source = try #require(RelocatedRecord(Fixture.uploaded(), mark: 9, keepsSource: true).source)
        #expect(source.isRelocated)
        #expect(source.stage == .needsDelete)
        #expect(source.changeTag == "a")
        #expect(source.mark == 9)
    }

    /// Edits of other devices are measured against it, and are forwarded.
    @Test func theSourceKeepsTheMergeBase() throws {
        let source = try #require(RelocatedRecord(Fixture.uploaded(), mark: 9, keepsSource: true).source)
        #expect(source.ancestor == Fixture.uploaded().ancestor)
        #expect(source.modified == Fixture.stamp(1000))
        #expect(source.generation == 4)
    }

    /// The home zone of a store for shared data is not on the server.
    @Test func aDeletedSourceZoneHasNoSourceRecord() {
        #expect(RelocatedRecord(Fixture.uploaded(), mark: 9, keepsSource: false).source == nil)
    }

    @Test(arguments: [(MirrorStage.uploaded, true), (.needsUpload, true), (.needsDelete, false), (.missing, false)])
    func objectsWithAPendingDeletionAreNotRelocated(stage: MirrorStage, isRelocatable: Bool) {
        var state = Fixture.uploaded()
        state.stage = stage
        #expect(RelocatedRecord.isRelocatable(state) == isRelocatable)
    }

    // MARK: Roles

    @Test(arguments: [(MirrorStage.uploaded, true), (.needsUpload, true), (.missing, true), (.needsDelete, false)])
    func currentRecordHasARowUntilItIsDeleted(stage: MirrorStage, hasRow: Bool) {
        var state = Fixture.uploaded()
        state.stage = stage
        #expect(state.hasRow == hasRow)
    }

    @Test func sourceRecordHasARowWhileTheObjectIsAtItsDestination() {
        #expect(Fixture.source().hasRow)
        #expect(!Fixture.source(isObjectDeleted: true).hasRow)
        #expect(Fixture.source(isObjectDeleted: true).isDeletedAtDestination)
        #expect(!Fixture.source().isDeletedAtDestination)
    }

    // MARK: Undoing

    /// The response to its creation may have been lost.
    @Test func aDeletionUndoesTheRelocationOfAnObjectWithItsOwnName() {
        var source = Fixture.source()
        source.changeTag = nil
        #expect(UndoneRelocation.isDecided(byDeletionOf: source, mapping: Fixture.mapping))
        #expect(!UndoneRelocation.isDecided(byDeletionOf: Fixture.uploaded(), mapping: Fixture.mapping))
    }

    @Test func anUndoneRelocationMakesTheSourceCurrent() {
        let undone = UndoneRelocation(source: Fixture.source(), current: Fixture.uploaded(), mark: 9)
        #expect(undone.source.role == .current)
        #expect(undone.source.stage == .uploaded)
        #expect(undone.source.changeTag == "a")
    }

    @Test func anUndoneRelocationDeletesAnAcknowledgedDestination() throws {
        var current = Fixture.uploaded()
        current.changeTag = "z"
        let destination = try #require(UndoneRelocation(source: Fixture.source(), current: current, mark: 9).destination)
        #expect(destination.isRelocated)
        #expect(destination.stage == .needsDelete)
        #expect(destination.mark == 9)
        #expect(destination.changeTag == "z")
    }

    @Test func anUndoneRelocationDropsAnUnsentDestination() {
        let relocated = RelocatedRecord(Fixture.uploaded(), mark: 5, keepsSource: true)
        #expect(UndoneRelocation(source: Fixture.source(), current: relocated.destination, mark: 9).destination == nil)
    }

    @Test func aRelocationAndItsUndoKeepTheAcknowledgedVersion() throws {
        let state = Fixture.uploaded()
        let relocated = RelocatedRecord(state, mark: 5, keepsSource: true)
        let undone = UndoneRelocation(source: try #require(relocated.source), current: relocated.destination, mark: 9).source
        #expect(undone.ancestor == state.ancestor)
        #expect(undone.changeTag == state.changeTag)
        #expect(undone.key == state.key)
    }

    @Test func aRecordRelocatedBackIsSentAgain() {
        let state = Fixture.source().takenBack(isLost: false)
        #expect(state.role == .current)
        #expect(state.stage == .needsUpload)
        #expect(state.changeTag == "a")
        #expect(state.ancestor == Fixture.source().ancestor)
    }

    /// A restored server has lost the version: taken for a merge base, it would hide the edits of this device from the conflict log.
    @Test func aLostVersionIsNoMergeBaseOfARecordRelocatedBack() {
        var source = Fixture.source()
        source.changeTag = nil
        let state = source.takenBack(isLost: false)
        #expect(state.ancestor.fields.isEmpty)
        #expect(state.ancestor.digests.isEmpty)
        #expect(state.ancestor.unapplied == ["CD_later": Field(.string("newer"))])
    }

    /// Other devices received the object from the lost zone. Their record is taken for the echo of a request otherwise, and its values are
    /// not logged.
    @Test func aRecordRelocatedBackFromALostZoneHasNoEcho() {
        var source = Fixture.source()
        #expect(source.takenBack(isLost: true).system.created == 900)
        source.system.created = nil
        #expect(source.takenBack(isLost: true).system.created == RecordStamp.unknownTime)
        #expect(source.takenBack(isLost: false).system.created == nil)
    }

    // MARK: A restored server has the source record again

    private func restored(of current: RecordState, type: String = "CD_Post", owner: String? = "mia") -> RecordState? {
        RelocatedRecord.restoredSource(
            Fixture.arriving(type: type, source: nil), of: current, owner: owner, generation: 7, mark: 9, mapping: Fixture.mapping,
            key: { Fixture.key("Post", 99) })
    }

    private func lost() -> RecordState {
        var state = Fixture.uploaded()
        state.changeTag = nil
        state.stage = .needsUpload
        return state
    }

    /// Its deletion waits until the server has the current record again.
    @Test func theSourceOfALostRecordIsTheObjects() throws {
        let source = try #require(restored(of: lost()))
        #expect(source.key == lost().key)
        #expect(source.role == .source(isObjectDeleted: false))
        #expect(source.stage == .needsDelete)
        #expect(source.changeTag == "z")
        #expect(source.generation == 7)
        #expect(source.ancestor.fields.isEmpty)
    }

    /// Another device may delete it as well, which does not delete the object.
    @Test func theSourceOfAKnownRecordHasNoRow() throws {
        let source = try #require(restored(of: Fixture.uploaded()))
        #expect(source.key == Fixture.key("Post", 99))
        #expect(source.stage == .needsDelete)
    }

    @Test func recordsOfOtherObjectsAreNotDeleted() {
        #expect(restored(of: lost(), type: "CD_Tag") == nil)
        #expect(restored(of: lost(), owner: "bo") == nil)
        #expect(restored(of: lost(), owner: nil) != nil)
        #expect(restored(of: Fixture.source()) == nil)
    }

    /// The user deleted the object before the device knew of the restore.
    @Test func theSourceOfADeletedRecordHasNoRow() throws {
        var deleted = lost()
        deleted.stage = .needsDelete
        #expect(try #require(restored(of: deleted)).key == Fixture.key("Post", 99))
    }

    // MARK: Relocating back

    /// Without a row, it could neither be sent nor be deleted.
    @Test func aDeletedObjectRelocatedBackIsDeleted() {
        let state = Fixture.source(isObjectDeleted: true).takenBack(isLost: false)
        #expect(state.role == .current)
        #expect(state.stage == .needsDelete)
    }

    // MARK: Adopting and reconciling

    @Test func anAdoptedRecordHasAnOlderVersionThanTheServer() {
        var state = Fixture.uploaded()
        state.failure = "not yours"
        let adopted = state.adopted(as: "post-9")
        #expect(adopted.recordName == "post-9")
        #expect(adopted.changeTag == "")
        #expect(adopted.failure == nil)
        #expect(adopted.key == state.key)
        #expect(adopted.ancestor == state.ancestor)
    }

    /// Each zone counts its own full fetches.
    @Test func anAdoptedRecordHasNoFullFetchEpoch() { #expect(Fixture.uploaded().adopted(as: "post-1").generation == 0) }

    /// Two devices relocated one object; the second one lost its former state, and showed an older value.
    @Test func aReconciledRecordIsMergedWithTheSourceAsBase() {
        let relocated = RelocatedRecord(Fixture.uploaded(), mark: 5, keepsSource: true)
        let reconciled = relocated.destination.reconciled(with: Fixture.source())
        #expect(reconciled.ancestor.fields == Fixture.uploaded().ancestor.fields)
        #expect(reconciled.ancestor.digests == Fixture.uploaded().ancestor.digests)
        #expect(reconciled.modified == Fixture.stamp(1000))
        #expect(reconciled.changeTag == "")
        #expect(reconciled.stage == .needsUpload)
    }

    @Test func removingTheMergeBaseOfAFieldKeepsThoseOfOthers() {
        var state = Fixture.uploaded()
        state.ancestor.fields["CD_post"] = Field(.string("post-2"))
        #expect(state.withoutMergeBase(of: ["CD_post"]).ancestor.fields == ["CD_title": Field(.string("Trip"))])
    }
}

/// The two join records of a relocated pair.
@Suite struct RelocatedLinkTests {
    @Test func theDestinationIsSentAsANewJoinRecord() {
        var link = Fixture.link()
        link.failure = "not yours"
        let destination = RelocatedLink(link, mark: 9, keepsSource: true, hasBothEndsAtSource: true).destination
        #expect(destination.stage == .needsUpload)
        #expect(destination.changeTag == nil)
        #expect(destination.failure == nil)
        #expect(destination.mark == 9)
        #expect(destination.generation == 0)
        #expect(destination.pair == link.pair)
    }

    @Test func theSourceJoinRecordIsDeleted() throws {
        let source = try #require(RelocatedLink(Fixture.link(), mark: 9, keepsSource: true, hasBothEndsAtSource: true).source)
        #expect(source.stage == .needsDelete)
        #expect(source.mark == 9)
        #expect(source.changeTag == "b")
    }

    @Test func aDeletedSourceZoneHasNoSourceRecord() {
        #expect(RelocatedLink(Fixture.link(), mark: 9, keepsSource: false, hasBothEndsAtSource: false).source == nil)
    }

    /// A link arrived in the home zone after one of its objects had left, and was deleted there instead of following.
    @Test func rowsAreLinkedIfTheJoinRecordArrivesAfterARelocation() {
        #expect(RelocatedLink(Fixture.link(), mark: 9, keepsSource: true, hasBothEndsAtSource: false).isLinkedOnArrival)
        #expect(!RelocatedLink(Fixture.link(), mark: 9, keepsSource: true, hasBothEndsAtSource: true).isLinkedOnArrival)
    }

    /// A device relocated two objects, and another one, which had linked them and not sent the link, withheld one of them: the link was sent
    /// to the home zone.
    @Test func aLinkFollowsAnObjectThatTheDestinationZoneWithholds() {
        func name(withheld: Set<String>, source: RecordState? = nil) -> String? {
            RelocatedLink.destinationName(
                of: "tag-1", source: source, hasRecord: { _ in false }, isWithheld: { withheld.contains($0) }, nameOf: { _ in nil })
        }
        #expect(name(withheld: ["tag-1"]) == "tag-1")
        #expect(name(withheld: []) == nil)
        #expect(name(withheld: ["tag-1"], source: Fixture.uploaded("tag-1", "Tag")) == nil)
    }

    private func hasBothEnds(_ records: Set<String>, withheld: Set<String> = []) -> Bool {
        RelocatedLink.hasBothEnds(Fixture.link(), hasRecord: { records.contains($0) }, isWithheld: { withheld.contains($0) })
    }

    @Test func aPairWithTheRecordsOfBothObjectsWasShown() {
        #expect(hasBothEnds(["post-1", "tag-1"]))
        #expect(!hasBothEnds(["post-1"]))
    }

    /// A tag was relocated, and another device had linked another tag of its name in the home zone: the device that relocated the post with
    /// that link never showed the pair.
    @Test func aPairWithAWithheldRecordWasNotShown() { #expect(!hasBothEnds(["post-1", "tag-1"], withheld: ["tag-1"])) }

    @Test func rowsOfASharedStoreAreNotLinkedOnArrival() {
        #expect(!RelocatedLink(Fixture.link(), mark: 9, keepsSource: false, hasBothEndsAtSource: false).isLinkedOnArrival)
    }

    /// One object was unlinked and related to a shared object in the same history: the other one is not relocated.
    @Test func aStayingJoinRecordOfAnUnlinkedPairIsDeleted() throws {
        let deletion = try #require(RelocatedLink.deletion(ofStaying: Fixture.link(), mark: 9, isLinked: false))
        #expect(deletion.stage == .needsDelete)
        #expect(deletion.mark == 9)
        #expect(deletion.changeTag == "b")
        #expect(RelocatedLink.deletion(ofStaying: Fixture.link("link-1", .needsUpload), mark: 9, isLinked: false)?.stage == .needsDelete)
    }

    @Test func aStayingJoinRecordOfALinkedPairStays() {
        #expect(RelocatedLink.deletion(ofStaying: Fixture.link(), mark: 9, isLinked: true) == nil)
    }

    /// The link waits for an object that has not arrived.
    @Test func aStayingJoinRecordOfAMissingObjectStays() {
        #expect(RelocatedLink.deletion(ofStaying: Fixture.link(), mark: 9, isLinked: nil) == nil)
    }

    /// The object of the share was withheld when it was relocated, so that no rows were linked.
    @Test func anObjectFollowsALinkToANewRow() {
        let tag = Fixture.uploaded("tag-1", "Tag", 2)
        #expect(RelocatedLink.follower(of: Fixture.link(), to: Fixture.uploaded()) { $0 == "tag-1" ? tag : nil } == tag.key)
    }

    @Test func noObjectFollowsARecordThatAParticipantCreated() {
        let tag = Fixture.uploaded("tag-1", "Tag", 2)
        var forged = Fixture.uploaded()
        forged.system.creator = "zoe"
        #expect(RelocatedLink.follower(of: Fixture.link(), to: forged) { _ in tag } == nil)
    }

    @Test func noObjectFollowsADeletedLink() {
        let tag = Fixture.uploaded("tag-1", "Tag", 2)
        #expect(RelocatedLink.follower(of: Fixture.link("link-1", .needsDelete), to: Fixture.uploaded()) { _ in tag } == nil)
    }

    @Test func aRelocatedOrUnknownObjectDoesNotFollow() {
        #expect(RelocatedLink.follower(of: Fixture.link(), to: Fixture.uploaded()) { _ in Fixture.source() } == nil)
        #expect(RelocatedLink.follower(of: Fixture.link(), to: Fixture.uploaded()) { _ in nil } == nil)
    }

    @Test func aStayingJoinRecordIsDeletedOnce() {
        #expect(RelocatedLink.deletion(ofStaying: Fixture.link("link-1", .needsDelete), mark: 9, isLinked: false) == nil)
    }

    @Test func aJoinRecordIsRelocatedOnceBothEndsAreAtTheDestination() {
        #expect(RelocatedLink.pair(of: Fixture.link(), isSymmetric: false) { $0 == "tag-1" ? nil : $0 } == nil)
        #expect(RelocatedLink.pair(of: Fixture.link(), isSymmetric: false) { $0 } == Fixture.link().pair)
    }

    @Test func aJoinRecordHasTheNamesOfTheDestinationZone() {
        let pair = RelocatedLink.pair(of: Fixture.link(), isSymmetric: false) { $0 == "tag-1" ? "another" : $0 }
        #expect(pair == Fixture.link(second: "another").pair)
        #expect(RelocatedLink.pair(of: Fixture.link(), isSymmetric: true) { $0 == "tag-1" ? "another" : $0 }?.first == "another")
    }

    /// A name that follows from unique values may be another object's in the destination zone.
    @Test func aDestinationNameBelongsToTheSameRow() {
        let source = Fixture.source()
        func name(_ source: RecordState?) -> String? {
            RelocatedLink.destinationName(
                of: "post-1", source: source, hasRecord: { $0 == "post-1" }, isWithheld: { _ in false },
                nameOf: { $0 == Fixture.key("Post", 1) ? "renamed" : nil })
        }
        #expect(name(source) == "renamed")
        #expect(name(Fixture.uploaded()) == nil)
        #expect(name(nil) == "post-1")
    }

    /// A pair was unlinked as one of its objects was relocated, and was linked again on another device.
    @Test func anUnlinkedJoinRecordIsNotRelocated() {
        #expect(RelocatedLink.pair(of: Fixture.link("l", .needsDelete), isSymmetric: false) { $0 } == nil)
    }

    @Test func theEndsOfALinkAreOpposite() {
        #expect(Fixture.link().pair.end(opposite: "post-1") == "tag-1")
        #expect(Fixture.link().pair.end(opposite: "tag-1") == "post-1")
    }

    @Test func aLinkOfAnObjectToItselfHasEqualEnds() { #expect(Fixture.link(first: "a", second: "a").pair.end(opposite: "a") == "a") }
}
