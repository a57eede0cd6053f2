// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension CKDatabase {
    /// Saves a subscription. Saving what is there already is not an error.
    @discardableResult
    public func save(_ subscription: CKSubscription) async throws -> CKSubscription {
        try await modifySubscriptions(saving: [subscription], deleting: []).saveResults.item(subscription.subscriptionID)
    }

    @discardableResult
    public func deleteSubscription(withID subscriptionID: CKSubscription.ID) async throws -> CKSubscription.ID {
        try await modifySubscriptions(saving: [], deleting: [subscriptionID]).deleteResults.item(subscriptionID)
        return subscriptionID
    }

    /// The caller's subscriptions in this database, but for query subscriptions.
    public func allSubscriptions() async throws -> [CKSubscription] {
        try await client().listSubscriptions().subscriptions.compactMap { result in
            guard case .subscription(let subscription) = result else { return nil }
            return CKSubscription.make(subscription, scope: databaseScope)
        }
    }

    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
    ) async throws -> (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    ) {
        let operations =
            subscriptionsToSave.map { SubscriptionOperation.create($0.wire) }
            + subscriptionIDsToDelete.map { SubscriptionOperation.delete(subscriptionID: $0) }
        let answer = try await client().modifySubscriptions(SubscriptionsModifyRequest(operations: operations))
        var saved: [CKSubscription.ID: Result<CKSubscription, any Error>] = [:]
        var deleted: [CKSubscription.ID: Result<Void, any Error>] = [:]
        for (subscription, result) in zip(subscriptionsToSave, answer.subscriptions) {
            switch result {
            case .subscription(let server):
                saved[subscription.subscriptionID] = .success(
                    CKSubscription.make(server, scope: databaseScope) ?? subscription)
            case .deleted: saved[subscription.subscriptionID] = .failure(CKError(.unknownItem))
            case .failure(_, let error): saved[subscription.subscriptionID] = .failure(CKError(error))
            }
        }
        for (id, result) in zip(subscriptionIDsToDelete, answer.subscriptions.dropFirst(subscriptionsToSave.count)) {
            switch result {
            case .subscription, .deleted: deleted[id] = .success(())
            case .failure(_, let error): deleted[id] = .failure(CKError(error))
            }
        }
        return (saved, deleted)
    }
}
