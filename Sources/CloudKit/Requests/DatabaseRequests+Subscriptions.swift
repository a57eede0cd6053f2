// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

extension DatabaseRequests {
    func allSubscriptions() async throws -> [CKSubscription] {
        try await client.listSubscriptions().subscriptions.compactMap { result in
            guard case .subscription(let subscription) = result else { return nil }
            return CKSubscription.make(subscription, scope: scope)
        }
    }

    func fetchSubscriptions(_ ids: [CKSubscription.ID]) async throws -> [Outcome<CKSubscription.ID, CKSubscription>] {
        try await paged(ids) { ids in
            let response = try await client.lookupSubscriptions(SubscriptionsLookupRequest(subscriptionIDs: ids))
            return zip(ids, response.subscriptions).map { id, result in Outcome(id: id, result: subscription(result)) }
        }
    }

    func modifySubscriptions(
        saving subscriptions: [CKSubscription], deleting ids: [CKSubscription.ID]
    ) async throws -> (
        saved: [Outcome<CKSubscription.ID, CKSubscription>], deleted: [Outcome<CKSubscription.ID, Void>]
    ) {
        try checkCount(subscriptions.count + ids.count, of: "subscriptions")
        guard !subscriptions.isEmpty || !ids.isEmpty else { return ([], []) }
        var saved: [Outcome<CKSubscription.ID, CKSubscription>] = []
        var operations: [SubscriptionOperation] = []
        var sent: [CKSubscription] = []
        for subscription in subscriptions {
            do throws(CKError) {
                operations.append(.create(try subscription.wire()))
                sent.append(subscription)
            } catch {
                saved.append(Outcome(id: subscription.subscriptionID, result: .failure(error)))
            }
        }
        operations += ids.map { SubscriptionOperation.delete(subscriptionID: $0) }
        guard !operations.isEmpty else { return (saved, []) }
        let response = try await client.modifySubscriptions(SubscriptionsModifyRequest(operations: operations))
        for (subscription, result) in zip(sent, response.subscriptions) {
            saved.append(Outcome(id: subscription.subscriptionID, result: self.subscription(result)))
        }
        let deleted = zip(ids, response.subscriptions.dropFirst(sent.count)).map { id, result -> Outcome<CKSubscription.ID, Void> in
            switch result {
            case .subscription, .deleted: Outcome(id: id, result: .success(()))
            case .failure(_, let error): Outcome(id: id, result: .failure(CKError(error)))
            }
        }
        return (saved, deleted)
    }

    private func subscription(_ result: SubscriptionResult) -> Result<CKSubscription, any Error> {
        switch result {
        case .subscription(let subscription):
            CKSubscription.make(subscription, scope: scope).map { .success($0) }
                ?? .failure(CKError.unreadable("the server returned a subscription of an unknown kind"))
        case .deleted: .failure(CKError(.unknownItem))
        case .failure(_, let error): .failure(CKError(error))
        }
    }
}
