// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// A format string that can't be parsed, or whose placeholders don't fit its arguments.
///
/// `NSPredicate(parsing:)` and `NSExpression(parsing:)` throw it. Differs: Apple's framework has no throwing initialiser; its
/// `init(format:)` raises `NSInvalidArgumentException`, which Swift can't catch.
public struct PredicateFormatError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The format as it was given.
    public let format: String
    /// Where parsing stopped, counted in characters from 1; nil where no place is to blame.
    public let column: Int?
    /// What was expected and what was found.
    public let reason: String

    init(_ failure: PredicateFailure, format: String) {
        self.format = format
        column = failure.column
        reason = failure.detail
    }

    public var description: String {
        "Unable to parse the format string \"\(format)\"\(column.map { ", column \($0)" } ?? ""): \(reason)"
    }

    public var errorDescription: String? { description }
    public var failureReason: String? { reason }
}
