// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The members of one to-many relationship of one object: the store's members, and the unsaved changes.
///
/// Changes are separate from the stored members, so that adding to an unread relationship reads nothing.
///
/// Invariants:
/// - `added` and `removed` share no key
/// - when `stored` is loaded, `added` shares no key with it and it contains every key in `removed`
struct ToManyState {
    /// nil until it is loaded: a relationship fault.
    private(set) var stored: KeySet?
    private(set) var added = KeySet()
    private(set) var removed = KeySet()
    /// nil for an unordered relationship.
    private(set) var order: MemberOrder?

    init(stored: KeySet?, isOrdered: Bool = false) {
        self.stored = stored
        if isOrdered { order = MemberOrder() }
    }

    init(stored: KeySet?, of relationship: ResolvedRelationship) {
        self.init(stored: stored, isOrdered: relationship.declaration.isOrdered)
    }

    var hasChanges: Bool { !added.isEmpty || !removed.isEmpty || order?.hasChanges == true }

    /// - Precondition: The relationship was loaded.
    var members: KeySet {
        precondition(stored != nil, "a relationship fault is loaded before its members are read")
        return currentMembers
    }

    /// The number of members; nil for a relationship fault.
    var memberCount: Int? { stored.map { $0.count - removed.count + added.count } }

    /// - Precondition: The relationship was loaded.
    func contains(_ key: RowKey) -> Bool {
        added.contains(key) || stored?.contains(key) == true && !removed.contains(key)
    }

    /// The members in order; in no particular one for an unordered relationship.
    ///
    /// - Precondition: The relationship was loaded.
    var orderedMembers: [RowKey] { order.map { $0.sorted(members) } ?? members.array }

    /// The store's members, in order.
    var storedMembers: [RowKey] { order?.stored ?? stored?.array ?? [] }

    mutating func load(_ members: [RowKey]) {
        let keys = KeySet(members)
        stored = keys
        if !added.isEmpty { added.keep { !keys.contains($0) } }
        if !removed.isEmpty { removed.keep(keys.contains) }
        order?.stored = members
    }

    /// Drops the store's members, keeps unsaved changes.
    mutating func fault() {
        stored = nil
        order?.stored = []
    }

    mutating func insert(_ key: RowKey) {
        if order != nil, stored?.contains(key) != true || removed.contains(key), !added.contains(key) { order?.append(key) }
        removed.remove(key)
        // Until the members are loaded, it is unknown whether the key is one of them: the last change is recorded.
        if stored?.contains(key) != true { added.insert(key) }
    }

    /// - Parameter mayBeStored: Whether the store, or the parent, may have the key. It cannot for an object without a
    ///   row.
    mutating func remove(_ key: RowKey, mayBeStored: Bool) {
        added.remove(key)
        if stored?.contains(key) ?? mayBeStored { removed.insert(key) }
        order?.remove(key)
    }

    /// Sets the order; members not named follow the others.
    mutating func arrange(_ keys: [RowKey]) { order?.arrange(keys) }

    /// Applies another state's order.
    mutating func resume(_ other: MemberOrder, _ translation: [RowKey: RowKey]) { order?.resume(other, translation) }

    /// The members as far as they are loaded.
    var currentMembers: KeySet {
        guard var members = stored, !members.isEmpty else { return added }
        if !removed.isEmpty { members.keep { !removed.contains($0) } }
        if !added.isEmpty { members.formUnion(added) }
        return members
    }

    /// Restores the store's order.
    mutating func forgetArrangement() { order?.forgetArrangement() }

    /// Reverts the unsaved changes of one member.
    mutating func retract(_ key: RowKey) {
        added.remove(key)
        removed.remove(key)
        order?.remove(key)
    }

    /// Removes deleted rows, regardless of unsaved changes.
    mutating func drop(_ keys: Set<RowKey>) {
        added.keep { !keys.contains($0) }
        removed.keep { !keys.contains($0) }
        stored?.keep { !keys.contains($0) }
        order?.drop(keys)
    }

    /// The changes were saved.
    mutating func commit() {
        if stored != nil {
            if order == nil {
                stored = members
            } else {
                let now = orderedMembers
                order?.stored = now
                stored = KeySet(now)
            }
        }
        rollback()
    }

    /// Replaces temporary keys by the permanent ones.
    mutating func translate(_ translation: [RowKey: RowKey]) {
        func permanent(_ key: RowKey) -> RowKey { translation[key] ?? key }
        if !added.isEmpty { added = added.translated(permanent) }
        if !removed.isEmpty { removed = removed.translated(permanent) }
        if let stored, !stored.isEmpty { self.stored = stored.translated(permanent) }
        order?.translate(translation)
    }

    mutating func rollback() {
        added = KeySet()
        removed = KeySet()
        order?.rollback()
    }
}

/// The to-many relationships of one object. Unused ones need no memory.
struct ToManyStates: RandomAccessCollection, MutableCollection {
    private var states: ContiguousArray<ToManyState> = []
    /// The number of relationships, and in the lowest bit whether the object is new: a new object's relationships are
    /// empty; a fault's are not loaded.
    private var widthAndAge: UInt16
    /// See ``EntityLayout/orderedToMany``.
    private let ordered: UInt16

    /// - Precondition: There are fewer than 32,768 relationships. A table has at most 2,000 columns.
    init(count: Int, isNew: Bool, ordered: UInt16) {
        widthAndAge = UInt16(count) << 1 | (isNew ? 1 : 0)
        self.ordered = ordered
    }

    private var isNew: Bool { widthAndAge & 1 == 1 }

    /// Empty states of the same object at another time.
    init(like other: ToManyStates, isNew: Bool) { self.init(count: other.count, isNew: isNew, ordered: other.ordered) }

    var startIndex: Int { 0 }
    var endIndex: Int { Int(widthAndAge >> 1) }
    /// Whether nothing was read or changed yet.
    var isUntouched: Bool { states.isEmpty }

    private func initial(_ index: Int) -> ToManyState {
        ToManyState(
            stored: isNew ? [] : nil, isOrdered: ordered != 0 && ordered & 1 << UInt16(Swift.min(index, EntityLayout.orderedBits - 1)) != 0)
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

    /// Drops the store's members of every relationship, keeps unsaved changes.
    mutating func fault() {
        if states.isEmpty { widthAndAge &= ~1 } else { for index in indices { states[index].fault() } }
    }

    mutating func rollback() { for index in states.indices { states[index].rollback() } }

    /// The changes were saved.
    mutating func commit() { for index in states.indices { states[index].commit() } }

    var hasChanges: Bool { states.contains(where: \.hasChanges) }
}
