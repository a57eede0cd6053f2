// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

extension PredicateValue {
    /// The value of an argument, of an evaluated object, or of a result of key-value coding.
    ///
    /// Numbers, text, dates, data, UUIDs, URLs and collections become values; any other object stays an object.
    package init(_ value: Any?) {
        guard let value else {
            self = .null
            return
        }
        // On Linux a cast also bridges, so any number would pass for a Boolean; classes are handled separately.
        if type(of: value) is AnyClass {
            self = Self.ofObject(value as AnyObject)
        } else if let optional = value as? any OptionalValue {
            self = PredicateValue(optional.wrapped)
        } else {
            self = Self.ofValue(value)
        }
    }

    /// The value of a constant in a predicate, which distinguishes `NSNull` from nil.
    package init(constant value: Any?) {
        self = value is NSNull ? .nullObject : PredicateValue(value)
    }

    /// One shared object: instances of `NSNull` are not identical on Linux.
    static let nullObject = PredicateValue.object(PredicateObject(NSNull()))

    private static func ofValue(_ value: Any) -> PredicateValue {
        switch value {
        case let value as PredicateValue: return value
        case let value as String: return .string(value)
        case let value as Substring: return .string(String(value))
        case let value as Bool: return .bool(value)
        case let value as any FixedWidthInteger: return Int64(exactly: value).map { .int($0) } ?? .double(Double(value))
        case let value as Double: return .double(value)
        case let value as Float: return .double(Double(value))
        case let value as Decimal: return .decimal(value)
        case let value as Date: return .date(value.timeIntervalSinceReferenceDate)
        case let value as Data: return .data(value)
        case let value as UUID: return .uuid(value)
        case let value as URL: return .url(value.absoluteString)
        case let value as [Any]: return list(of: value)
        case let value as [AnyHashable: Any]: return .object(PredicateObject(DictionarySubject(value)))
        case let value as any Collection: return .list(value.map { PredicateValue($0) })
        case let value as any RawRepresentable: return PredicateValue(value.rawValue)
        default: return .object(PredicateObject(value as AnyObject))
        }
    }

    private static func ofObject(_ object: AnyObject) -> PredicateValue {
        switch object {
        case is NSNull: .null
        case let object as any PredicateSubject & AnyObject: .object(PredicateObject(object))
        case let object as NSDecimalNumber: .decimal(object.decimalValue)
        case let object as NSNumber: ofNumber(object)
        case let object as NSString: .string(object as String)
        case let object as NSDate: .date(object.timeIntervalSinceReferenceDate)
        case let object as NSData: .data(Data(referencing: object))
        case let object as NSUUID: UUID(uuidString: object.uuidString).map { .uuid($0) } ?? .null
        case let object as NSURL: .url(object.absoluteString)
        case let object as NSArray: list(of: object)
        case let object as NSSet: list(of: object)
        case let object as NSOrderedSet: .list(object.map { PredicateValue($0) })
        case let object as NSDictionary: .object(PredicateObject(DictionarySubject(object)))
        default: .object(PredicateObject(object))
        }
    }

    /// Lists of managed objects and their IDs are long, and of few classes: a class is tested once.
    private static func list(of elements: some Sequence<Any>) -> PredicateValue {
        var objectType: ObjectIdentifier?
        var values: [PredicateValue] = []
        values.reserveCapacity(elements.underestimatedCount)
        for element in elements {
            let type = ObjectIdentifier(type(of: element))
            if type == objectType, let object = element as? NSObject {
                values.append(.object(PredicateObject(object)))
                continue
            }
            let value = PredicateValue(element)
            // An object that stays an object, for the sake of its class alone: others of the class do, too.
            if case .object(let object) = value, ObjectIdentifier(Swift.type(of: object.reference)) == type { objectType = type }
            values.append(value)
        }
        return .list(values)
    }

    private static func ofNumber(_ number: NSNumber) -> PredicateValue {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "f"), UInt8(ascii: "d"): .double(number.doubleValue)
        default: .int(number.int64Value)
        }
    }
}

/// A dictionary as the evaluated object: its text keys are the keys of a key path.
final class DictionarySubject: PredicateSubject {
    private var values: [String: Any] = [:]
    /// The dictionary, of any Swift or Foundation type.
    let dictionary: Any

    init(_ dictionary: [AnyHashable: Any]) {
        self.dictionary = dictionary
        for (key, value) in dictionary { if case .string(let key) = PredicateValue(key.base) { values[key] = value } }
    }

    init(_ dictionary: NSDictionary) {
        self.dictionary = dictionary
        for (key, value) in dictionary { if case .string(let key) = PredicateValue(key) { values[key] = value } }
    }

    func predicateValue(forKey key: String) -> PredicateValue {
        PredicateValue(values[key])
    }

    var asObject: NSDictionary? {
        dictionary as? NSDictionary ?? (dictionary as? [AnyHashable: Any]).map { NSDictionary(dictionary: $0) }
    }

    var members: [PredicateValue] { values.values.map { PredicateValue($0) } }
}

extension PredicateValue {
    /// The value in an app's types: numbers as `NSNumber`, which casts to every numeric type; nil for null.
    package var foundationValue: Any? {
        switch self {
        case .null: nil
        case .bool(let value): NSNumber(value: value)
        case .int(let value): NSNumber(value: value)
        case .double(let value): NSNumber(value: value)
        case .decimal(let value): NSDecimalNumber(decimal: value)
        case .string(let value): value
        case .date(let value): Date(timeIntervalSinceReferenceDate: value)
        case .data(let value): value
        case .uuid(let value): value
        case .url(let value): URL(string: value)
        case .object(let object): (object.reference as? DictionarySubject)?.dictionary ?? object.reference
        case .list(let members): members.map { $0.foundationValue ?? NSNull() }
        }
    }
}

extension FormatArgument {
    /// An argument of a format: predicates become conditions, expressions stay, other values become constants.
    package init(_ value: Any?) {
        switch value {
        case let predicate as NSPredicate: self = .predicate(predicate.tree)
        case let expression as NSExpression: self = .expression(expression.tree)
        default: self = .value(PredicateValue(constant: value))
        }
    }
}

/// An optional inside an `Any`.
private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var wrapped: Any? { map { $0 as Any } }
}
