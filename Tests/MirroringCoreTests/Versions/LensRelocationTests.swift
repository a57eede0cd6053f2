// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

private typealias Fixture = RelocationFixture

/// Objects whose entity has a lens are relocated to the zone of a share.
@Suite struct LensRelocationTests {
    private static func fields(_ name: String, _ first: String, _ last: String, title: String? = nil) -> [String: Field] {
        var fields = [
            "CD_entityName": Field(.string("Thing")), "CD_name": Field(.string(name)), "CD_firstName": Field(.string(first)),
            "CD_lastName": Field(.string(last)),
        ]
        fields["CD_title"] = title.map { Field(.string($0)) }
        return fields
    }

    private static func mapping() throws -> RecordMapping {
        var entity = Entity(
            name: "Thing", attributes: ["firstName", "lastName", "name", "title"].map { Attribute(name: $0, type: .string) })
        entity.userInfo["syncLens"] = "name -> firstName lastName"
        return RecordMapping(model: try ResolvedModel(Model(entities: [entity])))
    }

    /// The relocating device had an unsent edit of the first name. Another device changed the title in the source zone, and completes the
    /// relocated record with it: the name's earlier form is that of the edit.
    @Test func theEarlierFormOfAnUnsentEditIsNotTakenFromTheSourceZone() throws {
        let mapping = try Self.mapping()
        let entity = try #require(mapping.entities[0])
        var source = RecordState(recordName: "p", key: RowKey(store: 1, entity: 0, primaryKey: 1), stage: .needsUpload)
        source.changeTag = "a"
        source.ancestor = Ancestor(fields: Self.fields("Ann Lee", "Ann", "Lee"))
        source.modified = Fixture.stamp(1000)
        var row = Row(key: source.key, version: 1, values: entity.entity.defaultValues)
        for (name, value) in [("name", "Ann Lee"), ("firstName", "Eva"), ("lastName", "Lee")] {
            if case .slot(let slot)? = entity.entity.location(of: name) { row.values[slot] = .string(value) }
        }
        var stamp = RelocationStamp(name: "p", zone: ZoneID(zoneName: MirrorNames.zone))
        entity.addSource(source, row, names: [:], parked: [], to: &stamp)
        #expect(stamp.edited == ["firstName", "name"])

        var record = Record(recordName: "p", recordType: "CD_Thing", recordChangeTag: "z", fields: Self.fields("Eva Lee", "Eva", "Lee"))
        record.created = Fixture.stamp(2000)
        record.modified = Fixture.stamp(2000)
        var newer = source
        newer.ancestor = Ancestor(fields: Self.fields("Ann Lee", "Ann", "Lee", title: "Dr"))
        newer.modified = Fixture.stamp(1500)
        let completed = entity.completed(record, with: newer, stamp)
        #expect(completed.fields["CD_title"]?.value == .string("Dr"))
        #expect(completed.fields["CD_name"]?.value == .string("Eva Lee"))
        // Another later device changed the last name.
        newer.ancestor = Ancestor(fields: Self.fields("Ann Kay", "Ann", "Kay"))
        let merged = entity.completed(record, with: newer, stamp)
        #expect(merged.fields["CD_lastName"]?.value == .string("Kay"))
        #expect(merged.fields["CD_name"]?.value == .string("Eva Kay"))
    }
}
