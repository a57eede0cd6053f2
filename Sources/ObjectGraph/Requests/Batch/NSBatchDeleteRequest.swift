// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit

/// Raw values are Apple's.
public enum NSBatchDeleteRequestResultType: UInt, Sendable {
    case resultTypeStatusOnly = 0
    case resultTypeObjectIDs = 1
    case resultTypeCount = 2
}

/// Deletes all rows that match, without making objects of them.
///
/// Delete rules are applied among rows: Cascade deletes, Nullify empties, Deny fails the request with
/// ``CocoaError`` 1600, No Action leaves references that lead nowhere. The window and order of the fetch request count.
/// Contexts do not hear of it but through history.
///
/// Source: developer.apple.com/documentation/coredata/nsbatchdeleterequest
open class NSBatchDeleteRequest: NSPersistentStoreRequest {
    let parameters: FetchParameters?
    let objectIDs: [NSManagedObjectID]
    /// A copy of the one that was given; for object IDs, one that finds them.
    open private(set) var fetchRequest: NSFetchRequest<any NSFetchRequestResult>
    open var resultType: NSBatchDeleteRequestResultType = .resultTypeStatusOnly

    public init(fetchRequest fetch: NSFetchRequest<any NSFetchRequestResult>) {
        fetchRequest = NSFetchRequest(copying: fetch)
        parameters = fetch.parameters
        objectIDs = []
        super.init()
    }

    /// The same for a request with another result type; Apple's generics need no second initialiser.
    public init<T>(fetchRequest fetch: NSFetchRequest<T>) {
        fetchRequest = NSFetchRequest(copying: fetch)
        parameters = fetch.parameters
        objectIDs = []
        super.init()
    }

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

/// Source: developer.apple.com/documentation/coredata/nsbatchdeleteresult
open class NSBatchDeleteResult: NSPersistentStoreResult {
    /// A `Bool`, an `Int`, or an array of `NSManagedObjectID`, as the request wants it. The count is that of the rows
    /// that matched; the IDs are also those of the rows that went with them.
    open private(set) var result: Any?
    open private(set) var resultType: NSBatchDeleteRequestResultType

    init(_ result: Any?, _ type: NSBatchDeleteRequestResultType) {
        self.result = result
        resultType = type
        super.init()
    }
}
