// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore

extension NSMigrationManager {
    /// Migrates a store to a new file.
    ///
    /// - Parameters:
    ///   - mappings: nil for the inferred one.
    ///   - dURL: Receives the new store when it is complete; an existing store is replaced.
    /// - Throws: `CocoaError`: 134150 when the source cannot be opened with the source model, 134160 for the
    ///   destination, 134170 for a missing policy class, 134120 when the migration was cancelled, a policy's error, and
    ///   errors of validation. The destination is unchanged then.
    public func migrateStore(
        from sourceURL: URL, sourceType sStoreType: String, options sOptions: [AnyHashable: Any]? = nil, with mappings: NSMappingModel?,
        toDestinationURL dURL: URL, destinationType dStoreType: String, destinationOptions dOptions: [AnyHashable: Any]? = nil
    ) throws {
        let mappings = try mappings ?? NSMappingModel.inferredMappingModel(forSourceModel: sourceModel, destinationModel: destinationModel)
        migrationProgress = 0
        let workshop = dURL.deletingLastPathComponent().appendingPathComponent(".\(dURL.lastPathComponent).migrating")
        // Left by a migration that was killed.
        try? remove(workshop)
        try FileManager.default.createDirectory(at: workshop, withIntermediateDirectories: true)
        defer { try? remove(workshop) }
        let draft = workshop.appendingPathComponent(dURL.lastPathComponent)
        let isInPlace =
            usesStoreSpecificMigrationManager && mappings.isInferred && sStoreType == NSSQLiteStoreType && dStoreType == NSSQLiteStoreType
        if isInPlace {
            try migrateCopy(of: sourceURL, sOptions, at: draft, dOptions)
        } else {
            try migrateObjects(from: sourceURL, sStoreType, sOptions, mappings, to: draft, dStoreType, dOptions)
        }
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: NSManagedObjectModel())
        try coordinator.replacePersistentStore(at: dURL, withPersistentStoreFrom: draft, ofType: dStoreType)
        migrationProgress = 1
    }

    /// Migrates a store to a new file, with types as values of ``NSPersistentStore/StoreType``.
    ///
    /// - Throws: The errors of
    ///   ``migrateStore(from:sourceType:options:with:toDestinationURL:destinationType:destinationOptions:)``. The
    ///   destination is unchanged then.
    public func migrateStore(
        from sourceURL: URL, type sourceType: NSPersistentStore.StoreType, options sourceOptions: [AnyHashable: Any]? = nil,
        mapping: NSMappingModel, to destinationURL: URL, type destinationType: NSPersistentStore.StoreType,
        options destinationOptions: [AnyHashable: Any]? = nil
    ) throws {
        try migrateStore(
            from: sourceURL, sourceType: sourceType.rawValue, options: sourceOptions, with: mapping, toDestinationURL: destinationURL,
            destinationType: destinationType.rawValue, destinationOptions: destinationOptions)
    }

    private func remove(_ folder: URL) throws { try FileManager.default.removeItem(at: folder) }

    /// Executes the inferred mapping between SQLite files in SQL.
    private func migrateCopy(of source: URL, _ sOptions: [AnyHashable: Any]?, at draft: URL, _ dOptions: [AnyHashable: Any]?) throws {
        let sourceCoordinator = NSPersistentStoreCoordinator(managedObjectModel: sourceModel.withoutClasses())
        let store = try open(source, NSSQLiteStoreType, sOptions, isSource: true, sourceCoordinator)
        try sourceCoordinator.replacePersistentStore(at: draft, withPersistentStoreFrom: source, ofType: NSSQLiteStoreType)
        try sourceCoordinator.remove(store)
        let after = NSPersistentStoreCoordinator(managedObjectModel: destinationModel.withoutClasses())
        var options = dOptions ?? [:]
        options[NSMigratePersistentStoresAutomaticallyOption] = true
        options[NSInferMappingModelAutomaticallyOption] = true
        try after.remove(try open(draft, NSSQLiteStoreType, options, isSource: false, after))
    }

    private func open(
        _ url: URL, _ type: String, _ options: [AnyHashable: Any]?, isSource: Bool, _ coordinator: NSPersistentStoreCoordinator
    ) throws -> NSPersistentStore {
        var options = options ?? [:]
        if isSource { options[NSReadOnlyPersistentStoreOption] = true }
        do {
            if isSource, !FileManager.default.fileExists(atPath: url.path) {
                throw CocoaError(.fileReadNoSuchFile, sentence: "No store exists at \(url.path).")
            }
            return try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: url, options: options)
        } catch let error as CocoaError where error.code != .inferredMappingModel && error.code != .migration {
            throw CocoaError(
                isSource ? .migrationManagerSourceStore : .migrationManagerDestinationStore,
                sentence: "The store at \(url.path) cannot be migrated: \(error.localizedDescription)",
                userInfo: [NSUnderlyingErrorKey: error])
        }
    }

    private func migrateObjects(
        from source: URL, _ sourceType: String, _ sourceOptions: [AnyHashable: Any]?, _ mappings: NSMappingModel, to draft: URL,
        _ draftType: String, _ draftOptions: [AnyHashable: Any]?
    ) throws {
        let sourceCoordinator = NSPersistentStoreCoordinator(managedObjectModel: sourceModel.withoutClasses())
        let after = NSPersistentStoreCoordinator(managedObjectModel: destinationModel.withoutClasses())
        let sourceStore = try open(source, sourceType, sourceOptions, isSource: true, sourceCoordinator)
        let draftStore = try open(draft, draftType, draftOptions, isSource: false, after)
        let state = State(mappings, sourceCoordinator, after)
        self.state = state
        defer {
            self.state = nil
            try? sourceCoordinator.remove(sourceStore)
            try? after.remove(draftStore)
        }
        try state.sourceContext.performAndWait {
            try state.destinationContext.performAndWait {
                try carryOut(mappings)
                keepMetadata(of: sourceStore, in: draftStore)
                try state.destinationContext.save()
                // Objects leave their contexts before the stores are closed.
                state.destinationContext.reset()
            }
            state.sourceContext.reset()
        }
    }

    private func carryOut(_ mappings: NSMappingModel) throws {
        let steps = try (mappings.entityMappings ?? []).map { ($0, try policy(of: $0)) }
        let total = Float(max(steps.count, 1) * 3)
        var done: Float = 0
        func finished(_ part: Float = 1) {
            done += part
            migrationProgress = min(done / total, 0.99)
        }
        for (mapping, policy) in steps {
            running.current = mapping
            try policy.begin(mapping, with: self)
            let sources = try sources(of: mapping, policy)
            for (index, source) in sources.enumerated() {
                try policy.createDestinationInstances(forSource: source, in: mapping, manager: self)
                if index % 1000 == 999 { migrationProgress = min((done + Float(index) / Float(sources.count)) / total, 0.99) }
                try checkCancelled()
            }
            try policy.endInstanceCreation(forMapping: mapping, manager: self)
            try checkCancelled()
            finished()
        }
        for (mapping, policy) in steps {
            running.current = mapping
            for instance in running.made[mapping.name ?? ""] ?? [] {
                try policy.createRelationships(forDestination: instance, in: mapping, manager: self)
                try checkCancelled()
            }
            try policy.endRelationshipCreation(forMapping: mapping, manager: self)
            try checkCancelled()
            finished()
        }
        for (mapping, policy) in steps {
            running.current = mapping
            try policy.performCustomValidation(forMapping: mapping, manager: self)
            try policy.end(mapping, manager: self)
            try checkCancelled()
            finished()
        }
        running.current = nil
    }

    private func checkCancelled() throws {
        guard let error = running.cancellation else { return }
        throw CocoaError(
            .migrationCancelled, sentence: "The migration was cancelled: \(error.localizedDescription)",
            userInfo: [NSUnderlyingErrorKey: error])
    }

    private func policy(of mapping: NSEntityMapping) throws -> NSEntityMigrationPolicy {
        guard let name = mapping.entityMigrationPolicyClassName, !name.isEmpty, name != "NSEntityMigrationPolicy" else {
            return NSEntityMigrationPolicy()
        }
        guard let policy = (NSClassFromString(name) as? NSEntityMigrationPolicy.Type) ?? ManagedClassLookup.migrationPolicy(named: name)
        else {
            throw CocoaError(
                .entityMigrationPolicy,
                sentence:
                    "The mapping '\(mapping.name ?? "")' names the policy \(name), and the program has no such subclass of NSEntityMigrationPolicy."
            )
        }
        return NSEntityMigrationPolicy.make(policy)
    }

    private func sources(of mapping: NSEntityMapping, _ policy: NSEntityMigrationPolicy) throws -> [NSManagedObject] {
        guard let name = mapping.sourceEntityName else { return [] }
        guard running.sourceEntities[name] != nil else {
            throw CocoaError(
                .migration, sentence: "The mapping '\(mapping.name ?? "")' begins at \(name), which the source model does not have.")
        }
        if let target = mapping.destinationEntityName, running.destinationEntities[target] == nil {
            throw CocoaError(
                .migration, sentence: "The mapping '\(mapping.name ?? "")' leads to \(target), which the destination model does not have.")
        }
        if let expression = mapping.sourceExpression {
            let context = NSMutableDictionary()
            context[NSMigrationManagerKey] = self
            context[NSMigrationEntityMappingKey] = mapping
            context[NSMigrationEntityPolicyKey] = policy
            guard let sources = Self.objects(expression.expressionValue(with: nil, context: context)) else {
                throw CocoaError(
                    .migration,
                    sentence: "The source expression of the mapping '\(mapping.name ?? "")' has a value that isn't a collection of objects."
                )
            }
            return sources
        }
        let request = NSFetchRequest<NSManagedObject>(entityName: name)
        request.includesSubentities = false
        return try running.sourceContext.fetch(request)
    }

    /// - Returns: nil for a value that isn't a collection, or has something else than objects: fewer source objects would mean a destination
    ///   without the others.
    private static func objects(_ value: Any?) -> [NSManagedObject]? {
        let elements: [Any]
        switch value {
        case let list as [Any]: elements = list
        case let set as Set<NSManagedObject>: elements = Array(set)
        case let set as NSSet: elements = set.allObjects
        case let set as NSOrderedSet: elements = set.array
        default: return nil
        }
        let objects = elements.compactMap { $0 as? NSManagedObject }
        return objects.count == elements.count ? objects : nil
    }

    private func keepMetadata(of source: NSPersistentStore, in target: NSPersistentStore) {
        let own = [NSStoreUUIDKey, NSStoreTypeKey]
        let appValues = (source.metadata ?? [:]).filter {
            !own.contains($0.key) && !$0.key.hasPrefix("NS") && !$0.key.hasPrefix("Tarn") && !$0.key.hasPrefix("_")
        }
        if !appValues.isEmpty { target.metadata = appValues.merging(target.metadata ?? [:]) { $1 } }
    }
}
