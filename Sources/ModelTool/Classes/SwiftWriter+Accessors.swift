// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

extension SwiftWriter {
    /// Methods that add to and remove from a to-many relationship, named as Xcode names them.
    func accessors(for relationship: Relationship) -> [String] {
        let suffix = relationship.name.prefix(1).uppercased() + relationship.name.dropFirst()
        let type = className(of: relationship.destination)
        let key = key(relationship.name)
        let single = [
            """
            public func addTo\(suffix)(_ value: \(type)) {
                _addObject(\(key), value)
            }
            """,
            """
            public func removeFrom\(suffix)(_ value: \(type)) {
                _removeObject(\(key), value)
            }
            """,
        ]
        return single + (relationship.isOrdered ? ordered(suffix, type, key) : unordered(suffix, key))
    }

    private func unordered(_ suffix: String, _ key: String) -> [String] {
        [
            """
            public func addTo\(suffix)(_ values: \(foundation("NSSet"))) {
                _addObjects(\(key), values)
            }
            """,
            """
            public func removeFrom\(suffix)(_ values: \(foundation("NSSet"))) {
                _removeObjects(\(key), values)
            }
            """,
        ]
    }

    private func ordered(_ suffix: String, _ type: String, _ key: String) -> [String] {
        let set = foundation("NSOrderedSet")
        let indexes = foundation("NSIndexSet")
        let int = standard("Int")
        return [
            """
            public func addTo\(suffix)(_ values: \(set)) {
                for case let value as \(type) in values { _addObject(\(key), value) }
            }
            """,
            """
            public func removeFrom\(suffix)(_ values: \(set)) {
                for case let value as \(type) in values { _removeObject(\(key), value) }
            }
            """,
            change("insertInto\(suffix)(_ value: \(type), at idx: \(int))", key, "insert(value, at: idx)"),
            change("removeFrom\(suffix)(at idx: \(int))", key, "removeObject(at: idx)"),
            change("replace\(suffix)(at idx: \(int), with value: \(type))", key, "replaceObject(at: idx, with: value)"),
            change(
                "insertInto\(suffix)(_ values: [\(type)], at indexes: \(indexes))", key,
                "insert(values, at: \(foundation("IndexSet"))(indexes))"),
            change(
                "removeFrom\(suffix)(at indexes: \(indexes))", key,
                "removeObjects(at: \(foundation("IndexSet"))(indexes))"),
            change(
                "replace\(suffix)(at indexes: \(indexes), with values: [\(type)])", key,
                "replaceObjects(at: \(foundation("IndexSet"))(indexes), with: values)"),
        ]
    }

    /// A method that changes a copy of the ordered set and puts it in place.
    private func change(_ signature: String, _ key: String, _ call: String) -> String {
        let set = foundation("NSOrderedSet")
        return """
            public func \(signature) {
                let changed = \(foundation("NSMutableOrderedSet"))(orderedSet: _orderedObjects(\(key)) ?? \(set)())
                changed.\(call)
                _setOrderedObjects(\(key), changed)
            }
            """
    }
}
