// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import SQLiteStore

/// What a fetch may return. Adopted by managed objects, object IDs, dictionaries and numbers.
public protocol NSFetchRequestResult: NSObjectProtocol {}

extension NSManagedObject: NSFetchRequestResult {}
extension NSManagedObjectID: NSFetchRequestResult {}
extension NSDictionary: NSFetchRequestResult {}
extension NSNumber: NSFetchRequestResult {}

public struct NSFetchRequestResultType: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let managedObjectResultType: Self = []
    public static let managedObjectIDResultType = Self(rawValue: 1)
    public static let dictionaryResultType = Self(rawValue: 2)
    public static let countResultType = Self(rawValue: 4)
}

/// Which objects to get, in which order.
///
/// The result type is without constraint: Swift off Apple's platforms cannot express
/// `NSFetchRequest<NSFetchRequestResult>` otherwise.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchrequest
open class NSFetchRequest<ResultType>: NSPersistentStoreRequest, NSCopying {
    fileprivate let givenEntityName: String?
    open var entity: NSEntityDescription?
    open var predicate: NSPredicate?
    open var sortDescriptors: [NSSortDescriptor]?
    /// 0 means without limit.
    open var fetchLimit = 0
    open var fetchOffset = 0
    /// How many rows are read at once, when the first of their objects is used; 0 for all with the fetch.
    ///
    /// The fetch reads keys only; its results are faults, each of which brings its batch. Rows come at once where a
    /// parent context, a store without SQL, ``shouldRefreshRefetchedObjects`` or ``returnsObjectsAsFaults`` need them.
    open var fetchBatchSize = 0
    open var resultType: NSFetchRequestResultType = .managedObjectResultType
    open var includesSubentities = true
    open var includesPendingChanges = true
    /// Otherwise keys are read and nothing else, and each fault that is fired reads its own row.
    open var includesPropertyValues = true
    open var returnsObjectsAsFaults = true
    open var shouldRefreshRefetchedObjects = false
    /// Relationships whose objects are read with the fetch, a statement for each step of a key path (two where the
    /// store keeps pairs), so that following them needs no further one. Stores without SQL have nothing to save here.
    ///
    /// What was read ahead is kept by the context until it is saved, merged or refreshed.
    open var relationshipKeyPathsForPrefetching: [String]?
    /// Of dictionary results: names and key paths of attributes and to-one relationships, their descriptions, and
    /// `NSExpressionDescription`s; nil for all attributes. Objects come with all their properties.
    open var propertiesToFetch: [Any]?
    /// Whether equal dictionaries come once.
    open var returnsDistinctResults = false
    /// Of dictionary results: rows that have equal values of these make one dictionary.
    open var propertiesToGroupBy: [Any]?
    /// Which groups are wanted. What is fetched may be named, also as a variable.
    open var havingPredicate: NSPredicate?

    public override init() {
        givenEntityName = nil
        super.init()
    }

    public init(entityName: String) {
        givenEntityName = entityName
        super.init()
    }

    /// Creates the same request for another result type, as `as!` does with the Objective-C runtime.
    ///
    /// ```swift
    /// let request = NSFetchRequest<any NSFetchRequestResult>(copying: Note.fetchRequest() as NSFetchRequest<Note>)
    /// ```
    ///
    /// Tarn's own. Results of another type than `ResultType` end the process, as such a cast does.
    public init<Other>(copying other: NSFetchRequest<Other>) {
        givenEntityName = other.givenEntityName
        super.init()
        entity = other.entity
        predicate = other.predicate
        sortDescriptors = other.sortDescriptors
        fetchLimit = other.fetchLimit
        fetchOffset = other.fetchOffset
        fetchBatchSize = other.fetchBatchSize
        resultType = other.resultType
        includesSubentities = other.includesSubentities
        includesPendingChanges = other.includesPendingChanges
        includesPropertyValues = other.includesPropertyValues
        returnsObjectsAsFaults = other.returnsObjectsAsFaults
        shouldRefreshRefetchedObjects = other.shouldRefreshRefetchedObjects
        relationshipKeyPathsForPrefetching = other.relationshipKeyPathsForPrefetching
        propertiesToFetch = other.propertiesToFetch
        returnsDistinctResults = other.returnsDistinctResults
        propertiesToGroupBy = other.propertiesToGroupBy
        havingPredicate = other.havingPredicate
        affectedStores = other.affectedStores
    }

    /// The request as the untyped methods of contexts take it.
    var untyped: NSFetchRequest<any NSFetchRequestResult> {
        (self as? NSFetchRequest<any NSFetchRequestResult>) ?? NSFetchRequest<any NSFetchRequestResult>(copying: self)
    }

    open func copy(with zone: NSZone? = nil) -> Any { NSFetchRequest(copying: self) }

    open var entityName: String? { entity?.name ?? givenEntityName }

    /// Fetches in the context whose block is running.
    ///
    /// - Precondition: The caller is inside `perform` or `performAndWait` of a context.
    /// - Throws: What ``NSManagedObjectContext/fetch(_:)`` throws.
    open func execute() throws -> [ResultType] {
        guard let context = NSManagedObjectContext.current.value else {
            preconditionFailure("execute() was called outside perform and performAndWait; use the context's fetch(_:)")
        }
        return try context.fetch(self)
    }

    /// The request without its result type.
    package var parameters: FetchParameters {
        FetchParameters(
            entityName: entityName, predicate: predicate, sortDescriptors: sortDescriptors ?? [], limit: fetchLimit,
            offset: fetchOffset, resultType: resultType, includesSubentities: includesSubentities,
            includesPendingChanges: includesPendingChanges, returnsObjectsAsFaults: returnsObjectsAsFaults,
            refreshesRefetched: shouldRefreshRefetchedObjects, affectedStores: affectedStores,
            batchSize: fetchBatchSize, includesPropertyValues: includesPropertyValues,
            prefetchKeyPaths: relationshipKeyPathsForPrefetching ?? [], properties: propertiesToFetch, groups: propertiesToGroupBy ?? [], having: havingPredicate, isDistinct: returnsDistinctResults)
    }
}

package struct FetchParameters {
    package var entityName: String?
    package var predicate: NSPredicate?
    package var sortDescriptors: [NSSortDescriptor]
    package var limit: Int
    package var offset: Int
    package var resultType: NSFetchRequestResultType
    package var includesSubentities: Bool
    package var includesPendingChanges: Bool
    package var returnsObjectsAsFaults: Bool
    package var refreshesRefetched: Bool
    package var affectedStores: [NSPersistentStore]?
    var batchSize: Int
    var includesPropertyValues: Bool
    var prefetchKeyPaths: [String]
    var properties: [Any]?
    var groups: [Any]
    var having: NSPredicate?
    var isDistinct: Bool
}
