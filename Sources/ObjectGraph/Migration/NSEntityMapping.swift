// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
public import PredicateKit

/// The treatment of an entity's objects by a mapping. Raw values are Apple's.
public enum NSEntityMappingType: UInt, Sendable {
    /// Not set.
    case undefinedEntityMappingType = 0
    /// The app's own policy decides.
    case customEntityMappingType = 1
    /// The entity is new.
    case addEntityMappingType = 2
    /// The entity was removed.
    case removeEntityMappingType = 3
    /// The entity is the same in both models.
    case copyEntityMappingType = 4
    /// The entity changed.
    case transformEntityMappingType = 5
}

/// The source of a destination property's value.
///
/// Source: developer.apple.com/documentation/coredata/nspropertymapping
open class NSPropertyMapping: NSObject {
    /// The property of the destination entity.
    open var name: String?
    /// The property's value. `$source`, `$manager` and the other variables of a migration are defined in it.
    open var valueExpression: PredicateKit.NSExpression?
    /// Values that the app attaches to the mapping.
    open var userInfo: [AnyHashable: Any]?
}

/// The conversion of objects of one entity of the old model into objects of one entity of the new model.
///
/// Source: developer.apple.com/documentation/coredata/nsentitymapping
open class NSEntityMapping: NSObject {
    /// The mapping's name, by which other mappings find its objects.
    open var name: String! = ""
    /// The treatment of the entity's objects.
    open var mappingType: NSEntityMappingType = .undefinedEntityMappingType
    /// The source entity; nil for a new entity.
    open var sourceEntityName: String?
    /// The version hash of the source entity.
    open var sourceEntityVersionHash: Data?
    /// The destination entity; nil for a removed entity.
    open var destinationEntityName: String?
    /// The version hash of the destination entity.
    open var destinationEntityVersionHash: Data?
    /// The values of the destination's attributes.
    open var attributeMappings: [NSPropertyMapping]?
    /// The values of the destination's relationships.
    open var relationshipMappings: [NSPropertyMapping]?
    /// Selects the source objects; nil for all objects of the source entity, without those of its subentities.
    open var sourceExpression: PredicateKit.NSExpression?
    /// Values that the app attaches to the mapping.
    open var userInfo: [AnyHashable: Any]?
    /// The name of a subclass of ``NSEntityMigrationPolicy``, with or without its module's name.
    open var entityMigrationPolicyClassName: String?
}
