// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

// Names of the variables that expressions of a mapping have.
public let NSMigrationManagerKey = "manager"
public let NSMigrationSourceObjectKey = "source"
public let NSMigrationDestinationObjectKey = "destination"
public let NSMigrationEntityMappingKey = "entityMapping"
public let NSMigrationPropertyMappingKey = "propertyMapping"
public let NSMigrationEntityPolicyKey = "entityPolicy"

/// Carries out one entity mapping. Subclasses override the steps that they want to do in another way.
///
/// All mappings create objects first, then all connect them, then all validate.
///
/// Source: developer.apple.com/documentation/coredata/nsentitymigrationpolicy
open class NSEntityMigrationPolicy: NSObject {
    /// An instance of a class that is known only at run time: its own override of `init` runs.
    static func make(_ policy: NSEntityMigrationPolicy.Type) -> NSEntityMigrationPolicy { policy.init() }

    public required override init() { super.init() }

    open func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {}

    /// Makes an object of the destination entity, gives it the values of the attribute mappings, and associates it with
    /// the source object. Does nothing for a mapping without destination.
    open func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        guard mapping.mappingType != .removeEntityMappingType, let entity = manager.destinationEntity(for: mapping), !entity.isAbstract
        else { return }
        let instance = NSManagedObject(entity: entity, insertInto: manager.destinationContext)
        for property in mapping.attributeMappings ?? [] {
            guard let name = property.name, let expression = property.valueExpression else { continue }
            let value = try manager.value(of: expression, source: sInstance, destination: instance, property, mapping, self)
            // An attribute that is required now keeps its default where there was no value.
            if value == nil, entity.attributesByName[name]?.isOptional == false { continue }
            instance.setValue(value, forKey: name)
        }
        manager.associate(sourceInstance: sInstance, withDestinationInstance: instance, for: mapping)
    }

    open func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

    /// Gives an object the values of the relationship mappings.
    open func createRelationships(
        forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        guard let source = manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [dInstance]).first else { return }
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

    open func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}
    open func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}
    open func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {}
}
