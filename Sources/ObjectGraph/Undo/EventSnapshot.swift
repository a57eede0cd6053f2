// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// An object before the current event: before the changes since the context's last notification.
struct EventSnapshot {
    let object: NSManagedObject
    /// The pending flags; nil for an object that was not in the context.
    let flags: NSManagedObject.Flags?
    let values: ContiguousArray<StoredValue>
    let toMany: ToManyStates

    init(_ object: NSManagedObject, isPresent: Bool) {
        self.object = object
        flags = isPresent ? object.flags.intersection([.inserted, .updated, .deleted, .presented]) : nil
        values = object.values
        toMany = object.toMany
    }
}

/// The change that reverts one event's changes of one object.
struct UndoChange {
    enum Presence {
        /// The object exists before and after.
        case stays
        /// The event inserted it: undo removes it.
        case goes
        /// The event deleted it: undo restores this snapshot.
        case returns(EventSnapshot)
    }

    let object: NSManagedObject
    let presence: Presence
    private(set) var slots: [(slot: Int, value: StoredValue)] = []
    private(set) var members: [(relationship: Int, joined: Set<RowKey>, left: Set<RowKey>)] = []
    private(set) var orders: [(relationship: Int, order: MemberOrder)] = []

    /// - Returns: nil when the object is unchanged.
    init?(_ before: EventSnapshot) {
        object = before.object
        let isGone = object.flags.contains(.deleted) || object.flags.contains(.detached)
        guard let flags = before.flags else {
            presence = .goes
            if isGone { return nil }
            return
        }
        switch (flags.contains(.deleted), isGone) {
        case (false, true): presence = .returns(before)
        case (true, false): presence = .goes
        default: presence = .stays
        }
        for slot in before.values.indices where before.values[slot] != object.values[slot] { slots.append((slot, before.values[slot])) }
        for (index, after) in object.toMany.enumerated() {
            let difference = before.toMany[index].difference(to: after)
            if !difference.joined.isEmpty || !difference.left.isEmpty { members.append((index, difference.joined, difference.left)) }
            if let order = before.toMany[index].order, order.differs(from: after.order) { orders.append((index, order)) }
        }
        if case .stays = presence, slots.isEmpty, members.isEmpty, orders.isEmpty { return nil }
    }
}

extension ToManyState {
    /// The members that joined and left between two states of one relationship.
    func difference(to after: ToManyState) -> (joined: Set<RowKey>, left: Set<RowKey>) {
        var normalized = self
        if normalized.stored == nil, let stored = after.stored { normalized.load(after.order?.stored ?? stored.array) }
        func difference(_ some: KeySet, _ others: KeySet) -> Set<RowKey> {
            Set(some.lazy.filter { !others.contains($0) })
        }
        let joined = difference(after.added, normalized.added).union(difference(normalized.removed, after.removed))
        let left = difference(normalized.added, after.added).union(difference(after.removed, normalized.removed))
        return (joined, left)
    }
}
