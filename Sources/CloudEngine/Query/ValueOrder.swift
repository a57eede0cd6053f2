// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// How values of one type compare in filters.
enum ValueOrder {
    /// References are equal when they name one record; a zone that is not named is the record's own.
    static func areEqual(_ a: FieldValue, _ b: FieldValue, inZone zone: String) -> Bool {
        switch (a, b) {
        case (.string(let a), .string(let b)):
            return a.utf8.elementsEqual(b.utf8) || a.lowercased().utf8.elementsEqual(b.lowercased().utf8)
        case (.reference(let a), .reference(let b)):
            return a.recordName == b.recordName && (a.zoneID?.zoneName ?? zone) == (b.zoneID?.zoneName ?? zone)
        case (.location(let a), .location(let b)): return a.latitude == b.latitude && a.longitude == b.longitude
        default: return compare(a, b) == 0
        }
    }

    /// Less than, equal to or greater than zero, or nil where the two have no order.
    static func compare(_ a: FieldValue, _ b: FieldValue) -> Int? {
        switch (a, b) {
        case (.string(let a), .string(let b)):
            let folded = compare(a.lowercased().utf8, b.lowercased().utf8)
            return folded != 0 ? folded : compare(a.utf8, b.utf8)
        case (.int64(let a), .int64(let b)), (.timestamp(let a), .timestamp(let b)): return a < b ? -1 : a == b ? 0 : 1
        case (.double(let a), .double(let b)): return a.isNaN || b.isNaN ? nil : a < b ? -1 : a == b ? 0 : 1
        case (.int64, .double), (.double, .int64):
            guard let a = IndexKey.key(of: a), let b = IndexKey.key(of: b) else { return nil }
            return a == b ? 0 : IndexKey.isLess(a, b) ? -1 : 1
        case (.reference(let a), .reference(let b)): return compare(a.recordName.utf8, b.recordName.utf8)
        default: return nil
        }
    }

    private static func compare(_ a: String.UTF8View, _ b: String.UTF8View) -> Int {
        if a.lexicographicallyPrecedes(b) { return -1 }
        return a.elementsEqual(b) ? 0 : 1
    }
}
