// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// Evaluates queries the plain way, written apart from the engine: every record against every filter.
struct QueryOracle {
    var records: [Record] = []

    func matches(_ query: Query) -> [Record] {
        records.filter { record in record.recordType == query.recordType && query.filters.allSatisfy { holds($0, record) } }
    }

    /// Whether a list of matches is in an order that the sorts allow.
    func isInOrder(_ list: [Record], _ query: Query) -> Bool {
        zip(list, list.dropFirst()).allSatisfy { first, second in
            for sort in query.sorts {
                guard let order = compare(first, second, by: sort) else { return true }
                if order != 0 { return (order < 0) == sort.ascending }
            }
            return true
        }
    }

    private func value(_ key: QueryKey, _ record: Record) -> FieldValue? {
        switch key {
        case .field(let name): record.fields[name]?.value
        case .system(.recordName): .string(record.recordName)
        case .system(.modifiedTimestamp): record.modified.map { .timestamp($0.timestamp) }
        default: nil
        }
    }

    private func number(_ value: FieldValue?) -> Double? {
        switch value {
        case .int64(let number), .timestamp(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    private func text(_ value: FieldValue?) -> String? {
        switch value {
        case .string(let text): text
        case .reference(let reference): reference.recordName
        default: nil
        }
    }

    private func equal(_ a: FieldValue?, _ b: FieldValue?) -> Bool {
        if let order = order(a, b), text(a) == nil { return order == 0 }
        guard let a = text(a), let b = text(b) else { return false }
        return a.lowercased() == b.lowercased()
    }

    private func order(_ a: FieldValue?, _ b: FieldValue?) -> Int? {
        if case .int64(let a) = a, case .int64(let b) = b { return a < b ? -1 : a > b ? 1 : 0 }
        if let a = number(a), let b = number(b) { return a < b ? -1 : a > b ? 1 : 0 }
        guard let a = text(a), let b = text(b) else { return nil }
        let pairs = [(Array(a.lowercased().utf8), Array(b.lowercased().utf8)), (Array(a.utf8), Array(b.utf8))]
        for (a, b) in pairs where a != b { return a.lexicographicallyPrecedes(b) ? -1 : 1 }
        return 0
    }

    private func list(_ value: FieldValue?) -> [FieldValue] {
        if case .list(let elements, _) = value { elements } else { [] }
    }

    private func words(_ text: String) -> Set<String> {
        Set(text.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)).subtracting(["the", "and"])
    }

    static func metres(_ a: RecordLocation, _ b: RecordLocation) -> Double {
        // The angle between two vectors, unlike the engine's formula.
        func vector(_ place: RecordLocation) -> (Double, Double, Double) {
            let (latitude, longitude) = (place.latitude * .pi / 180, place.longitude * .pi / 180)
            return (cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude))
        }
        let (u, v) = (vector(a), vector(b))
        let cross = (u.1 * v.2 - u.2 * v.1, u.2 * v.0 - u.0 * v.2, u.0 * v.1 - u.1 * v.0)
        let sine = (cross.0 * cross.0 + cross.1 * cross.1 + cross.2 * cross.2).squareRoot()
        return 6_371_008.8 * atan2(sine, u.0 * v.0 + u.1 * v.1 + u.2 * v.2)
    }

    /// Nil where rounding decides.
    private func compare(_ a: Record, _ b: Record, by sort: QuerySort) -> Int? {
        if let centre = sort.relativeLocation {
            func distance(_ record: Record) -> Double {
                guard case .location(let place) = value(sort.key, record) else { return .infinity }
                return Self.metres(centre, place)
            }
            let (a, b) = (distance(a), distance(b))
            if a.isFinite, b.isFinite, abs(a - b) < 0.01 { return nil }
            return a < b ? -1 : a > b ? 1 : 0
        }
        switch (value(sort.key, a), value(sort.key, b)) {
        case (nil, nil): return 0
        case (nil, _): return -1
        case (_, nil): return 1
        case (.string(let a), .string(let b)) where a.lowercased().utf8.prefix(240).elementsEqual(b.lowercased().utf8.prefix(240)):
            // Longer texts count as equal in an order.
            return a.utf8.count > 110 ? 0 : order(.string(a), .string(b))
        case (let a, let b): return order(a, b) ?? 0
        }
    }

    private func holds(_ filter: QueryFilter, _ record: Record) -> Bool {
        let found = value(filter.key, record)
        let wanted = filter.value
        switch filter.comparator {
        case .equals: return equal(found, wanted)
        case .notEquals: return !equal(found, wanted)
        case .lessThan: return order(found, wanted).map { $0 < 0 } ?? false
        case .lessThanOrEquals: return order(found, wanted).map { $0 <= 0 } ?? false
        case .greaterThan: return order(found, wanted).map { $0 > 0 } ?? false
        case .greaterThanOrEquals: return order(found, wanted).map { $0 >= 0 } ?? false
        case .near:
            guard case .location(let place) = found, case .location(let centre) = wanted else { return false }
            return Self.metres(place, centre) <= filter.distance ?? 0
        case .containsAllTokens:
            let asked = words(text(wanted) ?? "")
            return !asked.isEmpty && asked.isSubset(of: words(text(found) ?? ""))
        case .containsAnyTokens: return !words(text(wanted) ?? "").isDisjoint(with: words(text(found) ?? ""))
        case .isIn: return list(wanted).contains { equal(found, $0) }
        case .isNotIn: return !list(wanted).contains { equal(found, $0) }
        case .listContains: return list(found).contains { equal($0, wanted) }
        case .notListContains: return !list(found).contains { equal($0, wanted) }
        case .listContainsAny: return list(wanted).contains { wanted in list(found).contains { equal($0, wanted) } }
        case .notListContainsAny: return !list(wanted).contains { wanted in list(found).contains { equal($0, wanted) } }
        case .listContainsAll: return found != nil && list(wanted).allSatisfy { wanted in list(found).contains { equal($0, wanted) } }
        case .notListContainsAll: return !(found != nil && list(wanted).allSatisfy { wanted in list(found).contains { equal($0, wanted) } })
        case .beginsWith: return (text(found) ?? "").utf8.starts(with: (text(wanted) ?? "").utf8) && found != nil
        case .notBeginsWith: return !((text(found) ?? "").utf8.starts(with: (text(wanted) ?? "").utf8) && found != nil)
        case .listMemberBeginsWith: return list(found).contains { (text($0) ?? "").utf8.starts(with: (text(wanted) ?? "").utf8) }
        case .notListMemberBeginsWith: return !list(found).contains { (text($0) ?? "").utf8.starts(with: (text(wanted) ?? "").utf8) }
        }
    }
}
