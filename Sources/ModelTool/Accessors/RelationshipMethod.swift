// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A method that Core Data supplies for a to-many relationship.
///
/// Source: "Managed Object Accessor Methods" in the *Core Data Programming Guide*, and the generated sources of Xcode.
struct RelationshipMethod {
    /// The relationship's name.
    let relationship: String
    /// The call that does it, over a key and `a0`, `a1`.
    let call: @Sendable (_ key: String) -> String

    /// - Returns: nil when neither the selector nor the name is one that Core Data knows.
    init?(_ name: String, labels: [String?], isCollection: Bool, selector: String?) {
        if let selector, let known = Self.known(selector: selector) {
            self = known
        } else {
            guard let known = Self.known(name, labels, isCollection) else { return nil }
            self = known
        }
    }

    private init(_ relationship: Substring, _ call: @escaping @Sendable (_ key: String) -> String) {
        self.relationship = relationship.prefix(1).lowercased() + relationship.dropFirst()
        self.call = call
    }

    private enum Change {
        case add, remove, addAll, removeAll, insert, removeAt, replace, insertAll, removeAllAt, replaceAll

        func call(_ key: String) -> String {
            switch self {
            case .add: "_addObject(\(key), a0)"
            case .remove: "_removeObject(\(key), a0)"
            case .addAll: "_addObjects(\(key), a0)"
            case .removeAll: "_removeObjects(\(key), a0)"
            case .insert: "_insertObject(\(key), a0, at: a1)"
            case .removeAt: "_removeObject(\(key), at: a0)"
            case .replace: "_replaceObject(\(key), at: a0, with: a1)"
            case .insertAll: "_insertObjects(\(key), a0, at: a1)"
            case .removeAllAt: "_removeObjects(\(key), at: a0)"
            case .replaceAll: "_replaceObjects(\(key), at: a0, with: a1)"
            }
        }
    }

    private static func known(selector: String) -> RelationshipMethod? {
        let patterns: [(before: String, after: String, Change)] = [
            ("insertObject:in", "AtIndex:", .insert), ("removeObjectFrom", "AtIndex:", .removeAt),
            ("replaceObjectIn", "AtIndex:withObject:", .replace), ("add", "Object:", .add), ("remove", "Object:", .remove),
            ("insert", ":atIndexes:", .insertAll), ("remove", "AtIndexes:", .removeAllAt), ("add", ":", .addAll),
            ("remove", ":", .removeAll),
        ]
        if selector.hasPrefix("replace"), let end = selector.range(of: "AtIndexes:with") {
            return RelationshipMethod(selector[..<end].dropFirst("replace".count)) { Change.replaceAll.call($0) }
        }
        for (before, after, change) in patterns
        where selector.hasPrefix(before) && selector.hasSuffix(after) && selector.utf8.count > before.utf8.count + after.utf8.count {
            return RelationshipMethod(selector.dropFirst(before.count).dropLast(after.count)) { change.call($0) }
        }
        return nil
    }

    private static func known(_ name: String, _ labels: [String?], _ isCollection: Bool) -> RelationshipMethod? {
        let patterns: [(before: String, after: String, labels: [String?], one: Change, all: Change)] = [
            ("addTo", "", [nil], .add, .addAll), ("removeFrom", "", [nil], .remove, .removeAll),
            ("insertInto", "", [nil, "at"], .insert, .insertAll), ("removeFrom", "", ["at"], .removeAt, .removeAllAt),
            ("replace", "", ["at", "with"], .replace, .replaceAll), ("add", "Object", [nil], .add, .add),
            ("remove", "Object", [nil], .remove, .remove), ("add", "", [nil], .addAll, .addAll),
            ("remove", "", [nil], .removeAll, .removeAll),
        ]
        for (before, after, expected, one, all) in patterns
        where expected == labels && name.hasPrefix(before) && name.hasSuffix(after)
            && name.utf8.count > before.utf8.count + after.utf8.count
        {
            let change = isCollection ? all : one
            return RelationshipMethod(name.dropFirst(before.count).dropLast(after.count)) { change.call($0) }
        }
        return nil
    }
}

extension String {
    fileprivate func range(of part: String) -> String.Index? {
        var index = startIndex
        while index < endIndex {
            if self[index...].hasPrefix(part) { return index }
            index = self.index(after: index)
        }
        return nil
    }
}
