// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import SQLiteStore

/// A point in the history of some stores.
///
/// Source: developer.apple.com/documentation/coredata/nspersistenthistorytoken
public final class NSPersistentHistoryToken: NSObject, NSSecureCoding, Sendable {
    /// Store identifier to transaction number.
    let positions: [String: Int64]

    init(_ positions: [String: Int64]) { self.positions = positions }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        let text = positions.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: "\n")
        coder.encode(text as NSString, forKey: "positions")
    }

    public init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: "positions") else { return nil }
        var positions: [String: Int64] = [:]
        for line in String(text).split(separator: "\n") {
            let parts = line.split(separator: " ")
            guard parts.count == 2, let number = Int64(parts[1]) else { return nil }
            positions[String(parts[0])] = number
        }
        self.positions = positions
    }

    public override func isEqual(_ object: Any?) -> Bool { (object as? Self)?.positions == positions }
    public override var hash: Int { positions.hashValue }
}

public enum NSPersistentHistoryChangeType: Int, Sendable {
    case insert = 0
    case update = 1
    case delete = 2
}

/// One object's change in a transaction.
public final class NSPersistentHistoryChange: NSObject {
    public let changeID: Int64
    public let changedObjectID: NSManagedObjectID
    public let changeType: NSPersistentHistoryChangeType
    /// Of an update; nil otherwise.
    public let updatedProperties: Set<NSPropertyDescription>?
    /// Of a delete: attributes whose values the model preserves.
    public let tombstone: [AnyHashable: Any]?
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
}

/// One save, or one import, of one store.
public final class NSPersistentHistoryTransaction: NSObject {
    public let transactionNumber: Int64
    public let timestamp: Date
    public let author: String?
    public let contextName: String?
    public let bundleID: String
    public let processID: String
    public let storeID: String
    public let changes: [NSPersistentHistoryChange]?
    public let token: NSPersistentHistoryToken

    init(_ transaction: HistoryTransaction, store: NSPersistentStore, _ coordinator: NSPersistentStoreCoordinator) {
        transactionNumber = transaction.number
        timestamp = Date(timeIntervalSinceReferenceDate: transaction.timestamp)
        author = transaction.author
        contextName = transaction.contextName
        bundleID = transaction.bundleID ?? ""
        processID = transaction.processID ?? ""
        storeID = store.identifier
        token = NSPersistentHistoryToken([store.identifier: transaction.number])
        changes = transaction.changes.map { NSPersistentHistoryChange($0, coordinator) }
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
}

/// Asks for the history of stores that track it.
public final class NSPersistentHistoryChangeRequest: NSPersistentStoreRequest {
    enum Point { case start, token(NSPersistentHistoryToken), date(Date), transaction(NSPersistentHistoryTransaction) }
    enum Action { case fetch, delete }

    let action: Action
    let point: Point

    private init(_ action: Action, _ point: Point) {
        self.action = action
        self.point = point
    }

    /// - Parameter token: nil for all there is.
    public class func fetchHistory(after token: NSPersistentHistoryToken?) -> Self { Self(.fetch, token.map(Point.token) ?? .start) }
    public class func fetchHistory(after date: Date) -> Self { Self(.fetch, .date(date)) }
    public class func fetchHistory(after transaction: NSPersistentHistoryTransaction?) -> Self {
        Self(.fetch, transaction.map(Point.transaction) ?? .start)
    }
    public class func deleteHistory(before token: NSPersistentHistoryToken?) -> Self { Self(.delete, token.map(Point.token) ?? .start) }
    public class func deleteHistory(before date: Date) -> Self { Self(.delete, .date(date)) }
    public class func deleteHistory(before transaction: NSPersistentHistoryTransaction?) -> Self {
        Self(.delete, transaction.map(Point.transaction) ?? .start)
    }
}

public final class NSPersistentHistoryResult: NSPersistentStoreResult {
    /// `[NSPersistentHistoryTransaction]` of a fetch, `Bool` of a deletion.
    public let result: Any?
    init(_ result: Any?) { self.result = result }
}
