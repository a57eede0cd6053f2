// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Words of the format language, regardless of case.
///
/// Source: *Predicate Programming Guide*, "Predicate Format String Syntax", reserved words.
enum PredicateWords {
    /// Words that cannot begin a key path; a key of that name is written `#name`.
    static let reserved: Set<String> = [
        "AND", "OR", "IN", "NOT", "ALL", "ANY", "SOME", "NONE", "LIKE", "MATCHES", "CONTAINS", "BEGINSWITH",
        "ENDSWITH", "BETWEEN", "NULL", "NIL", "SELF", "TRUE", "YES", "FALSE", "NO", "TRUEPREDICATE",
        "FALSEPREDICATE", "ANYKEY", "UNION", "INTERSECT", "MINUS",
    ]

    static let modifiers: [String: Comparison.Modifier] = ["ANY": .any, "SOME": .any, "NONE": .any, "ALL": .all]

    static let operators: [String: Comparison.Operator] = [
        "=": .equalTo, "==": .equalTo, "!=": .notEqualTo, "<>": .notEqualTo, "<": .lessThan, ">": .greaterThan,
        "<=": .lessThanOrEqualTo, "=<": .lessThanOrEqualTo, ">=": .greaterThanOrEqualTo, "=>": .greaterThanOrEqualTo,
        "BETWEEN": .between, "IN": .in, "CONTAINS": .contains, "BEGINSWITH": .beginsWith, "ENDSWITH": .endsWith,
        "LIKE": .like, "MATCHES": .matches,
        // Of CloudKit's queries: `allTokens TOKENMATCHES[cdl] "words"` means `self CONTAINS "words"` (unverified).
        "TOKENMATCHES": .contains,
    ]

    static let literals: [String: PredicateValue] = [
        "TRUE": .bool(true), "YES": .bool(true), "FALSE": .bool(false), "NO": .bool(false), "NULL": .null, "NIL": .null,
    ]
}
