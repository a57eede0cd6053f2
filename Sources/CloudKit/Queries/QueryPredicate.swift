// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import PredicateKit

/// Converts predicates to the filters of the wire, and back.
///
/// Source: Apple's documentation of `CKQuery`, "Predicate Rules for Query Objects".
enum QueryPredicate {
    /// - Throws: ``CKError`` with `.invalidArguments` and the part that the service cannot run.
    static func filters(_ predicate: NSPredicate) throws(CKError) -> [QueryFilter] { try filters(predicate.tree) }

    private static func filters(_ tree: PredicateKit.Predicate) throws(CKError) -> [QueryFilter] {
        switch tree {
        case .value(true): return []
        case .value(false): throw refusal("FALSEPREDICATE", "matches nothing")
        case .and(let parts):
            var filters: [QueryFilter] = []
            for part in parts { filters += try self.filters(part) }
            return filters
        case .or: throw refusal("OR", "the service joins conditions by AND only; run several queries instead")
        case .block: throw refusal("a block", "the service cannot run code of the app")
        case .not(let part):
            guard case .comparison(let comparison) = part else {
                throw refusal("NOT", "only a single comparison can be negated")
            }
            return try filters(comparison, negated: true)
        case .comparison(let comparison): return try filters(comparison, negated: false)
        }
    }

    private static func filters(_ comparison: Comparison, negated: Bool) throws(CKError) -> [QueryFilter] {
        if let comparator = comparison.operator.mirrored, comparison.left.isConstant, !comparison.right.isConstant {
            var flipped = comparison
            (flipped.left, flipped.right, flipped.operator) = (comparison.right, comparison.left, comparator)
            return try filters(flipped, negated: negated)
        }
        if comparison.operator == .in, comparison.left.isConstant, case .keyPath = comparison.right {
            var flipped = comparison
            (flipped.left, flipped.right, flipped.operator) = (comparison.right, comparison.left, .contains)
            return try filters(flipped, negated: negated)
        }
        if case .function("distanceToLocation:fromLocation:", let arguments) = comparison.left {
            return [try near(arguments, comparison, negated)]
        }
        if comparison.left == .selfObject { return [try tokens(.allSearchable, comparison, negated)] }
        guard case .keyPath(let keys) = comparison.left else {
            throw refusal(describe(comparison.left), "the left side of a comparison must be a field")
        }
        guard keys.count == 1 else {
            throw refusal(keys.joined(separator: "."), "the service does not follow references; a field has one key")
        }
        if keys[0] == "allTokens" { return [try tokens(.allSearchable, comparison, negated)] }
        return try filters(key(keys[0]), comparison, negated)
    }

    private static func filters(
        _ key: QueryKey, _ comparison: Comparison, _ negated: Bool
    ) throws(CKError) -> [QueryFilter] {
        let part = describe(comparison)
        guard comparison.modifier != .all else { throw refusal("ALL", "the service knows ANY only") }
        let isAny = comparison.modifier == .any
        func one(_ comparator: QueryFilter.Comparator, not: QueryFilter.Comparator?) throws(CKError) -> [QueryFilter] {
            guard !negated || not != nil else { throw refusal(part, "this comparison cannot be negated") }
            return [QueryFilter(key, negated ? not ?? comparator : comparator, try value(comparison.right, part))]
        }
        switch comparison.operator {
        case .equalTo where isAny, .contains: return try one(.listContains, not: .notListContains)
        case .in where isAny: return try one(.listContainsAny, not: .notListContainsAny)
        // Rejected, since the query would silently find too little.
        case .beginsWith where !comparison.options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]):
            throw refusal(part, "the service compares prefixes case-sensitively; leave [cd] out")
        case .beginsWith where isAny: return try one(.listMemberBeginsWith, not: .notListMemberBeginsWith)
        case _ where isAny: throw refusal(part, "ANY is supported with =, IN and BEGINSWITH only")
        case .equalTo: return try one(.equals, not: .notEquals)
        case .notEqualTo: return try one(.notEquals, not: .equals)
        case .lessThan: return try one(.lessThan, not: .greaterThanOrEquals)
        case .lessThanOrEqualTo: return try one(.lessThanOrEquals, not: .greaterThan)
        case .greaterThan: return try one(.greaterThan, not: .lessThanOrEquals)
        case .greaterThanOrEqualTo: return try one(.greaterThanOrEquals, not: .lessThan)
        case .in: return try one(.isIn, not: .isNotIn)
        case .beginsWith: return try one(.beginsWith, not: .notBeginsWith)
        case .between:
            guard !negated, case .list(let bounds, _) = try value(comparison.right, part), bounds.count == 2 else {
                throw refusal(part, "BETWEEN takes two bounds and cannot be negated")
            }
            return [QueryFilter(key, .greaterThanOrEquals, bounds[0]), QueryFilter(key, .lessThanOrEquals, bounds[1])]
        case .endsWith, .like, .matches:
            throw refusal(part, "the service compares prefixes and words of texts only: BEGINSWITH, self CONTAINS")
        }
    }

    private static func tokens(
        _ key: QueryKey, _ comparison: Comparison, _ negated: Bool
    ) throws(CKError) -> QueryFilter {
        let part = describe(comparison)
        guard comparison.operator == .contains, !negated, case .string(let text) = try value(comparison.right, part) else {
            throw refusal(part, "the record itself can only be searched for words: self CONTAINS")
        }
        return QueryFilter(key, .containsAllTokens, .string(text))
    }

    private static func near(
        _ arguments: [PredicateKit.Expression], _ comparison: Comparison, _ negated: Bool
    ) throws(CKError) -> QueryFilter {
        let part = describe(comparison)
        guard comparison.operator == .lessThan || comparison.operator == .lessThanOrEqualTo, !negated else {
            throw refusal(part, "a distance can only be compared by < and <=")
        }
        guard arguments.count == 2, case .keyPath(let keys) = arguments[0], keys.count == 1,
            case .location(let centre) = try value(arguments[1], part)
        else { throw refusal(part, "a distance needs a location field and a CLLocation") }
        let distance: Double
        switch try value(comparison.right, part) {
        case .int64(let metres): distance = Double(metres)
        case .double(let metres): distance = metres
        default: throw refusal(part, "a distance must be a number, in metres")
        }
        return QueryFilter(key(keys[0]), .near, .location(centre), distance: distance)
    }

    // MARK: Keys

    private static let systemKeys: [String: QueryKey.SystemField] = [
        "recordID": .recordName, "creationDate": .createdTimestamp, "modificationDate": .modifiedTimestamp,
        "creatorUserRecordID": .createdUserRecordName, "lastModifiedUserRecordID": .modifiedUserRecordName,
        "parent": .parent, "share": .share,
    ]

    private static func key(_ name: String) -> QueryKey {
        systemKeys[name].map { .system($0) } ?? QueryKey(fieldName: name)
    }

    // MARK: Values

    private static func value(_ expression: PredicateKit.Expression, _ part: String) throws(CKError) -> FieldValue {
        switch expression {
        case .constant(let value): return try self.value(value.comparable, part)
        case .aggregate(let members):
            var values: [FieldValue] = []
            for member in members { values.append(try value(member, part)) }
            return try list(values, part)
        case .keyPath: throw refusal(part, "two fields cannot be compared")
        case .variable: throw refusal(part, "a variable has no value; call withSubstitutionVariables first")
        default: throw refusal(part, "the right side of a comparison must be a value")
        }
    }

    private static func value(_ value: PredicateValue, _ part: String) throws(CKError) -> FieldValue {
        switch value {
        case .bool(let flag): return .int64(flag ? 1 : 0)
        case .int(let number): return .int64(number)
        case .double(let number): return .double(number)
        case .decimal(let number): return .double(NSDecimalNumber(decimal: number).doubleValue)
        case .string(let text): return .string(text)
        case .data(let data): return .bytes(Array(data))
        case .date(let seconds):
            let milliseconds = ((seconds + Date.timeIntervalBetween1970AndReferenceDate) * 1000).rounded()
            guard let exact = Int64(exactly: milliseconds) else { throw refusal(part, "the date is out of range") }
            return .timestamp(exact)
        case .list(let members):
            var values: [FieldValue] = []
            for member in members { values.append(try self.value(member, part)) }
            return try list(values, part)
        case .object(let object):
            switch object.reference {
            case let reference as CKReference: return .reference(reference.wire)
            case let id as CKRecordID: return .reference(CKReference(recordID: id, action: .none).wire)
            case let record as CKRecord: return .reference(CKReference(record: record, action: .none).wire)
            case let location as CLLocation: return .location(location.wire)
            default: throw refusal(part, "fields cannot have values of this type")
            }
        case .null: throw refusal(part, "the service cannot compare with nil")
        case .uuid, .url: throw refusal(part, "fields cannot have UUIDs or URLs; compare their texts")
        }
    }

    private static func list(_ values: [FieldValue], _ part: String) throws(CKError) -> FieldValue {
        var values = values
        if values.contains(where: { $0.type == .double }) {
            values = values.map { value in
                if case .int64(let number) = value { .double(Double(number)) } else { value }
            }
        }
        guard Set(values.map(\.type)).count <= 1, !values.contains(where: { $0.type == nil }) else {
            throw refusal(part, "a list must have values of one type")
        }
        return .list(values, of: values.first?.type)
    }

    // MARK: Refusals

    private static func describe(_ expression: PredicateKit.Expression) -> String { expression.formatDescription }

    /// The comparison without its value, which is user data.
    private static func describe(_ comparison: Comparison) -> String {
        var shape = comparison
        if shape.right.isConstant { shape.right = .variable("value") }
        if shape.left.isConstant { shape.left = .variable("value") }
        return PredicateKit.Predicate.comparison(shape).formatDescription
    }

    private static func refusal(_ part: String, _ why: String) -> CKError {
        CKError(.invalidArguments, "the query cannot be run because of \(part): \(why)")
    }
}

extension PredicateKit.Expression {
    fileprivate var isConstant: Bool {
        switch self {
        case .constant, .aggregate: true
        default: false
        }
    }
}

extension Comparison.Operator {
    /// The operator for exchanged sides, if it exists.
    fileprivate var mirrored: Comparison.Operator? {
        switch self {
        case .lessThan: .greaterThan
        case .lessThanOrEqualTo: .greaterThanOrEqualTo
        case .greaterThan: .lessThan
        case .greaterThanOrEqualTo: .lessThanOrEqualTo
        case .equalTo: .equalTo
        case .notEqualTo: .notEqualTo
        default: nil
        }
    }
}
