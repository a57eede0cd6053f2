// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// A value that a field can have: texts, numbers, dates, data, locations, references, assets, and arrays of one of
/// these types.
///
/// Source: Apple's documentation of `CKRecordValueProtocol`.
public protocol CKRecordValueProtocol {}
/// The Objective-C name of `CKRecordValueProtocol`.
public typealias CKRecordValue = CKRecordValueProtocol
/// The name of `CKRecordValueProtocol` in Apple's Swift interface.
public typealias __CKRecordObjCValue = CKRecordValueProtocol

extension String: CKRecordValueProtocol {}
extension Bool: CKRecordValueProtocol {}
extension Int: CKRecordValueProtocol {}
extension Int8: CKRecordValueProtocol {}
extension Int16: CKRecordValueProtocol {}
extension Int32: CKRecordValueProtocol {}
extension Int64: CKRecordValueProtocol {}
extension UInt: CKRecordValueProtocol {}
extension UInt8: CKRecordValueProtocol {}
extension UInt16: CKRecordValueProtocol {}
extension UInt32: CKRecordValueProtocol {}
extension UInt64: CKRecordValueProtocol {}
extension Double: CKRecordValueProtocol {}
extension Float: CKRecordValueProtocol {}
extension Date: CKRecordValueProtocol {}
extension Data: CKRecordValueProtocol {}
extension NSString: CKRecordValueProtocol {}
extension NSNumber: CKRecordValueProtocol {}
extension NSDate: CKRecordValueProtocol {}
extension NSData: CKRecordValueProtocol {}
extension NSArray: CKRecordValueProtocol {}
extension CKReference: CKRecordValueProtocol {}
extension CLLocation: CKRecordValueProtocol {}
extension CKAsset: CKRecordValueProtocol {}
extension Array: CKRecordValueProtocol where Element: CKRecordValueProtocol {}

/// A field's value in a record: as on the wire, except that assets are files until they are uploaded.
enum LocalValue: Sendable {
    case wire(FieldValue)
    case asset(CKAsset)
    case assets([CKAsset])

    /// - Returns: `nil` if fields cannot have the value: a number outside of signed 64 bits, a date outside of the
    ///   range of milliseconds, an array of mixed types.
    init?(_ value: any CKRecordValueProtocol) {
        switch value {
        case let asset as CKAsset: self = .asset(asset)
        case let array as [any Sendable] where !(value is CKRecord.Reference): self.init(array: array)
        case let array as NSArray: self.init(array: Array(array))
        default:
            guard let value = LocalValue.scalar(value) else { return nil }
            self = .wire(value)
        }
    }

    private init?(array: [Any]) {
        let assets = array.compactMap { $0 as? CKAsset }
        if !assets.isEmpty {
            guard assets.count == array.count else { return nil }
            self = .assets(assets)
            return
        }
        var elements: [FieldValue] = []
        for element in array {
            guard let value = LocalValue.scalar(element) else { return nil }
            guard elements.first.map({ $0.type == value.type }) ?? true else { return nil }
            elements.append(value)
        }
        self = .wire(.list(elements, of: elements.first?.type))
    }

    private static func scalar(_ value: Any) -> FieldValue? {
        // A cast matches any Swift number with an NSNumber and vice versa, so the class decides.
        if type(of: value) is NSNumber.Type, let number = value as? NSNumber { return scalar(number) }
        switch value {
        case let text as String: return .string(text)
        case let text as NSString: return .string(text as String)
        case let flag as Bool: return .int64(flag ? 1 : 0)
        case let number as any BinaryInteger: return Int64(exactly: number).map { .int64($0) }
        case let number as Double: return .double(number)
        case let number as Float: return .double(Double(number))
        case let date as Date: return timestamp(date)
        case let date as NSDate: return timestamp(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate))
        case let data as Data: return .bytes(Array(data))
        case let data as NSData: return .bytes(Array(Data(referencing: data)))
        case let reference as CKRecord.Reference: return .reference(reference.wire)
        case let location as CLLocation: return .location(location.wire)
        default: return nil
        }
    }

    private static func scalar(_ number: NSNumber) -> FieldValue? {
        switch String(cString: number.objCType) {
        case "d", "f": .double(number.doubleValue)
        case "Q": Int64(exactly: number.uint64Value).map { .int64($0) }
        default: .int64(number.int64Value)
        }
    }

    private static func timestamp(_ date: Date) -> FieldValue? {
        Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()).map { .timestamp($0) }
    }

    // MARK: Conversion for the app

    /// The value for the app. Numbers are `NSNumber`, as on Apple's platforms, so that both `as? Int` and `as? Double`
    /// work.
    func appValue(in zoneID: CKRecordZone.ID, scope: CKDatabase.Scope) -> (any CKRecordValueProtocol)? {
        switch self {
        case .asset(let asset): return asset
        case .assets(let assets): return assets
        case .wire(.list(let elements, _)):
            return LocalValue.array(elements.compactMap { LocalValue.appScalar($0, zoneID, scope) })
        case .wire(let value): return LocalValue.appScalar(value, zoneID, scope)
        }
    }

    private static func appScalar(
        _ value: FieldValue, _ zoneID: CKRecordZone.ID, _ scope: CKDatabase.Scope
    ) -> (any CKRecordValueProtocol)? {
        switch value {
        case .string(let text): text
        case .int64(let number): NSNumber(value: number)
        case .double(let number): NSNumber(value: number)
        case .timestamp(let milliseconds): Date(timeIntervalSince1970: Double(milliseconds) / 1000)
        case .bytes(let bytes): Data(bytes)
        case .reference(let reference): CKRecord.Reference(reference, in: zoneID, scope: scope)
        case .asset(let asset): CKAsset(asset, fileURL: nil)
        case .location(let location): CLLocation(location)
        case .list: nil
        }
    }

    /// An array of the elements' own type, so that `as? [String]` works.
    private static func array(_ elements: [any CKRecordValueProtocol]) -> any CKRecordValueProtocol {
        switch elements.first {
        case is String: elements.compactMap { $0 as? String }
        case is NSNumber: elements.compactMap { $0 as? NSNumber }
        case is Date: elements.compactMap { $0 as? Date }
        case is Data: elements.compactMap { $0 as? Data }
        case is CKRecord.Reference: elements.compactMap { $0 as? CKRecord.Reference }
        case is CLLocation: elements.compactMap { $0 as? CLLocation }
        case is CKAsset: elements.compactMap { $0 as? CKAsset }
        default: [String]()
        }
    }
}

extension LocalValue {
    /// The value as the requested type. Numbers convert to any number type that can represent them.
    static func cast<Value: CKRecordValueProtocol>(_ value: any CKRecordValueProtocol, to type: Value.Type) -> Value? {
        if let value = value as? Value { return value }
        if let numbers = value as? [NSNumber] {
            guard let element = (type as? any NumberList.Type)?.element else { return nil }
            return element.list(numbers) as? Value
        }
        guard let number = value as? NSNumber else { return nil }
        return (type as? any NumberFromField.Type)?.init(field: number) as? Value
    }
}

/// A number type that a field's number converts to.
private protocol NumberFromField {
    init?(field: NSNumber)
}

extension NumberFromField {
    static func list(_ numbers: [NSNumber]) -> [Self]? {
        let values = numbers.compactMap { Self(field: $0) }
        return values.count == numbers.count ? values : nil
    }
}

private protocol NumberList {
    static var element: any NumberFromField.Type { get }
}

extension Array: NumberList where Element: NumberFromField {
    static var element: any NumberFromField.Type { Element.self }
}

extension FixedWidthInteger {
    fileprivate init?(integer number: NSNumber) { self.init(exactly: number.int64Value) }
}

extension Bool: NumberFromField { init?(field: NSNumber) { self = field.boolValue } }
extension Int: NumberFromField { init?(field: NSNumber) { self.init(integer: field) } }
extension Int8: NumberFromField { init?(field: NSNumber) { self.init(integer: field) } }
extension Int16: NumberFromField { init?(field: NSNumber) { self.init(integer: field) } }
extension Int32: NumberFromField { init?(field: NSNumber) { self.init(integer: field) } }
extension Int64: NumberFromField { init?(field: NSNumber) { self.init(integer: field) } }
extension UInt: NumberFromField { init?(field: NSNumber) { self.init(integer: field) } }
extension UInt8: NumberFromField { init?(field: NSNumber) { self.init(integer: field) } }
extension UInt16: NumberFromField { init?(field: NSNumber) { self.init(integer: field) } }
extension UInt32: NumberFromField { init?(field: NSNumber) { self.init(integer: field) } }
extension UInt64: NumberFromField { init?(field: NSNumber) { self.init(integer: field) } }
extension Double: NumberFromField { init?(field: NSNumber) { self = field.doubleValue } }
extension Float: NumberFromField { init?(field: NSNumber) { self = field.floatValue } }
