// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// An object with methods that expressions call by name.
package protocol PredicateMessageTarget: AnyObject {
    func predicateAnswer(to method: String, _ arguments: [PredicateValue]) -> PredicateValue
}

/// Methods that `FUNCTION(target, 'name', …)` calls. Off Apple's platforms methods cannot be found by name, so the
/// supported ones are listed here.
enum PredicateMethods {
    /// Methods that are functions of the predicate language.
    static let functions = [
        "length": "length:", "uppercaseString": "uppercase:", "lowercaseString": "lowercase:", "count": "count:",
    ]

    /// Methods of text that are comparisons.
    static let comparisons: [String: (Comparison.Operator, Comparison.Options)] = [
        "isEqual:": (.equalTo, []), "isEqualToString:": (.equalTo, []), "isEqualToNumber:": (.equalTo, []),
        "isEqualToDate:": (.equalTo, []), "hasPrefix:": (.beginsWith, []), "hasSuffix:": (.endsWith, []),
        "containsString:": (.contains, []), "containsObject:": (.contains, []),
        "localizedCaseInsensitiveContainsString:": (.contains, [.caseInsensitive]),
        "localizedStandardContainsString:": (.contains, [.caseInsensitive, .diacriticInsensitive]),
    ]

    private static let values: [String: Int] = [
        "intValue": 0, "integerValue": 0, "longLongValue": 0, "boolValue": 0, "doubleValue": 0, "floatValue": 0,
        "stringValue": 0, "description": 0, "self": 0, "capitalizedString": 0, "firstObject": 0, "lastObject": 0,
        "allObjects": 0, "timeIntervalSince1970": 0, "timeIntervalSinceReferenceDate": 0, "timeIntervalSinceDate:": 1,
        "valueForKey:": 1, "valueForKeyPath:": 1, "objectAtIndex:": 1, "objectForKey:": 1, "stringByAppendingString:": 1,
    ]

    /// Methods of a migration, implemented by a ``PredicateMessageTarget``.
    private static let messages = [
        "destinationInstancesForEntityMappingNamed:sourceInstances:": 2, "sourceInstancesForEntityMappingNamed:destinationInstances:": 2,
        "destinationInstancesForSourceRelationshipNamed:sourceInstances:": 2,
    ]

    static func isKnown(_ name: String, _ count: Int) -> Bool {
        messages[name] == count || (functions[name] != nil && count == 0) || (comparisons[name] != nil && count == 1)
            || values[name] == count
    }

    /// - Throws: ``PredicateFailure`` with `.unknownFunction`.
    static func apply(
        _ name: String, to target: PredicateValue, _ arguments: [PredicateValue]
    ) throws(PredicateFailure) -> PredicateValue {
        guard isKnown(name, arguments.count) else {
            throw PredicateFailure(.unknownFunction, "unknown method \(name) of \(arguments.count) arguments")
        }
        if messages[name] != nil {
            guard case .object(let object) = target, let receiver = object.reference as? any PredicateMessageTarget else {
                throw PredicateFailure(.unknownFunction, "only a migration manager has a method \(name)")
            }
            return receiver.predicateAnswer(to: name, arguments)
        }
        if let function = functions[name] { return try PredicateFunctions.apply(function, [target], now: { 0 }) }
        if let (comparison, options) = comparisons[name] {
            let test = Comparison(.constant(target), comparison, .constant(arguments[0]), options: options)
            return .bool(try Predicate.comparison(test).evaluate(on: .null, now: { 0 }))
        }
        return arguments.isEmpty ? value(name, target) : value(name, target, arguments[0])
    }

    private static func value(_ name: String, _ target: PredicateValue) -> PredicateValue {
        func number(_ convert: (Double) -> PredicateValue) -> PredicateValue {
            if let number = Number(target) { return convert(number.double) }
            return target.text.map { convert(NSString(string: $0).doubleValue) } ?? .null
        }
        switch name {
        case "intValue", "integerValue", "longLongValue":
            if case .int = target { return target }
            return number { Int64(exactly: $0.rounded(.towardZero)).map { .int($0) } ?? .null }
        case "boolValue": return number { .bool($0 != 0) }
        case "doubleValue", "floatValue": return number { .double($0) }
        case "capitalizedString": return target.text.map { .string($0.capitalized) } ?? .null
        case "firstObject": return PredicateFunctions.element(target, .string("FIRST"))
        case "lastObject": return PredicateFunctions.element(target, .string("LAST"))
        case "timeIntervalSinceReferenceDate":
            if case .date(let seconds) = target { return .double(seconds) }
            return .null
        case "timeIntervalSince1970":
            if case .date(let seconds) = target { return .double(seconds + Date.timeIntervalBetween1970AndReferenceDate) }
            return .null
        case "stringValue", "description":
            if let text = target.text { return .string(text) }
            return target.isNull ? .null : .string(target.numberText ?? target.formatDescription)
        default: return target
        }
    }

    private static func value(_ name: String, _ target: PredicateValue, _ argument: PredicateValue) -> PredicateValue {
        switch name {
        case "timeIntervalSinceDate:":
            guard case .date(let a) = target, case .date(let b) = argument else { return .null }
            return .double(a - b)
        case "objectAtIndex:": return PredicateFunctions.element(target, argument)
        case "stringByAppendingString:":
            guard let text = target.text, let tail = argument.text else { return .null }
            return .string(text + tail)
        case "valueForKey:", "objectForKey:": return argument.text.map { target.value(at: [$0]) } ?? .null
        default: return argument.text.map { target.value(at: Expression.keys($0)[...]) } ?? .null
        }
    }
}

extension Expression {
    /// The comparison that a method such as `hasPrefix:` means; nil for other expressions.
    package var messageAsComparison: Comparison? {
        guard case .message(let target, let name, let arguments) = self, arguments.count == 1,
            let (comparison, options) = PredicateMethods.comparisons[name]
        else { return nil }
        return Comparison(target, comparison, arguments[0], options: options)
    }
}

extension PredicateValue {
    /// A number as `NSNumber.stringValue` writes it, without a fraction of zero; nil for other values.
    var numberText: String? {
        switch self {
        case .bool(let value): value ? "1" : "0"
        case .int(let value): String(value)
        case .double(let value): Int64(exactly: value).map { String($0) } ?? "\(value)"
        case .decimal(let value): value.description
        default: nil
        }
    }
}
