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
    private var names: [String?] = []
    private var places: [String: Int] = [:]
    private var namesByKey: [RowKey: String] = [:]

    func contains(_ name: String) -> Bool { places[name] != nil }

    /// Returns the name under which a row was inserted. The record may have another row by now.
    func name(of key: RowKey) -> String? { namesByKey[key] }

    mutating func append(_ name: String, _ key: RowKey) {
        places[name] = names.count
        names.append(name)
        namesByKey[key] = name
    }

    mutating func rename(_ old: String, to name: String) {
        guard let place = places.removeValue(forKey: old) else { return }
        places[name] = place
        names[place] = name
    }

    mutating func remove(_ name: String) {
        guard let place = places.removeValue(forKey: name) else { return }
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
