// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// The changes of one save to one store. They are written in one transaction, with their history, or not at all.
package struct StoreChanges: Sendable {
    /// Rows with keys from ``StoreWriter/allocateKeys(for:count:)``; written with version 1.
    package var inserts: [Row] = []
    package var updates: [RowUpdate] = []
    package var deletes: [RowDelete] = []
    /// Join records of many-to-many relationships, each once and from either side.
    package var links: [LinkChange] = []
    /// New orders of ordered relationships; applied after rows and links.
    package var orders: [OrderChange] = []
    /// Unchanged rows that others begin to reference. A missing one is a conflict.
    package var owners: [RowOwner] = []
    package var author: String?
    package var contextName: String?

    package init() {}

    package var isEmpty: Bool {
        inserts.isEmpty && updates.isEmpty && deletes.isEmpty && links.isEmpty && orders.isEmpty
    }
}

/// Members of an ordered relationship in their new order: all of them, or those appended. A member that joins without one
/// comes last.
package struct OrderChange: Hashable, Sendable {
    package var owner: RowKey
    /// Index into the owner entity's `toMany`.
    package var relationship: Int
    package var destinations: [RowKey]
    /// The other members keep their positions, and these follow.
    package var isAppended: Bool

    package init(owner: RowKey, relationship: Int, destinations: [RowKey], isAppended: Bool = false) {
        self.owner = owner
        self.relationship = relationship
        self.destinations = destinations
        self.isAppended = isAppended
    }
}

package struct RowUpdate: Sendable {
    package var key: RowKey
    /// The version that the caller read. Another version in the store is a conflict.
    package var expectedVersion: Int64
    /// Every slot's value; only ``changedSlots`` are written.
    package var values: ContiguousArray<StoredValue>
    package var changedSlots: [Int]
    /// To-many relationships that changed with the row, for history only; their rows are links or other updates.
    package var changedToMany: [Int]

    package init(
        key: RowKey, expectedVersion: Int64, values: ContiguousArray<StoredValue>, changedSlots: [Int],
        changedToMany: [Int] = []
    ) {
        self.key = key
        self.expectedVersion = expectedVersion
        self.values = values
        self.changedSlots = changedSlots
        self.changedToMany = changedToMany
    }
}

package struct RowOwner: Sendable {
    package var key: RowKey
    /// The version that the caller read; any other is accepted.
    package var expectedVersion: Int64

    package init(key: RowKey, expectedVersion: Int64) {
        self.key = key
        self.expectedVersion = expectedVersion
    }
}

package struct RowDelete: Sendable {
    package var key: RowKey
    /// nil deletes any version.
    package var expectedVersion: Int64?

    package init(key: RowKey, expectedVersion: Int64?) {
        self.key = key
        self.expectedVersion = expectedVersion
    }
}

/// The insertion or removal of one join record of a many-to-many relationship. Idempotent.
package struct LinkChange: Hashable, Sendable {
    package var owner: RowKey
    /// Index into the owner entity's `toMany`.
    package var relationship: Int
    package var destination: RowKey
    package var isAddition: Bool

    package init(owner: RowKey, relationship: Int, destination: RowKey, isAddition: Bool) {
        self.owner = owner
        self.relationship = relationship
        self.destination = destination
        self.isAddition = isAddition
    }
}

/// A row that was concurrently changed or deleted.
package struct RowConflict: Sendable {
    package let key: RowKey
    package let expectedVersion: Int64
    /// The store's current row; nil if it was deleted.
    package let persisted: Row?

    package init(key: RowKey, expectedVersion: Int64, persisted: Row?) {
        self.key = key
        self.expectedVersion = expectedVersion
        self.persisted = persisted
    }
}

/// A row to write, and a stored row with the same values under a uniqueness constraint.
package struct UniquenessCollision: Sendable {
    package let constraint: UniquenessConstraint
    package let key: RowKey
    package let persisted: Row

    package init(constraint: UniquenessConstraint, key: RowKey, persisted: Row) {
        self.constraint = constraint
        self.key = key
        self.persisted = persisted
    }
}

/// One transaction of a store's history.
package struct HistoryTransaction: Sendable {
    package let number: Int64
    /// Seconds since 2001-01-01 UTC.
    package let timestamp: Double
    package let author: String?
    package let contextName: String?
    package let bundleID: String?
    package let processID: String?
    package let changes: [HistoryChange]

    package init(
        number: Int64, timestamp: Double, author: String?, contextName: String?, bundleID: String?,
        processID: String?, changes: [HistoryChange]
    ) {
        self.number = number
        self.timestamp = timestamp
        self.author = author
        self.contextName = contextName
        self.bundleID = bundleID
        self.processID = processID
        self.changes = changes
    }
}

extension HistoryTransaction {
    /// A placeholder without a store.
    package static let none = HistoryTransaction(
        number: 0, timestamp: 0, author: nil, contextName: nil, bundleID: nil, processID: nil, changes: [])

    func with(_ changes: [HistoryChange]) -> HistoryTransaction {
        HistoryTransaction(
            number: number, timestamp: timestamp, author: author, contextName: contextName, bundleID: bundleID,
            processID: processID, changes: changes)
    }
}

package struct HistoryChange: Sendable {
    /// Raw values are those of `NSPersistentHistoryChangeType` and of the `ZCHANGETYPE` column.
    package enum Kind: Int, Sendable {
        case insert = 0
        case update = 1
        case delete = 2
    }

    package let number: Int64
    package let key: RowKey
    package let kind: Kind
    /// Names of the properties that an update changed; empty for inserts and deletes.
    package let changedProperties: [String]
    /// Preserved values of a deleted row: attributes with that flag.
    package let tombstone: [String: StoredValue]

    package init(
        number: Int64, key: RowKey, kind: Kind, changedProperties: [String], tombstone: [String: StoredValue]
    ) {
        self.number = number
        self.key = key
        self.kind = kind
        self.changedProperties = changedProperties
        self.tombstone = tombstone
    }
}
