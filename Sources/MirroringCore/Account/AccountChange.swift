// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Why a store was emptied, for whom, and where its contents are.
package struct AccountChange: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Hashable, Sendable {
        /// Another user is signed in than the one whose data the store held.
        case anotherAccount
        /// The user deleted the app's data on another device.
        case dataDeleted
    }

    package var kind: Kind
    /// Seconds since 2001.
    package var date: Double
    /// Record names of the users before and after; nil where the server never named one.
    package var previousUser: String?
    package var user: String?
    /// File name of the archive, in the store's folder; nil if the store had no rows.
    package var archive: String?

    package init(kind: Kind, date: Double, previousUser: String?, user: String?, archive: String?) {
        self.kind = kind
        self.date = date
        self.previousUser = previousUser
        self.user = user
        self.archive = archive
    }
}

/// Changes that the app has not acknowledged, oldest first.
package struct AccountChangeLog: Codable, Hashable, Sendable {
    /// Older ones are dropped; their archives stay.
    package static let countMax = 100

    package private(set) var changes: [AccountChange] = []

    package init() {}

    package mutating func append(_ change: AccountChange) {
        changes.append(change)
        changes.removeFirst(max(changes.count - Self.countMax, 0))
    }
}
