// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/Fetching.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CoreData
import Foundation
import Testing

@Suite struct FetchingSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("NSPersistentStoreRequestType.fetchRequestType", NSPersistentStoreRequestType.fetchRequestType, 1)
        expectDocumented("NSPersistentStoreRequestType.saveRequestType", NSPersistentStoreRequestType.saveRequestType, 2)
        expectDocumented("NSPersistentStoreRequestType.batchInsertRequestType", NSPersistentStoreRequestType.batchInsertRequestType, 5)
        expectDocumented("NSPersistentStoreRequestType.batchUpdateRequestType", NSPersistentStoreRequestType.batchUpdateRequestType, 6)
        expectDocumented("NSPersistentStoreRequestType.batchDeleteRequestType", NSPersistentStoreRequestType.batchDeleteRequestType, 7)
        expectDocumented("NSFetchRequestResultType.managedObjectIDResultType", NSFetchRequestResultType.managedObjectIDResultType, 1)
        expectDocumented("NSFetchRequestResultType.dictionaryResultType", NSFetchRequestResultType.dictionaryResultType, 2)
        expectDocumented("NSFetchRequestResultType.countResultType", NSFetchRequestResultType.countResultType, 4)
        expectDocumented("NSBatchInsertRequestResultType.statusOnly", NSBatchInsertRequestResultType.statusOnly, 0)
        expectDocumented("NSBatchInsertRequestResultType.objectIDs", NSBatchInsertRequestResultType.objectIDs, 1)
        expectDocumented("NSBatchInsertRequestResultType.count", NSBatchInsertRequestResultType.count, 2)
        expectDocumented("NSBatchUpdateRequestResultType.statusOnlyResultType", NSBatchUpdateRequestResultType.statusOnlyResultType, 0)
        expectDocumented("NSBatchUpdateRequestResultType.updatedObjectIDsResultType", NSBatchUpdateRequestResultType.updatedObjectIDsResultType, 1)
        expectDocumented("NSBatchUpdateRequestResultType.updatedObjectsCountResultType", NSBatchUpdateRequestResultType.updatedObjectsCountResultType, 2)
        expectDocumented("NSBatchDeleteRequestResultType.resultTypeStatusOnly", NSBatchDeleteRequestResultType.resultTypeStatusOnly, 0)
        expectDocumented("NSBatchDeleteRequestResultType.resultTypeObjectIDs", NSBatchDeleteRequestResultType.resultTypeObjectIDs, 1)
        expectDocumented("NSBatchDeleteRequestResultType.resultTypeCount", NSBatchDeleteRequestResultType.resultTypeCount, 2)
        expectDocumented("NSFetchedResultsChangeType.insert", NSFetchedResultsChangeType.insert, 1)
        expectDocumented("NSFetchedResultsChangeType.delete", NSFetchedResultsChangeType.delete, 2)
        expectDocumented("NSFetchedResultsChangeType.move", NSFetchedResultsChangeType.move, 3)
        expectDocumented("NSFetchedResultsChangeType.update", NSFetchedResultsChangeType.update, 4)
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesNSFetchRequestNSManagedObject()
        Self.usesNSPersistentStoreRequest()
        Self.usesNSPersistentStoreRequestType()
        Self.usesNSFetchRequestResultType()
        Self.usesNSAsynchronousFetchRequestNSManagedObject()
        Self.usesNSAsynchronousFetchResultNSManagedObject()
        Self.usesNSPersistentStoreAsynchronousResult()
        Self.usesNSBatchInsertRequest()
        Self.usesNSBatchInsertResult()
        Self.usesNSBatchInsertRequestResultType()
        Self.usesNSBatchUpdateRequest()
        Self.usesNSBatchUpdateResult()
        Self.usesNSBatchUpdateRequestResultType()
        Self.usesNSBatchDeleteRequest()
        Self.usesNSBatchDeleteResult()
        Self.usesNSBatchDeleteRequestResultType()
        Self.usesNSFetchedResultsControllerNSManagedObject()
        Self.usesNSFetchedResultsChangeType()
    }

    private static func usesNSFetchRequestNSManagedObject() {
        _ = { (x: NSFetchRequest<NSManagedObject>) -> NSPersistentStoreRequest in x }
        _ = { (x: NSFetchRequest<NSManagedObject>) -> any NSCopying in x }
        _ = { () -> NSFetchRequest<NSManagedObject> in NSFetchRequest<NSManagedObject>() }
        _ = { (a0: String) -> NSFetchRequest<NSManagedObject> in NSFetchRequest<NSManagedObject>(entityName: a0) }
        _ = { (x: NSFetchRequest<NSManagedObject>) throws -> [NSManagedObject] in try x.execute() }
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, NSEntityDescription?> = \.entity
        let _: KeyPath<NSFetchRequest<NSManagedObject>, String?> = \.entityName
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, NSPredicate?> = \.predicate
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, [NSSortDescriptor]?> = \.sortDescriptors
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, Int> = \.fetchLimit
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, Int> = \.fetchOffset
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, Int> = \.fetchBatchSize
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, NSFetchRequestResultType> = \.resultType
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, Bool> = \.includesSubentities
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, Bool> = \.includesPropertyValues
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, Bool> = \.includesPendingChanges
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, Bool> = \.returnsObjectsAsFaults
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, [String]?> = \.relationshipKeyPathsForPrefetching
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, Bool> = \.returnsDistinctResults
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, [Any]?> = \.propertiesToFetch
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, Bool> = \.shouldRefreshRefetchedObjects
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, [Any]?> = \.propertiesToGroupBy
        let _: ReferenceWritableKeyPath<NSFetchRequest<NSManagedObject>, NSPredicate?> = \.havingPredicate
    }

    private static func usesNSPersistentStoreRequest() {
        _ = { (x: NSPersistentStoreRequest) -> NSObject in x }
        let _: ReferenceWritableKeyPath<NSPersistentStoreRequest, [NSPersistentStore]?> = \.affectedStores
        let _: KeyPath<NSPersistentStoreRequest, NSPersistentStoreRequestType> = \.requestType
    }

    private static func usesNSPersistentStoreRequestType() {
        _ = NSPersistentStoreRequestType.self
        _ = { () -> NSPersistentStoreRequestType in .fetchRequestType }
        _ = { () -> NSPersistentStoreRequestType in .saveRequestType }
        _ = { () -> NSPersistentStoreRequestType in .batchInsertRequestType }
        _ = { () -> NSPersistentStoreRequestType in .batchUpdateRequestType }
        _ = { () -> NSPersistentStoreRequestType in .batchDeleteRequestType }
    }

    private static func usesNSFetchRequestResultType() {
        _ = { (x: NSFetchRequestResultType) -> any OptionSet in x }
        _ = { () -> NSFetchRequestResultType in .managedObjectIDResultType }
        _ = { () -> NSFetchRequestResultType in .dictionaryResultType }
        _ = { () -> NSFetchRequestResultType in .countResultType }
    }

    private static func usesNSAsynchronousFetchRequestNSManagedObject() {
        _ = { (x: NSAsynchronousFetchRequest<NSManagedObject>) -> NSPersistentStoreRequest in x }
        _ = { (a0: NSFetchRequest<NSManagedObject>, a1: ((NSAsynchronousFetchResult<NSManagedObject>) -> Void)?) -> NSAsynchronousFetchRequest<NSManagedObject> in NSAsynchronousFetchRequest<NSManagedObject>(fetchRequest: a0, completionBlock: a1) }
        _ = { (a0: NSFetchRequest<NSManagedObject>) -> NSAsynchronousFetchRequest<NSManagedObject> in NSAsynchronousFetchRequest<NSManagedObject>(fetchRequest: a0) }
        let _: KeyPath<NSAsynchronousFetchRequest<NSManagedObject>, NSFetchRequest<NSManagedObject>> = \.fetchRequest
        let _: ReferenceWritableKeyPath<NSAsynchronousFetchRequest<NSManagedObject>, Int> = \.estimatedResultCount
    }

    private static func usesNSAsynchronousFetchResultNSManagedObject() {
        _ = { (x: NSAsynchronousFetchResult<NSManagedObject>) -> NSPersistentStoreAsynchronousResult in x }
        let _: KeyPath<NSAsynchronousFetchResult<NSManagedObject>, [NSManagedObject]?> = \.finalResult
    }

    private static func usesNSPersistentStoreAsynchronousResult() {
        _ = { (x: NSPersistentStoreAsynchronousResult) -> NSPersistentStoreResult in x }
        let _: KeyPath<NSPersistentStoreAsynchronousResult, NSManagedObjectContext> = \.managedObjectContext
        let _: KeyPath<NSPersistentStoreAsynchronousResult, (any Error)?> = \.operationError
        let _: KeyPath<NSPersistentStoreAsynchronousResult, Progress?> = \.progress
        _ = { (x: NSPersistentStoreAsynchronousResult) -> Void in x.cancel() }
    }

    private static func usesNSBatchInsertRequest() {
        _ = { (x: NSBatchInsertRequest) -> NSPersistentStoreRequest in x }
        _ = { (a0: String, a1: [[String: Any]]) -> NSBatchInsertRequest in NSBatchInsertRequest(entityName: a0, objects: a1) }
        _ = { (a0: NSEntityDescription, a1: [[String: Any]]) -> NSBatchInsertRequest in NSBatchInsertRequest(entity: a0, objects: a1) }
        _ = { (a0: String, a1: @escaping (NSMutableDictionary) -> Bool) -> NSBatchInsertRequest in NSBatchInsertRequest(entityName: a0, dictionaryHandler: a1) }
        _ = { (a0: NSEntityDescription, a1: @escaping (NSMutableDictionary) -> Bool) -> NSBatchInsertRequest in NSBatchInsertRequest(entity: a0, dictionaryHandler: a1) }
        _ = { (a0: String, a1: @escaping (NSManagedObject) -> Bool) -> NSBatchInsertRequest in NSBatchInsertRequest(entityName: a0, managedObjectHandler: a1) }
        _ = { (a0: NSEntityDescription, a1: @escaping (NSManagedObject) -> Bool) -> NSBatchInsertRequest in NSBatchInsertRequest(entity: a0, managedObjectHandler: a1) }
        let _: KeyPath<NSBatchInsertRequest, String> = \.entityName
        let _: KeyPath<NSBatchInsertRequest, NSEntityDescription?> = \.entity
        let _: ReferenceWritableKeyPath<NSBatchInsertRequest, [[String: Any]]?> = \.objectsToInsert
        let _: ReferenceWritableKeyPath<NSBatchInsertRequest, ((NSMutableDictionary) -> Bool)?> = \.dictionaryHandler
        let _: ReferenceWritableKeyPath<NSBatchInsertRequest, ((NSManagedObject) -> Bool)?> = \.managedObjectHandler
        let _: ReferenceWritableKeyPath<NSBatchInsertRequest, NSBatchInsertRequestResultType> = \.resultType
    }

    private static func usesNSBatchInsertResult() {
        _ = { (x: NSBatchInsertResult) -> NSPersistentStoreResult in x }
        let _: KeyPath<NSBatchInsertResult, Any?> = \.result
        let _: KeyPath<NSBatchInsertResult, NSBatchInsertRequestResultType> = \.resultType
    }

    private static func usesNSBatchInsertRequestResultType() {
        _ = NSBatchInsertRequestResultType.self
        _ = { () -> NSBatchInsertRequestResultType in .statusOnly }
        _ = { () -> NSBatchInsertRequestResultType in .objectIDs }
        _ = { () -> NSBatchInsertRequestResultType in .count }
    }

    private static func usesNSBatchUpdateRequest() {
        _ = { (x: NSBatchUpdateRequest) -> NSPersistentStoreRequest in x }
        _ = { (a0: String) -> NSBatchUpdateRequest in NSBatchUpdateRequest(entityName: a0) }
        _ = { (a0: NSEntityDescription) -> NSBatchUpdateRequest in NSBatchUpdateRequest(entity: a0) }
        let _: KeyPath<NSBatchUpdateRequest, String> = \.entityName
        let _: KeyPath<NSBatchUpdateRequest, NSEntityDescription> = \.entity
        let _: ReferenceWritableKeyPath<NSBatchUpdateRequest, NSPredicate?> = \.predicate
        let _: ReferenceWritableKeyPath<NSBatchUpdateRequest, Bool> = \.includesSubentities
        let _: ReferenceWritableKeyPath<NSBatchUpdateRequest, NSBatchUpdateRequestResultType> = \.resultType
        let _: ReferenceWritableKeyPath<NSBatchUpdateRequest, [AnyHashable: Any]?> = \.propertiesToUpdate
    }

    private static func usesNSBatchUpdateResult() {
        _ = { (x: NSBatchUpdateResult) -> NSPersistentStoreResult in x }
        let _: KeyPath<NSBatchUpdateResult, Any?> = \.result
        let _: KeyPath<NSBatchUpdateResult, NSBatchUpdateRequestResultType> = \.resultType
    }

    private static func usesNSBatchUpdateRequestResultType() {
        _ = NSBatchUpdateRequestResultType.self
        _ = { () -> NSBatchUpdateRequestResultType in .statusOnlyResultType }
        _ = { () -> NSBatchUpdateRequestResultType in .updatedObjectIDsResultType }
        _ = { () -> NSBatchUpdateRequestResultType in .updatedObjectsCountResultType }
    }

    private static func usesNSBatchDeleteRequest() {
        _ = { (x: NSBatchDeleteRequest) -> NSPersistentStoreRequest in x }
        _ = { (a0: NSFetchRequest<any NSFetchRequestResult>) -> NSBatchDeleteRequest in NSBatchDeleteRequest(fetchRequest: a0) }
        _ = { (a0: [NSManagedObjectID]) -> NSBatchDeleteRequest in NSBatchDeleteRequest(objectIDs: a0) }
        let _: KeyPath<NSBatchDeleteRequest, NSFetchRequest<any NSFetchRequestResult>> = \.fetchRequest
        let _: ReferenceWritableKeyPath<NSBatchDeleteRequest, NSBatchDeleteRequestResultType> = \.resultType
    }

    private static func usesNSBatchDeleteResult() {
        _ = { (x: NSBatchDeleteResult) -> NSPersistentStoreResult in x }
        let _: KeyPath<NSBatchDeleteResult, Any?> = \.result
        let _: KeyPath<NSBatchDeleteResult, NSBatchDeleteRequestResultType> = \.resultType
    }

    private static func usesNSBatchDeleteRequestResultType() {
        _ = NSBatchDeleteRequestResultType.self
        _ = { () -> NSBatchDeleteRequestResultType in .resultTypeStatusOnly }
        _ = { () -> NSBatchDeleteRequestResultType in .resultTypeObjectIDs }
        _ = { () -> NSBatchDeleteRequestResultType in .resultTypeCount }
    }

    private static func usesNSFetchedResultsControllerNSManagedObject() {
        _ = { (x: NSFetchedResultsController<NSManagedObject>) -> NSObject in x }
        _ = { (a0: NSFetchRequest<NSManagedObject>, a1: NSManagedObjectContext, a2: String?, a3: String?) -> NSFetchedResultsController<NSManagedObject> in NSFetchedResultsController<NSManagedObject>(fetchRequest: a0, managedObjectContext: a1, sectionNameKeyPath: a2, cacheName: a3) }
        _ = { (x: NSFetchedResultsController<NSManagedObject>) throws -> Void in try x.performFetch() }
        let _: KeyPath<NSFetchedResultsController<NSManagedObject>, NSFetchRequest<NSManagedObject>> = \.fetchRequest
        let _: KeyPath<NSFetchedResultsController<NSManagedObject>, NSManagedObjectContext> = \.managedObjectContext
        let _: KeyPath<NSFetchedResultsController<NSManagedObject>, String?> = \.sectionNameKeyPath
        let _: KeyPath<NSFetchedResultsController<NSManagedObject>, String?> = \.cacheName
        let _: ReferenceWritableKeyPath<NSFetchedResultsController<NSManagedObject>, (any NSFetchedResultsControllerDelegate)?> = \.delegate
        _ = { (a0: String?) -> Void in NSFetchedResultsController<NSManagedObject>.deleteCache(withName: a0) }
        let _: KeyPath<NSFetchedResultsController<NSManagedObject>, [NSManagedObject]?> = \.fetchedObjects
        _ = { (x: NSFetchedResultsController<NSManagedObject>, a0: IndexPath) -> NSManagedObject in x.object(at: a0) }
        _ = { (x: NSFetchedResultsController<NSManagedObject>, a0: NSManagedObject) -> IndexPath? in x.indexPath(forObject: a0) }
        _ = { (x: NSFetchedResultsController<NSManagedObject>, a0: String) -> String? in x.sectionIndexTitle(forSectionName: a0) }
        let _: KeyPath<NSFetchedResultsController<NSManagedObject>, [String]> = \.sectionIndexTitles
        let _: KeyPath<NSFetchedResultsController<NSManagedObject>, [any NSFetchedResultsSectionInfo]?> = \.sections
        _ = { (x: NSFetchedResultsController<NSManagedObject>, a0: String, a1: Int) -> Int in x.section(forSectionIndexTitle: a0, at: a1) }
    }

    private static func usesNSFetchedResultsChangeType() {
        _ = NSFetchedResultsChangeType.self
        _ = { () -> NSFetchedResultsChangeType in .insert }
        _ = { () -> NSFetchedResultsChangeType in .delete }
        _ = { () -> NSFetchedResultsChangeType in .move }
        _ = { () -> NSFetchedResultsChangeType in .update }
    }

    static var propertiesOfNSFetchRequestNSManagedObject: [(name: String, path: PartialKeyPath<NSFetchRequest<NSManagedObject>>)] {
        [
            ("entity", \.entity),
            ("entityName", \.entityName),
            ("predicate", \.predicate),
            ("sortDescriptors", \.sortDescriptors),
            ("fetchLimit", \.fetchLimit),
            ("fetchOffset", \.fetchOffset),
            ("fetchBatchSize", \.fetchBatchSize),
            ("resultType", \.resultType),
            ("includesSubentities", \.includesSubentities),
            ("includesPropertyValues", \.includesPropertyValues),
            ("includesPendingChanges", \.includesPendingChanges),
            ("returnsObjectsAsFaults", \.returnsObjectsAsFaults),
            ("relationshipKeyPathsForPrefetching", \.relationshipKeyPathsForPrefetching),
            ("returnsDistinctResults", \.returnsDistinctResults),
            ("propertiesToFetch", \.propertiesToFetch),
            ("shouldRefreshRefetchedObjects", \.shouldRefreshRefetchedObjects),
            ("propertiesToGroupBy", \.propertiesToGroupBy),
            ("havingPredicate", \.havingPredicate),
        ]
    }

    static var propertiesOfNSPersistentStoreRequest: [(name: String, path: PartialKeyPath<NSPersistentStoreRequest>)] {
        [
            ("affectedStores", \.affectedStores),
            ("requestType", \.requestType),
        ]
    }

    static var propertiesOfNSAsynchronousFetchRequestNSManagedObject: [(name: String, path: PartialKeyPath<NSAsynchronousFetchRequest<NSManagedObject>>)] {
        [
            ("fetchRequest", \.fetchRequest),
            ("estimatedResultCount", \.estimatedResultCount),
        ]
    }

    static var propertiesOfNSAsynchronousFetchResultNSManagedObject: [(name: String, path: PartialKeyPath<NSAsynchronousFetchResult<NSManagedObject>>)] {
        [
            ("finalResult", \.finalResult),
        ]
    }

    static var propertiesOfNSPersistentStoreAsynchronousResult: [(name: String, path: PartialKeyPath<NSPersistentStoreAsynchronousResult>)] {
        [
            ("managedObjectContext", \.managedObjectContext),
            ("operationError", \.operationError),
            ("progress", \.progress),
        ]
    }

    static var propertiesOfNSBatchInsertRequest: [(name: String, path: PartialKeyPath<NSBatchInsertRequest>)] {
        [
            ("entityName", \.entityName),
            ("entity", \.entity),
            ("objectsToInsert", \.objectsToInsert),
            ("dictionaryHandler", \.dictionaryHandler),
            ("managedObjectHandler", \.managedObjectHandler),
            ("resultType", \.resultType),
        ]
    }

    static var propertiesOfNSBatchInsertResult: [(name: String, path: PartialKeyPath<NSBatchInsertResult>)] {
        [
            ("result", \.result),
            ("resultType", \.resultType),
        ]
    }

    static var propertiesOfNSBatchUpdateRequest: [(name: String, path: PartialKeyPath<NSBatchUpdateRequest>)] {
        [
            ("entityName", \.entityName),
            ("entity", \.entity),
            ("predicate", \.predicate),
            ("includesSubentities", \.includesSubentities),
            ("resultType", \.resultType),
            ("propertiesToUpdate", \.propertiesToUpdate),
        ]
    }

    static var propertiesOfNSBatchUpdateResult: [(name: String, path: PartialKeyPath<NSBatchUpdateResult>)] {
        [
            ("result", \.result),
            ("resultType", \.resultType),
        ]
    }

    static var propertiesOfNSBatchDeleteRequest: [(name: String, path: PartialKeyPath<NSBatchDeleteRequest>)] {
        [
            ("fetchRequest", \.fetchRequest),
            ("resultType", \.resultType),
        ]
    }

    static var propertiesOfNSBatchDeleteResult: [(name: String, path: PartialKeyPath<NSBatchDeleteResult>)] {
        [
            ("result", \.result),
            ("resultType", \.resultType),
        ]
    }

    static var propertiesOfNSFetchedResultsControllerNSManagedObject: [(name: String, path: PartialKeyPath<NSFetchedResultsController<NSManagedObject>>)] {
        [
            ("fetchRequest", \.fetchRequest),
            ("managedObjectContext", \.managedObjectContext),
            ("sectionNameKeyPath", \.sectionNameKeyPath),
            ("cacheName", \.cacheName),
            ("delegate", \.delegate),
            ("fetchedObjects", \.fetchedObjects),
            ("sectionIndexTitles", \.sectionIndexTitles),
            ("sections", \.sections),
        ]
    }
}
