// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// Record names in the order in which they were added, with a set to look them up.
struct RecordNames: Sequence {
    private var names: [String] = []
    private var set: Set<String> = []

    var array: [String] { names }

    mutating func append(_ name: String) {
        names.append(name)
        set.insert(name)
    }

    func contains(_ name: String) -> Bool { set.contains(name) }
    func makeIterator() -> IndexingIterator<[String]> { names.makeIterator() }
}

/// Record names of the rows that a page inserts, in their order. Each operation takes constant time.
struct InsertedRecords: Sequence {
    /// To compare a few names takes less time than to hash one.
    private static let comparedMax = 8

    private var names: [String?] = []
    /// The rows, and the names under which they were inserted.
    private var insertions: [(key: RowKey, name: String)] = []
    // Empty for a few names.
    private var places: [String: Int] = [:]
    private var namesByKey: [RowKey: String] = [:]

    private var isHashed: Bool { names.count > Self.comparedMax }

    private func place(of name: String) -> Int? { isHashed ? places[name] : names.lastIndex(of: name) }

    func contains(_ name: String) -> Bool { place(of: name) != nil }

    /// Returns the name under which a row was inserted. The record may have another row by now.
    func name(of key: RowKey) -> String? { isHashed ? namesByKey[key] : insertions.last { $0.key == key }?.name }

    mutating func append(_ name: String, _ key: RowKey) {
        names.append(name)
        guard isHashed else { return insertions.append((key, name)) }
        if !insertions.isEmpty {
            for (place, name) in names.enumerated() { if let name { places[name] = place } }
            for (key, name) in insertions { namesByKey[key] = name }
            insertions = []
        }
        places[name] = names.count - 1
        namesByKey[key] = name
    }

    mutating func rename(_ old: String, to name: String) {
        guard let place = place(of: old) else { return }
        if isHashed {
            places[old] = nil
            places[name] = place
        }
        names[place] = name
    }

    mutating func remove(_ name: String) {
        guard let place = place(of: name) else { return }
        if isHashed { places[name] = nil }
        names[place] = nil
    }

    func makeIterator() -> AnyIterator<String> {
        var names = names.makeIterator()
        return AnyIterator {
            while let name = names.next() { if let name { return name } }
            return nil
        }
    }
}
