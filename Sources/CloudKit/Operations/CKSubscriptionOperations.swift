// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Fetches subscriptions by their identifiers, or all of a database.
///
/// Source: Apple's documentation of `CKFetchSubscriptionsOperation`.
open class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    /// Nil fetches all subscriptions.
    public var subscriptionIDs: [CKSubscription.ID]?

    @preconcurrency
    public var perSubscriptionResultBlock: (@Sendable (CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    @preconcurrency public var fetchSubscriptionsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``fetchSubscriptionsResultBlock``, with what was fetched.
    @preconcurrency
    public var fetchSubscriptionCompletionBlock:
        (@Sendable ([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?

    private let fetched = Locked<[CKSubscription.ID: CKSubscription]>([:])

    public override init() { super.init() }

    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
        self.init()
        self.subscriptionIDs = subscriptionIDs
    }

    open class func fetchAllSubscriptionsOperation() -> CKFetchSubscriptionsOperation { CKFetchSubscriptionsOperation() }

    override func carryOut(_ settings: OperationSettings) async throws {
        let run = try run(settings)
        let errors = ItemErrors()
        let outcomes: [Outcome<CKSubscription.ID, CKSubscription>]
        if let subscriptionIDs {
            outcomes = try await run.fetchSubscriptions(subscriptionIDs)
        } else {
            outcomes = try await run.allSubscriptions().map { Outcome(id: $0.subscriptionID, result: .success($0)) }
        }
        await tell {
            for outcome in outcomes {
                errors.note(outcome.id, outcome.result)
                if case .success(let subscription) = outcome.result { self.fetched.update { $0[outcome.id] = subscription } }
                self.perSubscriptionResultBlock?(outcome.id, outcome.result)
            }
        }
        try errors.throwIfAny()
    }

    override func conclude(_ result: Result<Void, any Error>) {
        fetchSubscriptionsResultBlock?(result)
        fetchSubscriptionCompletionBlock?(fetched.value, result.failure)
    }
}

/// Saves and deletes subscriptions.
///
/// Source: Apple's documentation of `CKModifySubscriptionsOperation`.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    public var subscriptionsToSave: [CKSubscription]?
    public var subscriptionIDsToDelete: [CKSubscription.ID]?

    @preconcurrency
    public var perSubscriptionSaveBlock: (@Sendable (CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    @preconcurrency
    public var perSubscriptionDeleteBlock: (@Sendable (CKSubscription.ID, Result<Void, any Error>) -> Void)?
    @preconcurrency public var modifySubscriptionsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``modifySubscriptionsResultBlock``, with what was saved and deleted.
    @preconcurrency
    public var modifySubscriptionsCompletionBlock:
        (@Sendable ([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?

    private let done = Locked<(saved: [CKSubscription], deleted: [CKSubscription.ID])>(([], []))

    public override init() { super.init() }

    public convenience init(
        subscriptionsToSave: [CKSubscription]? = nil, subscriptionIDsToDelete: [CKSubscription.ID]? = nil
    ) {
        self.init()
        self.subscriptionsToSave = subscriptionsToSave
        self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let errors = ItemErrors()
        let outcomes = try await run(settings).modifySubscriptions(
            saving: subscriptionsToSave ?? [], deleting: subscriptionIDsToDelete ?? [])
        await tell {
            for outcome in outcomes.saved {
                errors.note(outcome.id, outcome.result)
                if case .success(let subscription) = outcome.result { self.done.update { $0.saved.append(subscription) } }
                self.perSubscriptionSaveBlock?(outcome.id, outcome.result)
            }
            for outcome in outcomes.deleted {
                errors.note(outcome.id, outcome.result)
                if case .success = outcome.result { self.done.update { $0.deleted.append(outcome.id) } }
                self.perSubscriptionDeleteBlock?(outcome.id, outcome.result)
            }
        }
        try errors.throwIfAny()
    }

    override func conclude(_ result: Result<Void, any Error>) {
        modifySubscriptionsResultBlock?(result)
        let (saved, deleted) = done.value
        modifySubscriptionsCompletionBlock?(saved, deleted, result.failure)
    }
}
