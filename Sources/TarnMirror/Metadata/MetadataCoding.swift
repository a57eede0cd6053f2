// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore

// The values of sync as columns of the metadata, and back.

extension RecordColumns {
    init(_ state: RecordState, uri: String, mapping: RecordMapping) {
        name = state.recordName
        key = state.key.primaryKey
        entity = mapping.syncName(ofEntity: state.key.entityIndex)
        self.uri = uri
        tag = state.changeTag
        base = state.keptAncestor.map { Data($0.bytes) }
        unapplied = state.ancestor.unapplied.isEmpty ? nil : Data(Record(recordName: "", fields: state.ancestor.unapplied).encoded())
        digests = Digests.encode(state.ancestor.digests)
        stage = state.stage.rawValue
        mark = state.mark
        failure = state.failure
        generation = state.generation
        creator = state.system.creator
        created = state.system.created
        quarantine = state.fieldStates.text
    }

    /// nil for an entity that the model no longer has.
    func state(_ mapping: RecordMapping) throws -> RecordState? {
        guard let entity = mapping.entity(syncName: entity), let stage = MirrorStage(rawValue: stage) else { return nil }
        var state = RecordState(
            recordName: name, key: RowKey(store: KeyTable.store, entity: entity.index, primaryKey: key), stage: stage, mark: mark)
        state.isNew = false
        state.changeTag = tag
        if let base { (state.ancestor.fields, state.modified) = try KeptAncestor.read([UInt8](base)) }
        state.ancestor.unapplied = try unapplied.map { try Record(json: [UInt8]($0)).fields } ?? [:]
        state.ancestor.digests = Digests.decode(digests)
        state.failure = failure
        state.generation = generation
        state.system = RecordSystemFields(creator: creator, created: created)
        if let quarantine { state.fieldStates = FieldStates(text: quarantine) }
        return state
    }
}

extension LinkColumns {
    init(_ state: LinkState) {
        name = state.recordName
        entities = state.pair.kind.entityNames
        relationships = state.pair.kind.relationships
        first = state.pair.first
        second = state.pair.second
        tag = state.changeTag
        stage = state.stage.rawValue
        mark = state.mark
        failure = state.failure
        generation = state.generation
    }

    /// nil for a stage that no version of this library wrote.
    var state: LinkState? {
        guard let stage = MirrorStage(rawValue: stage) else { return nil }
        let kind = LinkKind(entityNames: entities, relationships: relationships)
        var state = LinkState(recordName: name, pair: LinkPair(kind: kind, first: first, second: second), stage: stage, mark: mark)
        state.changeTag = tag
        state.failure = failure
        state.generation = generation
        return state
    }
}

extension DeferredColumns {
    init(_ reference: ParkedRelationship) {
        source = reference.key.source
        relationship = reference.key.relationship
        destination = reference.destination
    }

    init(resolved key: ParkedRelationship.Key) {
        source = key.source
        relationship = key.relationship
        destination = ""
    }

    var reference: ParkedRelationship { ParkedRelationship(source: source, relationship: relationship, destination: destination) }
}

extension ConflictColumns {
    /// - Parameter now: Seconds since 2001.
    init(_ entry: ConflictEntry, now: Double) {
        noted = now
        entity = entry.entity
        record = entry.recordName
        property = entry.property
        // A single field is stored as a record with one field.
        losing = entry.losing.map { Data(Record(recordName: "", fields: [entry.property: Field($0)]).encoded()) }
        winner = entry.winner.rawValue
        losingStamp = entry.losingStamp?.timestamp
    }

    /// The losing value; nil if the losing side had cleared the property.
    var losingValue: FieldValue? {
        get throws { try losing.flatMap { try Record(json: [UInt8]($0)).fields[property]?.value } }
    }
}

extension MetadataChanges {
    /// - Parameters:
    ///   - now: The date of conflicts, in seconds since 2001.
    ///   - uri: Returns the URI of a row's object.
    init(_ changes: BookkeepingChanges, now: Double, mapping: RecordMapping, uri: (RowKey) throws -> String) rethrows {
        records = try changes.records.map { RecordColumns($0, uri: try uri($0.key), mapping: mapping) }
        removedRecords = changes.removedRecords
        links = changes.links.map { LinkColumns($0) }
        removedLinks = changes.removedLinks
        deferred = changes.parked.map { DeferredColumns($0) }
        resolved = changes.unparked.map { DeferredColumns(resolved: $0) }
        conflicts = changes.conflicts.map { ConflictColumns($0, now: now) }
    }
}

/// Digests of assets as text: a line with field and digest for each.
enum Digests {
    static func encode(_ digests: [String: ContentDigest]) -> String? {
        if digests.isEmpty { return nil }
        return digests.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.text)" }.joined(separator: "\n")
    }

    static func decode(_ text: String?) -> [String: ContentDigest] {
        var digests: [String: ContentDigest] = [:]
        for line in text?.split(separator: "\n") ?? [] {
            let parts = line.split(separator: " ")
            if parts.count == 2 { digests[String(parts[0])] = ContentDigest(text: String(parts[1])) }
        }
        return digests
    }
}
