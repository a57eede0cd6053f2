// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// The type of a request. Raw values are Apple's.
public enum NSPersistentStoreRequestType: UInt, Sendable {
    /// A fetch or a history request.
    case fetchRequestType = 1
    /// A save request.
    case saveRequestType = 2
    /// A batch insertion.
    case batchInsertRequestType = 5
    /// A batch update.
    case batchUpdateRequestType = 6
    /// A batch deletion.
    case batchDeleteRequestType = 7
}

/// A request to the stores of a coordinator.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentstorerequest
open class NSPersistentStoreRequest: NSObject {
    /// The stores of the request; nil for all of the coordinator's stores that hold the entity.
    open var affectedStores: [NSPersistentStore]?

    /// The type of the request. History requests count as fetches.
    open var requestType: NSPersistentStoreRequestType { .fetchRequestType }
}

/// The result of ``NSManagedObjectContext/execute(_:)``.
open class NSPersistentStoreResult: NSObject {}

/// A request that a context executes.
package protocol ExecutableRequest: NSPersistentStoreRequest {
    /// Called on the context's queue.
    func execute(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult
}

extension NSManagedObjectContext {
    @discardableResult
    func executeImplementation(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
        preconditionIsCurrent()
        guard let request = request as? any ExecutableRequest else {
            throw CocoaError(
                .persistentStoreUnsupportedRequestType,
                sentence: "A context does not carry out requests of type \(type(of: request)); save changes with save().")
        }
        return try request.execute(in: self)
    }
}
