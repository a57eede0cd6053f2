// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel

/// Conversion between an app's attribute values and a store's.
package enum AttributeCoding {
    /// Returns the value of `value(forKey:)` for a stored value. Numbers become `NSNumber`, which casts to every numeric
    /// type that can represent the value, as Objective-C's bridging does.
    package static func value(_ stored: StoredValue, of type: AttributeType) -> Any? {
        switch stored {
        case .null: nil
        case .int(let value):
            switch type {
            case .boolean: NSNumber(value: value != 0)
            case .integer16: NSNumber(value: Int16(truncatingIfNeeded: value))
            case .integer32: NSNumber(value: Int32(truncatingIfNeeded: value))
            default: NSNumber(value: value)
            }
        case .double(let value): type == .float ? NSNumber(value: Float(value)) : NSNumber(value: value)
        case .decimal(let value): NSDecimalNumber(decimal: value)
        case .string(let value): value
        case .date(let value): Date(timeIntervalSinceReferenceDate: value)
        case .data(let value): value
        case .uuid(let value): value
        case .url(let value): URL(string: value)
        case .reference: nil
        case .object(let box): box.value
        }
    }

    /// Returns the value of an attribute, transformable ones decoded.
    package static func value(_ stored: StoredValue, of attribute: Attribute) -> Any? {
        guard attribute.type == .transformable, case .data(let data) = stored else { return value(stored, of: attribute.type) }
        return AttributeTransformer(attribute).value(from: data)
    }

    /// - Returns: nil if the value cannot have the attribute's type.
    package static func stored(_ value: Any?, as type: AttributeType) -> StoredValue? {
        guard let value = unwrapped(value) else { return .null }
        switch type {
        case .integer16, .integer32, .integer64, .boolean: return integer(value).map(StoredValue.int)
        case .double, .float: return double(value).map(StoredValue.double)
        case .decimal: return decimal(value).map(StoredValue.decimal)
        case .string: return ((value as? String) ?? (value as? NSString).map(String.init)).map(StoredValue.string)
        case .date:
            return ((value as? Date) ?? (value as? NSDate).map { $0 as Date }).map { .date($0.timeIntervalSinceReferenceDate) }
        case .binaryData: return ((value as? Data) ?? (value as? NSData).map { $0 as Data }).map(StoredValue.data)
        case .uuid: return ((value as? UUID) ?? (value as? NSUUID).map { $0 as UUID }).map(StoredValue.uuid)
        case .uri: return ((value as? URL) ?? (value as? NSURL).map { $0 as URL }).map { .url($0.absoluteString) }
        case .undefined, .transformable, .objectID: return .object(BoxedValue(value))
        case .composite: return nil
        }
    }

    /// Flattens an optional inside an `Any`.
    private static func unwrapped(_ value: Any?) -> Any? {
        guard let value, !(value is NSNull) else { return nil }
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return mirror.children.first.flatMap { unwrapped($0.value) }
    }

    private static func integer(_ value: Any) -> Int64? {
        switch value {
        case let value as Bool: value ? 1 : 0
        case let value as any BinaryInteger: Int64(exactly: value)
        // A fraction is cut off, as of an `NSNumber`: Apple bridges these types to that class.
        case let value as any BinaryFloatingPoint: Int64(exactly: Double(value).rounded(.towardZero))
        case let value as Decimal:
            Int64(value.description) ?? Int64(exactly: NSDecimalNumber(decimal: value).doubleValue.rounded(.towardZero))
        case let value as NSNumber: value.int64Value
        default: nil
        }
    }

    private static func double(_ value: Any) -> Double? {
        switch value {
        case let value as any BinaryFloatingPoint: Double(value)
        case let value as any BinaryInteger: Double(value)
        case let value as Decimal: NSDecimalNumber(decimal: value).doubleValue
        case let value as NSNumber: value.doubleValue
        default: nil
        }
    }

    private static func decimal(_ value: Any) -> Decimal? {
        switch value {
        case let value as Decimal: value
        case let value as NSDecimalNumber: value.decimalValue
        case let value as any BinaryInteger: Int64(exactly: value).map { Decimal($0) }
        case let value as any BinaryFloatingPoint: Decimal(Double(value))
        case let value as NSNumber: value.decimalValue
        default: nil
        }
    }
}
