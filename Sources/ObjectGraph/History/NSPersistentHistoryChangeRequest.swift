// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// The kind of result of a history request. Raw values are Apple's.
public enum NSPersistentHistoryResultType: Int, Sendable {
    /// `Bool`.
    case statusOnly = 0
    /// `[NSManagedObjectID]`, in order of the changes; an object that changed twice is listed twice.
    case objectIDs = 1
    /// `Int`: the number of changes, or of transactions for a request about them (unverified).
    case count = 2
    /// `[NSPersistentHistoryTransaction]` without their changes.
    case transactionsOnly = 3
    /// `[NSPersistentHistoryChange]` without their transactions.
    case changesOnly = 4
    /// `[NSPersistentHistoryTransaction]`.
    case transactionsAndChanges = 5
}

/// A request that fetches the history of stores, or deletes a part of it.
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
    /// The kind of result.
    open var resultType = NSPersistentHistoryResultType.transactionsAndChanges
    /// Filters a fetch by a predicate on transactions or on changes, as its entity says. Its limit and sort descriptors
    /// have no effect.
    open var fetchRequest: NSFetchRequest<any NSFetchRequestResult>?

    /// Creates a request for all history. Subclasses are constructed by it, too.
    public required override init() { super.init() }

    private class func make(_ action: Action, _ point: Point) -> Self {
        let request = Self()
        (request.action, request.point) = (action, point)
        if action == .delete { request.resultType = .statusOnly }
        return request
    }

    /// The token of the request; nil if it has a date or a transaction.
    open var token: NSPersistentHistoryToken? { if case .token(let token) = point { token } else { nil } }

    /// Returns a request for the history after a token.
    ///
    /// - Parameter token: nil for all history.
    open class func fetchHistory(after token: NSPersistentHistoryToken?) -> Self { make(.fetch, token.map(Point.token) ?? .start) }
    /// Returns a request for the history after a date.
    open class func fetchHistory(after date: Date) -> Self { make(.fetch, .date(date)) }
    /// Returns a request for the history after a transaction; nil for all history.
    open class func fetchHistory(after transaction: NSPersistentHistoryTransaction?) -> Self {
        make(.fetch, transaction.map(Point.transaction) ?? .start)
    }

    /// Returns a request for history that matches a predicate.
    ///
    /// - Parameter fetchRequest: Has the entity of ``NSPersistentHistoryTransaction`` or of
    ///   ``NSPersistentHistoryChange``.
    open class func fetchHistory(withFetch fetchRequest: NSFetchRequest<any NSFetchRequestResult>) -> Self {
        let request = make(.fetch, .start)
        request.fetchRequest = fetchRequest
        return request
    }

    /// Returns a request that deletes the history before a token. The token's transaction stays.
    open class func deleteHistory(before token: NSPersistentHistoryToken?) -> Self { make(.delete, token.map(Point.token) ?? .start) }
    /// Returns a request that deletes the history before a date.
    open class func deleteHistory(before date: Date) -> Self { make(.delete, .date(date)) }
    /// Returns a request that deletes the history before a transaction, which stays.
    open class func deleteHistory(before transaction: NSPersistentHistoryTransaction?) -> Self {
        make(.delete, transaction.map(Point.transaction) ?? .start)
    }
}

/// The result of a history request.
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

    /// The contents, of the type that ``resultType`` implies.
    open var result: Any? { contents }
    /// The kind of the contents.
    open var resultType: NSPersistentHistoryResultType { kind }
}
