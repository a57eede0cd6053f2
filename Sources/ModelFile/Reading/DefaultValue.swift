// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel

extension AttributeType {
    /// The type that model files write as `text`.
    init?(modelText text: String) {
        switch text {
        case "Undefined": self = .undefined
        case "Integer 16": self = .integer16
        case "Integer 32": self = .integer32
        case "Integer 64": self = .integer64
        case "Decimal": self = .decimal
        case "Double": self = .double
        case "Float": self = .float
        case "String": self = .string
        case "Boolean": self = .boolean
        case "Date": self = .date
        case "Binary": self = .binaryData
        case "UUID": self = .uuid
        case "URI": self = .uri
        case "Transformable": self = .transformable
        case "Object ID": self = .objectID
        case "Composite": self = .composite
        default: return nil
        }
    }
}

/// The text of a default value as a stored value of the attribute's type.
package enum DefaultValue: Equatable {
    case value(StoredValue)
    /// The editor leaves the text of an earlier type behind, such as `NO` for an integer. `expected` is for a warning.
    case converted(StoredValue, expected: String)
    /// `expected` is for a diagnostic.
    case malformed(expected: String)
    case unsupported

    package static func parse(_ spelling: String, as type: AttributeType) -> DefaultValue {
        if type == .string { return .value(.string(spelling)) }
        let text = spelling.trimmingCharacters(in: .whitespacesAndNewlines)
        let parsed = strict(text, as: type)
        guard case .malformed(let expected) = parsed else { return parsed }
        if text.isEmpty { return .converted(.null, expected: expected) }
        return converted(text, to: type).map { .converted($0, expected: expected) } ?? parsed
    }

    private static func strict(_ text: String, as type: AttributeType) -> DefaultValue {
        switch type {
        case .integer16, .integer32, .integer64: integer(text, range(of: type))
        case .boolean: wrap(ElementReader.flag(from: text).map { .int($0 ? 1 : 0) }, expected: "YES or NO")
        case .double: wrap(finite(text).map { .double($0) }, expected: "a number")
        case .float: wrap(float(text).map { .double($0) }, expected: "a number that a Float can hold")
        case .decimal: wrap(decimal(text).map { .decimal($0) }, expected: "a decimal number")
        case .string: .value(.string(text))
        case .uuid: wrap(UUID(uuidString: text).map { .uuid($0) }, expected: "a UUID")
        case .uri: wrap(URL(string: text).map { .url($0.absoluteString) }, expected: "a URL")
        case .undefined, .date, .binaryData, .transformable, .objectID, .composite: .unsupported
        }
    }

    /// A flag as a number, a number as a flag, and a fraction as a whole number, rounded towards zero as `NSNumber` does.
    private static func converted(_ text: String, to type: AttributeType) -> StoredValue? {
        switch type {
        case .boolean: return finite(text).map { .int($0 == 0 ? 0 : 1) }
        case .integer16, .integer32, .integer64:
            let value =
                ElementReader.flag(from: text).map { $0 ? 1 : 0 } ?? finite(text).flatMap { Int64(exactly: $0.rounded(.towardZero)) }
            return value.flatMap { range(of: type).contains($0) ? .int($0) : nil }
        case .double, .float: return ElementReader.flag(from: text).map { .double($0 ? 1 : 0) }
        case .decimal: return ElementReader.flag(from: text).map { .decimal($0 ? 1 : 0) }
        default: return nil
        }
    }

    private static func wrap(_ value: StoredValue?, expected: String) -> DefaultValue {
        value.map { .value($0) } ?? .malformed(expected: expected)
    }

    private static func range(of type: AttributeType) -> ClosedRange<Int64> {
        switch type {
        case .integer16: Int64(Int16.min)...Int64(Int16.max)
        case .integer32: Int64(Int32.min)...Int64(Int32.max)
        default: Int64.min...Int64.max
        }
    }

    /// Accepts a fraction of zero, which stays behind when an attribute's type is changed in the editor.
    private static func integer(_ text: String, _ range: ClosedRange<Int64>) -> DefaultValue {
        let value = Int64(text) ?? finite(text).flatMap { Int64(exactly: $0) }
        guard let value, range.contains(value) else {
            return .malformed(expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return .value(.int(value))
    }

    private static func finite(_ text: String) -> Double? { Double(text).flatMap { $0.isFinite ? $0 : nil } }

    private static func float(_ text: String) -> Double? {
        finite(text).flatMap { Float($0).isFinite ? Double(Float($0)) : nil }
    }

    /// `Decimal` reads as many characters as it can, so that the whole text is checked first.
    private static func decimal(_ text: String) -> Decimal? {
        guard text.wholeMatch(of: /[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?/) != nil else { return nil }
        let value = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
        return value.flatMap { $0.isNaN ? nil : $0 }
    }
}
