// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation
import ManagedModel

/// The row and metadata of a new object. They follow from the record alone, so that they can be made before the record's page is applied.
struct NewObject: Sendable {
    /// Of the row; relationships are empty.
    private(set) var values: ContiguousArray<StoredValue>
    /// To-one relationships, with the names of their targets.
    private(set) var references: [(property: PropertyMapping, target: String?)] = []
    /// Properties without a slot in the row.
    private(set) var own: [(property: PropertyMapping, content: RemoteContent)] = []
    private(set) var ancestor: Ancestor
    fileprivate let entity: Int
    fileprivate let changeTag: String?
    /// The encoded merge base, if it was encoded already.
    fileprivate var kept: KeptAncestor?

    /// - Parameter assets: Content of those that the record names.
    init(_ record: Record, _ entity: EntityMapping, assets: [AssetValue: Data] = [:]) {
        let merge = RecordMerge(entity: entity, ancestor: Ancestor(), remote: record.fields, assets: assets)
        self.entity = entity.entity.index
        changeTag = record.recordChangeTag
        values = entity.entity.defaultValues
        ancestor = entity.ancestor(of: record.fields)
        for property in entity.properties {
            let content = property.content(in: merge.remote)
            if let field = property.assetFieldName, let digest = merge.newDigest(of: content) { ancestor.digests[field] = digest }
            switch property.form {
            case .attribute: values[property.slot] = merge.stored(content, for: property)
            case .toOne: references.append((property, property.target(content)))
            case .rank, .merged: own.append((property, content))
            }
        }
    }
}

/// New objects of a page's records. They are derived from the records: pages with and without them are equal.
package struct NewObjects: Hashable, Sendable {
    private var objects: [String: NewObject] = [:]

    package init() {}

    /// - Parameter records: Records with assets are ignored, since their contents are not loaded.
    package init(_ records: [Record], mapping: RecordMapping) {
        objects.reserveCapacity(records.count)
        for record in records where !record.hasAssets {
            guard let entity = mapping.entity(of: record) else { continue }
            var object = NewObject(record, entity)
            object.kept = KeptAncestor(object.ancestor, record.modified)
            objects[record.recordName] = object
        }
    }

    func object(of record: Record, _ entity: EntityMapping) -> NewObject? {
        guard let object = objects[record.recordName], object.entity == entity.entity.index, object.changeTag == record.recordChangeTag
        else { return nil }
        return object
    }

    /// Adds objects of earlier pages.
    mutating func formUnion(_ earlier: NewObjects) { objects.merge(earlier.objects) { present, _ in present } }

    package mutating func forget(_ name: String) { objects[name] = nil }

    package static func == (one: NewObjects, other: NewObjects) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}

extension RecordState {
    mutating func adopt(_ object: NewObject, of record: Record) {
        ancestor = object.ancestor
        modified = record.modified
        keep(object.kept)
    }
}
