// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

// Names of the variables in a mapping's expressions.
/// The variable of the migration manager.
public let NSMigrationManagerKey = "manager"
/// The variable of the source object.
public let NSMigrationSourceObjectKey = "source"
/// The variable of the destination object.
public let NSMigrationDestinationObjectKey = "destination"
/// The variable of the entity mapping.
public let NSMigrationEntityMappingKey = "entityMapping"
/// The variable of the property mapping.
public let NSMigrationPropertyMappingKey = "propertyMapping"
/// The variable of the migration policy.
public let NSMigrationEntityPolicyKey = "entityPolicy"

/// Executes one entity mapping. Subclasses override the steps that they change.
///
/// Each step runs for all mappings before the next: creation of objects, creation of relationships, validation.
///
/// Source: developer.apple.com/documentation/coredata/nsentitymigrationpolicy
open class NSEntityMigrationPolicy: NSObject {
    /// Creates an instance of a class known only at run time; an override of `init` runs.
    static func make(_ policy: NSEntityMigrationPolicy.Type) -> NSEntityMigrationPolicy { policy.init() }

    public required override init() { super.init() }

    /// Called before the mapping creates objects.
    ///
    /// - Throws: An override's error, which ends the migration.
    open func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {}

    /// Creates an object of the destination entity, sets its mapped attributes, and associates it with the source object.
    /// Has no effect for a mapping without a destination.
    ///
    /// - Throws: `CocoaError` 134110 for an expression without a value, or an override's error; both end the migration.
    open func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        guard mapping.mappingType != .removeEntityMappingType, let entity = manager.destinationEntity(for: mapping), !entity.isAbstract
        else { return }
        let instance = NSManagedObject(entity: entity, insertInto: manager.destinationContext)
        for property in mapping.attributeMappings ?? [] {
            guard let name = property.name, let expression = property.valueExpression else { continue }
            let value = try manager.value(of: expression, source: sInstance, destination: instance, property, mapping, self)
            // An attribute that became required keeps its default if the source has no value.
            if value == nil, entity.attributesByName[name]?.isOptional == false { continue }
            instance.setValue(value, forKey: name)
        }
        manager.associate(sourceInstance: sInstance, withDestinationInstance: instance, for: mapping)
    }

    /// Called after the mapping has created all objects.
    ///
    /// - Throws: An override's error, which ends the migration.
    open func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

    /// Sets the mapped relationships of a destination object.
    ///
    /// - Throws: `CocoaError` 134110 for an expression without a value, or an override's error; both end the migration.
    open func createRelationships(
        forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        guard let source = manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [dInstance]).first else {
            return
        }
        for property in mapping.relationshipMappings ?? [] {
            guard let name = property.name, let expression = property.valueExpression,
                let relationship = dInstance.entity.relationshipsByName[name]
            else { continue }
            let value = try manager.value(of: expression, source: source, destination: dInstance, property, mapping, self)
            let members = Self.members(value)
            if relationship.isToMany {
                dInstance.setValue(relationship.isOrdered ? NSOrderedSet(array: members) : NSSet(array: members), forKey: name)
            } else {
                dInstance.setValue(members.first, forKey: name)
            }
        }
    }

    private static func members(_ value: Any?) -> [NSManagedObject] {
        switch value {
        case let object as NSManagedObject: [object]
        case let set as NSSet: set.allObjects.compactMap { $0 as? NSManagedObject }
        case let set as NSOrderedSet: set.array.compactMap { $0 as? NSManagedObject }
        case let list as [Any]: list.compactMap { $0 as? NSManagedObject }
        default: []
        }
    }

    /// Called after all relationships of the mapping were created.
    ///
    /// - Throws: An override's error, which ends the migration.
    open func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}
    /// Validates the migrated objects.
    ///
    /// - Throws: An override's error, which ends the migration.
    open func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}
    /// Called at the end of the mapping.
    ///
    /// - Throws: An override's error, which ends the migration.
    open func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {}
}
