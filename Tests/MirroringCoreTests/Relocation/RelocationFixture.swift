// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

/// Records, rows and links of the test model's posts, tags and attachments for tests of relocations.
enum RelocationFixture {
    static let mapping = TestModel.mapping
    static let home: Int64 = 0
    static let share: Int64 = 1
    static let postTags = LinkKind(entityNames: "Post:Tag", relationships: "tags:posts")

    static func key(_ entity: String, _ primaryKey: Int64) -> RowKey {
        RowKey(store: 0, entity: TestModel.entity(entity).index, primaryKey: primaryKey)
    }

    static func stamp(_ milliseconds: Int64) -> RecordStamp { RecordStamp(timestamp: milliseconds, userRecordName: "mia", deviceID: nil) }

    /// A record that the server has.
    static func uploaded(_ name: String = "post-1", _ entity: String = "Post", _ primaryKey: Int64 = 1, title: String = "Trip")
        -> RecordState
    {
        var state = RecordState(recordName: name, key: key(entity, primaryKey), stage: .uploaded, mark: 3)
        state.changeTag = "a"
        state.modified = stamp(1000)
        state.ancestor = Ancestor(
            fields: ["CD_title": Field(.string(title))], unapplied: ["CD_later": Field(.string("newer"))],
            digests: ["CD_content_ckAsset": ContentDigest([1])])
        state.generation = 4
        state.system = RecordSystemFields(creator: "mia", created: 900, parent: "parent", share: "share")
        state.isNew = false
        return state
    }

    static func source(isObjectDeleted: Bool = false) -> RecordState {
        var state = uploaded()
        state.role = .source(isObjectDeleted: isObjectDeleted)
        state.stage = .needsDelete
        return state
    }

    static func row(_ key: RowKey, _ values: [String: StoredValue] = [:]) -> Row {
        let entity = TestModel.resolved.entities[key.entityIndex]
        var row = Row(key: key, version: 1, values: entity.defaultValues)
        for (name, value) in values { if case .slot(let slot)? = entity.location(of: name) { row.values[slot] = value } }
        return row
    }

    static func link(_ name: String = "link-1", _ stage: MirrorStage = .uploaded, first: String = "post-1", second: String = "tag-1")
        -> LinkState
    {
        var link = LinkState(recordName: name, pair: LinkPair(kind: postTags, first: first, second: second), stage: stage, mark: 3)
        link.changeTag = "b"
        link.generation = 4
        return link
    }

    /// A record of the zone of a share.
    ///
    /// - Parameters:
    ///   - source: The name of its source record; nil for one that was not relocated.
    ///   - zone: The zone of its source record.
    ///   - seen: When the device that relocated it saw the source record change last.
    static func arriving(
        _ name: String = "post-1", type: String = "CD_Post", title: String = "Trip", source: String? = "post-1",
        zone: String = MirrorNames.zone,
        seen: Int64? = 1000, edited: Set<String> = [], created: Int64 = 2000, modified: Int64 = 2000
    ) -> Record {
        var record = Record(
            recordName: name, recordType: type, recordChangeTag: "z",
            fields: ["CD_title": Field(.string(title)), MirrorNames.entityNameField: Field(.string(String(type.dropFirst(3))))])
        record.created = stamp(created)
        record.modified = stamp(modified)
        if let source {
            var relocation = RelocationStamp(name: source, zone: ZoneID(zoneName: zone))
            relocation.seen = seen
            relocation.edited = edited
            record.fields[MirrorNames.moveReceipt] = Field(.bytes(relocation.encoded()))
        }
        return record
    }
}

extension Record {
    var title: String? { if case .string(let title)? = fields["CD_title"]?.value { title } else { nil } }
}
