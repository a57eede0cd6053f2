// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The order of the members of an ordered relationship. Has positions only; the caller knows the members.
struct MemberOrder {
    /// The store's order; empty while it isn't loaded.
    var stored: [RowKey] = []
    /// The order set in this context; nil if members were only appended.
    private(set) var arranged: [RowKey]?
    /// Members appended in this context, in order.
    private(set) var newcomers: [RowKey] = []
    /// A superset of the keys in both lists, built by the first removal: searching the lists for each appended key would
    /// cost the square of their number.
    private var keys: Set<RowKey>?

    var hasChanges: Bool { arranged != nil || !newcomers.isEmpty }

    /// Members in order: those arranged in this context, then the store's others, then appended ones.
    func sorted(_ members: KeySet) -> [RowKey] {
        let last = newcomers.filter(members.contains)
        var unordered = last.isEmpty ? members.set : members.set.subtracting(last)
        var result: [RowKey] = []
        result.reserveCapacity(members.count)
        for key in arranged ?? [] where unordered.remove(key) != nil { result.append(key) }
        for key in stored where unordered.remove(key) != nil { result.append(key) }
        // Both kinds of key follow time, temporary ones downwards.
        result += unordered.sorted { abs($0.primaryKey) < abs($1.primaryKey) }
        return result + last
    }

    mutating func append(_ key: RowKey) {
        remove(key)
        newcomers.append(key)
        keys?.insert(key)
    }

    mutating func remove(_ key: RowKey) {
        // Moved out, so that it isn't copied.
        var superset = keys.take() ?? Set(newcomers).union(arranged ?? [])
        if superset.remove(key) != nil {
            if let index = newcomers.lastIndex(of: key) { newcomers.remove(at: index) }
            if let index = arranged?.lastIndex(of: key) { arranged?.remove(at: index) }
        }
        keys = superset
    }

    mutating func arrange(_ keys: [RowKey]) {
        arranged = keys
        newcomers = []
        self.keys = nil
    }

    mutating func forgetArrangement() { arranged = nil }

    func differs(from other: MemberOrder?) -> Bool { arranged != other?.arranged || newcomers != other?.newcomers }

    mutating func resume(_ other: MemberOrder, _ translation: [RowKey: RowKey]) {
        arranged = other.arranged?.map { translation[$0] ?? $0 }
        newcomers = other.newcomers.map { translation[$0] ?? $0 }
        keys = nil
    }

    mutating func drop(_ keys: Set<RowKey>) {
        stored.removeAll(where: keys.contains)
        arranged?.removeAll(where: keys.contains)
        newcomers.removeAll(where: keys.contains)
    }

    mutating func translate(_ translation: [RowKey: RowKey]) {
        func permanent(_ keys: [RowKey]) -> [RowKey] { keys.map { translation[$0] ?? $0 } }
        stored = permanent(stored)
        arranged = arranged.map(permanent)
        newcomers = permanent(newcomers)
        keys = nil
    }

    mutating func rollback() {
        arranged = nil
        newcomers = []
        keys = nil
    }
}
