// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// What a history request answers with. Raw values are Apple's.
public enum NSPersistentHistoryResultType: Int, Sendable {
    /// `Bool`.
    case statusOnly = 0
    /// `[NSManagedObjectID]`, of the changes in their order; an object that changed twice stands there twice.
    case objectIDs = 1
    /// `Int`: how many changes, or with a request for transactions how many of them (unverified).
    case count = 2
    /// `[NSPersistentHistoryTransaction]` without their changes.
    case transactionsOnly = 3
    /// `[NSPersistentHistoryChange]` without their transactions.
    case changesOnly = 4
    /// `[NSPersistentHistoryTransaction]`.
    case transactionsAndChanges = 5
}

/// Asks for the history of stores that track it, or forgets some of it.
///
///     let request = NSPersistentHistoryChangeRequest.fetchHistory(after: token)
///     if let fetch = NSPersistentHistoryTransaction.fetchRequest {
///         fetch.predicate = NSPredicate(format: "author != %@", "app")
///         request.fetchRequest = fetch
///     }
///
/// Source: developer.apple.com/documentation/coredata/nspersistenthistorychangerequest
public final class NSPersistentHistoryChangeRequest: NSPersistentStoreRequest {
    enum Point {
        case start
        case token(NSPersistentHistoryToken)
        case date(Date)
        case transaction(NSPersistentHistoryTransaction)
    }

    enum Action { case fetch, delete }

    let action: Action
    let point: Point
    public var resultType: NSPersistentHistoryResultType
    /// Narrows a fetch down by a predicate on transactions or on changes; which, its entity says. Its limit and its
    /// sort descriptors have no effect.
    public var fetchRequest: NSFetchRequest<any NSFetchRequestResult>?

    private init(_ action: Action, _ point: Point) {
        self.action = action
        self.point = point
        resultType = action == .fetch ? .transactionsAndChanges : .statusOnly
    }

    /// The point that the request was made with, if that was a token.
    public var token: NSPersistentHistoryToken? { if case .token(let token) = point { token } else { nil } }

    /// - Parameter token: nil for all there is.
    public class func fetchHistory(after token: NSPersistentHistoryToken?) -> Self { Self(.fetch, token.map(Point.token) ?? .start) }
    public class func fetchHistory(after date: Date) -> Self { Self(.fetch, .date(date)) }
    public class func fetchHistory(after transaction: NSPersistentHistoryTransaction?) -> Self {
        Self(.fetch, transaction.map(Point.transaction) ?? .start)
    }

    /// - Parameter fetchRequest: With the entity of ``NSPersistentHistoryTransaction`` or of ``NSPersistentHistoryChange``.
    public class func fetchHistory(withFetch fetchRequest: NSFetchRequest<any NSFetchRequestResult>) -> Self {
        let request = Self(.fetch, .start)
        request.fetchRequest = fetchRequest
        return request
    }

    /// What comes before the point goes; the point itself stays.
    public class func deleteHistory(before token: NSPersistentHistoryToken?) -> Self { Self(.delete, token.map(Point.token) ?? .start) }
    public class func deleteHistory(before date: Date) -> Self { Self(.delete, .date(date)) }
    public class func deleteHistory(before transaction: NSPersistentHistoryTransaction?) -> Self {
        Self(.delete, transaction.map(Point.transaction) ?? .start)
    }
}

public final class NSPersistentHistoryResult: NSPersistentStoreResult {
    /// As ``resultType`` says.
    public let result: Any?
    public let resultType: NSPersistentHistoryResultType

    init(_ result: Any?, _ resultType: NSPersistentHistoryResultType) {
        self.result = result
        self.resultType = resultType
    }
}
