// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// A set of row keys. Small ones are arrays.
///
/// Most relationships have few members. Comparing a key with sixteen others costs less than hashing it, and a list read
/// from the store becomes a set without a copy.
struct KeySet: Sequence, ExpressibleByArrayLiteral {
    private static let fewMax = 16

    /// Invariant: the keys in `few` are distinct.
    private enum Storage {
        case few([RowKey])
        case many(Set<RowKey>)
    }

    private var storage = Storage.few([])

    init() {}

    /// - Parameter keys: Possibly with duplicates.
    init(_ keys: [RowKey]) {
        if keys.count > Self.fewMax {
            storage = .many(Set(keys))
        } else {
            storage = .few(Self.areDistinct(keys) ? keys : keys.uniqued())
        }
    }

    init(_ keys: Set<RowKey>) { storage = keys.count <= Self.fewMax ? .few(Array(keys)) : .many(keys) }

    init(arrayLiteral keys: RowKey...) { self.init(keys) }

    /// Stores return keys in ascending order: then one pass suffices.
    private static func areDistinct(_ keys: [RowKey]) -> Bool {
        var isAscending = true
        for index in keys.indices.dropFirst() where keys[index - 1].primaryKey >= keys[index].primaryKey { isAscending = false }
        return isAscending || !keys.indices.contains { index in keys[..<index].contains(keys[index]) }
    }

    var count: Int {
        switch storage {
        case .few(let keys): keys.count
        case .many(let keys): keys.count
        }
    }

    var isEmpty: Bool { count == 0 }
    var underestimatedCount: Int { count }

    /// The keys in no particular order.
    var array: [RowKey] {
        switch storage {
        case .few(let keys): keys
        case .many(let keys): Array(keys)
        }
    }

    var set: Set<RowKey> {
        switch storage {
        case .few(let keys): Set(keys)
        case .many(let keys): keys
        }
    }

    func contains(_ key: RowKey) -> Bool {
        switch storage {
        case .few(let keys): keys.contains(key)
        case .many(let keys): keys.contains(key)
        }
    }

    mutating func insert(_ key: RowKey) {
        switch storage {
        case .few(var keys):
            if keys.contains(key) { return }
            guard keys.count < Self.fewMax else { return storage = .many(Set(keys).union(CollectionOfOne(key))) }
            // The only reference, so that the array is changed in place.
            storage = .few([])
            keys.append(key)
            storage = .few(keys)
        case .many(var keys):
            storage = .few([])
            keys.insert(key)
            storage = .many(keys)
        }
    }

    mutating func remove(_ key: RowKey) {
        switch storage {
        case .few(var keys):
            guard let index = keys.firstIndex(of: key) else { return }
            storage = .few([])
            keys.remove(at: index)
            storage = .few(keys)
        case .many(var keys):
            storage = .few([])
            keys.remove(key)
            storage = .many(keys)
        }
    }

    /// Keeps the keys that satisfy a predicate.
    mutating func keep(_ isKept: (RowKey) -> Bool) {
        switch storage {
        case .few(let keys): if !keys.allSatisfy(isKept) { storage = .few(keys.filter(isKept)) }
        case .many(let keys): storage = .many(keys.filter(isKept))
        }
    }

    mutating func formUnion(_ other: KeySet) { for key in other { insert(key) } }

    /// Returns the set with each key replaced by another.
    func translated(_ translate: (RowKey) -> RowKey) -> KeySet {
        switch storage {
        case .few(let keys): KeySet(keys.map(translate))
        case .many(let keys): KeySet(Set(keys.lazy.map(translate)))
        }
    }

    func makeIterator() -> Iterator {
        switch storage {
        case .few(let keys): Iterator(few: keys.makeIterator(), many: nil)
        case .many(let keys): Iterator(few: nil, many: keys.makeIterator())
        }
    }

    struct Iterator: IteratorProtocol {
        fileprivate var few: IndexingIterator<[RowKey]>?
        fileprivate var many: Set<RowKey>.Iterator?

        mutating func next() -> RowKey? { few != nil ? few?.next() : many?.next() }
    }
}
