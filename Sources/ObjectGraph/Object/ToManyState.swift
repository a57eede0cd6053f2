// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The members of one to-many relationship of one object: what the store holds, and what changed since.
///
/// Changes are kept beside the stored members, so that adding to a relationship that was never read needs no read.
///
/// Invariants:
/// - `added` and `removed` share no key
/// - when `stored` is known, `added` shares no key with it and every key in `removed` is in it
struct ToManyState {
    /// nil until somebody asked: a relationship fault.
    private(set) var stored: Set<RowKey>?
    private(set) var added: Set<RowKey> = []
    private(set) var removed: Set<RowKey> = []
    /// nil for a relationship without order.
    private(set) var order: MemberOrder?

    init(stored: Set<RowKey>?, isOrdered: Bool = false) {
        self.stored = stored
        if isOrdered { order = MemberOrder() }
    }

    init(stored: Set<RowKey>?, of relationship: ResolvedRelationship) {
        self.init(stored: stored, isOrdered: relationship.declaration.isOrdered)
    }

    var hasChanges: Bool { !added.isEmpty || !removed.isEmpty || order?.hasChanges == true }

    /// - Precondition: The relationship was loaded.
    var members: Set<RowKey> {
        guard let stored else { preconditionFailure("a relationship fault is loaded before its members are read") }
        guard !added.isEmpty || !removed.isEmpty else { return stored }
        return stored.subtracting(removed).union(added)
    }

    /// The members in their order; in no particular one where the relationship has none.
    ///
    /// - Precondition: The relationship was loaded.
    var orderedMembers: [RowKey] { order.map { $0.sorted(members) } ?? Array(members) }

    /// The members that the store holds, in their order.
    var storedMembers: [RowKey] { order?.stored ?? Array(stored ?? []) }

    mutating func load(_ members: [RowKey]) {
        let keys = Set(members)
        stored = keys
        added.subtract(keys)
        removed.formIntersection(keys)
        order?.stored = members
    }

    /// Forgets what the store holds, keeps what changed here.
    mutating func fault() {
        stored = nil
        order?.stored = []
    }

    mutating func insert(_ key: RowKey) {
        if order != nil, stored?.contains(key) != true || removed.contains(key), !added.contains(key) { order?.append(key) }
        removed.remove(key)
        // Until the members are known, nobody can say whether the key is one of them: the last word is kept.
        if stored?.contains(key) != true { added.insert(key) }
    }

    /// - Parameter mayBeStored: Whether the key may be among those that the store, or the parent, holds. An object
    ///   without a row cannot.
    mutating func remove(_ key: RowKey, mayBeStored: Bool) {
        added.remove(key)
        if stored?.contains(key) ?? mayBeStored { removed.insert(key) }
        order?.remove(key)
    }

    /// Puts the members into an order; those that are not named come after the others.
    mutating func arrange(_ keys: [RowKey]) { order?.arrange(keys) }

    /// Takes what was put in order at another time.
    mutating func resume(_ other: MemberOrder, _ translation: [RowKey: RowKey]) { order?.resume(other, translation) }

    /// What is known of the members without a look at the store.
    var currentMembers: Set<RowKey> { (stored ?? []).subtracting(removed).union(added) }

    /// Back to the order that the store has.
    mutating func forgetArrangement() { order?.forgetArrangement() }

    /// Takes back what was changed here about one member.
    mutating func retract(_ key: RowKey) {
        added.remove(key)
        removed.remove(key)
        order?.remove(key)
    }

    /// Rows that are gone are no members, whatever was changed here about them.
    mutating func drop(_ keys: Set<RowKey>) {
        added.subtract(keys)
        removed.subtract(keys)
        stored?.subtract(keys)
        order?.drop(keys)
    }

    /// The changes are in the store now.
    mutating func commit() {
        if stored != nil {
            let now = orderedMembers
            order?.stored = now
            stored = Set(now)
        }
        rollback()
    }

    /// Replaces temporary keys of objects that were given permanent ones.
    mutating func translate(_ translation: [RowKey: RowKey]) {
        added = Set(added.map { translation[$0] ?? $0 })
        removed = Set(removed.map { translation[$0] ?? $0 })
        stored = stored.map { Set($0.map { translation[$0] ?? $0 }) }
        order?.translate(translation)
    }

    mutating func rollback() {
        added = []
        removed = []
        order?.rollback()
    }
}

/// The to-many relationships of one object. Until one of them is used they need no memory.
struct ToManyStates: RandomAccessCollection, MutableCollection {
    private var states: ContiguousArray<ToManyState> = []
    private let width: Int32
    /// A new object's relationships are empty; a fault's are not known.
    private var isNew: Bool
    /// See ``EntityLayout/orderedToMany``.
    private let ordered: UInt64

    init(count: Int, isNew: Bool, ordered: UInt64) {
        width = Int32(truncatingIfNeeded: count)
        self.isNew = isNew
        self.ordered = ordered
    }

    /// Those of the same object at another time.
    init(like other: ToManyStates, isNew: Bool) { self.init(count: other.count, isNew: isNew, ordered: other.ordered) }

    var startIndex: Int { 0 }
    var endIndex: Int { Int(width) }
    /// Whether nothing was read or changed yet.
    var isUntouched: Bool { states.isEmpty }

    private func initial(_ index: Int) -> ToManyState {
        ToManyState(stored: isNew ? [] : nil, isOrdered: ordered != 0 && ordered & 1 << UInt64(Swift.min(index, 63)) != 0)
    }

    private func allInitial() -> ContiguousArray<ToManyState> {
        ordered == 0 ? ContiguousArray(repeating: initial(0), count: count) : ContiguousArray(indices.map(initial))
    }

    subscript(index: Int) -> ToManyState {
        get { states.isEmpty ? initial(index) : states[index] }
        _modify {
            if states.isEmpty { states = allInitial() }
            yield &states[index]
        }
        set {
            if states.isEmpty { states = allInitial() }
            states[index] = newValue
        }
    }

    /// Forgets what the store holds of every relationship, keeps what changed here.
    mutating func fault() {
        if states.isEmpty { isNew = false } else { for index in indices { states[index].fault() } }
    }

    mutating func rollback() { for index in states.indices { states[index].rollback() } }

    /// The changes are in the store now.
    mutating func commit() { for index in states.indices { states[index].commit() } }

    var hasChanges: Bool { states.contains(where: \.hasChanges) }
}
