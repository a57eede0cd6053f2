// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import PredicateKit

/// Migrates a store to another model, object by object, into a new file.
///
/// The new store is written next to its destination and replaces it when it is complete: an earlier failure leaves both
/// files unchanged. The source is only read.
///
/// During a migration every object is a plain ``NSManagedObject``, since both models name the same classes.
///
/// Source: developer.apple.com/documentation/coredata/nsmigrationmanager
open class NSMigrationManager: NSObject, @unchecked Sendable {
    // Unchecked: used by the one thread that migrates.
    /// The model of the source store.
    open private(set) var sourceModel: NSManagedObjectModel
    /// The model of the destination store.
    open private(set) var destinationModel: NSManagedObjectModel
    /// Whether an inferred mapping may run in the store's own, faster way.
    open var usesStoreSpecificMigrationManager = true
    /// Values that the app attaches to the migration.
    open var userInfo: [AnyHashable: Any]?
    /// The progress, from 0 to 1.
    open internal(set) var migrationProgress: Float = 0 { didSet { progressHandler?(migrationProgress) } }
    /// Called when ``migrationProgress`` changes. Differs: Linux has no key-value observing of this class.
    public var progressHandler: ((Float) -> Void)?
    var state: State?

    /// Creates a migration manager for two models.
    public init(sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel) {
        self.sourceModel = sourceModel
        self.destinationModel = destinationModel
        super.init()
    }

    /// The state of a running migration.
    final class State {
        let mappingModel: NSMappingModel
        let sourceContext: NSManagedObjectContext
        let destinationContext: NSManagedObjectContext
        let sourceEntities: [String: NSEntityDescription]
        let destinationEntities: [String: NSEntityDescription]
        var current: NSEntityMapping?
        var cancellation: (any Error)?
        /// Destination objects by mapping and source object, in order of creation.
        var destinations: [String: [NSManagedObjectID: [NSManagedObject]]] = [:]
        var sources: [String: [NSManagedObjectID: [NSManagedObject]]] = [:]
        /// Destination objects of each mapping.
        var made: [String: [NSManagedObject]] = [:]

        init(
            _ mappingModel: NSMappingModel, _ source: NSPersistentStoreCoordinator, _ destination: NSPersistentStoreCoordinator
        ) {
            self.mappingModel = mappingModel
            sourceContext = NSManagedObjectContext(.privateQueue)
            destinationContext = NSManagedObjectContext(.privateQueue)
            sourceContext.persistentStoreCoordinator = source
            destinationContext.persistentStoreCoordinator = destination
            destinationContext.undoManager = nil
            sourceEntities = source.managedObjectModel.entitiesByName
            destinationEntities = destination.managedObjectModel.entitiesByName
        }
    }

    var running: State {
        guard let state else { preconditionFailure("no migration is running; this is for the methods of a migration policy") }
        return state
    }

    // MARK: During a migration

    /// The mapping model.
    ///
    /// - Precondition: A migration is running, as for all members that follow.
    open var mappingModel: NSMappingModel { running.mappingModel }
    /// The context of the source objects.
    open var sourceContext: NSManagedObjectContext { running.sourceContext }
    /// The context of the destination objects.
    open var destinationContext: NSManagedObjectContext { running.destinationContext }

    /// The mapping that is executed now.
    open var currentEntityMapping: NSEntityMapping {
        guard let mapping = running.current else { preconditionFailure("no entity mapping is being executed") }
        return mapping
    }

    /// Returns the source entity of a mapping; nil if it has none.
    open func sourceEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
        mEntity.sourceEntityName.flatMap { running.sourceEntities[$0] }
    }

    /// Returns the destination entity of a mapping; nil if it has none.
    open func destinationEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
        mEntity.destinationEntityName.flatMap { running.destinationEntities[$0] }
    }

    /// Associates a source object with its destination object.
    open func associate(
        sourceInstance: NSManagedObject, withDestinationInstance destinationInstance: NSManagedObject, for entityMapping: NSEntityMapping
    ) {
        let name = entityMapping.name ?? ""
        running.destinations[name, default: [:]][sourceInstance.objectID, default: []].append(destinationInstance)
        running.sources[name, default: [:]][destinationInstance.objectID, default: []].append(sourceInstance)
        running.made[name, default: []].append(destinationInstance)
    }

    /// Returns the destination objects of a mapping.
    ///
    /// - Parameter sourceInstances: nil for all.
    open func destinationInstances(forEntityMappingName mappingName: String, sourceInstances: [NSManagedObject]?) -> [NSManagedObject] {
        guard let sourceInstances else { return running.made[mappingName] ?? [] }
        return sourceInstances.flatMap { running.destinations[mappingName]?[$0.objectID] ?? [] }
    }

    /// Returns the source objects of a mapping's destination objects; of all for nil.
    open func sourceInstances(forEntityMappingName mappingName: String, destinationInstances: [NSManagedObject]?) -> [NSManagedObject] {
        let sourcesByDestination = running.sources[mappingName] ?? [:]
        return (destinationInstances ?? running.made[mappingName] ?? []).flatMap { sourcesByDestination[$0.objectID] ?? [] }
    }

    /// Cancels the migration after its current step;
    /// ``migrateStore(from:sourceType:options:with:toDestinationURL:destinationType:destinationOptions:)`` throws 134120
    /// then, with this error as the underlying one.
    open func cancelMigrationWithError(_ error: any Error) { state?.cancellation = error }

    /// Removes all associations; the migration manager can be used again.
    open func reset() {
        state = nil
        migrationProgress = 0
    }

    /// Evaluates a mapping's expression.
    ///
    /// - Throws: `CocoaError` 134110 for an expression without a value.
    func value(
        of expression: PredicateKit.NSExpression, source: NSManagedObject, destination: NSManagedObject?, _ property: NSPropertyMapping?,
        _ mapping: NSEntityMapping, _ policy: NSEntityMigrationPolicy
    ) throws -> Any? {
        // The property's own value: a predicate's value of a transformable attribute would lose information.
        if case .path(.variable(NSMigrationSourceObjectKey), let keys) = expression.tree, keys.count == 1,
            source.entity.propertiesByName[keys[0]] != nil
        {
            return source.value(forKey: keys[0])
        }
        if case .constant = expression.tree { return expression.constantValue }
        var variables = [
            NSMigrationManagerKey: PredicateValue(self), NSMigrationSourceObjectKey: PredicateValue(source),
            NSMigrationEntityMappingKey: PredicateValue(mapping), NSMigrationEntityPolicyKey: PredicateValue(policy),
        ]
        variables[NSMigrationDestinationObjectKey] = destination.map { PredicateValue($0) }
        variables[NSMigrationPropertyMappingKey] = property.map { PredicateValue($0) }
        do {
            return try expression.tree.value(
                on: PredicateValue(source), variables: variables, now: { Date.now.timeIntervalSinceReferenceDate }
            )
            .foundationValue
        } catch {
            throw CocoaError(
                .migration,
                sentence: "The value of \(mapping.name ?? "").\(property?.name ?? "") cannot be computed: \(error).")
        }
    }
}

extension NSMigrationManager: PredicateMessageTarget {
    package func predicateAnswer(to method: String, _ arguments: [PredicateValue]) -> PredicateValue {
        func objects(_ value: PredicateValue) -> [NSManagedObject] {
            switch value {
            case .list(let members): members.flatMap(objects)
            case .object(let object): (object.reference as? NSManagedObject).map { [$0] } ?? []
            default: []
            }
        }
        guard arguments.count == 2, case .string(let name) = arguments[0] else { return .null }
        let sourceObjects = objects(arguments[1])
        let destinationObjects: [NSManagedObject]
        switch method {
        case "destinationInstancesForEntityMappingNamed:sourceInstances:":
            destinationObjects = destinationInstances(forEntityMappingName: name, sourceInstances: sourceObjects)
        case "sourceInstancesForEntityMappingNamed:destinationInstances:":
            destinationObjects = sourceInstances(forEntityMappingName: name, destinationInstances: sourceObjects)
        default:
            // The members may have been migrated by any mapping.
            let mappings = (running.mappingModel.entityMappings ?? []).compactMap(\.name)
            destinationObjects = sourceObjects.flatMap { member in
                mappings.lazy.compactMap { self.running.destinations[$0]?[member.objectID] }.first ?? []
            }
        }
        return .list(destinationObjects.map { .object(PredicateObject($0)) })
    }
}
