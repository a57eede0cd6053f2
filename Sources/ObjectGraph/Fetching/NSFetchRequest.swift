// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import SQLiteStore

/// A type that a fetch may return. Adopted by managed objects, object IDs, dictionaries and numbers.
public protocol NSFetchRequestResult: NSObjectProtocol {}

extension NSManagedObject: NSFetchRequestResult {}
extension NSManagedObjectID: NSFetchRequestResult {}
extension NSDictionary: NSFetchRequestResult {}
extension NSNumber: NSFetchRequestResult {}

/// The kind of result that a fetch returns.
public struct NSFetchRequestResultType: OptionSet, Sendable {
    /// Apple's raw value.
    public let rawValue: UInt
    /// Creates a kind from Apple's raw value.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// Managed objects.
    public static let managedObjectResultType: Self = []
    /// Object IDs.
    public static let managedObjectIDResultType = Self(rawValue: 1)
    /// Dictionaries of properties and computed values.
    public static let dictionaryResultType = Self(rawValue: 2)
    /// The number of objects.
    public static let countResultType = Self(rawValue: 4)
}

/// A query for objects of one entity.
///
/// The result type has no constraint: Swift off Apple's platforms cannot express `NSFetchRequest<NSFetchRequestResult>`
/// otherwise.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchrequest
open class NSFetchRequest<ResultType>: NSPersistentStoreRequest, NSCopying {
    fileprivate let givenEntityName: String?
    /// The entity to fetch. Of a request that was made with an entity's name, nil until a context executes it.
    open var entity: NSEntityDescription?
    /// The condition on the objects; nil for all.
    open var predicate: NSPredicate?
    /// The order of the results.
    open var sortDescriptors: [NSSortDescriptor]?
    /// The largest number of results; 0 for no limit.
    open var fetchLimit = 0
    /// The number of matching objects to skip.
    open var fetchOffset = 0
    /// The number of rows read together, when the first of their objects is used; 0 to read all with the fetch.
    ///
    /// The fetch reads keys only and returns faults, each of which reads its whole batch. Rows are read with the fetch if
    /// a parent context, a store without SQL, ``shouldRefreshRefetchedObjects`` or ``returnsObjectsAsFaults`` requires
    /// it.
    open var fetchBatchSize = 0
    /// The kind of result.
    open var resultType: NSFetchRequestResultType = .managedObjectResultType
    /// Whether objects of subentities count.
    open var includesSubentities = true
    /// Whether the context's unsaved changes count.
    open var includesPendingChanges = true
    /// Whether rows are read with the fetch. Otherwise only keys are read, and each fault reads its own row.
    open var includesPropertyValues = true
    /// Whether objects are returned as faults, with their rows cached. Otherwise their values are decoded and
    /// `awakeFromFetch` runs.
    open var returnsObjectsAsFaults = true
    /// Whether registered objects are refreshed by the fetched rows.
    open var shouldRefreshRefetchedObjects = false
    /// Relationships to prefetch: one statement for each step of a key path (two for join records), so that following
    /// them reads nothing more. No effect in stores without SQL.
    ///
    /// The context caches prefetched rows until they are saved, merged or refreshed.
    open var relationshipKeyPathsForPrefetching: [String]?
    /// The columns of dictionary results: names and key paths of attributes and to-one relationships, their descriptions,
    /// and `NSExpressionDescription`s; nil for all attributes. Objects always have all their properties.
    open var propertiesToFetch: [Any]?
    /// Whether equal dictionaries are returned only once.
    open var returnsDistinctResults = false
    /// The columns that group dictionary results: one dictionary per group.
    open var propertiesToGroupBy: [Any]?
    /// The condition on groups. It may name fetched columns, also as variables.
    open var havingPredicate: NSPredicate?

    public override init() {
        givenEntityName = nil
        super.init()
    }

    /// Creates a request for an entity, resolved in the context that executes it.
    public init(entityName: String) {
        givenEntityName = entityName
        super.init()
    }

    /// Creates the same request with another result type, as `as!` does with the Objective-C runtime.
    ///
    /// ```swift
    /// let request = NSFetchRequest<any NSFetchRequestResult>(copying: Note.fetchRequest() as NSFetchRequest<Note>)
    /// ```
    ///
    /// Tarn's own. A result that is not a `ResultType` ends the process, as such a cast does.
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

    /// The request for the untyped methods of contexts.
    var untyped: NSFetchRequest<any NSFetchRequestResult> {
        (self as? NSFetchRequest<any NSFetchRequestResult>) ?? NSFetchRequest<any NSFetchRequestResult>(copying: self)
    }

    /// Returns a request with the same properties.
    open func copy(with zone: NSZone? = nil) -> Any { NSFetchRequest(copying: self) }

    /// The name of the entity to fetch.
    open var entityName: String? { entity?.name ?? givenEntityName }

    /// Looks up the entity by its name, unless that was done before.
    func resolveEntity(in coordinator: NSPersistentStoreCoordinator?) {
        guard entity == nil, let givenEntityName else { return }
        entity = coordinator?.layout(named: givenEntityName)?.description
    }

    /// Fetches in the context of the block that this thread runs.
    ///
    /// - Precondition: The caller is inside `perform` or `performAndWait` of a context.
    /// - Throws: The errors of `NSManagedObjectContext.fetch(_:)`.
    open func execute() throws -> [ResultType] {
        guard let context = NSManagedObjectContext.current.value else {
            preconditionFailure("execute() was called outside perform and performAndWait; use the context's fetch(_:)")
        }
        return try context.fetch(self)
    }

    /// Apps limit by `Int.max`, too, and a sum of limit and offset must not overflow. No store has as many rows.
    private static func rowCount(_ count: Int) -> Int { max(0, min(count, 1 << 48)) }

    /// The request without its result type.
    package var parameters: FetchParameters {
        FetchParameters(
            entityName: entityName, predicate: predicate, sortDescriptors: sortDescriptors ?? [],
            limit: Self.rowCount(fetchLimit), offset: Self.rowCount(fetchOffset), resultType: resultType,
            includesSubentities: includesSubentities,
            includesPendingChanges: includesPendingChanges, returnsObjectsAsFaults: returnsObjectsAsFaults,
            refreshesRefetched: shouldRefreshRefetchedObjects, affectedStores: affectedStores,
            batchSize: fetchBatchSize, includesPropertyValues: includesPropertyValues,
            prefetchKeyPaths: relationshipKeyPathsForPrefetching ?? [], properties: propertiesToFetch, groups: propertiesToGroupBy ?? [],
            having: havingPredicate, isDistinct: returnsDistinctResults)
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
