// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

private typealias Fixture = RelocationFixture

/// Deferred references of relocated objects in pages of the home zone. A simulation found the case.
@Suite struct RelocatedReferencesTests {
    private let deferred = ParkedRelationship(source: "attachment-1", relationship: "post", destination: "post-9")

    private func take(_ changes: inout BookkeepingChanges) -> [(zone: Int64, changes: BookkeepingChanges)] {
        RelocatedReferences.take(from: &changes) { $0 == "attachment-1" ? (Fixture.share, "another") : nil }
    }

    @Test func aPageOfTheHomeZoneKnowsThemByTheSourceRecord() {
        let current = ParkedRelationship(source: "another", relationship: "post", destination: "post-9")
        #expect(RelocatedReferences.named("attachment-1", [current]) == [deferred])
    }

    @Test func theyAreStoredForTheCurrentRecord() throws {
        var changes = BookkeepingChanges()
        changes.parked = [deferred, ParkedRelationship(source: "attachment-2", relationship: "post", destination: "post-9")]
        changes.unparked = [ParkedRelationship.Key(source: "attachment-1", relationship: "imageData")]
        let taken = try #require(take(&changes).first)
        #expect(taken.zone == Fixture.share)
        #expect(taken.changes.parked == [ParkedRelationship(source: "another", relationship: "post", destination: "post-9")])
        #expect(taken.changes.unparked == [ParkedRelationship.Key(source: "another", relationship: "imageData")])
        #expect(changes.parked.map(\.key.source) == ["attachment-2"])
        #expect(changes.unparked == [])
    }

    @Test func otherChangesStayInTheHomeZone() {
        var changes = BookkeepingChanges()
        changes.records = [Fixture.uploaded()]
        #expect(take(&changes).isEmpty)
        #expect(changes.records.count == 1)
    }

    /// The target never arrived, and another device cleared the relationship in the home zone.
    @Test func aClearedRelationshipIsNotDeferredAnyMore() throws {
        let attachment = Fixture.key("Attachment", 4)
        var source = RecordState(recordName: "attachment-1", key: attachment, stage: .needsDelete)
        source.role = .source(isObjectDeleted: false)
        source.changeTag = "a"
        source.ancestor.fields["CD_post"] = Field(.string("post-9"))
        var loaded = ImportPlan.Loaded()
        loaded.records["attachment-1"] = source
        loaded.rows[attachment] = Fixture.row(attachment)
        loaded.parked = [deferred]
        let record = Record(
            recordName: "attachment-1", recordType: "CD_Attachment", recordChangeTag: "b",
            fields: [MirrorNames.entityNameField: Field(.string("Attachment"))])
        let page = ImportPage(records: [record], deletions: [], askedWith: "1", token: "2", moreComing: false)
        var changes = ImportPlan.make(page, loaded: loaded, mapping: Fixture.mapping).bookkeeping
        let taken = try #require(take(&changes).first)
        #expect(taken.changes.unparked == [ParkedRelationship.Key(source: "another", relationship: "post")])
    }
}
