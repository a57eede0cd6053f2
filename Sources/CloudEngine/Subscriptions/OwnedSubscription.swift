// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

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
