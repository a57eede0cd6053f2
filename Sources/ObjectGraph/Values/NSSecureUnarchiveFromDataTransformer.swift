// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Archives values of a few classes with secure coding. Subclasses list the classes.
///
/// Source: developer.apple.com/documentation/foundation/nssecureunarchivefromdatatransformer
open class NSSecureUnarchiveFromDataTransformer: ValueTransformer {
    /// The classes allowed for the outermost value and the values inside it.
    open class var allowedTopLevelClasses: [AnyClass] {
        [
            NSArray.self, NSDictionary.self, NSSet.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, NSURL.self,
            NSUUID.self, NSNull.self,
        ]
    }

    open override class func transformedValueClass() -> AnyClass { NSObject.self }
    open override class func allowsReverseTransformation() -> Bool { true }

    /// - Returns: The archived value; nil for other data, or a class that isn't allowed.
    open override func transformedValue(_ value: Any?) -> Any? {
        guard let data = (value as? Data) ?? (value as? NSData).map({ $0 as Data }) else { return nil }
        return Self.value(from: data, allowing: Self.allowedTopLevelClasses)
    }

    /// - Returns: The archive; nil for a value that cannot be archived, or a class that isn't allowed.
    open override func reverseTransformedValue(_ value: Any?) -> Any? {
        value.flatMap { Self.archive($0, allowing: Self.allowedTopLevelClasses) }
    }

    static func value(from data: Data, allowing classes: [AnyClass]) -> Any? {
        SecureArchive.object(from: data, allowing: classes)
    }

    static func archive(_ value: Any, allowing classes: [AnyClass]) -> Data? {
        guard isAllowed(value, classes) else { return nil }
        return try? NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
    }

    // Foundation ends the process for an object that cannot be archived securely, so nested values are checked first.
    private static func isAllowed(_ value: Any, _ classes: [AnyClass]) -> Bool {
        switch value {
        case let array as [Any]: return array.allSatisfy { isAllowed($0, classes) }
        case let dictionary as [AnyHashable: Any]:
            return dictionary.allSatisfy { isAllowed($0.key.base, classes) && isAllowed($0.value, classes) }
        case let set as Set<AnyHashable>: return set.allSatisfy { isAllowed($0.base, classes) }
        case is String, is Bool, is any BinaryInteger, is any BinaryFloatingPoint, is Date, is Data, is URL, is UUID, is Decimal:
            return true
        case let object as NSObject where object is any NSSecureCoding:
            return classes.contains { object.isKind(of: $0) }
        default: return false
        }
    }
}
