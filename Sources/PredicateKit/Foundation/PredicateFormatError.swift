// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// A format string that can't be parsed, or has placeholders that don't fit its arguments.
///
/// `NSPredicate(parsing:)` and `NSExpression(parsing:)` throw it. Differs: Apple's framework has no throwing initializer;
/// its `init(format:)` raises `NSInvalidArgumentException`, which Swift can't catch.
public struct PredicateFormatError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The invalid format.
    public let format: String
    /// The column where parsing stopped, counted in Unicode scalars from 1; nil for an error without a position.
    public let column: Int?
    /// The expected and the actual token.
    public let reason: String

    init(_ failure: PredicateFailure, format: String) {
        self.format = format
        column = failure.column
        reason = failure.detail
    }

    /// The reason, the format and the column.
    public var description: String {
        "Unable to parse the format string \"\(format)\"\(column.map { ", column \($0)" } ?? ""): \(reason)"
    }

    /// The reason, the format and the column.
    public var errorDescription: String? { description }
    /// The reason.
    public var failureReason: String? { reason }
}
