// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Raw values are Apple's.
public enum NSPersistentStoreRequestType: UInt, Sendable {
    case fetchRequestType = 1
    case saveRequestType = 2
    case batchInsertRequestType = 5
    case batchUpdateRequestType = 6
    case batchDeleteRequestType = 7
}

/// A request to the stores of a coordinator.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentstorerequest
open class NSPersistentStoreRequest: NSObject {
    /// The stores to ask; nil for all of the coordinator that hold the entity.
    open var affectedStores: [NSPersistentStore]?

    /// What kind of request this is. Requests for history count as fetches.
    open var requestType: NSPersistentStoreRequestType { .fetchRequestType }
}

/// What ``NSManagedObjectContext/execute(_:)`` answers with.
open class NSPersistentStoreResult: NSObject {}

/// A request that a context can carry out.
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
