// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import ModelFile

extension SwiftWriter {
    func property(for attribute: Attribute) -> String { property(attribute.name, access(to: attribute)) }

    /// A read-only property with the result of a fetch.
    func property(for fetched: FetchedProperty) -> String {
        """
        public var \(SwiftName.escaped(fetched.name)): [\(className(of: fetched.request.entity))]? {
            _value(\(key(fetched.name)))
        }
        """
    }

    func property(for relationship: Relationship) -> String {
        let key = key(relationship.name)
        guard relationship.isToMany else {
            let type = className(of: relationship.destination)
            return property(
                relationship.name,
                Access(type: "\(type)?", get: "_object(\(key), as: \(type).self)", set: "_setObject(\(key), newValue)"))
        }
        return property(
            relationship.name,
            relationship.isOrdered
                ? Access("OrderedObjects", key, type: foundation("NSOrderedSet") + "?")
                : Access("Objects", key, type: foundation("NSSet") + "?"))
    }

    func key(_ property: String) -> String { "PropertyKeys.\(SwiftName.escaped(property))" }

    // MARK: Types

    private struct Access {
        let type: String
        let get: String
        let set: String

        init(type: String, get: String, set: String) {
            self.type = type
            self.get = get
            self.set = set
        }

        /// The pair of base-class functions for a kind, such as `Int16`.
        init(_ kind: String, _ key: String, type: String) {
            let lowercase =
                kind == "UUID" || kind == "URL" ? kind.lowercased() : kind.prefix(1).lowercased() + kind.dropFirst()
            self.init(type: type, get: "_\(lowercase)(\(key))", set: "_set\(kind)(\(key), newValue)")
        }
    }

    private func property(_ name: String, _ access: Access) -> String {
        """
        public var \(SwiftName.escaped(name)): \(access.type) {
            get { \(access.get) }
            set { \(access.set) }
        }
        """
    }

    private func access(to attribute: Attribute) -> Access {
        let key = key(attribute.name)
        switch attribute.type {
        case .integer16: return number("Int16", key, attribute)
        case .integer32: return number("Int32", key, attribute)
        case .integer64: return number("Int64", key, attribute)
        case .double: return number("Double", key, attribute)
        case .float: return number("Float", key, attribute)
        case .boolean: return number("Bool", key, attribute)
        case .decimal: return Access("Decimal", key, type: foundation("NSDecimalNumber") + "?")
        case .string: return Access("String", key, type: standard("String") + "?")
        case .date: return date(key, attribute)
        case .binaryData: return Access("Data", key, type: foundation("Data") + "?")
        case .uuid: return Access("UUID", key, type: foundation("UUID") + "?")
        case .uri: return Access("URL", key, type: foundation("URL") + "?")
        case .transformable:
            let type = attribute.valueClassName ?? foundation("NSObject")
            return Access(
                type: "\(type)?", get: "_transformable(\(key), as: \(type).self)",
                set: "_setTransformable(\(key), newValue)")
        case .composite: return Access("Value", key, type: "[\(standard("String")): Any]?")
        case .undefined: return Access("Value", key, type: foundation("NSObject") + "?")
        case .objectID: return Access("Value", key, type: library("NSManagedObjectID") + "?")
        }
    }

    private func number(_ type: String, _ key: String, _ attribute: Attribute) -> Access {
        attribute.usesScalarValueType
            ? Access(type, key, type: standard(type)) : Access("Number", key, type: foundation("NSNumber") + "?")
    }

    /// A scalar date counts seconds since 2001, as in Xcode's classes; nil reads as 0.
    private func date(_ key: String, _ attribute: Attribute) -> Access {
        guard attribute.usesScalarValueType else { return Access("Date", key, type: foundation("Date") + "?") }
        return Access(
            type: foundation("TimeInterval"), get: "_date(\(key))?.timeIntervalSinceReferenceDate ?? 0",
            set: "_setDate(\(key), \(foundation("Date"))(timeIntervalSinceReferenceDate: newValue))")
    }

    // MARK: Names

    func foundation(_ type: String) -> String { qualified(type, module: "Foundation") }
    func library(_ type: String) -> String { qualified(type, module: "CoreData") }
    func standard(_ type: String) -> String { qualified(type, module: "Swift") }

    /// The type's name alone, unless a class of the model has the same.
    private func qualified(_ type: String, module: String) -> String {
        model.entities.contains { $0.className == type && type != "NSManagedObject" } ? "\(module).\(type)" : type
    }

    /// The text as a Swift string literal.
    func literal(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: "\\u{\(String(scalar.value, radix: 16))}"
            default: String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }
}

extension String {
    /// Four spaces in front of each line that is not empty.
    func indented() -> String {
        split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? "" : "    \($0)" }.joined(
            separator: "\n")
    }

    func trimmingSuffix(_ suffix: Character) -> String {
        var result = self
        while result.last == suffix { result.removeLast() }
        return result
    }
}
