// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import ModelFile

/// Whether a Swift type can hold the values of a model's property.
enum PropertyFit {
    enum Property {
        case attribute(Attribute)
        case relationship(Relationship)
        case fetched(FetchedProperty)

        var isToMany: Bool { if case .relationship(let relationship) = self { relationship.isToMany } else { false } }
    }

    /// - Returns: Why no value of the property can ever be of the type, as a sentence's end; nil when one can, or when that
    ///   depends on types declared elsewhere, such as wrappers.
    static func obstacle(_ type: MangledType, _ property: Property) -> String? {
        if case .optional(let wrapped) = type { return obstacle(wrapped, property) }
        guard let name = knownName(of: type), !holdsAnything.contains(name) else { return nil }
        switch property {
        case .attribute(let attribute):
            guard let fitting = fitting(attribute.type), !fitting.contains(name) else { return nil }
            return "the model's attribute is of type \(attribute.type.modelText)"
        case .relationship(let relationship):
            if !relationship.isToMany {
                return name == "NSManagedObject" ? nil : "the model's relationship leads to one \(relationship.destination)"
            }
            let fitting: Set = relationship.isOrdered ? ["NSOrderedSet", "NSMutableOrderedSet"] : ["NSSet", "NSMutableSet", "Set"]
            return fitting.contains(name)
                ? nil : "the model's relationship is \(relationship.isOrdered ? "ordered, an NSOrderedSet" : "to-many, an NSSet")"
        case .fetched:
            return ["Array", "NSArray"].contains(name) ? nil : "the model's property is fetched, an array"
        }
    }

    /// The name of a type of the standard library, Foundation or Core Data.
    private static func knownName(of type: MangledType) -> String? {
        switch type {
        case .nominal(let module, let path), .generic(let module, let path, _):
            let isKnown = module == "Swift" || module.hasPrefix("Foundation") || module == KnownTypes.coreDataModule
            return isKnown && path.count == 1 ? path[0].name : nil
        case .optional, .tuple, .existential, .any, .anyObject, .void: return nil
        }
    }

    private static let holdsAnything: Set = ["NSObject"]

    private static let numbers: Set = [
        "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "Double", "Float", "CGFloat", "Bool",
        "NSNumber", "NSDecimalNumber", "Decimal", "NSValue",
    ]

    /// nil where any type may be right.
    private static func fitting(_ type: AttributeType) -> Set<String>? {
        switch type {
        case .integer16, .integer32, .integer64, .double, .float, .boolean, .decimal: numbers
        case .string: ["String", "NSString", "NSMutableString", "Substring"]
        // A scalar date counts seconds.
        case .date: ["Date", "NSDate", "Double"]
        case .binaryData: ["Data", "NSData", "NSMutableData"]
        case .uuid: ["UUID", "NSUUID"]
        case .uri: ["URL", "NSURL"]
        case .objectID: ["NSManagedObjectID"]
        case .composite: ["Dictionary", "NSDictionary", "NSMutableDictionary"]
        case .undefined, .transformable: nil
        }
    }
}
