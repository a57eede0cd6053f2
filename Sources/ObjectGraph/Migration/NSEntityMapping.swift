// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
public import PredicateKit

/// What a mapping does with the objects of an entity. Raw values are Apple's.
public enum NSEntityMappingType: UInt, Sendable {
    case undefinedEntityMappingType = 0
    /// A policy of the app's own decides.
    case customEntityMappingType = 1
    /// The entity is new.
    case addEntityMappingType = 2
    /// The entity is gone.
    case removeEntityMappingType = 3
    /// The entity is in both models as it was.
    case copyEntityMappingType = 4
    case transformEntityMappingType = 5
}

/// How a property of the new objects comes from an old object.
///
/// Source: developer.apple.com/documentation/coredata/nspropertymapping
open class NSPropertyMapping: NSObject {
    /// The property of the destination entity.
    open var name: String?
    /// The property's value; `$source`, `$manager` and the other variables of a migration have values in it.
    open var valueExpression: PredicateKit.NSExpression?
    open var userInfo: [AnyHashable: Any]?
}

/// How objects of one entity of the old model become objects of one of the new model.
///
/// Source: developer.apple.com/documentation/coredata/nsentitymapping
open class NSEntityMapping: NSObject {
    open var name: String! = ""
    open var mappingType: NSEntityMappingType = .undefinedEntityMappingType
    open var sourceEntityName: String?
    open var sourceEntityVersionHash: Data?
    open var destinationEntityName: String?
    open var destinationEntityVersionHash: Data?
    open var attributeMappings: [NSPropertyMapping]?
    open var relationshipMappings: [NSPropertyMapping]?
    /// Selects the source objects; nil for all of the source entity, without those of its heirs.
    open var sourceExpression: PredicateKit.NSExpression?
    open var userInfo: [AnyHashable: Any]?
    /// A subclass of ``NSEntityMigrationPolicy``, by its name with or without the module's.
    open var entityMigrationPolicyClassName: String?
}
