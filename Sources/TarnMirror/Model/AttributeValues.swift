// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// Conversion between attribute values as key-value coding has them, and values of rows.
enum AttributeValues {
    /// - Returns: ``StoredValue/null`` for nil, and for a value that the attribute's type cannot have.
    static func stored(_ value: Any?, as type: AttributeType) -> StoredValue {
        guard let value else { return .null }
        switch type {
        case .integer16, .integer32, .integer64: return (value as? NSNumber).map { .int($0.int64Value) } ?? .null
        case .boolean: return (value as? NSNumber).map { .int($0.boolValue ? 1 : 0) } ?? .null
        case .double, .float: return (value as? NSNumber).map { .double($0.doubleValue) } ?? .null
        case .decimal: return (value as? NSDecimalNumber).map { .decimal($0.decimalValue) } ?? .null
        case .string: return (value as? String).map { .string($0) } ?? .null
        case .date: return (value as? Date).map { .date($0.timeIntervalSinceReferenceDate) } ?? .null
        case .binaryData: return (value as? Data).map { .data($0) } ?? .null
        case .uuid: return (value as? UUID).map { .uuid($0) } ?? .null
        case .uri: return (value as? URL).map { .url($0.absoluteString) } ?? .null
        case .undefined, .transformable, .objectID, .composite: return .null
        }
    }

    /// Returns the value for `setValue(_:forKey:)`.
    static func value(_ stored: StoredValue, as type: AttributeType) -> Any? {
        switch stored {
        case .int(let number): type == .boolean ? NSNumber(value: number != 0) : NSNumber(value: number)
        case .double(let number): type == .float ? NSNumber(value: Float(number)) : NSNumber(value: number)
        case .decimal(let number): NSDecimalNumber(decimal: number)
        case .string(let text): text
        case .date(let seconds): Date(timeIntervalSinceReferenceDate: seconds)
        case .data(let data): data
        case .uuid(let uuid): uuid
        case .url(let text): URL(string: text)
        case .null, .reference, .object: nil
        }
    }
}
