// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension CKDatabase {
    /// Fetches one subscription.
    ///
    /// - Throws: ``CKError`` with `.unknownItem` if it does not exist, or why the request failed.
    public func subscription(for subscriptionID: CKSubscription.ID) async throws -> CKSubscription {
        try await subscriptions(for: [subscriptionID]).item(subscriptionID)
    }

    /// Saves a subscription. Saving an existing one is not an error.
    ///
    /// - Throws: ``CKError`` with `.invalidArguments` for a query that the service cannot run, or why the request
    ///   failed.
    @discardableResult
    public func save(_ subscription: CKSubscription) async throws -> CKSubscription {
        try await modifySubscriptions(saving: [subscription], deleting: []).saveResults.item(subscription.subscriptionID)
    }

    /// Deletes one subscription.
    ///
    /// - Throws: ``CKError`` if the request failed.
    @discardableResult
    public func deleteSubscription(withID subscriptionID: CKSubscription.ID) async throws -> CKSubscription.ID {
        try await modifySubscriptions(saving: [], deleting: [subscriptionID]).deleteResults.item(subscriptionID)
        return subscriptionID
    }

    /// Fetches the user's subscriptions in this database.
    ///
    /// - Throws: ``CKError`` if the request failed.
    public func allSubscriptions() async throws -> [CKSubscription] { try await DatabaseRequests(self).allSubscriptions() }

    /// Fetches subscriptions by their identifiers.
    ///
    /// - Returns: A result for each identifier.
    /// - Throws: ``CKError`` if the request failed as a whole.
    public func subscriptions(
        for ids: [CKSubscription.ID]
    ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        try await DatabaseRequests(self).fetchSubscriptions(ids).byID()
    }

    /// Saves and deletes subscriptions in one request.
    ///
    /// - Returns: A result for each subscription.
    /// - Throws: ``CKError`` if the request failed as a whole.
    @discardableResult
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
    ) async throws -> (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    ) {
        let outcomes = try await DatabaseRequests(self).modifySubscriptions(
            saving: subscriptionsToSave, deleting: subscriptionIDsToDelete)
        return (outcomes.saved.byID(), outcomes.deleted.byID())
    }
}
