// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Fetches subscriptions by their identifiers, or all subscriptions of a database.
///
/// Source: Apple's documentation of `CKFetchSubscriptionsOperation`.
open class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    /// The subscriptions to fetch. `nil` fetches all subscriptions.
    public var subscriptionIDs: [CKSubscription.ID]?

    /// Called for each subscription with its result.
    @preconcurrency
    public var perSubscriptionResultBlock: (@Sendable (CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    /// Called at the end.
    @preconcurrency public var fetchSubscriptionsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``fetchSubscriptionsResultBlock``, with the fetched subscriptions.
    @preconcurrency
    public var fetchSubscriptionCompletionBlock: (@Sendable ([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?

    private let fetched = Locked<[CKSubscription.ID: CKSubscription]>([:])

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
        self.init()
        self.subscriptionIDs = subscriptionIDs
    }

    /// Creates an operation that fetches all subscriptions.
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
        await callBlock {
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
    /// The subscriptions to save.
    public var subscriptionsToSave: [CKSubscription]?
    /// The subscriptions to delete.
    public var subscriptionIDsToDelete: [CKSubscription.ID]?

    /// Called for each subscription to save with its result.
    @preconcurrency
    public var perSubscriptionSaveBlock: (@Sendable (CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    /// Called for each subscription to delete with its result.
    @preconcurrency
    public var perSubscriptionDeleteBlock: (@Sendable (CKSubscription.ID, Result<Void, any Error>) -> Void)?
    /// Called at the end.
    @preconcurrency public var modifySubscriptionsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``modifySubscriptionsResultBlock``, with the saved and deleted subscriptions.
    @preconcurrency
    public var modifySubscriptionsCompletionBlock: (@Sendable ([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?

    private let done = Locked<(saved: [CKSubscription], deleted: [CKSubscription.ID])>(([], []))

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
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
        await callBlock {
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
