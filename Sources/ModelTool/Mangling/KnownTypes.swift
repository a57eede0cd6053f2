// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Types of the standard library, of Foundation and of Core Data, which are not declared in the sources at hand.
enum KnownTypes {
    static func type(named names: [String], _ arguments: [MangledType]) -> MangledType? {
        guard names.count == 1, let name = names.first else { return nil }
        switch name {
        case "Any": return .any
        case "AnyObject": return .anyObject
        case "Void": return .void
        case "Optional": return arguments.count == 1 ? .optional(arguments[0]) : nil
        case "TimeInterval": return nominal("Swift", "Double", .struct)
        default: break
        }
        if standard.contains(name) {
            let path = [MangledType.Segment(name, .struct)]
            return arguments.isEmpty ? .nominal(module: "Swift", path) : .generic(module: "Swift", path, arguments: arguments)
        }
        if let type = foundation[name] { return nominal(type) }
        if foundationProtocols.contains(name) { return .existential(module: "Foundation", name: name) }
        if coreData.contains(name) { return nominal(coreDataModule, name, .class) }
        return nil
    }

    /// The module in which the classes of Core Data are declared; `CoreData` hands them on.
    static let coreDataModule = "ObjectGraph"

    private static let coreData: Set = [
        "NSManagedObject", "NSManagedObjectID", "NSManagedObjectContext", "NSManagedObjectModel", "NSEntityDescription",
        "NSPersistentStore", "NSPersistentStoreCoordinator",
    ]

    private static let standard: Set = [
        "String", "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "Double", "Float", "Bool",
        "Character", "Array", "Set", "Dictionary", "ContiguousArray", "Range", "ClosedRange", "Substring",
    ]

    private static let foundationProtocols: Set = ["NSCoding", "NSSecureCoding", "NSCopying", "NSMutableCopying", "NSObjectProtocol"]

    /// Where Foundation declares a type differs between its versions: this tool runs on the one that the program will use.
    private static let foundation: [String: Any.Type] = [
        "Date": Date.self, "Data": Data.self, "URL": URL.self, "UUID": UUID.self, "Decimal": Decimal.self, "IndexSet": IndexSet.self,
        "IndexPath": IndexPath.self, "Locale": Locale.self, "TimeZone": TimeZone.self, "Calendar": Calendar.self,
        "DateComponents": DateComponents.self, "DateInterval": DateInterval.self, "AttributedString": AttributedString.self,
        "URLComponents": URLComponents.self, "CGFloat": CGFloat.self, "CGPoint": CGPoint.self,
        "CGSize": CGSize.self, "CGRect": CGRect.self, "NSSet": NSSet.self, "NSMutableSet": NSMutableSet.self,
        "NSOrderedSet": NSOrderedSet.self, "NSMutableOrderedSet": NSMutableOrderedSet.self, "NSArray": NSArray.self,
        "NSMutableArray": NSMutableArray.self, "NSDictionary": NSDictionary.self, "NSMutableDictionary": NSMutableDictionary.self,
        "NSNumber": NSNumber.self, "NSDecimalNumber": NSDecimalNumber.self, "NSString": NSString.self,
        "NSMutableString": NSMutableString.self, "NSData": NSData.self, "NSMutableData": NSMutableData.self, "NSDate": NSDate.self,
        "NSURL": NSURL.self, "NSUUID": NSUUID.self, "NSObject": NSObject.self, "NSAttributedString": NSAttributedString.self,
        "NSMutableAttributedString": NSMutableAttributedString.self, "NSIndexSet": NSIndexSet.self,
        "NSMutableIndexSet": NSMutableIndexSet.self, "NSIndexPath": NSIndexPath.self, "NSError": NSError.self, "NSValue": NSValue.self,
        "NSCountedSet": NSCountedSet.self, "NSNull": NSNull.self, "NSPredicate": NSPredicate.self,
        "NSSortDescriptor": NSSortDescriptor.self, "NSTimeZone": NSTimeZone.self,
        "NSLocale": NSLocale.self, "NSCalendar": NSCalendar.self, "NSDateComponents": NSDateComponents.self,
        "NSRange": NSRange.self, "NSDateInterval": NSDateInterval.self, "NSRegularExpression": NSRegularExpression.self,
        "PersonNameComponents": PersonNameComponents.self, "NSPersonNameComponents": NSPersonNameComponents.self,
        "NSMeasurement": NSMeasurement.self, "Unit": Unit.self, "Progress": Progress.self,
        "Bundle": Bundle.self, "Operation": Operation.self, "OperationQueue": OperationQueue.self, "Timer": Timer.self,
    ]

    private static func nominal(_ module: String, _ name: String, _ kind: MangledType.Kind) -> MangledType {
        .nominal(module: module, [MangledType.Segment(name, kind)])
    }

    /// Takes a type's mangled name apart: the module's length and name, the type's length and name, its kind.
    private static func nominal(_ type: Any.Type) -> MangledType? {
        guard let mangled = _mangledTypeName(type) else { return nil }
        var rest = Substring(mangled)
        var parts: [String] = []
        while let first = rest.first, first.isNumber {
            let digits = rest.prefix { $0.isNumber }
            rest = rest.dropFirst(digits.count)
            guard let length = Int(digits) else { return nil }
            parts.append(String(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        guard parts.count == 2, let kind = MangledType.Kind(rawValue: String(rest)) else { return nil }
        return nominal(parts[0], parts[1], kind)
    }
}
