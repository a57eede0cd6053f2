// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore

/// Parts of sync that a seed switches on.
package enum ValueFeature: String, CaseIterable, Sendable {
    /// Folders keep the order of their documents, and documents that of their labels.
    case order
    /// Documents require a title and a folder.
    case requirements
    /// Labels have unique names.
    case uniqueness
    /// Folders and documents are relocated to the zone of a share.
    case relocation
}

/// Folders of documents. A document has a cover, by a one-to-one relationship, and labels, by a many-to-many one.
enum FeatureModel {
    static let mappings: [Set<ValueFeature>: RecordMapping] = {
        var mappings: [Set<ValueFeature>: RecordMapping] = [:]
        for bits in 0..<(1 << ValueFeature.allCases.count) {
            let features = Set(ValueFeature.allCases.enumerated().filter { bits >> $0.offset & 1 == 1 }.map(\.element))
            mappings[features] = mapping(features)
        }
        return mappings
    }()

    private static func mapping(_ features: Set<ValueFeature>) -> RecordMapping {
        let isOrdered = features.contains(.order), isRequired = features.contains(.requirements)
        // Identifies an object on all devices, before it has a record name.
        let number = Attribute(name: "number", type: .integer64)
        var label = Entity(
            name: "Label", attributes: [number, Attribute(name: "name", type: .string), Attribute(name: "color", type: .string)],
            relationships: [Relationship(name: "documents", destination: "Document", inverse: "labels", isToMany: true)])
        if features.contains(.uniqueness) { label.uniquenessConstraints = [["name"]] }
        let model = Model(entities: [
            Entity(
                name: "Folder", attributes: [number, Attribute(name: "name", type: .string)],
                relationships: [
                    Relationship(
                        name: "documents", destination: "Document", inverse: "folder", isToMany: true, isOrdered: isOrdered,
                        deleteRule: isRequired ? .cascade : .nullify)
                ]),
            Entity(
                name: "Document",
                attributes: [
                    number, Attribute(name: "title", type: .string, isOptional: !isRequired), Attribute(name: "text", type: .string),
                ],
                relationships: [
                    Relationship(name: "folder", destination: "Folder", inverse: "documents", isOptional: !isRequired),
                    Relationship(name: "cover", destination: "Cover", inverse: "document"),
                    Relationship(name: "labels", destination: "Label", inverse: "documents", isToMany: true, isOrdered: isOrdered),
                ]),
            Entity(
                name: "Cover", attributes: [number, Attribute(name: "text", type: .string)],
                relationships: [Relationship(name: "document", destination: "Document", inverse: "cover")]),
            label,
        ])
        var extensions: ModelExtensions = []
        if isOrdered { extensions.insert(.orderedRelationships) }
        if isRequired { extensions.insert(.requiredValues) }
        if features.contains(.uniqueness) { extensions.insert(.uniquenessConstraints) }
        do {
            return RecordMapping(model: try ResolvedModel(model), allowing: extensions)
        } catch {
            preconditionFailure("the model of the simulation is valid: \(error)")
        }
    }
}
