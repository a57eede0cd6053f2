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

    init(stored: Set<RowKey>?) { self.stored = stored }

    var hasChanges: Bool { !added.isEmpty || !removed.isEmpty }

    /// - Precondition: The relationship was loaded.
    var members: Set<RowKey> {
        guard let stored else { preconditionFailure("a relationship fault is loaded before its members are read") }
        guard hasChanges else { return stored }
        return stored.subtracting(removed).union(added)
    }

    mutating func load(_ members: Set<RowKey>) {
        stored = members
        added.subtract(members)
        removed.formIntersection(members)
    }

    /// Forgets what the store holds, keeps what changed here.
    mutating func fault() { stored = nil }

    mutating func insert(_ key: RowKey) {
        removed.remove(key)
        // Until the members are known, nobody can say whether the key is one of them: the last word is kept.
        if stored?.contains(key) != true { added.insert(key) }
    }

    /// - Parameter mayBeStored: Whether the key may be among those that the store, or the parent, holds. An object
    ///   without a row cannot.
    mutating func remove(_ key: RowKey, mayBeStored: Bool) {
        added.remove(key)
        if stored?.contains(key) ?? mayBeStored { removed.insert(key) }
    }

    /// Takes back what was changed here about one member.
    mutating func retract(_ key: RowKey) {
        added.remove(key)
        removed.remove(key)
    }

    /// Rows that are gone are no members, whatever was changed here about them.
    mutating func drop(_ keys: Set<RowKey>) {
        added.subtract(keys)
        removed.subtract(keys)
        stored?.subtract(keys)
    }

    /// The changes are in the store now.
    mutating func commit() {
        if let known = stored { stored = known.subtracting(removed).union(added) }
        rollback()
    }

    /// Replaces temporary keys of objects that were given permanent ones.
    mutating func translate(_ translation: [RowKey: RowKey]) {
        added = Set(added.map { translation[$0] ?? $0 })
        removed = Set(removed.map { translation[$0] ?? $0 })
        stored = stored.map { Set($0.map { translation[$0] ?? $0 }) }
    }

    mutating func rollback() {
        added = []
        removed = []
    }
}

/// The to-many relationships of one object. Until one of them is used they need no memory.
struct ToManyStates: RandomAccessCollection, MutableCollection {
    private var states: ContiguousArray<ToManyState> = []
    private let width: Int32
    /// A new object's relationships are empty; a fault's are not known.
    private var isNew: Bool

    init(count: Int, isNew: Bool) {
        width = Int32(truncatingIfNeeded: count)
        self.isNew = isNew
    }

    var startIndex: Int { 0 }
    var endIndex: Int { Int(width) }
    /// Whether nothing was read or changed yet.
    var isUntouched: Bool { states.isEmpty }

    private var initial: ToManyState { ToManyState(stored: isNew ? [] : nil) }

    subscript(index: Int) -> ToManyState {
        get { states.isEmpty ? initial : states[index] }
        _modify {
            if states.isEmpty { states = ContiguousArray(repeating: initial, count: count) }
            yield &states[index]
        }
        set {
            if states.isEmpty { states = ContiguousArray(repeating: initial, count: count) }
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
