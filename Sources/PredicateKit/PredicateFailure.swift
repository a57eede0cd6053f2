// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A predicate could not be read, or not be evaluated.
package struct PredicateFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: CaseIterable, Sendable {
        /// The format text breaks the language's rules.
        case format
        /// The format asks for another argument than it was given.
        case argument
        /// A variable has no value.
        case unboundVariable
        case unknownFunction
        /// A pattern of MATCHES is not a regular expression.
        case invalidPattern
        /// Something that has no value outside of what it was made for, such as ANYKEY.
        case unsupported
    }

    package let code: Code
    /// What is wrong and, for a format, what was expected.
    package let detail: String
    /// Where in the format, counted in characters from 1; nil when there is no place to show.
    package let column: Int?

    package init(_ code: Code, _ detail: String, column: Int? = nil) {
        self.code = code
        self.detail = detail
        self.column = column
    }

    package var description: String { column.map { "column \($0): \(detail)" } ?? detail }
}
