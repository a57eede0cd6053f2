// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// The model of the sync metadata: a store of its own, so that the app's model and store stay the app's.
///
/// Formats only grow: an attribute that a later version adds is optional, so that Core Data migrates the file by itself.
enum MetadataModel {
    /// The entities. Raw values are in files.
    enum Entity: String, CaseIterable {
        /// The record of an object.
        case record = "Record"
        /// A join record (`CDMR`), which stands for a pair of a many-to-many relationship.
        case link = "Link"
        /// A to-one relationship to an object that has not arrived.
        case deferred = "Deferred"
        /// An entry of the conflict log.
        case conflict = "Conflict"
        /// An unacknowledged request.
        case request = "Request"
        /// Changes of the metadata that are written before their rows are.
        case journal = "Journal"
        /// ``MirrorState``: one object.
        case state = "State"
    }

    /// One instance for the process: Core Data identifies a model by its object.
    static var model: NSManagedObjectModel { shared.model }

    /// Unchecked: a model that a coordinator uses can't be changed, and Apple's doesn't say that it is sendable.
    private struct Shared: @unchecked Sendable {
        let model: NSManagedObjectModel
    }

    private static let shared: Shared = {
        let model = NSManagedObjectModel()
        model.entities = Entity.allCases.map { entity($0) }
        return Shared(model: model)
    }()

    private typealias Column = (name: String, type: NSAttributeType)

    /// No name is that of a method of managed objects, or a word of predicate formats (`entity`, `first`).
    private static func columns(of entity: Entity) -> [Column] {
        switch entity {
        case .record:
            [
                ("name", .stringAttributeType), ("key", .integer64AttributeType), ("entityName", .stringAttributeType),
                ("uri", .stringAttributeType), ("tag", .stringAttributeType), ("base", .binaryDataAttributeType),
                ("unapplied", .binaryDataAttributeType), ("digests", .stringAttributeType), ("stage", .integer64AttributeType),
                ("mark", .integer64AttributeType), ("failure", .stringAttributeType), ("generation", .integer64AttributeType),
                ("creator", .stringAttributeType), ("created", .integer64AttributeType), ("quarantine", .stringAttributeType),
            ]
        case .link:
            [
                ("name", .stringAttributeType), ("entities", .stringAttributeType), ("relationships", .stringAttributeType),
                ("firstRecord", .stringAttributeType), ("secondRecord", .stringAttributeType), ("tag", .stringAttributeType),
                ("stage", .integer64AttributeType), ("mark", .integer64AttributeType), ("failure", .stringAttributeType),
                ("generation", .integer64AttributeType),
            ]
        case .deferred:
            [("source", .stringAttributeType), ("relationship", .stringAttributeType), ("destination", .stringAttributeType)]
        case .conflict:
            [
                ("number", .integer64AttributeType), ("noted", .doubleAttributeType), ("entityName", .stringAttributeType),
                ("recordName", .stringAttributeType), ("property", .stringAttributeType), ("losing", .binaryDataAttributeType),
                ("winner", .integer64AttributeType), ("losingStamp", .integer64AttributeType),
            ]
        case .request:
            [
                ("number", .integer64AttributeType), ("key", .stringAttributeType), ("body", .binaryDataAttributeType),
                ("notes", .stringAttributeType), ("attempts", .integer64AttributeType),
            ]
        case .journal: [("identifier", .stringAttributeType), ("content", .binaryDataAttributeType)]
        case .state: [("content", .binaryDataAttributeType)]
        }
    }

    /// The columns of each index.
    private static func indexes(of entity: Entity) -> [[String]] {
        switch entity {
        case .record: [["name"], ["uri"], ["key"], ["stage", "mark", "key"]]
        case .link: [["name"], ["firstRecord"], ["secondRecord"], ["stage", "mark", "name"]]
        case .deferred: [["source"], ["destination"]]
        case .conflict: [["number"]]
        case .request, .journal, .state: []
        }
    }

    private static func entity(_ entity: Entity) -> NSEntityDescription {
        let description = NSEntityDescription()
        description.name = entity.rawValue
        description.managedObjectClassName = "NSManagedObject"
        let attributes = columns(of: entity).map { column in
            let attribute = NSAttributeDescription()
            attribute.name = column.name
            attribute.attributeType = column.type
            attribute.isOptional = true
            return attribute
        }
        description.properties = attributes
        description.indexes = indexes(of: entity).map { names in
            let elements = names.compactMap { name in
                attributes.first { $0.name == name }.map { NSFetchIndexElementDescription(property: $0, collationType: .binary) }
            }
            return NSFetchIndexDescription(name: "by_\(names.joined(separator: "_"))", elements: elements)
        }
        return description
    }
}
