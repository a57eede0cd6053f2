// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

private typealias Fixture = RelocationFixture

/// What happens to the objects of a zone that the server has deleted.
@Suite struct ZoneRemovalTests {
    @Test func aShareDeletedByTheUserDeletesItsUnsentObjects() {
        let removal = ZoneRemoval(isHome: false, keeping: .nothing, ownsObjects: true)
        #expect(removal.deletedRows == .all)
        #expect(removal.unsentObjects == .areDeleted)
        #expect(!removal.takesBackRelocations)
        #expect(removal.archivedBecause == nil)
        #expect(!removal.fetchesAgain)
    }

    @Test func aShareDeletedByTheServerMovesUnsentObjectsHome() {
        let removal = ZoneRemoval(isHome: false, keeping: .unsent, ownsObjects: true)
        #expect(removal.deletedRows == .onServer)
        #expect(removal.unsentObjects == .moveHome)
        #expect(removal.takesBackRelocations)
        #expect(!removal.marksEverythingUnsent)
        #expect(!removal.fetchesAgain)
    }

    @Test func aShareThatTheServerLostIsSentAgain() {
        let removal = ZoneRemoval(isHome: false, keeping: .all, ownsObjects: true)
        #expect(removal.marksEverythingUnsent)
        #expect(removal.unsentObjects == .moveHome)
        #expect(removal.takesBackRelocations)
        #expect(removal.archivedBecause == nil)
    }

    /// Objects that others share are not the user's to send.
    @Test func aShareOfAnotherUserThatTheServerLostIsArchived() {
        let removal = ZoneRemoval(isHome: false, keeping: .all, ownsObjects: false)
        #expect(!removal.marksEverythingUnsent)
        #expect(removal.deletedRows == .onServer)
        #expect(removal.unsentObjects == .moveHome)
        #expect(removal.archivedBecause == .shareLost)
        #expect(ZoneRemoval(isHome: false, keeping: .unsent, ownsObjects: false).archivedBecause == nil)
    }

    @Test func aHomeZoneDeletedByTheServerIsArchivedAndKeepsUnsentObjects() {
        let removal = ZoneRemoval(isHome: true, keeping: .unsent, ownsObjects: true)
        #expect(removal.deletedRows == .onServer)
        #expect(removal.unsentObjects == .stay)
        #expect(removal.archivedBecause == .dataDeleted)
        #expect(removal.fetchesAgain)
        #expect(!removal.takesBackRelocations)
    }

    /// The app purges the zone: it asked for the deletion, and needs no archive.
    @Test func aHomeZonePurgedByTheAppDeletesEverythingWithoutAnArchive() {
        let removal = ZoneRemoval(isHome: true, keeping: .nothing, ownsObjects: true)
        #expect(removal.deletedRows == .all)
        #expect(removal.unsentObjects == .areDeleted)
        #expect(removal.archivedBecause == nil)
        #expect(removal.fetchesAgain)
    }
}

/// Objects with unique values that get another record name.
@Suite struct RekeyingTests {
    private static let mapping: RecordMapping = {
        var tag = Entity(
            name: "Tag", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "related", destination: "Tag", inverse: "related", isToMany: true)])
        tag.uniquenessConstraints = [["name"]]
        do { return RecordMapping(model: try ResolvedModel(Model(entities: [tag])), allowing: [.uniquenessConstraints]) } catch {
            preconditionFailure("the test model is sound: \(error)")
        }
    }()

    private let key = RowKey(store: 0, entity: 0, primaryKey: 1)

    private func row(_ name: String?) -> Row {
        var row = Row(key: key, version: 1, values: Self.mapping.model.entities[0].defaultValues)
        if case .slot(let slot)? = Self.mapping.model.entities[0].location(of: "name"), let name { row.values[slot] = .string(name) }
        return row
    }

    private func record(_ name: String) -> Record {
        Record(
            recordName: "tag", recordType: "CD_Tag",
            fields: ["CD_name": Field(.string(name)), MirrorNames.entityNameField: Field(.string("Tag"))])
    }

    private func unsent(_ stage: MirrorStage = .needsUpload) -> RecordState { RecordState(recordName: "tag", key: key, stage: stage) }

    private func isNameTaken(_ state: RecordState, _ name: String, by other: String) -> Bool {
        Rekeying.isNameTaken(from: state, row(name), by: record(other), mapping: Self.mapping)
    }

    @Test func anObjectWithOtherValuesIsRenamed() { #expect(isNameTaken(unsent(), "swift", by: "rust")) }

    @Test func anObjectWithTheSameValuesIsMerged() { #expect(!isNameTaken(unsent(), "swift", by: "swift")) }

    @Test func anAcknowledgedRecordKeepsItsName() {
        var state = unsent()
        state.changeTag = "a"
        #expect(!isNameTaken(state, "swift", by: "rust"))
    }

    @Test func aRecordThatIsSentToARestoredServerKeepsItsName() {
        var state = unsent()
        state.system.created = 1
        #expect(!isNameTaken(state, "swift", by: "rust"))
    }

    @Test(arguments: [MirrorStage.uploaded, .needsDelete, .missing]) func aRecordWithoutPendingChangesKeepsItsName(stage: MirrorStage) {
        #expect(!isNameTaken(unsent(stage), "swift", by: "rust"))
    }

    @Test func aRelocatedRecordKeepsItsName() {
        var state = unsent()
        state.role = .source(isObjectDeleted: false)
        #expect(!Rekeying.isRekeyable(state))
    }

    // MARK: Names

    @Test func theNameIsDerivedFromTheValues() throws {
        let unique = try #require(Self.mapping.uniqueValues(of: row("swift")).first)
        #expect(Rekeying.name(of: row("swift"), mapping: Self.mapping) { _ in true } == Self.mapping.recordName(for: unique, attempt: 0))
    }

    @Test func takenNamesAreSkipped() throws {
        let unique = try #require(Self.mapping.uniqueValues(of: row("swift")).first)
        let taken = Self.mapping.recordName(for: unique, attempt: 0)
        #expect(Rekeying.name(of: row("swift"), mapping: Self.mapping) { $0 != taken } == Self.mapping.recordName(for: unique, attempt: 1))
    }

    @Test func anObjectWithoutUniqueValuesHasNoName() { #expect(Rekeying.name(of: row(nil), mapping: Self.mapping) { _ in true } == nil) }

    @Test func theSearchForANameTerminates() {
        var attempts = 0
        let name = Rekeying.name(of: row("swift"), mapping: Self.mapping) { _ in
            attempts += 1
            return false
        }
        #expect(name == nil)
        #expect(attempts == 8)
    }

    // MARK: Links

    private let kind = LinkKind(entityNames: "Tag:Tag", relationships: "related:related")

    private func links(_ link: LinkState) -> [LinkState] {
        Rekeying.links([link], renaming: "tag", to: "new", mark: 9, mapping: Self.mapping) { "made" }
    }

    private func link(_ stage: MirrorStage, changeTag: String?, mark: Int64) -> LinkState {
        var link = LinkState(recordName: "link", pair: LinkPair(kind: kind, first: "other", second: "tag"), stage: stage, mark: mark)
        link.changeTag = changeTag
        return link
    }

    @Test func anUnsentJoinRecordIsRenamed() {
        let links = links(link(.needsUpload, changeTag: nil, mark: 3))
        #expect(links.map(\.recordName) == ["link"])
        #expect(links.map(\.stage) == [.needsUpload])
        #expect(links.map(\.pair) == [LinkPair(kind: kind, first: "new", second: "other")])
    }

    /// A join record is immutable.
    @Test func anAcknowledgedJoinRecordIsReplaced() {
        let links = links(link(.uploaded, changeTag: "a", mark: 3))
        #expect(links.map(\.recordName) == ["made", "link"])
        #expect(links.map(\.stage) == [.needsUpload, .needsDelete])
        #expect(links.map(\.mark) == [9, 9])
    }

    @Test func aJoinRecordOfAnotherDeviceKeepsItsObject() { #expect(links(link(.uploaded, changeTag: "a", mark: 0)).isEmpty) }

    /// The row with the old name was linked as if it were the other object.
    @Test func aRowLeavesAPairOfTheOtherObject() {
        let foreign = link(.uploaded, changeTag: "a", mark: 0)
        #expect(Rekeying.pairsToUnlink([foreign]) == [foreign.pair])
    }

    @Test func aRowStaysInAPairOfThisDevice() {
        let own = link(.needsUpload, changeTag: nil, mark: 3)
        var foreign = link(.uploaded, changeTag: "a", mark: 0)
        foreign.recordName = "foreign"
        #expect(Rekeying.pairsToUnlink([own, foreign]) == [])
    }

    @Test func aJoinRecordWithAPendingDeletionIsNotReplaced() {
        let links = links(link(.needsDelete, changeTag: "a", mark: 3))
        #expect(links.map(\.recordName) == ["link"])
        #expect(links.map(\.stage) == [.needsDelete])
    }
}
