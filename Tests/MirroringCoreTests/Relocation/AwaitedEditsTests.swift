// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

private typealias Fixture = RelocationFixture

/// Edits of source records that a device shows in the zone of a share, and sends if the relocating device did not forward them. The value
/// simulation found the case.
@Suite struct AwaitedEditsTests {
    private struct Unexpected: Error {}

    /// The record in the share, with the title `Trip`, shown with the title of its source record, which was edited later.
    private func awaiting() throws -> RecordState {
        var source = Fixture.uploaded(title: "Journey")
        source.modified = Fixture.stamp(1500)
        guard
            case .adopted(var state, _, let shown) = RecordArrival.decide(
                Fixture.arriving(), .init(stamped: source), mapping: Fixture.mapping)
        else { throw Unexpected() }
        state.changeTag = shown.recordChangeTag
        state.ancestor = Ancestor(
            fields: shown.fields.filter { $0.key == "CD_title" }, unapplied: shown.fields.filter { $0.key != "CD_title" })
        return state
    }

    private func forwarding(ofDeleted name: String? = "post-1") throws -> RecordState {
        guard let state = try awaiting().forwardingAwaited(ofDeleted: name, mapping: Fixture.mapping) else { throw Unexpected() }
        return state
    }

    /// The relocating device withheld the object when it received the edit, and deleted the source record: the edit stayed on one device.
    @Test func editsOfADeletedSourceRecordAreSent() throws {
        let state = try forwarding()
        #expect(state.stage == .needsUpload)
        #expect(state.ancestor.fields["CD_title"] == Field(.string("Trip")))
        #expect(state.ancestor.unapplied[MirrorNames.awaited] == nil)
        #expect(state.ancestor.unapplied[MirrorNames.awaitedVersion] == nil)
    }

    /// A full fetch does not name deletions.
    @Test func editsAreSentAfterAFullFetchOfTheHomeZone() throws { #expect(try forwarding(ofDeleted: nil).stage == .needsUpload) }

    @Test func theDeletionOfAnotherRecordSendsNothing() throws {
        #expect(try awaiting().forwardingAwaited(ofDeleted: "post-2", mapping: Fixture.mapping) == nil)
    }

    @Test func aRecordWithoutAwaitedEditsIsNotSent() {
        #expect(Fixture.uploaded().forwardingAwaited(ofDeleted: "post-1", mapping: Fixture.mapping) == nil)
    }

    @Test func aDeletedObjectIsNotSent() throws {
        var state = try awaiting()
        state.stage = .needsDelete
        #expect(state.forwardingAwaited(ofDeleted: "post-1", mapping: Fixture.mapping) == nil)
    }

    /// Other devices that await the edit learn by the stamp that it was forwarded.
    @Test func theStampNamesTheForwardedVersion() throws {
        #expect(RelocationStamp.forwardingAwaited(to: try forwarding())?.seen == 1500)
    }

    @Test func aStampWithTheVersionIsNotSentAgain() throws {
        var state = try forwarding()
        state.ancestor.unapplied[MirrorNames.moveReceipt] = Fixture.arriving(seen: 1500).fields[MirrorNames.moveReceipt]
        #expect(RelocationStamp.forwardingAwaited(to: state) == nil)
    }

    @Test func aRecordThatAwaitsEditsHasNoNewStamp() throws { #expect(RelocationStamp.forwardingAwaited(to: try awaiting()) == nil) }

    private func importing(_ record: Record) throws -> RecordState {
        let state = try forwarding()
        var loaded = ImportPlan.Loaded()
        loaded.records = [state.recordName: state]
        loaded.rows = [state.key: Fixture.row(state.key, ["title": .string("Journey")])]
        loaded.existing = [state.key]
        var record = record
        record.recordChangeTag = "zz"
        let page = ImportPage(records: [record], deletions: [], askedWith: "1", token: "2", moreComing: false)
        return try #require(ImportPlan.make(page, loaded: loaded, mapping: Fixture.mapping).bookkeeping.records.first)
    }

    /// Another device changed the record in the share before the edit was sent.
    @Test func anEditThatIsNotSentYetIsStillStamped() throws {
        let state = try importing(Fixture.arriving(modified: 3000))
        #expect(state.stage == .needsUpload)
        #expect(RelocationStamp.forwardingAwaited(to: state)?.seen == 1500)
    }

    @Test func anEditThatAnotherDeviceForwardedIsNotStamped() throws {
        let state = try importing(Fixture.arriving(title: "Journey", seen: 1500, modified: 3000))
        #expect(state.stage == .uploaded)
        #expect(RelocationStamp.forwardingAwaited(to: state) == nil)
    }
}
