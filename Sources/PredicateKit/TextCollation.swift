// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The order of texts in a sort. The store's collations and sorting in memory both call ``order(_:_:)``, so that their
/// results are the same.
///
/// Raw values are names of SQL collations: those in indexes of Apple's stores.
/// Source: SQL that Apple's framework logs (`-com.apple.CoreData.SQLDebug 1`), shown in public posts.
package enum TextCollation: String, Hashable, Sendable, CaseIterable {
    case caseInsensitive = "NSCollateNoCase"
    case localized = "NSCollateLocaleSensitive"
    case localizedCaseInsensitive = "TARN_LOCALE_NOCASE"
    /// As a file manager orders names: digits by their numeric value.
    case localizedStandard = "NSCollateFinderlike"

    /// - Returns: -1, 0 or 1.
    package func order(_ a: String, _ b: String) -> Int {
        switch self {
        case .caseInsensitive: StringMatching.order(a, b, .caseInsensitive)
        case .localized: a.localizedCompare(b).rawValue
        case .localizedCaseInsensitive: a.localizedCaseInsensitiveCompare(b).rawValue
        case .localizedStandard: a.localizedStandardCompare(b).rawValue
        }
    }

    /// Methods by which Apple's SQLite store sorts; `compare:` is the order without a collation.
    package static let selectors: [String: TextCollation?] = [
        "compare:": nil, "caseInsensitiveCompare:": .caseInsensitive, "localizedCompare:": .localized,
        "localizedCaseInsensitiveCompare:": .localizedCaseInsensitive, "localizedStandardCompare:": .localizedStandard,
    ]
}

extension SortKey {
    /// -1, 0 or 1 for the values of two objects in ascending order.
    package func order(_ a: PredicateValue, _ b: PredicateValue) -> Int {
        if let collation, case .string(let a) = a, case .string(let b) = b { return collation.order(a, b) }
        return PredicateValue.sortOrder(a, b, options)
    }
}
