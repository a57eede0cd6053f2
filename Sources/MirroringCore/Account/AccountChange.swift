// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A change of a store's account or server, with its outcome and the archive.
package struct AccountChange: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Hashable, Sendable {
        /// Another user than the owner of the store's data is signed in.
        case anotherAccount
        /// The server never had the store's data: its data folder is new, or it is another server.
        case serverReplaced
        /// The user deleted the app's data on another device.
        case dataDeleted
        /// The server lost a share that the user had joined: it was restored from an older backup, or the share's owner reset their keys.
        case shareLost
    }

    package enum Outcome: String, Codable, Hashable, Sendable {
        /// The store was archived if it had objects, and emptied.
        case emptied
        /// The objects stayed, and are sent to the present account.
        case uploaded
        /// The store is unchanged, and does not sync until the app decides or the previous user signs in again.
        case unresolved
    }

    package var kind: Kind
    package var outcome: Outcome
    /// Seconds since 2001.
    package var date: Double
    package var previous: StoreOwner
    package var present: StoreOwner
    /// File name of the archive, in the store's folder; nil if none was made.
    package var archive: String?

    package init(kind: Kind, outcome: Outcome, date: Double, previous: StoreOwner, present: StoreOwner, archive: String? = nil) {
        self.kind = kind
        self.outcome = outcome
        self.date = date
        self.previous = previous
        self.present = present
        self.archive = archive
    }

    /// Whether another change has the same kind, outcome and owners, at any time.
    package func repeats(_ other: AccountChange) -> Bool {
        var copy = self
        copy.date = other.date
        return copy == other
    }
}

/// Changes that the app has not acknowledged, oldest first.
package struct AccountChangeLog: Codable, Hashable, Sendable {
    /// Older ones are dropped; their archives stay.
    package static let countMax = 100

    package private(set) var changes: [AccountChange] = []

    package init() {}

    /// An unresolved change ends with any later change.
    package mutating func append(_ change: AccountChange) {
        if let last = changes.last, last.outcome == .unresolved {
            if last.repeats(change) { return }
            changes.removeLast()
        }
        changes.append(change)
        changes.removeFirst(max(changes.count - Self.countMax, 0))
    }

    /// An unresolved change ends when the previous user signs in again.
    package mutating func removeUnresolved() { changes.removeAll { $0.outcome == .unresolved } }
}
