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
        if removed.remove(key) != nil { return }
        if stored?.contains(key) == true { return }
        added.insert(key)
    }

    mutating func remove(_ key: RowKey) {
        if added.remove(key) != nil { return }
        if let stored, !stored.contains(key) { return }
        removed.insert(key)
    }

    /// The changes are in the store now.
    mutating func commit() {
        if let known = stored { stored = known.subtracting(removed).union(added) }
        rollback()
    }

    /// Replaces temporary keys of objects that were given permanent ones.
    mutating func translate(_ translation: [RowKey: RowKey]) {
        added = Set(added.map { translation[$0] ?? $0 })
        stored = stored.map { Set($0.map { translation[$0] ?? $0 }) }
    }

    mutating func rollback() {
        added = []
        removed = []
    }
}
