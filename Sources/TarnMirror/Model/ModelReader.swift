// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import ManagedModel
import MirroringCore

/// Reads a model through Core Data's descriptions, as the values that the decisions of sync work on.
enum ModelReader {
    /// Returns how a model is mirrored.
    ///
    /// - Parameter configuration: The configuration of the store; a name that the model does not have stands for all entities.
    /// - Throws: ``TarnMirror/Failure`` with `.unsupportedModel` and every violation.
    static func mapping(of description: NSManagedObjectModel, configuration: String?) throws -> RecordMapping {
        let model = model(description)
        let resolved: ResolvedModel
        do throws(ModelError) {
            resolved = try ResolvedModel(model)
        } catch {
            throw TarnMirror.Failure(.unsupportedModel, "the model cannot be mirrored: \(error.description)")
        }
        let name = configuration.flatMap { model.configurations[$0] == nil ? nil : $0 }
        var violations = CloudModelRules.violations(of: resolved, configuration: name).map(\.description)
        for entity in resolved.entities(inConfiguration: name) ?? [] { violations += unsupported(in: entity.declaration) }
        guard violations.isEmpty else {
            throw TarnMirror.Failure(.unsupportedModel, "the model cannot be mirrored: \(violations.joined(separator: "; "))")
        }
        let mapping = RecordMapping(model: resolved, configuration: name)
        // The rows of earlier versions would have to be given values when the model gains a lens.
        if let entity = mapping.entities.values.first(where: { !$0.lenses.isEmpty }) {
            throw TarnMirror.Failure(
                .unsupportedModel, "\(entity.name) declares lenses (syncLens), which TarnMirror doesn't support; use a model without them")
        }
        return mapping
    }

    /// Types that `NSPersistentCloudKitContainer` mirrors and this mirror does not.
    private static func unsupported(in entity: Entity) -> [String] {
        entity.attributes.filter { !$0.isTransient && $0.derivationExpression == nil }.compactMap { attribute in
            let what: String
            switch attribute.type {
            // Archives of equal values may differ in their bytes, and public API doesn't show the stored ones: each comparison with the
            // merge base could count as an edit.
            case .transformable: what = "is transformable, which TarnMirror doesn't support; store Data instead"
            case .composite: what = "is a composite attribute, which TarnMirror doesn't support; use several attributes"
            default:
                guard attribute.allowsCloudEncryption else { return nil }
                what = "allows encryption, which TarnMirror doesn't support; use a model without allowsCloudEncryption for this store"
            }
            return "\(entity.name).\(attribute.name) \(what)"
        }
    }

    private static func model(_ description: NSManagedObjectModel) -> Model {
        var model = Model(entities: description.entities.map { entity($0) })
        for name in description.configurations {
            model.configurations[name] = (description.entities(forConfigurationName: name) ?? []).compactMap(\.name)
        }
        return model
    }

    private static func entity(_ description: NSEntityDescription) -> Entity {
        let inherited = description.superentity?.propertiesByName ?? [:]
        let own = description.properties.filter { inherited[$0.name] == nil }
        var entity = Entity(
            name: description.name ?? "", superentity: description.superentity?.name, isAbstract: description.isAbstract,
            attributes: own.compactMap { $0 as? NSAttributeDescription }.map { attribute($0) },
            relationships: own.compactMap { $0 as? NSRelationshipDescription }.map { relationship($0) })
        entity.userInfo = texts(description.userInfo)
        entity.renamingIdentifier = renamed(description.renamingIdentifier, from: description.name)
        entity.uniquenessConstraints = description.uniquenessConstraints.map { constraint in
            constraint.compactMap { ($0 as? String) ?? ($0 as? NSPropertyDescription)?.name }
        }
        return entity
    }

    private static func attribute(_ description: NSAttributeDescription) -> Attribute {
        let type = AttributeType(rawValue: Int(description.attributeType.rawValue)) ?? .undefined
        var attribute = Attribute(name: description.name, type: type, isOptional: description.isOptional)
        attribute.defaultValue = AttributeValues.stored(description.defaultValue, as: type)
        attribute.isTransient = description.isTransient
        attribute.allowsCloudEncryption = description.allowsCloudEncryption
        // Its text has no meaning here: derived attributes are computed on each device.
        if description is NSDerivedAttributeDescription { attribute.derivationExpression = "derived" }
        attribute.userInfo = texts(description.userInfo)
        attribute.renamingIdentifier = renamed(description.renamingIdentifier, from: description.name)
        return attribute
    }

    private static func relationship(_ description: NSRelationshipDescription) -> Relationship {
        var relationship = Relationship(
            name: description.name, destination: description.destinationEntity?.name ?? "", inverse: description.inverseRelationship?.name,
            isToMany: description.isToMany, isOrdered: description.isOrdered, isOptional: description.isOptional,
            deleteRule: DeleteRule(rawValue: Int(description.deleteRule.rawValue)) ?? .nullify)
        relationship.isTransient = description.isTransient
        relationship.userInfo = texts(description.userInfo)
        relationship.renamingIdentifier = renamed(description.renamingIdentifier, from: description.name)
        return relationship
    }

    /// A part without an identifier of its own has its name.
    private static func renamed(_ identifier: String?, from name: String?) -> String? { identifier == name ? nil : identifier }

    private static func texts(_ userInfo: [AnyHashable: Any]?) -> [String: String] {
        var texts: [String: String] = [:]
        for (key, value) in userInfo ?? [:] { if let key = key as? String, let value = value as? String { texts[key] = value } }
        return texts
    }
}
