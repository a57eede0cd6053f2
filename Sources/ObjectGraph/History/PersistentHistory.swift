// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import SQLiteStore

/// The kind of a change. Raw values are Apple's.
public enum NSPersistentHistoryChangeType: Int, Sendable {
    /// The object was inserted.
    case insert = 0
    /// Properties of the object changed.
    case update = 1
    /// The object was deleted.
    case delete = 2
}

/// One object's change in a transaction.
///
/// Source: developer.apple.com/documentation/coredata/nspersistenthistorychange
open class NSPersistentHistoryChange: NSObject, NSCopying {
    private struct Contents {
        var number: Int64 = 0
        var objectID = NSManagedObjectID()
        var type = NSPersistentHistoryChangeType.update
        var updatedProperties: Set<NSPropertyDescription>?
        var tombstone: [AnyHashable: Any]?
    }

    private final let contents: Contents
    /// Set by the transaction, which retains its changes.
    fileprivate final weak var owner: NSPersistentHistoryTransaction?

    /// Creates an update without an object, for subclasses that override its properties.
    public override init() { contents = Contents() }

    init(_ change: HistoryChange, _ coordinator: NSPersistentStoreCoordinator) {
        let id = coordinator.objectID(for: change.key)
        var contents = Contents(
            number: change.number, objectID: id, type: NSPersistentHistoryChangeType(rawValue: change.kind.rawValue) ?? .update)
        if change.kind == .update {
            let properties = id.entity.propertiesByName
            contents.updatedProperties = Set(
                change.changedProperties.compactMap { properties[$0] ?? properties[String($0.prefix { $0 != "." })] })
        }
        if change.kind == .delete {
            let attributes = id.entity.attributesByName
            contents.tombstone = change.tombstone.reduce(into: [:]) { result, entry in
                let type = AttributeType(rawValue: Int(attributes[entry.key]?.attributeType.rawValue ?? 0)) ?? .undefined
                result[entry.key] = AttributeCoding.value(entry.value, of: type)
            }
        }
        self.contents = contents
    }

    /// The change's number, unique in its store.
    open var changeID: Int64 { contents.number }
    /// The ID of the changed object.
    open var changedObjectID: NSManagedObjectID { contents.objectID }
    /// The kind of the change.
    open var changeType: NSPersistentHistoryChangeType { contents.type }
    /// The changed properties of an update; nil otherwise.
    open var updatedProperties: Set<NSPropertyDescription>? { contents.updatedProperties }
    /// The values that the model preserves of a deleted object, by attribute; nil otherwise.
    open var tombstone: [AnyHashable: Any]? { contents.tombstone }
    /// The change's transaction; nil in a result of changes only.
    open var transaction: NSPersistentHistoryTransaction? { owner }

    /// Returns the entity for requests about changes.
    ///
    /// - Returns: nil for a context without a coordinator.
    open class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? {
        context.persistentStoreCoordinator == nil ? nil : HistoryEntities.changeDescription
    }

    /// The entity for requests about changes.
    open class var entityDescription: NSEntityDescription? { HistoryEntities.changeDescription }

    /// A new request for changes, for a predicate on `changeType`, `changedObjectID`, `changeID`, `updatedProperties`
    /// (names) and paths that begin with `transaction`.
    open class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
        HistoryEntities.request(HistoryEntities.changeDescription)
    }

    /// Returns the change itself, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}

/// One save, one batch request or one import, of one store.
///
/// Source: developer.apple.com/documentation/coredata/nspersistenthistorytransaction
open class NSPersistentHistoryTransaction: NSObject, NSCopying {
    private struct Contents {
        var head = HistoryTransaction.none
        var store = ""
        var changes: [NSPersistentHistoryChange]?
        var token = NSPersistentHistoryToken()
    }

    private final let contents: Contents

    /// Creates a transaction without a store, for subclasses that override its properties.
    public override init() { contents = Contents() }

    init(_ transaction: HistoryTransaction, changes: [NSPersistentHistoryChange]?, store: NSPersistentStore) {
        contents = Contents(
            head: transaction, store: store.identifier, changes: changes,
            token: NSPersistentHistoryToken([store.identifier: transaction.number]))
        super.init()
        for change in changes ?? [] { change.owner = self }
    }

    /// The transaction's number, which increases within a store.
    open var transactionNumber: Int64 { contents.head.number }
    /// The time of the commit.
    open var timestamp: Date { Date(timeIntervalSinceReferenceDate: contents.head.timestamp) }
    /// The saving context's `transactionAuthor`.
    open var author: String? { contents.head.author }
    /// The saving context's `name`.
    open var contextName: String? { contents.head.contextName }
    /// The program's bundle identifier; empty if it has none.
    open var bundleID: String { contents.head.bundleID ?? "" }
    /// The process that committed.
    open var processID: String { contents.head.processID ?? "" }
    /// The UUID of the store.
    open var storeID: String { contents.store }
    /// The transaction's changes; nil in a result of transactions only.
    open var changes: [NSPersistentHistoryChange]? { contents.changes }
    /// The point after this transaction.
    open var token: NSPersistentHistoryToken { contents.token }

    /// Returns the entity for requests about transactions.
    ///
    /// - Returns: nil for a context without a coordinator.
    open class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? {
        context.persistentStoreCoordinator == nil ? nil : HistoryEntities.transactionDescription
    }

    /// The entity for requests about transactions.
    open class var entityDescription: NSEntityDescription? { HistoryEntities.transactionDescription }

    /// A new request for transactions, for a predicate on `author`, `contextName`, `bundleID`, `processID` and
    /// `timestamp`.
    open class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
        HistoryEntities.request(HistoryEntities.transactionDescription)
    }

    /// Returns the notification for `mergeChanges(fromContextDidSave:)`.
    open func objectIDNotification() -> Notification {
        func ids(_ type: NSPersistentHistoryChangeType) -> Set<NSManagedObjectID> {
            Set((changes ?? []).filter { $0.changeType == type }.map(\.changedObjectID))
        }
        return Notification(
            name: .NSManagedObjectContextDidSave, object: nil,
            userInfo: [NSInsertedObjectsKey: ids(.insert), NSUpdatedObjectsKey: ids(.update), NSDeletedObjectsKey: ids(.delete)])
    }

    /// Returns the transaction itself, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}
