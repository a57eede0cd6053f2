// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudWire
import Foundation

/// One condition of `--where`: `FIELD OPERATOR VALUE`.
///
/// | text | meaning |
/// |---|---|
/// | `title == Milk`, `title = 'Two words'` | equal |
/// | `count != 3`, `count >= 3` | compared |
/// | `title beginswith Mi` | text that begins with another |
/// | `state in (open, 'in progress')` | one of several |
/// | `tags contains red` | list with an element |
/// | `title matches 'two words'` | all words are in the text |
/// | `place near 48.1,11.6,5000` | within metres of a location |
///
/// Numbers, ISO 8601 times and `@NAME` for a reference are recognized; `FIELD:TYPE` decides otherwise.
struct RecordFilter: ExpressibleByArgument {
    let filter: QueryFilter

    static let form = """
        --where has the form FIELD OPERATOR VALUE, such as "title == Milk". Operators: ==, !=, <, <=, >, >=, beginswith, in, contains, \
        matches, near.
        """

    init?(argument: String) {
        guard let filter = Self.parse(argument) else { return nil }
        self.filter = filter
    }

    private static let words: [(text: String, comparator: QueryFilter.Comparator)] = [
        ("beginswith", .beginsWith), ("contains", .listContains), ("matches", .containsAllTokens), ("near", .near), ("in", .isIn),
    ]
    /// Longer signs first.
    private static let signs: [(text: String, comparator: QueryFilter.Comparator)] = [
        ("==", .equals), ("!=", .notEquals), ("<=", .lessThanOrEquals), (">=", .greaterThanOrEquals), ("=", .equals), ("<", .lessThan),
        (">", .greaterThan),
    ]

    private static func parse(_ text: String) -> QueryFilter? {
        let text = text.trimmingCharacters(in: .whitespaces)
        let end = text.firstIndex { $0 == " " || "=!<>".contains($0) } ?? text.endIndex
        guard let (key, type) = RecordValueText.field(text[..<end]) else { return nil }
        let rest = text[end...].drop { $0 == " " }
        for (sign, comparator) in signs where rest.hasPrefix(sign) {
            return filter(key, comparator, rest.dropFirst(sign.count), type)
        }
        for (word, comparator) in words where rest.lowercased().hasPrefix(word + " ") || rest.lowercased().hasPrefix(word + "(") {
            return filter(key, comparator, rest.dropFirst(word.count), type)
        }
        return nil
    }

    private static func filter(
        _ name: String, _ comparator: QueryFilter.Comparator, _ rest: Substring, _ type: FieldType?
    ) -> QueryFilter? {
        let text = rest.trimmingCharacters(in: .whitespaces)
        let key = QueryKey.SystemField(rawValue: name).map(QueryKey.system) ?? .field(name)
        switch comparator {
        case .isIn:
            guard text.hasPrefix("("), text.hasSuffix(")"), !text.dropFirst().dropLast().allSatisfy(\.isWhitespace),
                let parts = RecordValueText.split(text.dropFirst().dropLast())
            else { return nil }
            let values = parts.compactMap { RecordValueText.value($0, type) }
            guard values.count == parts.count, !values.isEmpty, values.allSatisfy({ $0.type == values[0].type }) else { return nil }
            return QueryFilter(key, .isIn, .list(values, of: values[0].type))
        case .near:
            let numbers = text.split(separator: ",").map { Double($0.trimmingCharacters(in: .whitespaces)) }
            guard numbers.count == 3, let latitude = numbers[0], let longitude = numbers[1], let metres = numbers[2], metres >= 0,
                -90...90 ~= latitude, -180...180 ~= longitude
            else { return nil }
            return QueryFilter(key, .near, .location(RecordLocation(latitude: latitude, longitude: longitude)), distance: metres)
        default:
            guard let value = RecordValueText.value(text, type) else { return nil }
            return QueryFilter(key, comparator, value)
        }
    }
}

/// `--sort FIELD`, or `-FIELD` for descending order.
struct RecordSort: ExpressibleByArgument {
    let sort: QuerySort

    init?(argument: String) {
        let name = argument.hasPrefix("-") ? String(argument.dropFirst()) : argument
        guard !name.isEmpty else { return nil }
        sort = QuerySort(QueryKey.SystemField(rawValue: name).map(QueryKey.system) ?? .field(name), ascending: !argument.hasPrefix("-"))
    }
}
