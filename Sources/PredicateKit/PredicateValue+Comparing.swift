// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

extension PredicateValue {
    package var isNull: Bool { if case .null = self { true } else { false } }

    /// The same value, with `.null` for a constant `NSNull`: a predicate prints it as `<null>` and compares it as nil.
    package var comparable: PredicateValue {
        if case .object(let object) = self, object.reference is NSNull { .null } else { self }
    }

    /// The same form for all values that `==` in a predicate considers equal: the simplest form of numbers.
    package var canonical: PredicateValue {
        switch self {
        case .bool(let value): return .int(value ? 1 : 0)
        case .double(let value):
            if let whole = Int64(exactly: value) { return .int(whole) }
            let decimal = Number.double(value).decimal
            // Infinities and numbers beyond a decimal's range.
            return decimal.isNaN ? self : .decimal(decimal)
        case .decimal(let value):
            return Int64(value.description).map { .int($0) } ?? self
        case .url(let text): return .string(text)
        case .list(let members): return .list(members.map(\.canonical))
        default: return self
        }
    }

    /// The exact value of a number; nil for others, and for numbers beyond a decimal's range.
    package var exactNumber: Decimal? {
        guard let decimal = Number(self)?.decimal, !decimal.isNaN else { return nil }
        return decimal
    }

    /// The meaning of `==` in a predicate: numbers are equal by value regardless of type, null equals null, values of
    /// different kinds are never equal.
    package static func areEqual(_ a: PredicateValue, _ b: PredicateValue, _ options: Comparison.Options = []) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.object(let a), .object(let b)): a == b || a.isEqual(b)
        case (.list(let a), .list(let b)):
            a.count == b.count && zip(a, b).allSatisfy { areEqual($0, $1, options) }
        default: order(a, b, options) == 0
        }
    }

    /// - Returns: -1, 0 or 1; nil for values without an order: null, objects, or values of different kinds.
    package static func order(_ a: PredicateValue, _ b: PredicateValue, _ options: Comparison.Options = []) -> Int? {
        switch (a, b) {
        case (.string(let a), .string(let b)), (.string(let a), .url(let b)), (.url(let a), .string(let b)),
            (.url(let a), .url(let b)):
            return StringMatching.order(a, b, options)
        case (.date(let a), .date(let b)): return order(a, b)
        case (.uuid(let a), .uuid(let b)):
            return withUnsafeBytes(of: a.uuid) { a in withUnsafeBytes(of: b.uuid) { order(a, $0) } }
        case (.data(let a), .data(let b)): return order(a, b)
        default:
            guard let a = Number(a), let b = Number(b) else { return nil }
            return Number.order(a, b)
        }
    }

    /// The order for sorting: null is smallest, then values with an order; values without one count as equal.
    package static func sortOrder(_ a: PredicateValue, _ b: PredicateValue, _ options: Comparison.Options = []) -> Int {
        switch (a.isNull, b.isNull) {
        case (true, true): 0
        case (true, false): -1
        case (false, true): 1
        case (false, false): order(a, b, options) ?? 0
        }
    }

    private static func order(_ a: Double, _ b: Double) -> Int { a < b ? -1 : a > b ? 1 : 0 }

    private static func order<Bytes: Collection<UInt8>>(_ a: Bytes, _ b: Bytes) -> Int {
        for (a, b) in zip(a, b) where a != b { return a < b ? -1 : 1 }
        return a.count < b.count ? -1 : a.count > b.count ? 1 : 0
    }
}

extension PredicateObject {
    /// Whether the objects call themselves equal, as key-value coding's values of transformable attributes may.
    fileprivate func isEqual(_ other: PredicateObject) -> Bool {
        if let own = reference as? DictionarySubject, let others = other.reference as? DictionarySubject {
            return own.asObject == others.asObject
        }
        guard let own = reference as? NSObject, let others = other.reference as? NSObject else { return false }
        return own == others
    }
}

/// A number of a predicate, compared without losing digits.
enum Number {
    case int(Int64)
    case double(Double)
    case decimal(Decimal)

    init?(_ value: PredicateValue) {
        switch value {
        case .bool(let value): self = .int(value ? 1 : 0)
        case .int(let value): self = .int(value)
        case .double(let value): self = .double(value)
        case .decimal(let value): self = .decimal(value)
        default: return nil
        }
    }

    var value: PredicateValue {
        switch self {
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        case .decimal(let value): .decimal(value)
        }
    }

    var double: Double {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        case .decimal(let value): NSDecimalNumber(decimal: value).doubleValue
        }
    }

    var decimal: Decimal {
        switch self {
        case .int(let value): Decimal(value)
        // The shortest text that represents the double, since its binary value is not exact.
        case .double(let value): Decimal(string: "\(value)", locale: nil) ?? Decimal.nan
        case .decimal(let value): value
        }
    }

    static func order(_ a: Number, _ b: Number) -> Int {
        switch (a, b) {
        case (.int(let a), .int(let b)): return a < b ? -1 : a > b ? 1 : 0
        case (.double(let a), .double(let b)): return a < b ? -1 : a > b ? 1 : 0
        case (.int(let a), .double(let b)): return order(a, b)
        case (.double(let a), .int(let b)): return -order(b, a)
        case (.decimal, _), (_, .decimal):
            let (exactA, exactB) = (a.decimal, b.decimal)
            // Infinities and numbers beyond a decimal's range.
            if exactA.isNaN || exactB.isNaN { return order(.double(a.double), .double(b.double)) }
            return exactA < exactB ? -1 : exactA > exactB ? 1 : 0
        }
    }

    private static func order(_ a: Int64, _ b: Double) -> Int {
        if b.isNaN { return 0 }
        if b >= 0x1p63 { return -1 }
        if b < -0x1p63 { return 1 }
        let whole = Int64(b)
        if a != whole { return a < whole ? -1 : 1 }
        let fraction = b - b.rounded(.towardZero)
        return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
    }
}
