// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel

/// An entity: a name, a class, and properties.
///
/// Source: developer.apple.com/documentation/coredata/nsentitydescription
open class NSEntityDescription: NSObject, @unchecked Sendable {
    // Unchecked: constant once the model is in use, as NSManagedObjectModel guarantees.
    open var name: String?
    /// `NSManagedObject` unless the model names a class; may be written `Module.Class`.
    open var managedObjectClassName: String! = "NSManagedObject"
    open var isAbstract = false
    open var userInfo: [AnyHashable: Any]? = [:]
    open var renamingIdentifier: String?
    open var versionHashModifier: String?
    /// Attribute names or descriptions whose values together are unique.
    open var uniquenessConstraints: [[Any]] = []
    /// Indexes for fetches. They make no difference to whether a store fits the model.
    open var indexes: [NSFetchIndexDescription] = [] {
        didSet { for index in indexes { index.entity = self } }
    }
    open internal(set) weak var superentity: NSEntityDescription?

    weak var managedObjectModelReference: NSManagedObjectModel?
    private var ownProperties: [NSPropertyDescription] = []
    private var storedSubentities: [NSEntityDescription] = []
    /// What the API does not show (code generation, fetched properties) stays as the model file had it.
    private var declared = Entity(name: "")

    open var managedObjectModel: NSManagedObjectModel {
        guard let managedObjectModelReference else {
            preconditionFailure("entity '\(name ?? "")' is not part of a model")
        }
        return managedObjectModelReference
    }

    open var subentities: [NSEntityDescription] {
        get { storedSubentities }
        set {
            for entity in storedSubentities { entity.superentity = nil }
            storedSubentities = newValue
            for entity in newValue { entity.superentity = self }
        }
    }

    open var subentitiesByName: [String: NSEntityDescription] {
        Dictionary(storedSubentities.compactMap { entity in entity.name.map { ($0, entity) } }, uniquingKeysWith: { $1 })
    }

    /// Inherited properties first. Setting replaces the entity's own.
    open var properties: [NSPropertyDescription] {
        get { (superentity?.properties ?? []) + ownProperties }
        set {
            ownProperties = newValue
            for property in newValue { property.entity = self }
        }
    }

    open var propertiesByName: [String: NSPropertyDescription] {
        Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    }

    open var attributesByName: [String: NSAttributeDescription] {
        propertiesByName.compactMapValues { $0 as? NSAttributeDescription }
    }

    open var relationshipsByName: [String: NSRelationshipDescription] {
        propertiesByName.compactMapValues { $0 as? NSRelationshipDescription }
    }

    open func relationships(forDestination entity: NSEntityDescription) -> [NSRelationshipDescription] {
        properties.compactMap { $0 as? NSRelationshipDescription }.filter { $0.destinationEntity === entity }
    }

    /// Whether this entity is the given one or one of its heirs.
    open func isKindOf(entity: NSEntityDescription) -> Bool {
        self === entity || (superentity?.isKindOf(entity: entity) ?? false)
    }

    open class func entity(forEntityName name: String, in context: NSManagedObjectContext) -> NSEntityDescription? {
        context.persistentStoreCoordinator?.managedObjectModel.entitiesByName[name]
    }

    /// - Precondition: The context's model has an entity of that name that is not abstract.
    open class func insertNewObject(forEntityName name: String, into context: NSManagedObjectContext) -> NSManagedObject {
        guard let entity = entity(forEntityName: name, in: context) else {
            preconditionFailure("the context's model has no entity named '\(name)'")
        }
        return NSManagedObject.make(entity, insertedInto: context)
    }

    /// What objects of this entity are laid out by. Set when the model is frozen, cleared when it goes.
    ///
    /// Strong, though the layout leads back here: a weak reference would make each object that holds the layout slower.
    package internal(set) final var layout: EntityLayout?

    package var value: Entity {
        var entity = declared
        entity.name = name ?? ""
        entity.superentity = superentity?.name
        entity.isAbstract = isAbstract
        entity.attributes = ownProperties.compactMap { ($0 as? NSAttributeDescription)?.value }
        entity.relationships = ownProperties.compactMap { ($0 as? NSRelationshipDescription)?.value }
        let className = (managedObjectClassName ?? "NSManagedObject").split(separator: ".", maxSplits: 1)
        entity.className = className.last.map(String.init) ?? "NSManagedObject"
        entity.classModule = className.count == 2 ? String(className[0]) : nil
        entity.userInfo = strings(of: userInfo)
        entity.indexes = indexes.map(\.value)
        entity.renamingIdentifier = renamingIdentifier
        entity.versionHashModifier = versionHashModifier
        entity.uniquenessConstraints = uniquenessConstraints.map { constraint in
            constraint.compactMap { ($0 as? NSPropertyDescription)?.name ?? $0 as? String }
        }
        return entity
    }

    static func descriptions(of model: Model) -> [NSEntityDescription] {
        let byName = Dictionary(
            model.entities.map { ($0.name, NSEntityDescription($0)) }, uniquingKeysWith: { first, _ in first })
        for entity in model.entities {
            guard let description = byName[entity.name] else { continue }
            if let parent = entity.superentity.flatMap({ byName[$0] }) { parent.subentities.append(description) }
            for case let relationship as NSRelationshipDescription in description.ownProperties {
                relationship.destinationEntity = byName[relationship.destinationName ?? ""]
            }
        }
        return model.entities.compactMap { byName[$0.name] }
    }

    private convenience init(_ entity: Entity) {
        self.init()
        name = entity.name
        managedObjectClassName = entity.classModule.map { "\($0).\(entity.className)" } ?? entity.className
        isAbstract = entity.isAbstract
        userInfo = entity.userInfo
        renamingIdentifier = entity.renamingIdentifier
        versionHashModifier = entity.versionHashModifier
        uniquenessConstraints = entity.uniquenessConstraints
        declared = entity
        indexes = entity.indexes.map { NSFetchIndexDescription($0) }
        properties =
            entity.attributes.map { NSAttributeDescription($0) } + entity.relationships.map { NSRelationshipDescription($0) }
    }
}

/// Texts of a user-info dictionary; other values have no place in a model file.
func strings(of userInfo: [AnyHashable: Any]?) -> [String: String] {
    var result: [String: String] = [:]
    for (key, value) in userInfo ?? [:] {
        if let key = key.base as? String, let value = value as? String { result[key] = value }
    }
    return result
}
