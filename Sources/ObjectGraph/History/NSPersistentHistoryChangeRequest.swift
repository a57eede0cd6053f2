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
open class NSPersistentHistoryChangeRequest: NSPersistentStoreRequest {
    enum Point {
        case start
        case token(NSPersistentHistoryToken)
        case date(Date)
        case transaction(NSPersistentHistoryTransaction)
    }

    enum Action { case fetch, delete }

    private(set) final var action = Action.fetch
    private(set) final var point = Point.start
    open var resultType = NSPersistentHistoryResultType.transactionsAndChanges
    /// Narrows a fetch down by a predicate on transactions or on changes; which, its entity says. Its limit and its
    /// sort descriptors have no effect.
    open var fetchRequest: NSFetchRequest<any NSFetchRequestResult>?

    /// Creates a request for all history. Subclasses are constructed by it, too.
    public required override init() { super.init() }

    private class func make(_ action: Action, _ point: Point) -> Self {
        let request = Self()
        (request.action, request.point) = (action, point)
        if action == .delete { request.resultType = .statusOnly }
        return request
    }

    /// The point that the request was made with, if that was a token.
    open var token: NSPersistentHistoryToken? { if case .token(let token) = point { token } else { nil } }

    /// - Parameter token: nil for all there is.
    open class func fetchHistory(after token: NSPersistentHistoryToken?) -> Self { make(.fetch, token.map(Point.token) ?? .start) }
    open class func fetchHistory(after date: Date) -> Self { make(.fetch, .date(date)) }
    open class func fetchHistory(after transaction: NSPersistentHistoryTransaction?) -> Self {
        make(.fetch, transaction.map(Point.transaction) ?? .start)
    }

    /// - Parameter fetchRequest: With the entity of ``NSPersistentHistoryTransaction`` or of ``NSPersistentHistoryChange``.
    open class func fetchHistory(withFetch fetchRequest: NSFetchRequest<any NSFetchRequestResult>) -> Self {
        let request = make(.fetch, .start)
        request.fetchRequest = fetchRequest
        return request
    }

    /// What comes before the point goes; the point itself stays.
    open class func deleteHistory(before token: NSPersistentHistoryToken?) -> Self { make(.delete, token.map(Point.token) ?? .start) }
    open class func deleteHistory(before date: Date) -> Self { make(.delete, .date(date)) }
    open class func deleteHistory(before transaction: NSPersistentHistoryTransaction?) -> Self {
        make(.delete, transaction.map(Point.transaction) ?? .start)
    }
}

open class NSPersistentHistoryResult: NSPersistentStoreResult {
    private final let contents: Any?
    private final let kind: NSPersistentHistoryResultType

    /// Creates a result without contents, for subclasses that override ``result``.
    public override init() {
        contents = nil
        kind = .statusOnly
    }

    init(_ contents: Any?, _ kind: NSPersistentHistoryResultType) {
        self.contents = contents
        self.kind = kind
    }

    /// As ``resultType`` says.
    open var result: Any? { contents }
    open var resultType: NSPersistentHistoryResultType { kind }
}
