// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Handed to a sort descriptor's key path in place of an object: the subscript below tells it the key.
private final class KeyProbe: NSObject {
    var keyPath: String?
}

/// What a sort descriptor compares: the value of a key path, whatever its type.
public struct SortKeyValue {
    fileprivate let value: PredicateValue
}

extension NSObject {
    /// The value that a sort descriptor made from a key compares. Not for use in apps.
    public subscript(sortKeyPath keyPath: String) -> SortKeyValue {
        if let probe = self as? KeyProbe {
            probe.keyPath = keyPath
            return SortKeyValue(value: .null)
        }
        return SortKeyValue(value: PredicateValue(self).value(at: SortKey(keyPath: keyPath).keyPath[...]))
    }
}

extension NSSortDescriptor {
    /// A descriptor that orders by the value of a key path, nil first when ascending.
    ///
    /// Source: `NSSortDescriptor`, "init(key:ascending:)".
    public convenience init(key: String?, ascending: Bool) {
        self.init(
            keyPath: \NSObject.[sortKeyPath: key ?? "self"], ascending: ascending,
            comparator: { first, second in
                guard let first = first as? SortKeyValue, let second = second as? SortKeyValue else {
                    return .orderedSame
                }
                return ComparisonResult(rawValue: PredicateValue.sortOrder(first.value, second.value)) ?? .orderedSame
            })
    }

    /// The key path of a descriptor that was made from one; nil for others.
    public var key: String? {
        let probe = KeyProbe()
        _ = (keyPath as? KeyPath<NSObject, SortKeyValue>).map { probe[keyPath: $0] }
        return probe.keyPath
    }
}

extension SortKey {
    package init(keyPath: String, ascending: Bool = true) {
        self.init(
            keyPath: Expression.keys(keyPath), ascending: ascending)
    }
}
