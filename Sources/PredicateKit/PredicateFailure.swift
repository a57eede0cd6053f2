// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A predicate that cannot be parsed or evaluated.
package struct PredicateFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: CaseIterable, Sendable {
        /// The format text breaks the language's rules.
        case format
        /// The format needs an argument of another type.
        case argument
        /// A variable has no value.
        case unboundVariable
        case unknownFunction
        /// A pattern of MATCHES is not a regular expression.
        case invalidPattern
        /// An expression without a value outside of its context, such as ANYKEY.
        case unsupported
    }

    package let code: Code
    /// The problem and, for a format, the expected token.
    package let detail: String
    /// Position in the format, counted in characters from 1; nil for an error without a position.
    package let column: Int?

    package init(_ code: Code, _ detail: String, column: Int? = nil) {
        self.code = code
        self.detail = detail
        self.column = column
    }

    package var description: String { column.map { "column \($0): \(detail)" } ?? detail }
}
