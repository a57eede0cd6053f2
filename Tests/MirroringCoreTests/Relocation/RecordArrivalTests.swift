// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

private typealias Fixture = RelocationFixture

/// The relation of a share's record to the objects of a device.
@Suite struct RecordArrivalTests {
    private func decide(_ record: Record, _ stored: RecordArrival.Stored) -> RecordArrival {
        RecordArrival.decide(record, stored, mapping: Fixture.mapping)
    }

    /// A source record that another device edited at a time of the server's clock.
    private func edited(title: String, at milliseconds: Int64) -> RecordState {
        var state = Fixture.uploaded(title: title)
        state.modified = Fixture.stamp(milliseconds)
        return state
    }

    /// The current record of an object that this device has relocated.
    private func relocated(changeTag: String? = nil) -> RecordState {
        var state = RelocatedRecord(Fixture.uploaded(), mark: 5, keepsSource: true).destination
        state.changeTag = changeTag
        return state
    }

    // MARK: Creators

    @Test(arguments: [("mia", true), ("bo", false), (nil, false)] as [(String?, Bool)])
    func aRelocationIsTheOwners(creator: String?, isOwners: Bool) {
        var record = Fixture.arriving()
        record.created = creator.map { RecordStamp(timestamp: 1, userRecordName: $0) }
        #expect(record.mayBeRelocation(by: "mia") == isOwners)
        #expect(record.mayBeRelocation(by: nil))
    }

    // MARK: Unknown records

    @Test func aRecordOfANewObjectIsOrdinary() { #expect(decide(Fixture.arriving(source: nil), .init()) == .ordinary) }

    @Test func aRelocatedRecordOfAnUnknownObjectIsOrdinary() { #expect(decide(Fixture.arriving(), .init()) == .ordinary) }

    @Test func aRelocatedRecordOfAnObjectInTheHomeZoneIsAdopted() {
        let source = Fixture.uploaded()
        guard case .adopted(let state, let adoptedSource, let record) = decide(Fixture.arriving("new-name"), .init(stamped: source)) else {
            Issue.record("the record is not adopted")
            return
        }
        #expect(state == source.adopted(as: "new-name"))
        #expect(adoptedSource == source)
        #expect(record.title == "Trip")
    }

    /// A stamp of another zone says nothing about the home zone's names.
    @Test func aStampOfAnotherZoneIsIgnored() {
        let record = Fixture.arriving(zone: MirrorNames.shareZonePrefix + "1")
        #expect(RelocationStamp.ofHomeZone(record) == nil)
        #expect(decide(record, .init(stamped: Fixture.uploaded())) == .ordinary)
    }

    @Test func aStampOfAnotherImplementationIsIgnored() {
        var record = Fixture.arriving()
        record.fields[MirrorNames.moveReceipt] = Field(.bytes([1, 2, 3]))
        #expect(RelocationStamp.ofHomeZone(record) == nil)
        #expect(decide(record, .init(stamped: Fixture.uploaded())) == .ordinary)
    }

    @Test func aRelocatedRecordOfAnotherTypeIsNotAdopted() {
        #expect(decide(Fixture.arriving(type: "CD_Tag"), .init(stamped: Fixture.uploaded())) == .ordinary)
    }

    /// The object was relocated by this device to another zone.
    @Test func anObjectRelocatedToAnotherZoneIsNotAdopted() {
        #expect(decide(Fixture.arriving(), .init(stamped: Fixture.source())) == .ordinary)
    }

    // MARK: Edits of the source record

    /// An object came into a share without what another device had written since, and showed that again when it was forwarded.
    @Test func editsUnknownToTheRelocatingDeviceStayVisible() throws {
        guard case .adopted(_, _, let record) = decide(Fixture.arriving(seen: 1000), .init(stamped: edited(title: "Journey", at: 1500)))
        else {
            Issue.record("the record is not adopted")
            return
        }
        #expect(record.title == "Journey")
        #expect(record.fields[MirrorNames.awaited]?.value == .list([.string("title")], of: .string))
    }

    @Test func editsKnownToTheRelocatingDeviceAreInTheRelocatedRecord() {
        guard
            case .adopted(_, _, let record) = decide(
                Fixture.arriving(title: "Walk", seen: 1500), .init(stamped: edited(title: "Journey", at: 1500)))
        else {
            Issue.record("the record is not adopted")
            return
        }
        #expect(record.title == "Walk")
        #expect(record.fields[MirrorNames.awaited] == nil)
    }

    /// Values written at the source won against later values written in the share.
    @Test func valuesChangedByTheRelocatingDeviceWin() {
        let arriving = Fixture.arriving(title: "Walk", seen: 1000, edited: ["title"])
        guard case .adopted(_, _, let record) = decide(arriving, .init(stamped: edited(title: "Journey", at: 1500))) else {
            Issue.record("the record is not adopted")
            return
        }
        #expect(record.title == "Walk")
    }

    @Test func valuesChangedInTheShareWin() {
        let arriving = Fixture.arriving(title: "Walk", seen: 1000, created: 2000, modified: 3000)
        guard case .adopted(_, _, let record) = decide(arriving, .init(stamped: edited(title: "Journey", at: 1500))) else {
            Issue.record("the record is not adopted")
            return
        }
        #expect(record.title == "Walk")
    }

    @Test func aStampWithoutTimeKeepsNoEditVisible() {
        guard case .adopted(_, _, let record) = decide(Fixture.arriving(seen: nil), .init(stamped: edited(title: "Journey", at: 1500)))
        else {
            Issue.record("the record is not adopted")
            return
        }
        #expect(record.title == "Trip")
    }

    /// A restored server lacked the source record. This device sent it again and edited it, after the other one had relocated the object.
    @Test(arguments: [(nil, ["Journey"]), (1000, [])] as [(Int64?, [String])])
    func valuesThatTheRelocatingDeviceNeverReadAreLogged(seen: Int64?, expected: [String]) {
        let record = Fixture.arriving(title: "Walk", seen: seen)
        let state = Fixture.uploaded(title: "Journey").adopted(as: "post-1")
        var loaded = ImportPlan.Loaded()
        loaded.records["post-1"] = state
        loaded.rows[state.key] = Fixture.row(state.key, ["title": .string("Journey")])
        let page = ImportPage(records: [record], deletions: [], askedWith: "1", token: "2", moreComing: false)
        let plan = ImportPlan.make(page, loaded: loaded, mapping: Fixture.mapping)
        #expect(plan.bookkeeping.conflicts.map(\.losing) == expected.map { .string($0) })
        #expect(plan.bookkeeping.conflicts.allSatisfy { $0.winner == .remote })
        #expect(plan.bookkeeping.conflicts.compactMap(\.losingStamp?.timestamp) == expected.map { _ in 1000 })
    }

    // MARK: Two devices relocate one object

    @Test func theLaterOfTwoRelocatingDevicesReconciles() {
        let source = Fixture.source()
        guard
            case .reconciled(let state, let reconciledSource, let record) = decide(
                Fixture.arriving(), .init(record: relocated(), source: source))
        else {
            Issue.record("the record is not reconciled")
            return
        }
        #expect(state == relocated().reconciled(with: source))
        #expect(reconciledSource == source)
        #expect(record.title == "Trip")
    }

    @Test func theLaterOfTwoRelocatingDevicesShowsLaterEditsOfTheSource() {
        var source = edited(title: "Journey", at: 1500)
        source.role = .source(isObjectDeleted: false)
        guard case .reconciled(_, _, let record) = decide(Fixture.arriving(seen: 1000), .init(record: relocated(), source: source)) else {
            Issue.record("the record is not reconciled")
            return
        }
        #expect(record.title == "Journey")
    }

    /// A new object that this device created in the share under the name, as objects with unique values are.
    @Test func anObjectCreatedInTheShareHasNoSource() {
        #expect(decide(Fixture.arriving(), .init(record: relocated())) == .ordinary)
    }

    @Test func anAcknowledgedRelocationOfThisDeviceIsOrdinary() {
        #expect(decide(Fixture.arriving(), .init(record: relocated(changeTag: "z"), source: Fixture.source())) == .ordinary)
    }

    // MARK: Edits that are not forwarded yet

    /// The record in the share, shown with an edit of its source.
    private func awaiting() -> RecordState {
        var state = Fixture.uploaded(title: "Journey")
        state.changeTag = "y"
        state.ancestor.unapplied[MirrorNames.awaited] = Field(.list([.string("title")], of: .string))
        return state
    }

    /// Edits of the source disappeared when another device changed another property in the share before they were forwarded.
    @Test func editsOfTheSourceStayVisibleUntilTheyAreForwarded() {
        guard case .completed(let record) = decide(Fixture.arriving(seen: 1000), .init(record: awaiting())) else {
            Issue.record("the record is not completed")
            return
        }
        #expect(record.title == "Journey")
    }

    /// An edit that was forwarded, and replaced by the former value in the share, stayed on the device that had awaited it.
    @Test func forwardedEditsAreNoLongerShownFromTheSource() throws {
        guard case .adopted(_, _, let shown) = decide(Fixture.arriving(seen: 1000), .init(stamped: edited(title: "Journey", at: 1500)))
        else {
            Issue.record("the record is not adopted")
            return
        }
        var known = Fixture.uploaded(title: "Journey")
        known.ancestor.unapplied = shown.fields
        guard case .completed(let earlier) = decide(Fixture.arriving(seen: 1400), .init(record: known)),
            case .completed(let later) = decide(Fixture.arriving(seen: 1500), .init(record: known))
        else {
            Issue.record("the record is not completed")
            return
        }
        #expect(earlier.title == "Journey")
        #expect(later.title == "Trip")
    }

    /// A full fetch returned the same version again, or one in which another participant changed something else: the device showed the former
    /// value until the edit was forwarded.
    @Test(arguments: ["z", "y"]) func editsStayVisibleInAFullFetch(tag: String) {
        var known = awaiting()
        known.changeTag = tag
        guard case .completed(let record) = decide(Fixture.arriving(seen: 1000), .init(record: known)) else {
            Issue.record("the record is not completed")
            return
        }
        #expect(record.title == "Journey")
    }

    @Test func aKnownRecordWithoutEditsToForwardIsOrdinary() {
        #expect(decide(Fixture.arriving(), .init(record: Fixture.uploaded())) == .ordinary)
    }
}

/// The relation of a share's link to the pairs of a device.
@Suite struct LinkArrivalTests {
    private func decide(isKnown: Bool = false, home: LinkState?, hasBothEnds: Bool = true, isLinked: Bool = true) -> LinkArrival {
        LinkArrival.decide(isKnown: isKnown, home: home, hasBothEnds: hasBothEnds, isLinked: isLinked, mapping: Fixture.mapping)
    }

    @Test func aNewJoinRecordIsOrdinary() { #expect(decide(home: nil) == .ordinary) }

    @Test func aKnownJoinRecordIsOrdinary() { #expect(decide(isKnown: true, home: Fixture.link()) == .ordinary) }

    @Test func aJoinRecordOfTheHomeZoneIsAdopted() {
        guard case .adopted(let link) = decide(home: Fixture.link()) else {
            Issue.record("the link is not adopted")
            return
        }
        #expect(link.changeTag == "")
        #expect(link.generation == 0)
        #expect(link.pair == Fixture.link().pair)
    }

    /// A link between two zones arrived in the one where both its objects were, and no device linked them.
    @Test func aJoinRecordOfUnlinkedRowsIsDropped() {
        #expect(decide(home: Fixture.link(), isLinked: false) == .forgotten)
        #expect(decide(home: Fixture.link(), hasBothEnds: false, isLinked: false) == .forgotten)
    }

    /// This device has unlinked the rows, and its deletion is pending.
    @Test func aJoinRecordWithAPendingDeletionIsAdoptedAsDeleted() {
        guard case .adopted(let link) = decide(home: Fixture.link("l", .needsDelete), isLinked: false) else {
            Issue.record("the link is not adopted")
            return
        }
        #expect(link.stage == .needsDelete)
    }

    @Test func aJoinRecordOfAnUnknownRelationshipIsAdopted() {
        var link = LinkState(
            recordName: "l", pair: LinkPair(kind: LinkKind(entityNames: "A:B", relationships: "b:a"), first: "a", second: "b"),
            stage: .uploaded)
        link.changeTag = "b"
        #expect(decide(home: link, isLinked: false) == .adopted(link.adopted()))
    }
}

/// Records of relocated objects in a page of the home zone.
@Suite struct HomePageTests {
    private func names(inHome: Set<String>, elsewhere: Set<String>) -> [String] {
        let records = ["a", "b", "c", "d"].map { Record(recordName: $0, recordType: "CD_Post") }
        let page = ImportPage(records: records, deletions: [], askedWith: nil, token: "t", moreComing: false, generation: nil)
        return page.recordsOfHome(isInHome: { inHome.contains($0.recordName) }, isElsewhere: { elsewhere.contains($0.recordName) }).map(
            \.recordName)
    }

    /// A new device saw an object in its share and in the home zone, from which it had not been deleted yet.
    @Test func aRecordThatIsAlreadyInAShareIsSkipped() { #expect(names(inHome: [], elsewhere: ["b"]) == ["a", "c", "d"]) }

    @Test func editsOfSourceRecordsAreDecoded() { #expect(names(inHome: ["b"], elsewhere: ["b"]) == ["a", "b", "c", "d"]) }
}
