// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/History.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CoreData
import Foundation
import Testing

@Suite struct HistorySurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("NSPersistentHistoryChangeType.insert", NSPersistentHistoryChangeType.insert, 0)
        expectDocumented("NSPersistentHistoryChangeType.update", NSPersistentHistoryChangeType.update, 1)
        expectDocumented("NSPersistentHistoryChangeType.delete", NSPersistentHistoryChangeType.delete, 2)
        expectDocumented("NSPersistentHistoryResultType.statusOnly", NSPersistentHistoryResultType.statusOnly, 0)
        expectDocumented("NSPersistentHistoryResultType.objectIDs", NSPersistentHistoryResultType.objectIDs, 1)
        expectDocumented("NSPersistentHistoryResultType.count", NSPersistentHistoryResultType.count, 2)
        expectDocumented("NSPersistentHistoryResultType.transactionsOnly", NSPersistentHistoryResultType.transactionsOnly, 3)
        expectDocumented("NSPersistentHistoryResultType.changesOnly", NSPersistentHistoryResultType.changesOnly, 4)
        expectDocumented("NSPersistentHistoryResultType.transactionsAndChanges", NSPersistentHistoryResultType.transactionsAndChanges, 5)
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesNSPersistentHistoryTransaction()
        Self.usesNSPersistentHistoryChange()
        Self.usesNSPersistentHistoryChangeType()
        Self.usesNSPersistentHistoryChangeRequest()
        Self.usesNSPersistentHistoryResult()
        Self.usesNSPersistentHistoryResultType()
        Self.usesNSPersistentHistoryToken()
        Self.usesNSQueryGenerationToken()
    }

    private static func usesNSPersistentHistoryTransaction() {
        _ = { (x: NSPersistentHistoryTransaction) -> NSObject in x }
        _ = { (x: NSPersistentHistoryTransaction) -> any NSCopying in x }
        _ = { (a0: NSManagedObjectContext) -> NSEntityDescription? in NSPersistentHistoryTransaction.entityDescription(with: a0) }
        _ = { () -> NSEntityDescription? in NSPersistentHistoryTransaction.entityDescription }
        _ = { () -> NSFetchRequest<any NSFetchRequestResult>? in NSPersistentHistoryTransaction.fetchRequest }
        let _: KeyPath<NSPersistentHistoryTransaction, Date> = \.timestamp
        let _: KeyPath<NSPersistentHistoryTransaction, [NSPersistentHistoryChange]?> = \.changes
        let _: KeyPath<NSPersistentHistoryTransaction, Int64> = \.transactionNumber
        let _: KeyPath<NSPersistentHistoryTransaction, String> = \.storeID
        let _: KeyPath<NSPersistentHistoryTransaction, String> = \.bundleID
        let _: KeyPath<NSPersistentHistoryTransaction, String> = \.processID
        let _: KeyPath<NSPersistentHistoryTransaction, String?> = \.contextName
        let _: KeyPath<NSPersistentHistoryTransaction, String?> = \.author
        let _: KeyPath<NSPersistentHistoryTransaction, NSPersistentHistoryToken> = \.token
        _ = { (x: NSPersistentHistoryTransaction) -> Notification in x.objectIDNotification() }
    }

    private static func usesNSPersistentHistoryChange() {
        _ = { (x: NSPersistentHistoryChange) -> NSObject in x }
        _ = { (x: NSPersistentHistoryChange) -> any NSCopying in x }
        _ = { (a0: NSManagedObjectContext) -> NSEntityDescription? in NSPersistentHistoryChange.entityDescription(with: a0) }
        _ = { () -> NSEntityDescription? in NSPersistentHistoryChange.entityDescription }
        _ = { () -> NSFetchRequest<any NSFetchRequestResult>? in NSPersistentHistoryChange.fetchRequest }
        let _: KeyPath<NSPersistentHistoryChange, Int64> = \.changeID
        let _: KeyPath<NSPersistentHistoryChange, NSManagedObjectID> = \.changedObjectID
        let _: KeyPath<NSPersistentHistoryChange, NSPersistentHistoryChangeType> = \.changeType
        let _: KeyPath<NSPersistentHistoryChange, [AnyHashable: Any]?> = \.tombstone
        let _: KeyPath<NSPersistentHistoryChange, NSPersistentHistoryTransaction?> = \.transaction
        let _: KeyPath<NSPersistentHistoryChange, Set<NSPropertyDescription>?> = \.updatedProperties
    }

    private static func usesNSPersistentHistoryChangeType() {
        _ = NSPersistentHistoryChangeType.self
        _ = { () -> NSPersistentHistoryChangeType in .insert }
        _ = { () -> NSPersistentHistoryChangeType in .update }
        _ = { () -> NSPersistentHistoryChangeType in .delete }
    }

    private static func usesNSPersistentHistoryChangeRequest() {
        _ = { (x: NSPersistentHistoryChangeRequest) -> NSPersistentStoreRequest in x }
        _ = { (a0: Date) -> NSPersistentHistoryChangeRequest in NSPersistentHistoryChangeRequest.fetchHistory(after: a0) }
        _ = { (a0: NSPersistentHistoryToken?) -> NSPersistentHistoryChangeRequest in NSPersistentHistoryChangeRequest.fetchHistory(after: a0) }
        _ = { (a0: NSPersistentHistoryTransaction?) -> NSPersistentHistoryChangeRequest in NSPersistentHistoryChangeRequest.fetchHistory(after: a0) }
        _ = { (a0: NSFetchRequest<any NSFetchRequestResult>) -> NSPersistentHistoryChangeRequest in NSPersistentHistoryChangeRequest.fetchHistory(withFetch: a0) }
        _ = { (a0: Date) -> NSPersistentHistoryChangeRequest in NSPersistentHistoryChangeRequest.deleteHistory(before: a0) }
        _ = { (a0: NSPersistentHistoryToken?) -> NSPersistentHistoryChangeRequest in NSPersistentHistoryChangeRequest.deleteHistory(before: a0) }
        _ = { (a0: NSPersistentHistoryTransaction?) -> NSPersistentHistoryChangeRequest in NSPersistentHistoryChangeRequest.deleteHistory(before: a0) }
        let _: ReferenceWritableKeyPath<NSPersistentHistoryChangeRequest, NSPersistentHistoryResultType> = \.resultType
        let _: ReferenceWritableKeyPath<NSPersistentHistoryChangeRequest, NSFetchRequest<any NSFetchRequestResult>?> = \.fetchRequest
        let _: KeyPath<NSPersistentHistoryChangeRequest, NSPersistentHistoryToken?> = \.token
    }

    private static func usesNSPersistentHistoryResult() {
        _ = { (x: NSPersistentHistoryResult) -> NSPersistentStoreResult in x }
        let _: KeyPath<NSPersistentHistoryResult, Any?> = \.result
        let _: KeyPath<NSPersistentHistoryResult, NSPersistentHistoryResultType> = \.resultType
    }

    private static func usesNSPersistentHistoryResultType() {
        _ = NSPersistentHistoryResultType.self
        _ = { () -> NSPersistentHistoryResultType in .statusOnly }
        _ = { () -> NSPersistentHistoryResultType in .objectIDs }
        _ = { () -> NSPersistentHistoryResultType in .count }
        _ = { () -> NSPersistentHistoryResultType in .transactionsOnly }
        _ = { () -> NSPersistentHistoryResultType in .changesOnly }
        _ = { () -> NSPersistentHistoryResultType in .transactionsAndChanges }
    }

    private static func usesNSPersistentHistoryToken() {
        _ = { (x: NSPersistentHistoryToken) -> NSObject in x }
        _ = { (x: NSPersistentHistoryToken) -> any NSCopying in x }
        _ = { (x: NSPersistentHistoryToken) -> any NSSecureCoding in x }
    }

    private static func usesNSQueryGenerationToken() {
        _ = { (x: NSQueryGenerationToken) -> NSObject in x }
        _ = { (x: NSQueryGenerationToken) -> any NSCopying in x }
        _ = { (x: NSQueryGenerationToken) -> any NSSecureCoding in x }
        _ = { () -> NSQueryGenerationToken in NSQueryGenerationToken.current }
    }

    static var propertiesOfNSPersistentHistoryTransaction: [(name: String, path: PartialKeyPath<NSPersistentHistoryTransaction>)] {
        [
            ("timestamp", \.timestamp),
            ("changes", \.changes),
            ("transactionNumber", \.transactionNumber),
            ("storeID", \.storeID),
            ("bundleID", \.bundleID),
            ("processID", \.processID),
            ("contextName", \.contextName),
            ("author", \.author),
            ("token", \.token),
        ]
    }

    static var propertiesOfNSPersistentHistoryChange: [(name: String, path: PartialKeyPath<NSPersistentHistoryChange>)] {
        [
            ("changeID", \.changeID),
            ("changedObjectID", \.changedObjectID),
            ("changeType", \.changeType),
            ("tombstone", \.tombstone),
            ("transaction", \.transaction),
            ("updatedProperties", \.updatedProperties),
        ]
    }

    static var propertiesOfNSPersistentHistoryChangeRequest: [(name: String, path: PartialKeyPath<NSPersistentHistoryChangeRequest>)] {
        [
            ("resultType", \.resultType),
            ("fetchRequest", \.fetchRequest),
            ("token", \.token),
        ]
    }

    static var propertiesOfNSPersistentHistoryResult: [(name: String, path: PartialKeyPath<NSPersistentHistoryResult>)] {
        [
            ("result", \.result),
            ("resultType", \.resultType),
        ]
    }
}
