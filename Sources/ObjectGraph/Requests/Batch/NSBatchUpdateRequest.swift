// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Raw values are Apple's.
public enum NSBatchUpdateRequestResultType: UInt, Sendable {
    case statusOnlyResultType = 0
    case updatedObjectIDsResultType = 1
    case updatedObjectsCountResultType = 2
}

/// Gives new values to all rows that match, without making objects of them.
///
/// As with other batch requests nothing is validated, and contexts do not hear of it but through history.
///
/// Source: developer.apple.com/documentation/coredata/nsbatchupdaterequest
open class NSBatchUpdateRequest: NSPersistentStoreRequest {
    private let givenEntityName: String
    private let givenEntity: NSEntityDescription?
    /// nil for all rows of the entity.
    open var predicate: NSPredicate?
    open var includesSubentities = true
    open var resultType: NSBatchUpdateRequestResultType = .statusOnlyResultType
    /// Names of properties, or their descriptions, and what they get: a value, nil as `NSNull`, or an `NSExpression` of
    /// the row's own attributes. A to-one relationship takes an object, its ID, or nil.
    open var propertiesToUpdate: [AnyHashable: Any]?

    public init(entityName: String) {
        givenEntityName = entityName
        givenEntity = nil
        super.init()
    }

    public init(entity: NSEntityDescription) {
        givenEntityName = entity.name ?? ""
        givenEntity = entity
        super.init()
    }

    open var entityName: String { givenEntityName }

    /// - Precondition: The request was made with an entity, not with a name.
    open var entity: NSEntityDescription {
        guard let entity = givenEntity else {
            preconditionFailure("the batch update request was made with a name; ask a context's model for the entity")
        }
        return entity
    }

    open override var requestType: NSPersistentStoreRequestType { .batchUpdateRequestType }
}

/// Source: developer.apple.com/documentation/coredata/nsbatchupdateresult
open class NSBatchUpdateResult: NSPersistentStoreResult {
    /// A `Bool`, an `Int`, or an array of `NSManagedObjectID`, as the request wants it.
    open private(set) var result: Any?
    open private(set) var resultType: NSBatchUpdateRequestResultType

    init(_ result: Any?, _ type: NSBatchUpdateRequestResultType) {
        self.result = result
        resultType = type
        super.init()
    }
}
