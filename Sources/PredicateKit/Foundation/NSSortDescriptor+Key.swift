// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// The comparison of a descriptor created by these initializers.
struct SortMethod: Hashable {
    enum Kind: Hashable {
        case selector(String)
        /// Code of an app.
        case comparator
    }
    let key: String?
    /// Set instead of a key.
    let property: AnyKeyPath?
    let kind: Kind

    /// The method in the form that Foundation's class stores.
    var keyPath: KeyPath<NSObject, SortKeyValue> { \NSObject.[sortMethod: SortMethodBox(method: self)] }
}

/// The root object of a sort descriptor's key path: the subscript below passes it the method.
private final class KeyProbe: NSObject {
    var method: SortMethod?
}

/// The compared value of a sort descriptor's key path, of any type.
public struct SortKeyValue {
    fileprivate let value: Any?
}

/// Part of the key path of a sort descriptor created from a key. Not for use in apps.
public struct SortMethodBox: Hashable {
    fileprivate let method: SortMethod
}

extension NSObject {
    /// The value that a sort descriptor created from a key compares. Not for use in apps.
    public subscript(sortMethod box: SortMethodBox) -> SortKeyValue {
        if let probe = self as? KeyProbe {
            probe.method = box.method
            return SortKeyValue(value: nil)
        }
        if let keyPath = box.method.property { return SortKeyValue(value: (self as Any)[keyPath: keyPath]) }
        let keys = Expression.keys(box.method.key ?? "self")
        return SortKeyValue(value: PredicateValue(self).value(at: keys[...]))
    }
}

extension NSSortDescriptor {
    /// Creates a descriptor that sorts by the value of a key path, nil first when ascending.
    ///
    /// Source: `NSSortDescriptor`, "init(key:ascending:)".
    public convenience init(key: String?, ascending: Bool) {
        self.init(key: key, ascending: ascending, selector: nil)
    }

    /// Creates a descriptor that sorts by the value of a key path and a method.
    ///
    /// - Parameter selector: `compare:`, `caseInsensitiveCompare:`, `localizedCompare:`,
    ///   `localizedCaseInsensitiveCompare:` or `localizedStandardCompare:`, or nil for the first; others end the process,
    ///   since Linux cannot find methods by name.
    public convenience init(key: String?, ascending: Bool, selector: Selector?) {
        let name = selector?.name ?? "compare:"
        guard let collation = TextCollation.selectors[name] else {
            preconditionFailure("a sort descriptor cannot compare by \(name)")
        }
        let order = SortKey(keyPath: [], collation: collation)
        self.init(SortMethod(key: key, property: nil, kind: .selector(name)), ascending) { first, second in
            let order = order.order(PredicateValue(first), PredicateValue(second))
            return ComparisonResult(rawValue: order) ?? .orderedSame
        }
    }

    /// Creates a descriptor that sorts in memory only: a store rejects a comparator.
    public convenience init(key: String?, ascending: Bool, comparator: @escaping Comparator) {
        self.init(SortMethod(key: key, property: nil, kind: .comparator), ascending) { first, second in
            func value(_ value: Any?) -> Any { PredicateValue(value).foundationValue ?? NSNull() }
            return comparator(value(first), value(second))
        }
    }

    /// Creates a descriptor that sorts in memory only: a store rejects a comparator.
    package convenience init(
        wrapping keyPath: AnyKeyPath, ascending: Bool, comparator: @escaping (Any?, Any?) -> ComparisonResult
    ) {
        self.init(SortMethod(key: nil, property: keyPath, kind: .comparator), ascending, comparator)
    }

    /// Creates a descriptor that sorts by the value of a property of any type.
    package convenience init(property keyPath: AnyKeyPath, ascending: Bool) {
        self.init(SortMethod(key: nil, property: keyPath, kind: .selector("compare:")), ascending) { first, second in
            let order = PredicateValue.sortOrder(PredicateValue(first), PredicateValue(second))
            return ComparisonResult(rawValue: order) ?? .orderedSame
        }
    }

    /// The key path by which an app named a property.
    package var propertyKeyPath: AnyKeyPath { method?.property ?? keyPath }

    private convenience init(
        _ method: SortMethod, _ ascending: Bool, _ order: @escaping (Any?, Any?) -> ComparisonResult
    ) {
        let comparator: Comparator = { first, second in order((first as? SortKeyValue)?.value, (second as? SortKeyValue)?.value) }
        if Self.self == NSSortDescriptor.self, method.kind != .comparator {
            self.init(made: NamedSortDescriptor(method, ascending, comparator))
        } else {
            self.init(keyPath: method.keyPath, ascending: ascending, comparator: comparator)
        }
    }

    var method: SortMethod? {
        guard let keyPath = keyPath as? KeyPath<NSObject, SortKeyValue> else { return nil }
        let probe = KeyProbe()
        _ = probe[keyPath: keyPath]
        return probe.method
    }

    /// Has no effect: descriptors from an archive may always be evaluated here.
    public func allowEvaluation() {}

    /// The key path of the descriptor; nil for a Swift key path without property names.
    public var key: String? { givenKey ?? propertyKeyPath._kvcKeyPathString }

    /// The key path of a descriptor created from a text.
    package var givenKey: String? { method?.key }

    /// The comparison method of a descriptor created from a key; nil for a comparator.
    public var selector: Selector? {
        guard case .selector(let name)? = method?.kind else { return nil }
        return Selector(name)
    }

    /// Whether code of an app compares.
    package var hasComparator: Bool { method?.kind == .comparator }

    package var collation: TextCollation? { selector.flatMap { TextCollation.selectors[$0.name] ?? nil } }
}

extension SortKey {
    package init(keyPath: String, ascending: Bool = true) {
        self.init(
            keyPath: Expression.keys(keyPath), ascending: ascending)
    }
}
