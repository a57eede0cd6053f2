// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

private typealias Fixture = RelocationFixture

/// Edits that this device forwards from a source record whose deletion the server accepts before them: storage that is full takes deletions
/// only. The simulator found the case (13003866): the edit replaced a later one of the share.
@Suite struct ForwardedEditsWithoutSourceTests {
    /// The source record with the title `Journey`, edited after the relocation.
    private var source: RecordState {
        var source = Fixture.source()
        source.modified = Fixture.stamp(1500)
        source.ancestor.fields["CD_title"] = Field(.string("Journey"))
        return source
    }

    /// The record in the share, with the title `Trip` on the server.
    private func current(seen: Int64 = 1000, _ stage: MirrorStage = .needsUpload) -> RecordState {
        var state = Fixture.uploaded()
        state.stage = stage
        state.ancestor.unapplied = [MirrorNames.moveReceipt: Field(.bytes(stamp(seen: seen)))]
        return state
    }

    private func stamp(seen: Int64) -> [UInt8] {
        guard case .bytes(let bytes)? = Fixture.arriving(seen: seen).fields[MirrorNames.moveReceipt]?.value else { return [] }
        return bytes
    }

    @Test func aDeletedSourceRecordLeavesItsUnsentEdits() throws {
        let state = try #require(current().forwarding(source))
        #expect(state.stage == .needsUpload)
        #expect(state.ancestor.fields["CD_title"] == Field(.string("Trip")))
        #expect(RelocationStamp.forwardingAwaited(to: state)?.seen == 1500)
    }

    @Test func nothingIsLeftWithoutUnsentEdits() {
        #expect(current(seen: 1500).forwarding(source) == nil)
        #expect(current(.uploaded).forwarding(source) == nil)
        #expect(current(.needsDelete).forwarding(source) == nil)
        var other = source
        other.role = .current
        #expect(current().forwarding(other) == nil)
    }

    /// - Parameter title: The row's title.
    private func importing(_ record: Record, title: String = "Journey") throws -> ImportPlan {
        let state = try #require(current().forwarding(source))
        var loaded = ImportPlan.Loaded()
        loaded.records = [state.recordName: state]
        loaded.rows = [state.key: Fixture.row(state.key, ["title": .string(title)])]
        loaded.existing = [state.key]
        var record = record
        record.recordChangeTag = "zz"
        let page = ImportPage(records: [record], deletions: [], askedWith: "1", token: "2", moreComing: false)
        return ImportPlan.make(page, loaded: loaded, mapping: Fixture.mapping)
    }

    private func title(_ plan: ImportPlan) -> StoredValue? {
        for case .update(let row, _) in plan.rows {
            guard case .slot(let slot)? = Fixture.mapping.model.entities[row.key.entityIndex].location(of: "title") else { return nil }
            return row.values[slot]
        }
        return nil
    }

    /// The edit of the share was made with knowledge of the relocation.
    @Test func aForwardedEditLosesAgainstOneOfTheShare() throws {
        let plan = try importing(Fixture.arriving(title: "Voyage", modified: 3000))
        #expect(title(plan) == .string("Voyage"))
        #expect(plan.bookkeeping.conflicts.map(\.losing) == [.string("Journey")])
    }

    @Test func aLaterEditOfThisDeviceWins() throws {
        let plan = try importing(Fixture.arriving(title: "Voyage", modified: 3000), title: "Hike")
        #expect(title(plan) == nil)
        #expect(plan.bookkeeping.records.first?.stage == .needsUpload)
        #expect(plan.bookkeeping.conflicts.map(\.losing) == [.string("Voyage")])
    }

    /// Other devices await the edit until the stamp says that it was forwarded.
    @Test func aLostEditIsStillStamped() throws {
        let state = try #require(try importing(Fixture.arriving(title: "Voyage", modified: 3000)).bookkeeping.records.first)
        #expect(state.stage == .needsUpload)
        #expect(RelocationStamp.forwardingAwaited(to: state)?.seen == 1500)
    }

    /// A value that the user sets again after that is an edit like any other.
    @Test func anEditThatIsForwardedIsNotAForwardedOneAgain() throws {
        let plan = try importing(Fixture.arriving(title: "Voyage", seen: 1500, modified: 3000))
        let state = try #require(plan.bookkeeping.records.first)
        #expect(state.stage == .uploaded)
        #expect(RelocationStamp.forwardingAwaited(to: state) == nil)
        var loaded = ImportPlan.Loaded()
        loaded.records = [state.recordName: state]
        loaded.rows = [state.key: Fixture.row(state.key, ["title": .string("Journey")])]
        loaded.existing = [state.key]
        var record = Fixture.arriving(title: "Walk", seen: 1500, modified: 4000)
        record.recordChangeTag = "zzz"
        let page = ImportPage(records: [record], deletions: [], askedWith: "1", token: "2", moreComing: false)
        #expect(title(ImportPlan.make(page, loaded: loaded, mapping: Fixture.mapping)) == nil)
    }

    @Test func digestsOfAssetsAreKept() throws {
        var source = source
        let bytes = [UInt8](repeating: 7, count: 40)
        source.ancestor.fields["CD_content_ckAsset"] = Field(.asset(AssetValue(fileChecksum: "s", size: 40)))
        source.ancestor.digests = ["CD_content_ckAsset": ContentDigest(bytes)]
        let state = try #require(current().forwarding(source))
        var loaded = ImportPlan.Loaded()
        loaded.records = [state.recordName: state]
        let content = String(decoding: bytes, as: UTF8.self)
        loaded.rows = [state.key: Fixture.row(state.key, ["title": .string("Trip"), "content": .string(content)])]
        loaded.existing = [state.key]
        var record = Fixture.arriving(modified: 3000)
        record.fields["CD_content"] = Field(.string("of the share"))
        record.recordChangeTag = "zz"
        let page = ImportPage(records: [record], deletions: [], askedWith: "1", token: "2", moreComing: false)
        let plan = ImportPlan.make(page, loaded: loaded, mapping: Fixture.mapping)
        #expect(plan.bookkeeping.conflicts.map(\.winner) == [.remote])
    }
}
