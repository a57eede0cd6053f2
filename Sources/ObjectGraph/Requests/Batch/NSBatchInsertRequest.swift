// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// The kind of result of a batch insertion. Raw values are Apple's.
public enum NSBatchInsertRequestResultType: UInt, Sendable {
    /// Whether it succeeded, as `Bool`.
    case statusOnly = 0
    /// The IDs of the inserted rows.
    case objectIDs = 1
    /// The number of inserted rows, as `Int`.
    case count = 2
}

/// Inserts rows without creating objects.
///
/// Missing attributes get their defaults. Rows are not validated, objects' hooks do not run, relationships cannot be set,
/// and contexts are notified through history only: see
/// ``NSManagedObjectContext/mergeChanges(fromRemoteContextSave:into:)``. One request is one transaction. With uniqueness
/// constraints, the context's merge policy decides: a trump policy updates or keeps the stored row.
///
/// The form with a block for objects is the fastest: one object is reused, and its values are written directly to the
/// store. The blocks run during the store's write transaction, and must not fetch or save.
///
/// Source: developer.apple.com/documentation/coredata/nsbatchinsertrequest
open class NSBatchInsertRequest: NSPersistentStoreRequest {
    private let givenEntityName: String
    /// The entity; nil for a request created by name.
    open private(set) var entity: NSEntityDescription?
    /// The rows, as dictionaries by attribute.
    open var objectsToInsert: [[String: Any]]?
    /// Fills the dictionary with the next row; returning true ends the request, without a row.
    open var dictionaryHandler: ((NSMutableDictionary) -> Bool)?
    /// Fills the object with the next row; returning true ends the request, without a row. The object has no context and
    /// is the same each time.
    open var managedObjectHandler: ((NSManagedObject) -> Bool)?
    /// The kind of result.
    open var resultType: NSBatchInsertRequestResultType = .statusOnly

    private init(_ name: String, _ entity: NSEntityDescription?) {
        givenEntityName = name
        self.entity = entity
        super.init()
    }

    /// Creates a request from dictionaries by attribute.
    public convenience init(entityName: String, objects dictionaries: [[String: Any]]) {
        self.init(entityName, nil)
        objectsToInsert = dictionaries
    }

    /// Creates a request from dictionaries by attribute.
    public convenience init(entity: NSEntityDescription, objects dictionaries: [[String: Any]]) {
        self.init(entity.name ?? "", entity)
        objectsToInsert = dictionaries
    }

    /// Creates a request from a block that fills a dictionary for each row, and returns true at the end.
    public convenience init(entityName: String, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool) {
        self.init(entityName, nil)
        dictionaryHandler = handler
    }

    /// Creates a request from a block that fills a dictionary for each row, and returns true at the end.
    public convenience init(entity: NSEntityDescription, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool) {
        self.init(entity.name ?? "", entity)
        dictionaryHandler = handler
    }

    /// Creates a request from a block that fills an object for each row, and returns true at the end.
    public convenience init(entityName: String, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
        self.init(entityName, nil)
        managedObjectHandler = handler
    }

    /// Creates a request from a block that fills an object for each row, and returns true at the end.
    public convenience init(entity: NSEntityDescription, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
        self.init(entity.name ?? "", entity)
        managedObjectHandler = handler
    }

    /// The name of the entity.
    open var entityName: String { givenEntityName }
    open override var requestType: NSPersistentStoreRequestType { .batchInsertRequestType }
}

/// The result of a batch insertion.
///
/// Source: developer.apple.com/documentation/coredata/nsbatchinsertresult
open class NSBatchInsertResult: NSPersistentStoreResult {
    /// A `Bool`, an `Int`, or an array of `NSManagedObjectID`, by the request's result type.
    open private(set) var result: Any?
    /// The kind of result.
    open private(set) var resultType: NSBatchInsertRequestResultType

    init(_ result: Any?, _ type: NSBatchInsertRequestResultType) {
        self.result = result
        resultType = type
        super.init()
    }
}
