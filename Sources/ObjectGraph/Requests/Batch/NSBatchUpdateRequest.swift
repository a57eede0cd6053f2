// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// The kind of result of a batch update. Raw values are Apple's.
public enum NSBatchUpdateRequestResultType: UInt, Sendable {
    /// Whether it succeeded, as `Bool`.
    case statusOnlyResultType = 0
    /// The IDs of the updated rows.
    case updatedObjectIDsResultType = 1
    /// The number of updated rows, as `Int`.
    case updatedObjectsCountResultType = 2
}

/// Sets values of all matching rows, without creating objects.
///
/// Rows are not validated, and contexts are notified through history only, as for other batch requests.
///
/// Source: developer.apple.com/documentation/coredata/nsbatchupdaterequest
open class NSBatchUpdateRequest: NSPersistentStoreRequest {
    private let givenEntityName: String
    private let givenEntity: NSEntityDescription?
    /// The condition on the rows; nil for all rows of the entity.
    open var predicate: NSPredicate?
    /// Whether rows of subentities count.
    open var includesSubentities = true
    /// The kind of result.
    open var resultType: NSBatchUpdateRequestResultType = .statusOnlyResultType
    /// New values by property name or description: a value, `NSNull` for nil, or an `NSExpression` of the row's own
    /// attributes. A to-one relationship takes an object, its ID, or nil.
    open var propertiesToUpdate: [AnyHashable: Any]?

    /// Creates a request for an entity's rows.
    public init(entityName: String) {
        givenEntityName = entityName
        givenEntity = nil
        super.init()
    }

    /// Creates a request for an entity's rows.
    public init(entity: NSEntityDescription) {
        givenEntityName = entity.name ?? ""
        givenEntity = entity
        super.init()
    }

    /// The name of the entity.
    open var entityName: String { givenEntityName }

    /// The entity.
    ///
    /// - Precondition: The request was created with an entity, not with a name.
    open var entity: NSEntityDescription {
        guard let entity = givenEntity else {
            preconditionFailure("the batch update request was made with a name; ask a context's model for the entity")
        }
        return entity
    }

    open override var requestType: NSPersistentStoreRequestType { .batchUpdateRequestType }
}

/// The result of a batch update.
///
/// Source: developer.apple.com/documentation/coredata/nsbatchupdateresult
open class NSBatchUpdateResult: NSPersistentStoreResult {
    /// A `Bool`, an `Int`, or an array of `NSManagedObjectID`, by the request's result type.
    open private(set) var result: Any?
    /// The kind of result.
    open private(set) var resultType: NSBatchUpdateRequestResultType

    init(_ result: Any?, _ type: NSBatchUpdateRequestResultType) {
        self.result = result
        resultType = type
        super.init()
    }
}
