// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import Testing

private typealias Fixture = RelocationFixture

/// One device deletes an object while another one relocates it.
@Suite struct RepeatedDeletionTests {
    private func isRepeated(_ source: RecordState?, isUnique: Bool = false, wasDeleted: Bool = false, isKnown: Bool = false) -> Bool {
        RepeatedDeletions.isRepeated(source: source, isUnique: isUnique, wasDeleted: wasDeleted, isKnown: isKnown)
    }

    private func pending() -> RecordState {
        var state = Fixture.uploaded()
        state.stage = .needsDelete
        return state
    }

    // MARK: Which are repeated

    /// A deleted object returned with the share into which another device relocated it.
    @Test func anAcknowledgedDeletionIsRepeatedInTheDestination() { #expect(isRepeated(nil, wasDeleted: true)) }

    /// An object was deleted before its device learned of its share, and came back from its source with a later version of the app.
    @Test func aPendingDeletionIsRepeatedInTheDestination() { #expect(isRepeated(pending())) }

    /// A device relocated an object and deleted it before it was sent; it came back with another device that relocated it, too.
    @Test func theDeletionOfARelocatedObjectIsRepeated() { #expect(isRepeated(Fixture.source(isObjectDeleted: true))) }

    @Test func anExistingObjectIsNotDeletedAgain() {
        #expect(!isRepeated(nil))
        #expect(!isRepeated(Fixture.uploaded()))
        #expect(!isRepeated(Fixture.source()))
    }

    @Test func aRecordOfTheZoneIsNotDeletedAgain() { #expect(!isRepeated(pending(), wasDeleted: true, isKnown: true)) }

    /// Its name follows from its values, and may belong to another object.
    @Test func deletionOfAnObjectWithUniqueValuesIsNotRepeated() {
        #expect(!isRepeated(pending(), isUnique: true))
        #expect(!isRepeated(pending(), isUnique: true, wasDeleted: true))
        #expect(!isRepeated(nil, isUnique: true, wasDeleted: true))
        #expect(isRepeated(Fixture.source(isObjectDeleted: true), isUnique: true))
    }

    /// A link that was unlinked in a share came back with a device that learned late that its objects were there.
    @Test func theDeletionOfAJoinRecordIsRepeated() {
        #expect(RepeatedDeletions.isRepeated(wasDeleted: true, isKnown: false, isInHome: false))
        #expect(!RepeatedDeletions.isRepeated(wasDeleted: false, isKnown: false, isInHome: false))
        #expect(!RepeatedDeletions.isRepeated(wasDeleted: true, isKnown: true, isInHome: false))
        #expect(!RepeatedDeletions.isRepeated(wasDeleted: true, isKnown: false, isInHome: true))
    }

    // MARK: Stored names

    private func deletion(_ record: Record, source: RecordState?, generation: Int64? = nil) throws -> RepeatedDeletions {
        var repeated = RepeatedDeletions(mapping: Fixture.mapping, mark: 9, generation: generation)
        let entity = try #require(Fixture.mapping.entity(of: record))
        repeated.add(record, entity, key: Fixture.key("Post", 77), source: source, assets: [])
        return repeated
    }

    @Test func theRepeatedDeletionHasTheChangeTag() throws {
        let repeated = try deletion(Fixture.arriving(), source: nil, generation: 6)
        let state = try #require(repeated.changes.records.first)
        #expect(repeated.names == ["post-1"])
        #expect(state.stage == .needsDelete)
        #expect(state.changeTag == "z")
        #expect(state.mark == 9)
        #expect(state.generation == 6)
        #expect(state.key == Fixture.key("Post", 77))
    }

    /// An edit of an object that was deleted while the edit was on its way is in the conflict log.
    @Test func concurrentEditsAreInTheConflictLog() throws {
        let repeated = try deletion(Fixture.arriving(title: "Journey"), source: Fixture.uploaded())
        #expect(repeated.changes.conflicts.map(\.property) == ["title"])
        #expect(repeated.changes.conflicts.map(\.losing) == [.string("Journey")])
        #expect(repeated.changes.conflicts.map(\.winner) == [.localDeletion])
    }

    @Test func knownValuesAreNotInTheConflictLog() throws {
        #expect(try deletion(Fixture.arriving(), source: Fixture.uploaded()).changes.conflicts.isEmpty)
    }

    /// The merge base of an object that was deleted at its destination is that of the destination, which is gone.
    @Test func allValuesOfAnObjectDeletedAtItsDestinationAreInTheConflictLog() throws {
        #expect(
            try deletion(Fixture.arriving(), source: Fixture.source(isObjectDeleted: true)).changes.conflicts.map(\.property) == ["title"])
    }

    @Test func theJoinRecordIsDeleted() throws {
        var repeated = RepeatedDeletions(mapping: Fixture.mapping, mark: 9, generation: nil)
        var record = Record(recordName: "link-1", recordType: MirrorNames.linkRecordType)
        record.recordChangeTag = "z"
        repeated.add(record, Fixture.link().pair)
        let link = try #require(repeated.changes.links.first)
        #expect(link.stage == .needsDelete)
        #expect(link.changeTag == "z")
        #expect(link.mark == 9)
        #expect(repeated.names == ["link-1"])
    }
}

/// The names of records that the user deleted.
@Suite struct DeletedNameTests {
    /// - Parameter shared: The records and links that shares have.
    private func names(records: [String: RecordState], links: [String] = [], isHome: Bool = true, shared: Set<String> = []) -> [String] {
        var changes = BookkeepingChanges()
        changes.removedRecords = records.keys.sorted()
        changes.removedLinks = links
        return DeletedNames.decide(
            changes, records, isHome: isHome, hasSharedRecord: { shared.contains($0) }, hasSharedLink: { shared.contains($0) })
    }

    @Test func theNameOfADeletedObjectIsStored() { #expect(names(records: ["post-1": Fixture.uploaded()]) == ["post-1"]) }

    /// Its record was deleted because it was relocated.
    @Test func theNameOfARelocatedObjectIsNotStored() { #expect(names(records: ["post-1": Fixture.source()]).isEmpty) }

    @Test func theNameOfARelocatedAndDeletedObjectIsStored() {
        #expect(names(records: ["post-1": Fixture.source(isObjectDeleted: true)]) == ["post-1"])
    }

    /// A restored server had the source record again, which this device deleted. If the object is shared once more after the share was lost,
    /// this device would delete it there.
    @Test func theNameOfASourceRecordThatReturnedIsNotStored() {
        let current = Fixture.uploaded()
        let returned = RelocatedRecord.restoredSource(
            Fixture.arriving(source: nil), of: current, owner: "mia", generation: 7, mark: 9, mapping: Fixture.mapping,
            key: { Fixture.key("Post", 99) })
        var stored = returned
        // Its key has no row: as stored, it is that of a deleted object.
        stored?.role = .source(isObjectDeleted: true)
        #expect(names(records: ["post-1": stored ?? current], shared: ["post-1"]).isEmpty)
        #expect(names(records: ["post-1": stored ?? current]) == ["post-1"])
    }

    @Test func namesOfRecordsInOtherZonesAreNotStored() { #expect(names(records: ["post-1": Fixture.uploaded()], isHome: false).isEmpty) }

    @Test func theNameOfARelocatedJoinRecordIsNotStored() { #expect(names(records: [:], links: ["a", "b"], shared: ["a"]) == ["b"]) }

    /// A device that learns late that its objects were relocated may take the link there once more.
    @Test func theNameOfAJoinRecordUnlinkedInAShareIsStored() {
        #expect(names(records: [:], links: ["a"], isHome: false, shared: ["a"]) == ["a"])
    }

    @Test func theNameOfARecordThatArrivesAgainIsEnded() throws {
        let post = Record(
            recordName: "post-1", recordType: "CD_Post", recordChangeTag: "z", fields: ["CD_entityName": Field(.string("Post"))])
        let page = ImportPage(records: [post], deletions: ["post-2"], askedWith: "1", token: "2", moreComing: false)
        let plan = ImportPlan.make(page, loaded: ImportPlan.Loaded(), mapping: Fixture.mapping)
        #expect(DeletedNames.ended(by: plan) == ["post-1"])
    }
}
