// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import ManagedModel
import MirroringCore

/// Rows of the app's store, as objects of the mirror's context.
extension MirroredStore {
    /// Objects of one query: SQLite limits the variables of a statement.
    private static let objectsMax = 500

    /// Returns the objects of rows that exist.
    ///
    /// By a fetch, not by `existingObject(with:)`: a file that can't be read must not look like a deletion.
    func objects(_ wanted: some Sequence<RowKey>) throws -> [RowKey: NSManagedObject] {
        var found: [RowKey: NSManagedObject] = [:]
        var ids: [Int: [NSManagedObjectID]] = [:]
        for key in wanted {
            guard let id = try keys.objectID(of: key) else { continue }
            ids[mapping.model.entities[key.entityIndex].root, default: []].append(id)
        }
        for (root, ids) in ids.sorted(by: { $0.key < $1.key }) {
            for request in requests(for: ids, of: mapping.model.entities[root].name) {
                request.returnsObjectsAsFaults = false
                for object in try context.fetch(request) { if let key = try keys.key(of: object.objectID) { found[key] = object } }
            }
        }
        return found
    }

    /// Whether the store has an object with one of these URIs.
    func hasObjects(at uris: [String]) throws -> Bool {
        var ids: [String: [NSManagedObjectID]] = [:]
        for uri in uris {
            guard let url = URL(string: uri),
                let id = container.persistentStoreCoordinator.managedObjectID(forURIRepresentation: url), let entity = id.entity.name
            else { continue }
            ids[entity, default: []].append(id)
        }
        for (entity, ids) in ids.sorted(by: { $0.key < $1.key }) {
            for request in requests(for: ids, of: entity) {
                request.fetchLimit = 1
                if try !context.fetch(request).isEmpty { return true }
            }
        }
        return false
    }

    /// Returns requests for objects of an entity, one for as many as a query may name.
    private func requests(for ids: [NSManagedObjectID], of entity: String) -> [NSFetchRequest<NSManagedObject>] {
        stride(from: 0, to: ids.count, by: Self.objectsMax).map { start in
            let request = NSFetchRequest<NSManagedObject>(entityName: entity)
            let part = Array(ids[start..<min(start + Self.objectsMax, ids.count)])
            request.predicate = NSPredicate(format: "SELF IN %@", argumentArray: [part])
            request.affectedStores = [store]
            return request
        }
    }

    func rows(_ wanted: some Sequence<RowKey>) throws -> [RowKey: Row] {
        var rows: [RowKey: Row] = [:]
        for (key, object) in try objects(wanted) { rows[key] = try row(object, key) }
        return rows
    }

    /// Returns the IDs of all objects of mirrored entities.
    func allObjectIDs() throws -> [NSManagedObjectID] {
        var ids: [NSManagedObjectID] = []
        for root in Set(mapping.entities.values.map(\.entity.root)).sorted() {
            let request = NSFetchRequest<NSManagedObjectID>(entityName: mapping.model.entities[root].name)
            request.resultType = .managedObjectIDResultType
            request.affectedStores = [store]
            ids += try context.fetch(request)
        }
        return ids
    }

    func row(_ object: NSManagedObject, _ key: RowKey) throws -> Row {
        var values = mapping.model.entities[key.entityIndex].defaultValues
        for property in mapping.entities[key.entityIndex]?.properties ?? [] {
            switch property.kind {
            case .attribute(let attribute):
                values[property.slot] = AttributeValues.stored(object.value(forKey: attribute.name), as: attribute.type)
            case .toOne(let relationship):
                let target = object.value(forKey: relationship.name) as? NSManagedObject
                values[property.slot] = try target.flatMap { try keys.key(of: $0.objectID) }.map { .reference($0) } ?? .null
            case .rank, .merged: continue
            }
        }
        return Row(key: key, version: 1, values: values)
    }

    /// Returns the rows that a to-many relationship of an object names.
    func destinations(of object: NSManagedObject, _ relationship: ResolvedRelationship) throws -> [RowKey] {
        let members = Self.members(object.value(forKey: relationship.name)).map(\.objectID)
        try keys.load(members)
        return try members.compactMap { try keys.key(of: $0) }.sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }
    }

    static func members(_ value: Any?) -> [NSManagedObject] {
        switch value {
        case let set as Set<NSManagedObject>: Array(set)
        case let set as NSSet: set.allObjects.compactMap { $0 as? NSManagedObject }
        case let set as NSOrderedSet: set.array.compactMap { $0 as? NSManagedObject }
        default: []
        }
    }

    /// Returns the record names of the to-one targets of rows.
    func names(ofTargetsIn rows: some Sequence<Row>) throws -> [RowKey: String] {
        var targets: Set<RowKey> = []
        for row in rows { targets.formUnion(row.values.compactMap(\.reference)) }
        var names: [RowKey: String] = [:]
        for state in try records(of: targets) { names[state.key] = state.recordName }
        return names
    }

    /// Returns the metadata of rows.
    func records(of wanted: some Sequence<RowKey>) throws -> [RecordState] {
        let uris = try wanted.map { try keys.uri(of: $0) }.filter { !$0.isEmpty }
        return try metadata.records(ofObjects: uris).compactMap { try $0.state(mapping) }
    }

    func records(named names: [String]) throws -> [RecordState] {
        try metadata.records(named: names).compactMap { try $0.state(mapping) }
    }
}
