// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit

/// The kind of result of a batch deletion. Raw values are Apple's.
public enum NSBatchDeleteRequestResultType: UInt, Sendable {
    /// Whether it succeeded, as `Bool`.
    case resultTypeStatusOnly = 0
    /// The IDs of the deleted rows.
    case resultTypeObjectIDs = 1
    /// The number of matching rows, as `Int`.
    case resultTypeCount = 2
}

/// Deletes all matching rows, without creating objects.
///
/// Delete rules apply to rows: Cascade deletes, Nullify clears, Deny fails the request with `CocoaError` 1600, No
/// Action leaves dangling references. The window and order of the fetch request count. Contexts are notified through
/// history only.
///
/// Source: developer.apple.com/documentation/coredata/nsbatchdeleterequest
open class NSBatchDeleteRequest: NSPersistentStoreRequest {
    let parameters: FetchParameters?
    let objectIDs: [NSManagedObjectID]
    /// A copy of the request's fetch; for object IDs, a fetch of them.
    open private(set) var fetchRequest: NSFetchRequest<any NSFetchRequestResult>
    /// The kind of result.
    open var resultType: NSBatchDeleteRequestResultType = .resultTypeStatusOnly

    /// Creates a request that deletes the rows of a fetch.
    public init(fetchRequest fetch: NSFetchRequest<any NSFetchRequestResult>) {
        fetchRequest = NSFetchRequest(copying: fetch)
        parameters = fetch.parameters
        objectIDs = []
        super.init()
    }

    /// Creates a request from a fetch with a result type; Apple's generics need no second initializer.
    public init<T>(fetchRequest fetch: NSFetchRequest<T>) {
        fetchRequest = NSFetchRequest(copying: fetch)
        parameters = fetch.parameters
        objectIDs = []
        super.init()
    }

    /// Creates a request that deletes some objects' rows.
    ///
    /// - Precondition: All IDs are of one entity's hierarchy.
    public init(objectIDs objects: [NSManagedObjectID]) {
        func root(_ entity: NSEntityDescription) -> NSEntityDescription { entity.superentity.map(root) ?? entity }
        let roots = Set(objects.map { ObjectIdentifier(root($0.entity)) })
        precondition(roots.count <= 1, "a batch delete request takes object IDs of one entity and its heirs")
        fetchRequest = NSFetchRequest(entityName: objects.first.flatMap { root($0.entity).name } ?? "")
        fetchRequest.predicate = NSPredicate(format: "SELF IN %@", objects as NSArray)
        parameters = nil
        objectIDs = objects
        super.init()
    }

    open override var requestType: NSPersistentStoreRequestType { .batchDeleteRequestType }
}

/// The result of a batch deletion.
///
/// Source: developer.apple.com/documentation/coredata/nsbatchdeleteresult
open class NSBatchDeleteResult: NSPersistentStoreResult {
    /// A `Bool`, an `Int`, or an array of `NSManagedObjectID`, by the request's result type. The count is that of
    /// matching rows; the IDs include rows deleted by a cascade.
    open private(set) var result: Any?
    /// The kind of result.
    open private(set) var resultType: NSBatchDeleteRequestResultType

    init(_ result: Any?, _ type: NSBatchDeleteRequestResultType) {
        self.result = result
        resultType = type
        super.init()
    }
}
