// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import SQLiteStore

/// Raw values are Apple's.
public enum NSPersistentHistoryChangeType: Int, Sendable {
    case insert = 0
    case update = 1
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
    /// Set by the transaction, which holds its changes.
    fileprivate final weak var owner: NSPersistentHistoryTransaction?

    /// Creates an update of no object, for subclasses that override what they need.
    public override init() { contents = Contents() }

    init(_ change: HistoryChange, _ coordinator: NSPersistentStoreCoordinator) {
        let id = coordinator.objectID(for: change.key)
        var contents = Contents(number: change.number, objectID: id, type: NSPersistentHistoryChangeType(rawValue: change.kind.rawValue) ?? .update)
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

    open var changeID: Int64 { contents.number }
    open var changedObjectID: NSManagedObjectID { contents.objectID }
    open var changeType: NSPersistentHistoryChangeType { contents.type }
    /// Of an update; nil otherwise.
    open var updatedProperties: Set<NSPropertyDescription>? { contents.updatedProperties }
    /// Of a delete: attributes whose values the model preserves, by name.
    open var tombstone: [AnyHashable: Any]? { contents.tombstone }
    /// nil when only changes were asked for.
    open var transaction: NSPersistentHistoryTransaction? { owner }

    /// - Returns: nil for a context without a coordinator.
    open class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? {
        context.persistentStoreCoordinator == nil ? nil : HistoryEntities.changeDescription
    }

    open class var entityDescription: NSEntityDescription? { HistoryEntities.changeDescription }

    /// A new request for changes, to set a predicate on: `changeType`, `changedObjectID`, `changeID`,
    /// `updatedProperties` (names) and paths that begin with `transaction` have values there.
    open class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
        HistoryEntities.request(HistoryEntities.changeDescription)
    }

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

    /// Creates a transaction of no store, for subclasses that override what they need.
    public override init() { contents = Contents() }

    init(_ transaction: HistoryTransaction, changes: [NSPersistentHistoryChange]?, store: NSPersistentStore) {
        contents = Contents(
            head: transaction, store: store.identifier, changes: changes,
            token: NSPersistentHistoryToken([store.identifier: transaction.number]))
        super.init()
        for change in changes ?? [] { change.owner = self }
    }

    /// Greater in a later transaction of the same store.
    open var transactionNumber: Int64 { contents.head.number }
    open var timestamp: Date { Date(timeIntervalSinceReferenceDate: contents.head.timestamp) }
    /// The saving context's `transactionAuthor`.
    open var author: String? { contents.head.author }
    /// The saving context's `name`.
    open var contextName: String? { contents.head.contextName }
    open var bundleID: String { contents.head.bundleID ?? "" }
    open var processID: String { contents.head.processID ?? "" }
    open var storeID: String { contents.store }
    /// nil when only transactions were asked for.
    open var changes: [NSPersistentHistoryChange]? { contents.changes }
    open var token: NSPersistentHistoryToken { contents.token }

    /// - Returns: nil for a context without a coordinator.
    open class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? {
        context.persistentStoreCoordinator == nil ? nil : HistoryEntities.transactionDescription
    }

    open class var entityDescription: NSEntityDescription? { HistoryEntities.transactionDescription }

    /// A new request for transactions, to set a predicate on: `author`, `contextName`, `bundleID`, `processID` and
    /// `timestamp` have values there.
    open class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
        HistoryEntities.request(HistoryEntities.transactionDescription)
    }

    /// What `mergeChanges(fromContextDidSave:)` takes.
    open func objectIDNotification() -> Notification {
        func ids(_ type: NSPersistentHistoryChangeType) -> Set<NSManagedObjectID> {
            Set((changes ?? []).filter { $0.changeType == type }.map(\.changedObjectID))
        }
        return Notification(
            name: .NSManagedObjectContextDidSave, object: nil,
            userInfo: [NSInsertedObjectsKey: ids(.insert), NSUpdatedObjectsKey: ids(.update), NSDeletedObjectsKey: ids(.delete)])
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }
}
