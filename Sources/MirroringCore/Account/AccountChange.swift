// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// What became of a store that met another account or another server, and where its contents are.
package struct AccountChange: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Hashable, Sendable {
        /// Another user is signed in than the one whose data the store held.
        case anotherAccount
        /// The server's data were made anew: it never had what the store synced.
        case serverReplaced
        /// The user deleted the app's data on another device.
        case dataDeleted
    }

    package enum Outcome: String, Codable, Hashable, Sendable {
        /// The store was archived if it had objects, and emptied.
        case emptied
        /// The objects stayed, and are sent to the present account.
        case uploaded
        /// Nothing was touched. Nothing is synced until the app decides, or the previous user is back.
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

    /// Whether the other says the same of the same owners, at whatever time.
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

    /// What waits for the app's decision ends with any later change.
    package mutating func append(_ change: AccountChange) {
        if let last = changes.last, last.outcome == .unresolved {
            if last.repeats(change) { return }
            changes.removeLast()
        }
        changes.append(change)
        changes.removeFirst(max(changes.count - Self.countMax, 0))
    }

    /// What waits for the app's decision ends when the previous user is back.
    package mutating func removeUnresolved() { changes.removeAll { $0.outcome == .unresolved } }
}
