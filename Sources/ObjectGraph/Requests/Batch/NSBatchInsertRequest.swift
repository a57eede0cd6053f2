// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Raw values are Apple's.
public enum NSBatchInsertRequestResultType: UInt, Sendable {
    case statusOnly = 0
    case objectIDs = 1
    case count = 2
}

/// Inserts rows without making objects of them.
///
/// Attributes that are not given have their default. Nothing is validated, no object's hooks run, relationships cannot
/// be set, and no context hears of it but through history: see
/// ``NSManagedObjectContext/mergeChanges(fromRemoteContextSave:into:)``. One request is one transaction. Where the model
/// has uniqueness constraints, the context's merge policy decides: a trump policy updates or keeps the stored row.
///
/// The form with a block for objects is the fastest: one object is used again and again, and its values go straight to
/// the store. The blocks run while the store is being written, and must not fetch or save.
///
/// Source: developer.apple.com/documentation/coredata/nsbatchinsertrequest
open class NSBatchInsertRequest: NSPersistentStoreRequest {
    private let givenEntityName: String
    /// nil for a request that was made with a name.
    open private(set) var entity: NSEntityDescription?
    open var objectsToInsert: [[String: Any]]?
    /// Fills the dictionary with the next row; true ends the request, without a row.
    open var dictionaryHandler: ((NSMutableDictionary) -> Bool)?
    /// Fills the object with the next row; true ends the request, without a row. The object is in no context and is
    /// the same each time.
    open var managedObjectHandler: ((NSManagedObject) -> Bool)?
    open var resultType: NSBatchInsertRequestResultType = .statusOnly

    private init(_ name: String, _ entity: NSEntityDescription?) {
        givenEntityName = name
        self.entity = entity
        super.init()
    }

    public convenience init(entityName: String, objects dictionaries: [[String: Any]]) {
        self.init(entityName, nil)
        objectsToInsert = dictionaries
    }

    public convenience init(entity: NSEntityDescription, objects dictionaries: [[String: Any]]) {
        self.init(entity.name ?? "", entity)
        objectsToInsert = dictionaries
    }

    public convenience init(entityName: String, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool) {
        self.init(entityName, nil)
        dictionaryHandler = handler
    }

    public convenience init(entity: NSEntityDescription, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool) {
        self.init(entity.name ?? "", entity)
        dictionaryHandler = handler
    }

    public convenience init(entityName: String, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
        self.init(entityName, nil)
        managedObjectHandler = handler
    }

    public convenience init(entity: NSEntityDescription, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
        self.init(entity.name ?? "", entity)
        managedObjectHandler = handler
    }

    open var entityName: String { givenEntityName }
    open override var requestType: NSPersistentStoreRequestType { .batchInsertRequestType }
}

/// Source: developer.apple.com/documentation/coredata/nsbatchinsertresult
open class NSBatchInsertResult: NSPersistentStoreResult {
    /// A `Bool`, an `Int`, or an array of `NSManagedObjectID`, as the request wants it.
    open private(set) var result: Any?
    open private(set) var resultType: NSBatchInsertRequestResultType

    init(_ result: Any?, _ type: NSBatchInsertRequestResultType) {
        self.result = result
        resultType = type
        super.init()
    }
}
