// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The order of the members of an ordered relationship. It says where members stand, not which they are.
struct MemberOrder {
    /// What the store holds; empty while that is not known.
    var stored: [RowKey] = []
    /// What was put in order here; nil while only newcomers were added at the end.
    private(set) var arranged: [RowKey]?
    /// Joined here, in this order, after everything else.
    private(set) var newcomers: [RowKey] = []
    /// At least the keys of both, once one was to be removed: searching the lists for each key that joins would take the square of their
    /// number.
    private var keys: Set<RowKey>?

    var hasChanges: Bool { arranged != nil || !newcomers.isEmpty }

    /// What was arranged here comes first, then what the store holds besides, then the newcomers.
    func sorted(_ members: Set<RowKey>) -> [RowKey] {
        let last = newcomers.filter(members.contains)
        var rest = members.subtracting(last)
        var result: [RowKey] = []
        result.reserveCapacity(members.count)
        for key in arranged ?? [] where rest.remove(key) != nil { result.append(key) }
        for key in stored where rest.remove(key) != nil { result.append(key) }
        // Both kinds of key grow with time, temporary ones downwards.
        result += rest.sorted { abs($0.primaryKey) < abs($1.primaryKey) }
        return result + last
    }

    mutating func append(_ key: RowKey) {
        remove(key)
        newcomers.append(key)
        keys?.insert(key)
    }

    mutating func remove(_ key: RowKey) {
        // Taken out, so that it isn't copied.
        var known = keys.take() ?? Set(newcomers).union(arranged ?? [])
        if known.remove(key) != nil {
            if let index = newcomers.lastIndex(of: key) { newcomers.remove(at: index) }
            if let index = arranged?.firstIndex(of: key) { arranged?.remove(at: index) }
        }
        keys = known
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
