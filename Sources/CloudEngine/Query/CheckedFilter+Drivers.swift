// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Parts of an index among which all matches of a condition are, and perhaps others.
struct Driver: Hashable {
    let index: RecordIndex
    /// In order, without touching each other.
    let ranges: [KeyRange]
}

extension CheckedFilter {
    /// Ways to find the matches, each enough by itself. Empty where no index narrows them down.
    func drivers(ofType recordType: String) -> [Driver] {
        // Shares are listed apart from records, so no index has them.
        guard !isNegated, field.subject != .system(.share) else { return [] }
        let values = RecordIndex(recordType: recordType, field: field.indexName, kind: .values)
        let overflow = field.isList ? [KeyRange(only: IndexKey.overflow)] : []
        func driver(_ ranges: [KeyRange?]) -> Driver { Driver(index: values, ranges: KeyRange.merged(ranges.compactMap { $0 } + overflow)) }
        switch test {
        case .equals(let value): return [driver([IndexKey.equal(value)])]
        case .equalsList(let elements), .containsAll(let elements): return elements.map { driver([IndexKey.equal($0)]) }
        case .isOneOf(let elements), .containsAny(let elements): return [driver(elements.map(IndexKey.equal))]
        case .less(let value), .lessOrEquals(let value): return [driver([IndexKey.upTo(value)])]
        case .greater(let value), .greaterOrEquals(let value): return [driver([IndexKey.from(value)])]
        case .near(let centre, let metres): return [driver(centre.cover(radius: metres))]
        case .begins(let prefix), .memberBegins(let prefix): return [driver([IndexKey.prefix(prefix)])]
        case .words(let words, let all):
            let index = RecordIndex(recordType: recordType, field: field.indexName, kind: .tokens)
            let overflow = KeyRange(only: IndexKey.overflow)
            let ranges = words.sorted().map { KeyRange(only: IndexKey.key(ofToken: $0)) }
            guard all, !ranges.isEmpty else { return [Driver(index: index, ranges: KeyRange.merged(ranges + [overflow]))] }
            return ranges.map { Driver(index: index, ranges: KeyRange.merged([overflow, $0])) }
        }
    }

    /// Where the matches are in the index of a field, if the condition is on that field.
    func ranges(inIndexOf other: QueryField) -> [KeyRange]? {
        guard field.subject == other.subject, let driver = drivers(ofType: "").first, driver.index.kind == .values else { return nil }
        return driver.ranges
    }
}
