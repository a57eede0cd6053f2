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
public final class NSPersistentHistoryChange: NSObject, NSCopying {
    public let changeID: Int64
    public let changedObjectID: NSManagedObjectID
    public let changeType: NSPersistentHistoryChangeType
    /// Of an update; nil otherwise.
    public let updatedProperties: Set<NSPropertyDescription>?
    /// Of a delete: attributes whose values the model preserves, by name.
    public let tombstone: [AnyHashable: Any]?
    /// nil when only changes were asked for.
    public internal(set) weak var transaction: NSPersistentHistoryTransaction?

    init(_ change: HistoryChange, _ coordinator: NSPersistentStoreCoordinator) {
        changeID = change.number
        changedObjectID = coordinator.objectID(for: change.key)
        changeType = NSPersistentHistoryChangeType(rawValue: change.kind.rawValue) ?? .update
        let properties = changedObjectID.entity.propertiesByName
        updatedProperties = change.kind == .update ? Set(change.changedProperties.compactMap { properties[$0] ?? properties[String($0.prefix { $0 != "." })] }) : nil
        let attributes = changedObjectID.entity.attributesByName
        tombstone =
            change.kind == .delete
            ? change.tombstone.reduce(into: [:]) { result, entry in
                let type = AttributeType(rawValue: Int(attributes[entry.key]?.attributeType.rawValue ?? 0)) ?? .undefined
                result[entry.key] = AttributeCoding.value(entry.value, of: type)
            } : nil
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }
}

/// One save, one batch request or one import, of one store.
///
/// Source: developer.apple.com/documentation/coredata/nspersistenthistorytransaction
public final class NSPersistentHistoryTransaction: NSObject, NSCopying {
    /// Greater in a later transaction of the same store.
    public let transactionNumber: Int64
    public let timestamp: Date
    /// The saving context's `transactionAuthor`.
    public let author: String?
    /// The saving context's `name`.
    public let contextName: String?
    public let bundleID: String
    public let processID: String
    public let storeID: String
    /// nil when only transactions were asked for.
    public let changes: [NSPersistentHistoryChange]?
    public let token: NSPersistentHistoryToken

    init(_ transaction: HistoryTransaction, changes: [NSPersistentHistoryChange]?, store: NSPersistentStore) {
        transactionNumber = transaction.number
        timestamp = Date(timeIntervalSinceReferenceDate: transaction.timestamp)
        author = transaction.author
        contextName = transaction.contextName
        bundleID = transaction.bundleID ?? ""
        processID = transaction.processID ?? ""
        storeID = store.identifier
        token = NSPersistentHistoryToken([store.identifier: transaction.number])
        self.changes = changes
        super.init()
        for change in changes ?? [] { change.transaction = self }
    }

    /// What `mergeChanges(fromContextDidSave:)` takes.
    public func objectIDNotification() -> Notification {
        func ids(_ type: NSPersistentHistoryChangeType) -> Set<NSManagedObjectID> {
            Set((changes ?? []).filter { $0.changeType == type }.map(\.changedObjectID))
        }
        return Notification(
            name: .NSManagedObjectContextDidSave, object: nil,
            userInfo: [NSInsertedObjectsKey: ids(.insert), NSUpdatedObjectsKey: ids(.update), NSDeletedObjectsKey: ids(.delete)])
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }
}
