// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import SystemSupport

/// Attribute values to field values and back.
///
/// Values that a field cannot represent are absent on the wire: non-finite numbers, dates beyond the range of its milliseconds. A value of
/// a kind that the attribute cannot hold is not decoded. Dates are cut to milliseconds, decimals to doubles and floats to single precision, so
/// values are compared in their encoded form: a round trip is never a change, and a device keeps its more precise value.
///
/// Source: *Reading CloudKit Records for Core Data*, the table of attribute types.
enum FieldCodec {
    private static let millisecondsTo2001: Int64 = 978_307_200_000

    static func encode(_ value: StoredValue, as type: AttributeType) -> FieldValue? {
        switch (type, value) {
        case (.boolean, .int(let number)): .int64(number == 0 ? 0 : 1)
        case (.integer16, .int(let number)), (.integer32, .int(let number)), (.integer64, .int(let number)): .int64(number)
        case (.double, .double(let number)): number.isFinite ? .double(number) : nil
        case (.double, .int(let number)): .double(Double(number))
        case (.float, .double(let number)): single(number).map { .double($0) }
        case (.float, .int(let number)): single(Double(number)).map { .double($0) }
        // Through text: the shortest text of a double parses to the same double, so that a round trip keeps all bits.
        case (.decimal, .decimal(let number)): Double(number.description).flatMap { $0.isFinite ? .double($0) : nil }
        case (.date, .date(let seconds)): milliseconds(seconds).map { .timestamp($0) }
        case (.uuid, .uuid(let uuid)): .string(UUIDText.text(uuid))
        case (.uri, .url(let text)): .string(text)
        case (.string, .string(let text)): .string(text)
        case (.binaryData, .data(let data)), (.transformable, .data(let data)): .bytes([UInt8](data))
        default: nil
        }
    }

    /// - Returns: nil for a value that the attribute's type cannot hold.
    static func decode(_ value: FieldValue, as type: AttributeType) -> StoredValue? {
        switch (type, value) {
        case (.boolean, .int64(let number)): .int(number == 0 ? 0 : 1)
        case (.integer16, .int64(let number)): Int16(exactly: number).map { .int(Int64($0)) }
        case (.integer32, .int64(let number)): Int32(exactly: number).map { .int(Int64($0)) }
        case (.integer64, .int64(let number)): .int(number)
        case (.integer16, .double), (.integer32, .double), (.integer64, .double), (.boolean, .double):
            // Some services write whole numbers of either kind.
            if case .double(let number) = value, let whole = Int64(exactly: number) {
                decode(.int64(whole), as: type)
            } else {
                nil
            }
        case (.double, .double(let number)): number.isFinite ? .double(number) : nil
        case (.double, .int64(let number)): .double(Double(number))
        case (.float, .double(let number)): single(number).map { .double($0) }
        case (.float, .int64(let number)): single(Double(number)).map { .double($0) }
        case (.decimal, .double(let number)): Decimal(string: number.description).map { .decimal($0) }
        case (.decimal, .int64(let number)): .decimal(Decimal(number))
        case (.date, .timestamp(let milliseconds)):
            milliseconds.subtractingReportingOverflow(millisecondsTo2001).overflow
                ? nil : .date(Double(milliseconds - millisecondsTo2001) / 1000)
        case (.uuid, .string(let text)): UUIDText.uuid(text).map { .uuid($0) }
        case (.uri, .string(let text)): .url(text)
        case (.string, .string(let text)): .string(text)
        case (.binaryData, .bytes(let bytes)), (.transformable, .bytes(let bytes)): .data(Data(bytes))
        default: nil
        }
    }

    /// - Returns: nil for bytes that are not UTF-8, for a text attribute.
    static func decode(contentsOfAsset bytes: Data, as type: AttributeType) -> StoredValue? {
        switch type {
        case .string: String(validating: bytes, as: UTF8.self).map { .string($0) }
        case .binaryData, .transformable: .data(bytes)
        default: nil
        }
    }

    /// The number as an attribute of single precision shows it: a store may hold more digits, which no object has.
    ///
    /// - Returns: nil for a number beyond the type's range.
    private static func single(_ number: Double) -> Double? {
        let single = Float(number)
        return single.isFinite ? Double(single) : nil
    }

    private static func milliseconds(_ seconds: Double) -> Int64? {
        guard let since2001 = Int64(exactly: (seconds * 1000).rounded()) else { return nil }
        let since1970 = since2001.addingReportingOverflow(millisecondsTo2001)
        return since1970.overflow ? nil : since1970.partialValue
    }
}

extension AttributeType {
    /// The type of the field that holds values of this type; nil for types that are not mirrored.
    var cloudType: FieldType? {
        switch self {
        case .integer16, .integer32, .integer64, .boolean: .int64
        case .double, .float, .decimal: .double
        case .date: .timestamp
        case .string, .uuid, .uri: .string
        case .binaryData, .transformable: .bytes
        case .undefined, .objectID, .composite: nil
        }
    }

    /// Whether long values move to an asset field.
    var canBeAsset: Bool { self == .string || self == .binaryData || self == .transformable }
}

extension FieldValue {
    /// Bytes that the value takes in a record, as the server counts them.
    var approximateBytes: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        case .int64, .double, .timestamp: 8
        case .reference(let reference): reference.recordName.utf8.count + 32
        case .location: 64
        case .asset: 0
        case .list(let values, of: _): values.reduce(0) { $0 + $1.approximateBytes }
        }
    }
}
