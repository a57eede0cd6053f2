// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The functions of the predicate language, by selector name. The result for null is null, unless a function's comment
/// differs.
///
/// Source: `NSExpression.h`, list of predefined functions.
package enum PredicateFunctions {
    /// Names that a format may spell without colons, by number of arguments: `length(x)`.
    package static let names: [String: Int] = [
        "sum:": 1, "count:": 1, "min:": 1, "max:": 1, "average:": 1, "median:": 1, "mode:": 1, "stddev:": 1,
        "add:to:": 2, "from:subtract:": 2, "multiply:by:": 2, "divide:by:": 2, "modulus:by:": 2,
        "raise:toPower:": 2, "sqrt:": 1, "log:": 1, "ln:": 1, "exp:": 1, "floor:": 1, "ceiling:": 1, "abs:": 1,
        "trunc:": 1, "chs:": 1, "now": 0, "random": 0, "random:": 1, "randomn:": 1, "uppercase:": 1,
        "lowercase:": 1, "canonical:": 1, "length:": 1, "bitwiseAnd:with:": 2, "bitwiseOr:with:": 2,
        "bitwiseXor:with:": 2, "leftshift:by:": 2, "rightshift:by:": 2, "onesComplement:": 1, "noindex:": 1,
        "castObject:toType:": 2, "objectFrom:withIndex:": 2, "indexed:by:": 2, "distanceToLocation:fromLocation:": 2,
    ]

    /// Functions with a result that does not depend on their arguments alone.
    package static let volatile: Set<String> = ["now", "random", "random:", "randomn:"]

    /// Statistics take a collection, or any number of values; every other function a fixed number of arguments.
    static func accepts(_ name: String, _ count: Int) -> Bool {
        statisticNames.contains(name) ? count >= 1 : names[name] == count
    }

    /// Whether a function applies to all members of a collection: `sum:`, `median:` …
    package static func isStatistic(_ name: String) -> Bool { statisticNames.contains(name) }

    static let statisticNames: Set<String> = [
        "sum:", "count:", "min:", "max:", "average:", "median:", "mode:", "stddev:",
    ]

    /// - Parameter now: Seconds since 2001-01-01 UTC.
    /// - Throws: ``PredicateFailure`` with `.unknownFunction`.
    package static func apply(
        _ name: String, _ arguments: [PredicateValue], now: () -> Double
    ) throws(PredicateFailure) -> PredicateValue {
        guard let count = names[name], arguments.count >= count else {
            throw PredicateFailure(.unknownFunction, "unknown function \(name) of \(arguments.count) arguments")
        }
        switch name {
        case "now": return .date(now())
        case "random": return .double(Double.random(in: 0..<1))
        case "random:", "randomn:":
            guard let limit = integer(arguments[0]), limit > 0 else { return .int(0) }
            return .int(Int64.random(in: 0..<limit))
        case "sum:", "count:", "min:", "max:", "average:", "median:", "mode:", "stddev:":
            return statistics(name, members(arguments))
        case "castObject:toType:": return cast(arguments[0], arguments[1])
        case "objectFrom:withIndex:": return element(arguments[0], arguments[1])
        case "noindex:", "indexed:by:": return arguments[0]
        case "distanceToLocation:fromLocation:": return distance(arguments[0], arguments[1])
        case "uppercase:", "lowercase:", "canonical:", "length:": return onText(name, arguments[0])
        case "bitwiseAnd:with:", "bitwiseOr:with:", "bitwiseXor:with:", "leftshift:by:", "rightshift:by:":
            guard let a = integer(arguments[0]), let b = integer(arguments[1]) else { return .null }
            return bitwise(name, a, b)
        case "onesComplement:": return integer(arguments[0]).map { .int(~$0) } ?? .null
        default: return arithmetic(name, arguments)
        }
    }

    /// For integers; fractions are truncated before. A negative shift reverses the direction.
    private static func bitwise(_ name: String, _ a: Int64, _ b: Int64) -> PredicateValue {
        switch name {
        case "bitwiseAnd:with:": .int(a & b)
        case "bitwiseOr:with:": .int(a | b)
        case "bitwiseXor:with:": .int(a ^ b)
        case "leftshift:by:": .int(a << b)
        default: .int(a >> b)
        }
    }

    // MARK: Text

    private static func onText(_ name: String, _ value: PredicateValue) -> PredicateValue {
        guard let text = value.text else { return .null }
        switch name {
        case "uppercase:": return .string(text.uppercased())
        case "lowercase:": return .string(text.lowercased())
        case "canonical:":
            return .string(StringMatching.fold(text, [.caseInsensitive, .diacriticInsensitive]))
        default: return .int(Int64(text.utf16.count))
        }
    }

    // MARK: Numbers

    private static func arithmetic(_ name: String, _ arguments: [PredicateValue]) -> PredicateValue {
        let numbers = arguments.compactMap(Number.init)
        if numbers.count < arguments.count { return dateArithmetic(name, arguments) }
        let first = numbers[0]
        if numbers.count == 1 { return unary(name, first) }
        switch (first, numbers[1]) {
        case (.int(let a), .int(let b)): return integers(name, a, b) ?? doubles(name, Double(a), Double(b))
        case (.decimal, _), (_, .decimal):
            return decimals(name, first.decimal, numbers[1].decimal) ?? doubles(name, first.double, numbers[1].double)
        default: return doubles(name, first.double, numbers[1].double)
        }
    }

    /// - Returns: nil if the result isn't an integer; null for a division by zero.
    private static func integers(_ name: String, _ a: Int64, _ b: Int64) -> PredicateValue? {
        func checked(_ result: (partialValue: Int64, overflow: Bool)) -> PredicateValue? {
            result.overflow ? nil : .int(result.partialValue)
        }
        switch name {
        case "add:to:": return checked(a.addingReportingOverflow(b))
        case "from:subtract:": return checked(a.subtractingReportingOverflow(b))
        case "multiply:by:": return checked(a.multipliedReportingOverflow(by: b))
        case "divide:by:": return b == 0 ? .null : checked(a.dividedReportingOverflow(by: b))
        case "modulus:by:": return b == 0 ? .null : b == -1 ? .int(0) : .int(a % b)
        default: return nil
        }
    }

    private static func decimals(_ name: String, _ a: Decimal, _ b: Decimal) -> PredicateValue? {
        switch name {
        case "add:to:": .decimal(a + b)
        case "from:subtract:": .decimal(a - b)
        case "multiply:by:": .decimal(a * b)
        case "divide:by:": b.isZero ? .null : .decimal(a / b)
        default: nil
        }
    }

    private static func doubles(_ name: String, _ a: Double, _ b: Double) -> PredicateValue {
        func value(_ result: Double) -> PredicateValue { result.isNaN ? .null : .double(result) }
        switch name {
        case "add:to:": return value(a + b)
        case "from:subtract:": return value(a - b)
        case "multiply:by:": return value(a * b)
        case "divide:by:": return b == 0 ? .null : value(a / b)
        case "modulus:by:": return b == 0 ? .null : value(a.truncatingRemainder(dividingBy: b))
        case "raise:toPower:": return value(pow(a, b))
        default: return .null
        }
    }

    private static func unary(_ name: String, _ number: Number) -> PredicateValue {
        if case .int(let value) = number {
            switch name {
            case "abs:": return value == .min ? .double(-Double(value)) : .int(Swift.abs(value))
            case "chs:": return value == .min ? .double(-Double(value)) : .int(-value)
            case "floor:", "ceiling:", "trunc:": return .int(value)
            default: break
            }
        }
        let value = number.double
        let result: Double
        switch name {
        case "abs:": result = Swift.abs(value)
        case "chs:": result = -value
        case "floor:": result = value.rounded(.down)
        case "ceiling:": result = value.rounded(.up)
        case "trunc:": result = value.rounded(.towardZero)
        case "sqrt:": result = value.squareRoot()
        case "log:": result = log10(value)
        case "ln:": result = log(value)
        case "exp:": result = exp(value)
        default: return .null
        }
        return result.isNaN ? .null : .double(result)
    }

    /// Seconds may be added to a date, and one date subtracted from another.
    private static func dateArithmetic(_ name: String, _ arguments: [PredicateValue]) -> PredicateValue {
        guard arguments.count == 2 else { return .null }
        switch (name, arguments[0], arguments[1]) {
        case ("from:subtract:", .date(let a), .date(let b)): return .double(a - b)
        case ("from:subtract:", .date(let a), let b): return Number(b).map { .date(a - $0.double) } ?? .null
        case ("add:to:", .date(let a), let b): return Number(b).map { .date(a + $0.double) } ?? .null
        case ("add:to:", let a, .date(let b)): return Number(a).map { .date($0.double + b) } ?? .null
        default: return .null
        }
    }

    static func integer(_ value: PredicateValue) -> Int64? {
        switch Number(value) {
        case .int(let value): value
        case .double(let value): Int64(exactly: value.rounded(.towardZero))
        case .decimal(let value): Int64(exactly: NSDecimalNumber(decimal: value).doubleValue.rounded(.towardZero))
        case nil: nil
        }
    }

    // MARK: Collections

    /// The members of a single list argument, or all arguments.
    private static func members(_ arguments: [PredicateValue]) -> [PredicateValue] {
        if arguments.count == 1, case .list(let members) = arguments[0] { return members }
        return arguments
    }

    /// Ignores null members, except for `count:`. The sum of no members is 0, other statistics of no members are null.
    package static func statistics(_ name: String, _ members: [PredicateValue]) -> PredicateValue {
        if name == "count:" { return .int(Int64(members.count)) }
        if name == "min:" || name == "max:" {
            let sign = name == "min:" ? -1 : 1
            return members.filter { !$0.isNull }.reduce(PredicateValue.null) { best, value in
                best.isNull || PredicateValue.order(value, best) == sign ? value : best
            }
        }
        let numbers = members.compactMap(Number.init)
        if name == "sum:" {
            return numbers.reduce(PredicateValue.int(0)) { arithmetic("add:to:", [$0, $1.value]) }
        }
        if numbers.isEmpty { return .null }
        let doubles = numbers.map(\.double)
        let average = doubles.reduce(0, +) / Double(doubles.count)
        switch name {
        case "average:": return .double(average)
        case "stddev:":
            return .double(
                (doubles.reduce(0) { $0 + ($1 - average) * ($1 - average) } / Double(doubles.count)).squareRoot())
        case "median:":
            let sorted = doubles.sorted()
            let middle = sorted.count / 2
            return .double(sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle])
        default:
            let counts = Dictionary(grouping: doubles, by: { $0 }).mapValues(\.count)
            let most = counts.max { ($0.value, $1.key) < ($1.value, $0.key) }
            return most.map { .double($0.key) } ?? .null
        }
    }

    static func element(_ list: PredicateValue, _ index: PredicateValue) -> PredicateValue {
        guard case .list(let members) = list else { return .null }
        switch index {
        case .string("FIRST"): return members.first ?? .null
        case .string("LAST"): return members.last ?? .null
        case .string("SIZE"): return .int(Int64(members.count))
        default:
            guard let index = integer(index).flatMap({ Int(exactly: $0) }), members.indices.contains(index) else { return .null }
            return members[index]
        }
    }

    // MARK: Sets

    /// The members without duplicates, in order.
    static func distinct(_ members: [PredicateValue]) -> [PredicateValue] {
        var distinctValues: Set<PredicateValue> = []
        return members.filter { distinctValues.insert($0.canonical).inserted }
    }

    static func combine(_ operation: SetOperation, _ first: PredicateValue, _ second: PredicateValue) -> PredicateValue {
        guard case .list(let first) = first, case .list(let second) = second else { return .null }
        let secondMembers = Set(second.map(\.canonical))
        switch operation {
        case .union: return .list(distinct(first + second))
        case .intersect: return .list(distinct(first.filter { secondMembers.contains($0.canonical) }))
        case .minus: return .list(distinct(first.filter { !secondMembers.contains($0.canonical) }))
        }
    }

    // MARK: Locations

    /// Metres along the surface of a sphere of the earth's mean radius. A location is any object with numbers for
    /// `latitude` and `longitude`, in degrees, of its own or of its `coordinate`.
    private static func distance(_ first: PredicateValue, _ second: PredicateValue) -> PredicateValue {
        func radians(_ value: PredicateValue, _ key: String) -> Double? {
            (Number(value.value(at: [key])) ?? Number(value.value(at: ["coordinate", key])))
                .map { $0.double * .pi / 180 }
        }
        guard let a = radians(first, "latitude"), let b = radians(second, "latitude"),
            let c = radians(first, "longitude"), let d = radians(second, "longitude")
        else { return .null }
        let (vertical, horizontal) = (sin((b - a) / 2), sin((d - c) / 2))
        let part = vertical * vertical + cos(a) * cos(b) * horizontal * horizontal
        return .double(2 * 6_371_008.8 * asin(min(1, part.squareRoot())))
    }

    /// Converts numbers to dates (seconds since 2001), and parses texts.
    private static func cast(_ value: PredicateValue, _ type: PredicateValue) -> PredicateValue {
        switch (type.text, value) {
        case ("NSDate", .date), ("NSNumber", .bool), ("NSNumber", .int), ("NSNumber", .double), ("NSNumber", .decimal),
            ("NSDecimalNumber", .decimal), ("NSUUID", .uuid), ("NSURL", .url), ("NSData", .data), ("NSString", .string):
            value
        case ("NSDate", _): Number(value).map { .date($0.double) } ?? .null
        case ("NSNumber", .date(let seconds)): .double(seconds)
        case ("NSNumber", .string(let text)): Int64(text).map { .int($0) } ?? Double(text).map { .double($0) } ?? .null
        case ("NSDecimalNumber", .string(let text)): Decimal(string: text, locale: nil).map { .decimal($0) } ?? .null
        case ("NSDecimalNumber", .date(let seconds)): .decimal(Number.double(seconds).decimal)
        case ("NSDecimalNumber", _): Number(value).map { .decimal($0.decimal) } ?? .null
        case ("NSUUID", .string(let text)): UUID(uuidString: text).map { .uuid($0) } ?? .null
        case ("NSURL", .string(let text)): .url(text)
        case ("NSData", .string(let text)): Data(base64Encoded: text).map { .data($0) } ?? .null
        case ("NSString", .url(let text)): .string(text)
        case ("NSString", .uuid(let value)): .string(value.uuidString)
        case ("NSString", .date(let seconds)): .string(Date(timeIntervalSinceReferenceDate: seconds).description)
        case ("NSString", _): value.numberText.map { .string($0) } ?? .null
        case ("NSNumber", _), ("NSUUID", _), ("NSURL", _), ("NSData", _): .null
        default: value
        }
    }
}

extension PredicateValue {
    /// Strings, and URLs as text.
    package var text: String? {
        switch self {
        case .string(let text), .url(let text): text
        default: nil
        }
    }
}
