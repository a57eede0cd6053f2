// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Reading the query subscriptions that a change of a record may concern.
package protocol QuerySubscriptionView {
    /// Query subscriptions of all users on records of a type in the public database, by user and identifier.
    func publicQuerySubscriptions(ofType recordType: String) throws -> [OwnedSubscription]
}

/// Removing subscriptions that fire once.
package protocol QuerySubscriptionWork {
    /// Removes a subscription of any user on the public database. It may be carried out after the unit, and more than
    /// once: a subscription that fires twice costs a notification.
    func retire(_ subscription: OwnedSubscription) throws
}

package struct OwnedSubscription: Hashable, Sendable {
    /// User record name.
    package var owner: String
    package var subscription: Subscription

    package init(owner: String, subscription: Subscription) {
        self.owner = owner
        self.subscription = subscription
    }
}

/// A record before and after a change; nil where there was, or is, none.
package struct RecordEvent: Hashable, Sendable {
    package var old: Record?
    package var new: Record?
}
