// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension CKDatabase {
    public func subscription(for subscriptionID: CKSubscription.ID) async throws -> CKSubscription {
        try await subscriptions(for: [subscriptionID]).item(subscriptionID)
    }

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

    /// The caller's subscriptions in this database.
    public func allSubscriptions() async throws -> [CKSubscription] { try await DatabaseRun(self).allSubscriptions() }

    public func subscriptions(
        for ids: [CKSubscription.ID]
    ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        try await DatabaseRun(self).fetchSubscriptions(ids).byID()
    }

    @discardableResult
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
    ) async throws -> (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    ) {
        let outcomes = try await DatabaseRun(self).modifySubscriptions(
            saving: subscriptionsToSave, deleting: subscriptionIDsToDelete)
        return (outcomes.saved.byID(), outcomes.deleted.byID())
    }
}
