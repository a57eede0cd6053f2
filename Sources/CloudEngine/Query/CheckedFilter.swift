// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// A condition with a valid field, index and value.
///
/// A condition without `NOT` never holds for a record that lacks the field; one with `NOT` holds wherever the other
/// does not (unverified). Texts are equal when they differ in upper and lower case only; prefixes are compared exactly.
///
/// Source: *CloudKit Web Services Reference*, "Filter Dictionary"; on case: Apple, `CKQuery`.
struct CheckedFilter {
    enum Test {
        case equals(FieldValue)
        case equalsList([FieldValue])
        case less(FieldValue)
        case lessOrEquals(FieldValue)
        case greater(FieldValue)
        case greaterOrEquals(FieldValue)
        case near(GlobePoint, metres: Double)
        case words(Set<String>, all: Bool)
        case isOneOf([FieldValue])
        case containsAny([FieldValue])
        case containsAll([FieldValue])
        case begins(String)
        case memberBegins(String)
    }

    let field: QueryField
    let test: Test
    let isNegated: Bool
    /// The values of a test for equality; empty for other tests.
    private let options: ValueSet
    /// Bytes of the values that are compared with those of each record.
    private let valueBytes: Int

    /// - Parameters:
    ///   - caller: Record name of the user that the condition belongs to.
    ///   - needsIndex: Whether the condition is to be answered from indexes.
    init(
        _ filter: QueryFilter, in schema: RecordTypeSchema, _ limits: Limits, caller: String, needsIndex: Bool = true
    ) throws(WireError) {
        field = try QueryField(filter.key, in: schema)
        guard !field.isEncrypted else {
            throw WireError(.badRequest, "Field '\(field.name)' is encrypted and cannot be queried")
        }
        let (form, isNegated) = filter.comparator.form
        self.isNegated = isNegated
        if needsIndex { try field.require(form.index) }
        guard let value = filter.value else {
            throw WireError(.badRequest, "the filter on '\(field.name)' has no fieldValue")
        }
        if case .list(let elements, _) = value, elements.count > limits.valuesPerFilter {
            throw WireError(
                .badRequest, "a filter has at most \(limits.valuesPerFilter) values", nativeCode: .limitExceeded)
        }
        test = try Self.test(form, field, value, caller, distance: filter.distance, wordsMax: limits.valuesPerFilter)
        options =
            switch test {
            case .equals(let value): ValueSet([value])
            case .isOneOf(let values): ValueSet(values)
            default: ValueSet([])
            }
        valueBytes =
            switch test {
            case .equalsList(let values), .containsAny(let values), .containsAll(let values):
                values.reduce(0) { $0 + RecordSize.bytes(of: $1) }
            case .begins(let prefix), .memberBegins(let prefix): prefix.utf8.count
            default: 0
            }
    }

    private static func test(
        _ form: QueryFilter.Comparator.Form, _ field: QueryField, _ value: FieldValue, _ caller: String, distance: Double?,
        wordsMax: Int
    ) throws(WireError) -> Test {
        func one() throws(WireError) -> FieldValue { try field.coerce(value, caller: caller) }
        func elements() throws(WireError) -> [FieldValue] {
            guard case .list(let elements, _) = value else {
                throw WireError(.badRequest, "Invalid value, expected type \(field.elementType)_LIST")
            }
            var coerced: [FieldValue] = []
            for element in elements { coerced.append(try field.coerce(element, caller: caller)) }
            return coerced
        }
        func need(list: Bool) throws(WireError) {
            guard field.isList == list else {
                throw WireError(
                    .badRequest, "the comparator does not fit field '\(field.name)' of type \(field.type)")
            }
        }
        func text() throws(WireError) -> String {
            guard field.elementType == "STRING", case .string(let text) = value else {
                throw WireError(.badRequest, "Invalid value, expected type STRING")
            }
            return text
        }
        switch form {
        case .equals:
            if field.isList { return .equalsList(try elements()) }
            return .equals(try one())
        case .ordered(let order):
            try need(list: false)
            switch order {
            case .less: return .less(try one())
            case .lessOrEquals: return .lessOrEquals(try one())
            case .greater: return .greater(try one())
            case .greaterOrEquals: return .greaterOrEquals(try one())
            }
        case .near:
            guard case .location(let centre) = try one(), let point = GlobePoint(centre) else {
                throw WireError(.badRequest, "Invalid value, expected type LOCATION")
            }
            guard let distance, distance >= 0, distance.isFinite else {
                throw WireError(.badRequest, "NEAR needs a distance in metres")
            }
            return .near(point, metres: distance)
        case .tokens(let all):
            let words: Set<String>
            if case .list = value {
                words = Tokens.words(in: value, atMost: wordsMax + 1)
            } else {
                words = Tokens.words(in: try text(), atMost: wordsMax + 1)
            }
            guard words.count <= wordsMax else {
                throw WireError(.badRequest, "a filter has at most \(wordsMax) words", nativeCode: .limitExceeded)
            }
            return .words(words, all: all)
        case .isOneOf:
            try need(list: false)
            return .isOneOf(try elements())
        case .contains:
            try need(list: true)
            return .containsAny([try one()])
        case .containsAny:
            try need(list: true)
            return .containsAny(try elements())
        case .containsAll:
            try need(list: true)
            return .containsAll(try elements())
        case .begins:
            try need(list: false)
            return .begins(try text())
        case .memberBegins:
            try need(list: true)
            return .memberBegins(try text())
        }
    }

    func matches(_ record: Record, inZone zoneName: String) -> Bool { matches(FilterSubject(record, inZone: zoneName)) }

    func matches(_ subject: FilterSubject) -> Bool {
        subject.charge(values: valueCount)
        subject.charge(bytes: valueBytes)
        return holds(subject) != isNegated
    }

    private func holds(_ subject: FilterSubject) -> Bool {
        if case .words(let wanted, let all) = test {
            // Words that are all dropped match nothing, as with an empty text.
            guard !wanted.isEmpty else { return false }
            let words = subject.words(of: field)
            return all ? wanted.isSubset(of: words) : !wanted.isDisjoint(with: words)
        }
        guard let value = field.value(in: subject.record) else { return false }
        if case .list(let elements, _) = value { return holds(elements, subject) }
        switch test {
        case .equals, .isOneOf:
            if case .string(let text) = value { return options.contains(foldedText: subject.foldedText(text, of: field)) }
            return options.contains(value, inZone: subject.zoneName)
        case .less(let other): return compare(value, other, subject).map { $0 < 0 } ?? false
        case .lessOrEquals(let other): return compare(value, other, subject).map { $0 <= 0 } ?? false
        case .greater(let other): return compare(value, other, subject).map { $0 > 0 } ?? false
        case .greaterOrEquals(let other): return compare(value, other, subject).map { $0 >= 0 } ?? false
        case .near(let centre, let metres):
            guard case .location(let location) = value, let point = GlobePoint(location) else { return false }
            return centre.distance(to: point) <= metres
        case .begins(let prefix): return Self.begins(value, prefix)
        // An empty list is part of anything.
        case .containsAll(let others): return others.isEmpty
        case .equalsList, .containsAny, .memberBegins, .words: return false
        }
    }

    private func holds(_ elements: [FieldValue], _ subject: FilterSubject) -> Bool {
        switch test {
        case .equalsList(let others):
            guard elements.count == others.count else { return false }
            return zip(elements, others).allSatisfy { ValueOrder.areEqual($0, $1, inZone: subject.zoneName) }
        case .containsAny(let others):
            let set = subject.elementSet(elements, of: field)
            return others.contains { set.contains($0, inZone: subject.zoneName) }
        case .containsAll(let others):
            let set = subject.elementSet(elements, of: field)
            return others.allSatisfy { set.contains($0, inZone: subject.zoneName) }
        case .memberBegins(let prefix):
            subject.charge(values: elements.count)
            return elements.contains { Self.begins($0, prefix) }
        case .equals, .less, .lessOrEquals, .greater, .greaterOrEquals, .near, .words, .isOneOf, .begins: return false
        }
    }

    private func compare(_ value: FieldValue, _ other: FieldValue, _ subject: FilterSubject) -> Int? {
        subject.charge(bytes: RecordSize.bytes(of: value) + RecordSize.bytes(of: other))
        return ValueOrder.compare(value, other)
    }

    /// Values that the condition compares with.
    private var valueCount: Int {
        switch test {
        case .equalsList(let values), .isOneOf(let values), .containsAny(let values), .containsAll(let values): values.count
        case .words(let words, _): words.count
        case .equals, .less, .lessOrEquals, .greater, .greaterOrEquals, .near, .begins, .memberBegins: 1
        }
    }

    private static func begins(_ value: FieldValue, _ prefix: String) -> Bool {
        guard case .string(let text) = value else { return false }
        return text.utf8.starts(with: prefix.utf8)
    }
}

extension QueryFilter.Comparator {
    enum Order { case less, lessOrEquals, greater, greaterOrEquals }

    enum Form {
        case equals, ordered(Order), near, tokens(all: Bool), isOneOf, contains, containsAny, containsAll, begins, memberBegins

        /// Source: *CloudKit Web Services Reference*. Prefixes of list elements need what lists can have.
        var index: FieldIndexes {
            switch self {
            case .equals, .near, .isOneOf, .contains, .containsAny, .containsAll, .memberBegins: .queryable
            case .ordered, .begins: .sortable
            case .tokens: .searchable
            }
        }
    }

    /// The comparator without its `NOT`.
    var form: (Form, isNegated: Bool) {
        switch self {
        case .equals: (.equals, false)
        case .notEquals: (.equals, true)
        case .lessThan: (.ordered(.less), false)
        case .lessThanOrEquals: (.ordered(.lessOrEquals), false)
        case .greaterThan: (.ordered(.greater), false)
        case .greaterThanOrEquals: (.ordered(.greaterOrEquals), false)
        case .near: (.near, false)
        case .containsAllTokens: (.tokens(all: true), false)
        case .containsAnyTokens: (.tokens(all: false), false)
        case .isIn: (.isOneOf, false)
        case .isNotIn: (.isOneOf, true)
        case .listContains: (.contains, false)
        case .notListContains: (.contains, true)
        case .listContainsAny: (.containsAny, false)
        case .notListContainsAny: (.containsAny, true)
        case .listContainsAll: (.containsAll, false)
        case .notListContainsAll: (.containsAll, true)
        case .beginsWith: (.begins, false)
        case .notBeginsWith: (.begins, true)
        case .listMemberBeginsWith: (.memberBegins, false)
        case .notListMemberBeginsWith: (.memberBegins, true)
        }
    }
}
