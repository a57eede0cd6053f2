// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SystemSupport

// Conversions between attribute types, for lenses. A value that the other type cannot hold exactly is not converted.

extension AttributeType {
    private var isInteger: Bool { [.integer16, .integer32, .integer64].contains(self) }
    private var isNumber: Bool { isInteger || [.boolean, .double, .float, .decimal].contains(self) }
    private var hasText: Bool { isNumber || [.date, .uuid, .uri, .string].contains(self) }

    /// Whether some values of this type have a form in another one.
    func converts(to other: AttributeType) -> Bool {
        if self == other || self == .string && other.hasText || hasText && other == .string { return true }
        return isNumber && other.isNumber
    }
}

extension StoredValue {
    /// Returns the value in another type.
    ///
    /// - Returns: nil for a value without an exact form there: "seven" as a number, 1.5 as an integer, 70,000 as an Integer 16.
    func converted(from type: AttributeType, to other: AttributeType) -> StoredValue? {
        if isNull || type == other { return self }
        if other == .string { return text(of: type).map { .string($0) } }
        if case .string(let text) = self { return Self.parsed(text, as: other) }
        let source: AttributeType =
            switch (type, other) {
            case (.boolean, _): .integer16
            // All digits, since the double with the shortest ones is another number.
            case (.float, .double): .double
            default: type
            }
        return Self.parsed(text(of: source) ?? "", as: other)
    }

    private func text(of type: AttributeType) -> String? {
        switch (type, self) {
        case (.boolean, .int(let number)): number == 0 ? "false" : "true"
        case (_, .int(let number)): String(number)
        case (.float, .double(let number)) where Int64(exactly: number) == nil:
            // The digits of the type: 0.1 as a double is 0.10000000149011612.
            Float(number).isFinite ? Float(number).description : nil
        case (_, .double(let number)): Int64(exactly: number).map { String($0) } ?? (number.isFinite ? number.description : nil)
        case (_, .decimal(let number)): number.isNaN ? nil : number.description
        case (_, .date(let seconds)): Self.text(ofDate: seconds)
        case (_, .uuid(let uuid)): UUIDText.text(uuid)
        case (_, .url(let text)), (_, .string(let text)): text
        case (_, .null), (_, .data), (_, .reference), (_, .object): nil
        }
    }

    private static func parsed(_ untrimmed: String, as type: AttributeType) -> StoredValue? {
        let text = untrimmed.trimmingCharacters(in: .whitespacesAndNewlines)
        switch type {
        case .boolean:
            switch text.lowercased() {
            case "true", "yes", "1": return .int(1)
            case "false", "no", "0": return .int(0)
            default: return nil
            }
        case .integer16: return Int16(text).map { .int(Int64($0)) }
        case .integer32: return Int32(text).map { .int(Int64($0)) }
        case .integer64: return Int64(text).map { .int($0) }
        case .double: return isDecimalNumber(text) ? Double(text).flatMap { $0.isFinite ? .double($0) : nil } : nil
        case .float: return isDecimalNumber(text) ? Float(text).flatMap { $0.isFinite ? .double(Double($0)) : nil } : nil
        case .decimal:
            guard isDecimalNumber(text), let number = Double(text), number.isFinite else { return nil }
            return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")).flatMap { $0.isNaN ? nil : .decimal($0) }
        case .date: return date(text)
        case .uuid: return UUIDText.uuid(text).map { .uuid($0) }
        case .uri: return URL(string: text).map { .url($0.absoluteString) }
        case .string: return .string(untrimmed)
        case .undefined, .binaryData, .transformable, .objectID, .composite: return nil
        }
    }

    /// Swift reads hexadecimal numbers as well, "0x10" as 16, where other programs read 0, or no number.
    private static func isDecimalNumber(_ text: String) -> Bool { text.utf8.allSatisfy { "0123456789.+-eE".utf8.contains($0) } }

    /// ISO 8601 in UTC with milliseconds, which a record's dates have.
    private static var dateStyle: Date.ISO8601FormatStyle { Date.ISO8601FormatStyle(includingFractionalSeconds: true) }

    private static func text(ofDate seconds: Double) -> String? {
        guard seconds.isFinite, abs(seconds) < 1e11 else { return nil }
        return dateStyle.format(Date(timeIntervalSinceReferenceDate: (seconds * 1000).rounded() / 1000))
    }

    private static func date(_ text: String) -> StoredValue? {
        let date = (try? dateStyle.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text))
        return date.map { .date(($0.timeIntervalSinceReferenceDate * 1000).rounded() / 1000) }
    }
}
