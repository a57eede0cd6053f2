// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// Every documented symbol of Core Data: a missing one is a compile error. Absent symbols are in the parity ledger, and
/// `tarn port` reports them.
@Suite struct SymbolTests {
    @Test func everyClassHasApplesName() {
        let types: [Any.Type] = [
            NSAsynchronousFetchRequest<NSManagedObject>.self, NSAsynchronousFetchResult<NSManagedObject>.self, NSAtomicStore.self,
            NSAtomicStoreCacheNode.self, NSAttributeDescription.self, NSBatchDeleteRequest.self, NSBatchDeleteResult.self,
            NSBatchInsertRequest.self, NSBatchInsertResult.self, NSBatchUpdateRequest.self, NSBatchUpdateResult.self,
            NSCompositeAttributeDescription.self, NSConstraintConflict.self, NSCustomMigrationStage.self,
            NSDerivedAttributeDescription.self,
            NSEntityDescription.self, NSEntityMapping.self, NSEntityMigrationPolicy.self, NSExpressionDescription.self,
            NSFetchIndexDescription.self, NSFetchIndexElementDescription.self, NSFetchRequest<NSManagedObject>.self,
            NSFetchRequestExpression.self, NSFetchedPropertyDescription.self, NSFetchedResultsController<NSManagedObject>.self,
            NSIncrementalStore.self, NSIncrementalStoreNode.self, NSLightweightMigrationStage.self, NSManagedObject.self,
            NSManagedObjectContext.self, NSManagedObjectID.self, NSManagedObjectModel.self, NSManagedObjectModelReference.self,
            NSMappingModel.self, NSMergeConflict.self, NSMergePolicy.self, NSMigrationManager.self, NSMigrationStage.self,
            NSPersistentCloudKitContainer.self, NSPersistentCloudKitContainer.Event.self, NSPersistentCloudKitContainerEventRequest.self,
            NSPersistentCloudKitContainerEventResult.self, NSPersistentCloudKitContainerOptions.self, NSPersistentContainer.self,
            NSPersistentHistoryChange.self, NSPersistentHistoryChangeRequest.self, NSPersistentHistoryResult.self,
            NSPersistentHistoryToken.self, NSPersistentHistoryTransaction.self, NSPersistentStore.self,
            NSPersistentStoreAsynchronousResult.self, NSPersistentStoreCoordinator.self, NSPersistentStoreDescription.self,
            NSPersistentStoreRequest.self, NSPersistentStoreResult.self, NSPropertyDescription.self, NSPropertyMapping.self,
            NSQueryGenerationToken.self, NSRelationshipDescription.self, NSSaveChangesRequest.self, NSStagedMigrationManager.self,
            NSDiffableDataSourceSnapshotReference.self, NSSecureUnarchiveFromDataTransformer.self, ValueTransformer.self, UndoManager.self,
            (any NSFetchRequestResult).self, (any NSFetchedResultsControllerDelegate).self, (any NSFetchedResultsSectionInfo).self,
        ]
        #expect(Set(types.map { ObjectIdentifier($0) }).count == types.count)
    }

    @Test func constantsHaveApplesTexts() {
        let texts: [(String, String)] = [
            (NSSQLiteStoreType, "SQLite"), (NSBinaryStoreType, "Binary"), (NSInMemoryStoreType, "InMemory"), (NSXMLStoreType, "XML"),
            (NSPersistentStore.StoreType.xml.rawValue, "XML"), (NSStoreTypeKey, "NSStoreType"), (NSStoreUUIDKey, "NSStoreUUID"),
            (NSStoreModelVersionHashesKey, "NSStoreModelVersionHashes"),
            (NSStoreModelVersionIdentifiersKey, "NSStoreModelVersionIdentifiers"),
            (NSInsertedObjectsKey, "inserted"), (NSUpdatedObjectsKey, "updated"), (NSDeletedObjectsKey, "deleted"),
            (NSRefreshedObjectsKey, "refreshed"), (NSInvalidatedObjectsKey, "invalidated"), (NSInvalidatedAllObjectsKey, "invalidatedAll"),
            (NSDetailedErrorsKey, "NSDetailedErrors"), (NSValidationObjectErrorKey, "NSValidationErrorObject"),
            (NSValidationKeyErrorKey, "NSValidationErrorKey"), (NSValidationPredicateErrorKey, "NSValidationErrorPredicate"),
            (NSValidationValueErrorKey, "NSValidationErrorValue"), (NSSQLiteErrorDomain, "NSSQLiteErrorDomain"),
        ]
        for (text, expected) in texts { #expect(text == expected) }
        let names: Set = [
            NSInsertedObjectIDsKey, NSUpdatedObjectIDsKey, NSDeletedObjectIDsKey, NSRefreshedObjectIDsKey, NSInvalidatedObjectIDsKey,
            NSManagedObjectContextQueryGenerationKey, NSPersistentStoreURLKey, NSPersistentHistoryTokenKey, NSAddedPersistentStoresKey,
            NSRemovedPersistentStoresKey, NSUUIDChangedPersistentStoresKey, NSAffectedStoresErrorKey, NSAffectedObjectsErrorKey,
            NSPersistentStoreSaveConflictsErrorKey, NSReadOnlyPersistentStoreOption, NSPersistentStoreTimeoutOption, NSSQLitePragmasOption,
            NSSQLiteAnalyzeOption, NSSQLiteManualVacuumOption, NSIgnorePersistentStoreVersioningOption,
            NSMigratePersistentStoresAutomaticallyOption, NSInferMappingModelAutomaticallyOption, NSPersistentStoreOSCompatibility,
            NSPersistentStoreConnectionPoolMaxSizeKey, NSPersistentStoreForceDestroyOption, NSPersistentStoreFileProtectionKey,
            NSPersistentHistoryTrackingKey, NSPersistentStoreRemoteChangeNotificationPostOptionKey, NSBinaryStoreSecureDecodingClasses,
            NSBinaryStoreInsecureDecodingCompatibilityOption, NSPersistentStoreStagedMigrationManagerOptionKey,
            NSPersistentStoreDeferredLightweightMigrationOptionKey, NSValidateXMLStoreOption, NSMigrationManagerKey,
            NSMigrationSourceObjectKey, NSMigrationDestinationObjectKey, NSMigrationEntityMappingKey, NSMigrationPropertyMappingKey,
            NSMigrationEntityPolicyKey,
        ]
        #expect(names.count == 39)
        #expect(NSInsertedObjectIDsKey == NSManagedObjectContext.NotificationKey.insertedObjectIDs.rawValue)
        #expect(NSManagedObjectContextQueryGenerationKey == NSManagedObjectContext.NotificationKey.queryGeneration.rawValue)
        #expect(NSCoreDataVersionNumber > NSCoreDataVersionNumber_iPhoneOS_9_3)
        #expect(NSCoreDataVersionNumber > NSCoreDataVersionNumber10_11_3)
    }

    @Test func errorCodesHaveApplesNumbers() {
        let codes: [(Int, Int)] = [
            (NSManagedObjectValidationError, 1550), (NSManagedObjectConstraintValidationError, 1551),
            (NSValidationMultipleErrorsError, 1560),
            (NSValidationMissingMandatoryPropertyError, 1570), (NSValidationRelationshipLacksMinimumCountError, 1580),
            (NSValidationRelationshipExceedsMaximumCountError, 1590), (NSValidationRelationshipDeniedDeleteError, 1600),
            (NSValidationNumberTooLargeError, 1610), (NSValidationNumberTooSmallError, 1620), (NSValidationDateTooLateError, 1630),
            (NSValidationDateTooSoonError, 1640), (NSValidationInvalidDateError, 1650), (NSValidationStringTooLongError, 1660),
            (NSValidationStringTooShortError, 1670), (NSValidationStringPatternMatchingError, 1680), (NSValidationInvalidURIError, 1690),
            (NSManagedObjectContextLockingError, 132_000), (NSPersistentStoreCoordinatorLockingError, 132_010),
            (NSManagedObjectReferentialIntegrityError, 133_000), (NSManagedObjectExternalRelationshipError, 133_010),
            (NSManagedObjectMergeError, 133_020), (NSManagedObjectConstraintMergeError, 133_021),
            (NSPersistentStoreInvalidTypeError, 134_000),
            (NSPersistentStoreTypeMismatchError, 134_010), (NSPersistentStoreIncompatibleSchemaError, 134_020),
            (NSPersistentStoreSaveError, 134_030), (NSPersistentStoreIncompleteSaveError, 134_040),
            (NSPersistentStoreSaveConflictsError, 134_050),
            (NSCoreDataError, 134_060), (NSPersistentStoreOperationError, 134_070), (NSPersistentStoreOpenError, 134_080),
            (NSPersistentStoreTimeoutError, 134_090), (NSPersistentStoreUnsupportedRequestTypeError, 134_091),
            (NSPersistentStoreIncompatibleVersionHashError, 134_100), (NSMigrationError, 134_110),
            (NSMigrationConstraintViolationError, 134_111),
            (NSMigrationCancelledError, 134_120), (NSMigrationMissingSourceModelError, 134_130),
            (NSMigrationMissingMappingModelError, 134_140),
            (NSMigrationManagerSourceStoreError, 134_150), (NSMigrationManagerDestinationStoreError, 134_160),
            (NSEntityMigrationPolicyError, 134_170), (NSSQLiteError, 134_180), (NSInferredMappingModelError, 134_190),
            (NSExternalRecordImportError, 134_200), (NSPersistentHistoryTokenExpiredError, 134_301),
            (NSModelReferenceNotFoundError, 134_504),
            (NSStagedMigrationFrameworkVersionMismatchError, 134_505), (NSStagedMigrationBackwardMigrationError, 134_506),
            (CocoaError.Code.externalRecordImport.rawValue, 134_200), (CocoaError.externalRecordImport.rawValue, 134_200),
        ]
        for (code, expected) in codes { #expect(code == expected) }
    }

    @Test func aStoreOfTypeXMLIsRejected() {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Library.model)
        let error = #expect(throws: CocoaError.self) {
            try coordinator.addPersistentStore(
                ofType: NSXMLStoreType, configurationName: nil, at: URL(fileURLWithPath: "/dev/null"),
                options: [NSValidateXMLStoreOption: true])
        }
        #expect(error?.code == .persistentStoreInvalidType)
    }

    @Test func aPropertysEntityIsUsedWithoutUnwrapping() {
        let name: String? = Library.model.entitiesByName["Book"]?.attributesByName["title"].map { $0.entity.name ?? "" }
        #expect(name == "Book")
        #expect(NSAttributeDescription().entity == nil)
    }

    @Test func transformersOverrideInitWithoutRequired() throws {
        let transformer = try #require(ValueTransformer(forName: NSValueTransformerName("ParityTests.PlainInitTransformer")))
        #expect((transformer as? PlainInitTransformer)?.suffix == "!")
        #expect(transformer.transformedValue("a") as? String == "a!")
    }

    @available(*, deprecated, message: "tests deprecated names")
    @Test func deprecatedNamesAreDeclared() throws {
        #expect(NSManagedObjectContextConcurrencyType.confinementConcurrencyType.rawValue == 0)
        #expect(NSPersistentStoreUbiquitousTransitionType.initialImportCompleted.rawValue == 4)
        let names: Set = [
            NSPersistentStoreUbiquitousTransitionTypeKey, NSPersistentStoreUbiquitousContentNameKey,
            NSPersistentStoreUbiquitousContentURLKey,
            NSPersistentStoreUbiquitousPeerTokenOption, NSPersistentStoreUbiquitousContainerIdentifierKey,
            NSPersistentStoreRemoveUbiquitousMetadataOption, NSPersistentStoreRebuildFromUbiquitousContentOption,
            Notification.Name.NSPersistentStoreDidImportUbiquitousContentChanges.rawValue,
        ]
        #expect(names.count == 8)
        let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
        context.persistentStoreCoordinator = try Library.container().persistentStoreCoordinator
        _ = Author(context: context)
        try context.save()
        #expect(try context.count(for: NSFetchRequest<Author>(entityName: "Author")) == 1)
    }

    @Test func optionsAreWrittenAsObjects() {
        let description = NSPersistentStoreDescription()
        description.setOption(FileProtectionType.complete as NSObject, forKey: NSPersistentStoreFileProtectionKey)
        #expect(description.options[NSPersistentStoreFileProtectionKey] as? String == FileProtectionType.complete.rawValue)
        #expect(FileProtectionType.none as NSString == "NSFileProtectionNone")
    }

    @Test func classesAreFoundByTheirObjectiveCNames() async {
        #expect(autoreleasepool { 5 } == 5)
        #expect(throws: CocoaError.self) { try autoreleasepool { throw CocoaError(.coreData) } }
        #expect(Author.classForCoder() == Author.self)
        let lock = NSObject()
        nonisolated(unsafe) var count = 0
        nonisolated(unsafe) let shared = lock
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<1000 {
                objc_sync_enter(shared)
                objc_sync_enter(shared)
                count += 1
                objc_sync_exit(shared)
                objc_sync_exit(shared)
            }
        }
        #expect(count == 4000)
        #expect(objc_sync_exit(lock) == -1)
    }
}

final class PlainInitTransformer: ValueTransformer {
    let suffix: String

    override init() {
        suffix = "!"
        super.init()
    }

    override func transformedValue(_ value: Any?) -> Any? { (value as? String).map { $0 + suffix } }
}

// Members, grouped as on Apple's pages. Never called: they must compile.

private func membersOfModels(_ model: NSManagedObjectModel, _ entity: NSEntityDescription, _ url: URL) throws {
    _ = NSManagedObjectModel()
    _ = NSManagedObjectModel(contentsOf: url)
    _ = NSManagedObjectModel(byMerging: [model])
    _ = NSManagedObjectModel(byMerging: [model], forStoreMetadata: [:])
    _ = NSManagedObjectModel.mergedModel(from: nil)
    _ = NSManagedObjectModel.mergedModel(from: nil, forStoreMetadata: [:])
    _ = (
        model.entities, model.entitiesByName, model.configurations, model.entities(forConfigurationName: nil), model.localizationDictionary
    )
    model.setEntities([entity], forConfigurationName: "A")
    _ = model.fetchRequestTemplate(forName: "A")
    model.setFetchRequestTemplate(nil, forName: "A")
    _ = model.fetchRequestFromTemplate(withName: "A", substitutionVariables: [:])
    _ = (model.fetchRequestTemplatesByName, model.entityVersionHashesByName, model.versionIdentifiers, model.versionChecksum)
    _ = model.isConfiguration(withName: nil, compatibleWithStoreMetadata: [:])
    _ = try NSManagedObjectModel.checksumsForVersionedModel(at: url)
    _ = (entity.name, entity.managedObjectClassName, entity.isAbstract, entity.subentities, entity.subentitiesByName, entity.superentity)
    _ = (entity.properties, entity.propertiesByName, entity.attributesByName, entity.relationshipsByName, entity.managedObjectModel)
    _ = (entity.relationships(forDestination: entity), entity.isKindOf(entity: entity), entity.userInfo, entity.versionHash)
    _ = (entity.versionHashModifier, entity.renamingIdentifier, entity.indexes, entity.uniquenessConstraints)
    _ = entity.coreSpotlightDisplayNameExpression
}

private func membersOfObjects(_ object: NSManagedObject) throws {
    _ = (object.managedObjectContext, object.entity, object.objectID, object.isInserted, object.isUpdated, object.isDeleted)
    _ = (object.hasChanges, object.hasPersistentChangedValues, object.isFault, object.faultingState)
    object.willAccessValue(forKey: nil)
    object.didAccessValue(forKey: nil)
    object.willChangeValue(forKey: "a")
    object.didChangeValue(forKey: "a")
    object.willChangeValue(forKey: "a", withSetMutation: .union, using: [])
    object.didChangeValue(forKey: "a", withSetMutation: .union, using: [])
    object.willChange(.insertion, valuesAt: IndexSet(integer: 0), forKey: "a")
    object.didChange(.insertion, valuesAt: IndexSet(integer: 0), forKey: "a")
    object.setPrimitiveValue(object.primitiveValue(forKey: "a"), forKey: "a")
    object.setValue(object.value(forKey: "a"), forKey: "a")
    _ = (object.mutableSetValue(forKey: "a"), object.mutableOrderedSetValue(forKey: "a"))
    _ = (object.committedValues(forKeys: nil), object.changedValues(), object.changedValuesForCurrentEvent())
    _ = (object.hasFault(forRelationshipNamed: "a"), object.objectIDs(forRelationshipNamed: "a"))
    object.awakeFromInsert()
    object.awakeFromFetch()
    object.awake(fromSnapshotEvents: [.undoInsertion, .undoDeletion, .undoUpdate, .rollback, .refresh, .mergePolicy])
    object.prepareForDeletion()
    object.willSave()
    object.didSave()
    object.willTurnIntoFault()
    object.didTurnIntoFault()
    try object.validateForInsert()
    try object.validateForUpdate()
    try object.validateForDelete()
    _ = (NSManagedObject.contextShouldIgnoreUnmodeledPropertyChanges, NSManagedObject.entity(), NSManagedObject.fetchRequest())
    _ = (object.objectID.entity, object.objectID.persistentStore, object.objectID.isTemporaryID, object.objectID.uriRepresentation())
}

private func membersOfStacks(_ coordinator: NSPersistentStoreCoordinator, _ store: NSPersistentStore, _ url: URL) async throws {
    _ = (coordinator.managedObjectModel, coordinator.persistentStores, coordinator.name, coordinator.persistentStore(for: url))
    _ = (coordinator.url(for: store), coordinator.setURL(url, for: store), coordinator.managedObjectID(forURIRepresentation: url))
    _ = try coordinator.migratePersistentStore(store, to: url, options: nil, withType: NSSQLiteStoreType)
    _ = try coordinator.migratePersistentStore(store, to: url, options: nil, type: .sqlite)
    try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType, options: nil)
    try coordinator.destroyPersistentStore(at: url, type: .sqlite, options: nil)
    try coordinator.replacePersistentStore(
        at: url, destinationOptions: nil, withPersistentStoreFrom: url, sourceOptions: nil, ofType: NSSQLiteStoreType)
    try coordinator.replacePersistentStore(
        at: url, destinationOptions: nil, withPersistentStoreFrom: url, sourceOptions: nil, type: .sqlite)
    coordinator.setMetadata(coordinator.metadata(for: store), for: store)
    _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url, options: nil)
    _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url, options: nil)
    try NSPersistentStoreCoordinator.setMetadata(nil, forPersistentStoreOfType: NSSQLiteStoreType, at: url, options: nil)
    try NSPersistentStoreCoordinator.setMetadata(nil, type: .sqlite, at: url, options: nil)
    _ = coordinator.currentPersistentHistoryToken(fromStores: nil)
    try coordinator.finishDeferredLightweightMigration()
    try coordinator.finishDeferredLightweightMigrationTask()
    NSPersistentStoreCoordinator.registerStoreClass(nil, forStoreType: "A")
    _ = NSPersistentStoreCoordinator.registeredStoreTypes
    _ = await coordinator.perform { 1 }
    _ = (store.type, store.configurationName, store.options, store.url, store.identifier, store.isReadOnly, store.metadata)
    let description = NSPersistentStoreDescription(url: url)
    _ = (description.type, description.configuration, description.url, description.options, description.isReadOnly, description.timeout)
    _ = (description.sqlitePragmas, description.shouldAddStoreAsynchronously, description.shouldMigrateStoreAutomatically)
    _ = (description.shouldInferMappingModelAutomatically, description.cloudKitContainerOptions)
    description.setOption(nil, forKey: "a")
    description.setValue(nil, forPragmaNamed: "a")
}

private func membersOfRequests(_ request: NSFetchRequest<NSManagedObject>, _ context: NSManagedObjectContext) {
    _ = (request.entity, request.entityName, request.predicate, request.sortDescriptors, request.fetchLimit, request.fetchOffset)
    _ = (request.fetchBatchSize, request.affectedStores, request.resultType, request.includesSubentities, request.includesPropertyValues)
    _ = (request.returnsObjectsAsFaults, request.includesPendingChanges, request.shouldRefreshRefetchedObjects)
    _ = (request.relationshipKeyPathsForPrefetching, request.propertiesToFetch, request.returnsDistinctResults, request.propertiesToGroupBy)
    _ = (request.havingPredicate, request.requestType)
    _ = NSFetchRequestExpression.expression(forFetch: NSExpression(format: "a"), context: NSExpression(format: "b"), countOnly: true)
    _ = (context.concurrencyType, context.parent, context.userInfo, context.undoManager, context.transactionAuthor, context.mergePolicy)
    _ = (context.insertedObjects, context.updatedObjects, context.deletedObjects, context.registeredObjects, context.hasChanges)
    _ = (context.automaticallyMergesChangesFromParent, context.propagatesDeletesAtEndOfEvent, context.retainsRegisteredObjects)
    _ = (context.shouldDeleteInaccessibleFaults, context.stalenessInterval, context.queryGenerationToken)
}
