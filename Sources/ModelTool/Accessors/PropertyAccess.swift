// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// How the bodies of one property's accessors are written: calls into `NSManagedObject`, one function per type.
struct PropertyAccess {
    /// An expression over the key.
    let get: String
    /// A statement over the key and `value`.
    let set: String

    /// - Parameters:
    ///   - type: The property's type.
    ///   - text: The type as the generated source spells it.
    ///   - isInterval: Whether the source calls the type a time interval: the property of a date may be one.
    ///   - key: The name of the property's key in the generated file.
    init(_ type: MangledType, text: String, isInterval: Bool, key: String) {
        guard case .optional(let wrapped) = type else {
            self = Self.scalar(type, isInterval, key) ?? Self.required(type, text, key)
            return
        }
        let written = Self.withoutOptional(text)
        let access = Self.optional(wrapped, written, key)
        self = PropertyAccess(get: access.get, set: access.set)
    }

    private init(get: String, set: String) {
        self.get = get
        self.set = set
    }

    /// The primitive value of the property, named after `primitive`.
    static func primitive(_ type: MangledType, key: String) -> PropertyAccess {
        if case .optional = type { return PropertyAccess(get: "_primitive(\(key))", set: "_setPrimitive(\(key), value)") }
        return PropertyAccess(
            get: present("_primitive(\(key))", type, key), set: "_setPrimitive(\(key), value)")
    }

    private static func scalar(_ type: MangledType, _ isInterval: Bool, _ key: String) -> PropertyAccess? {
        guard let name = name(type, in: "Swift") else { return nil }
        switch name {
        case "Int": return PropertyAccess(get: "Int(_int64(\(key)))", set: "_setInt64(\(key), Int64(value))")
        case "Int16", "Int32", "Int64", "Bool", "Float":
            return PropertyAccess(get: "_\(name.lowercased())(\(key))", set: "_set\(name)(\(key), value)")
        case "Double" where !isInterval:
            return PropertyAccess(get: "_double(\(key))", set: "_setDouble(\(key), value)")
        default: return nil
        }
    }

    private static func required(_ type: MangledType, _ text: String, _ key: String) -> PropertyAccess {
        let access = optional(type, text, key)
        return PropertyAccess(get: present(access.get, type, key), set: access.set)
    }

    /// Texts, data and collections are empty without a value; other types that are not optional must have one.
    ///
    /// Source: how Apple's frameworks bridge nil to these types.
    private static func present(_ value: String, _ type: MangledType, _ key: String) -> String {
        let standIn = standIn(for: type)
        if let standIn, ["\"\"", "[]", "[:]", "Data()", "0", "false"].contains(standIn) { return "\(value) ?? \(standIn)" }
        return "_present(\(value), \(key)\(standIn.map { ", or: \($0)" } ?? ""))"
    }

    private static func optional(_ type: MangledType, _ text: String, _ key: String) -> PropertyAccess {
        if let function = functions.first(where: { name(type, in: $0.module) == $0.type })?.function {
            let lowercase =
                function == "UUID" || function == "URL" ? function.lowercased() : function.prefix(1).lowercased() + function.dropFirst()
            return PropertyAccess(get: "_\(lowercase)(\(key))", set: "_set\(function)(\(key), value)")
        }
        switch type {
        case .generic("Swift", let path, let arguments) where path.last?.name == "Set" && arguments.count == 1:
            return PropertyAccess(
                get: "_objectSet(\(key), of: \(element(of: text)).self)", set: "_setValue(\(key), value)")
        case .nominal(let module, let path) where path.last?.kind == .class && !module.hasPrefix("Foundation"):
            return PropertyAccess(get: "_object(\(key), as: \(text).self)", set: "_setObject(\(key), value)")
        default:
            return PropertyAccess(get: "_value(\(key))", set: "_setValue(\(key), value)")
        }
    }

    private static let functions: [(module: String, type: String, function: String)] = [
        ("Swift", "String", "String"), ("Foundation", "Date", "Date"), ("Foundation", "Data", "Data"), ("Foundation", "UUID", "UUID"),
        ("Foundation", "URL", "URL"), ("Foundation", "NSNumber", "Number"), ("Foundation", "NSDecimalNumber", "Decimal"),
        ("Foundation", "NSSet", "Objects"),
    ]

    private static func standIn(for type: MangledType) -> String? {
        switch type {
        case .nominal:
            if let name = name(type, in: "Swift") {
                return switch name {
                case "String": "\"\""
                case "Bool": "false"
                default: "0"
                }
            }
            return switch name(type, in: "Foundation") {
            case "Date": "Date(timeIntervalSinceReferenceDate: 0)"
            case "Data": "Data()"
            case "UUID": "UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))"
            case "URL": "URL(fileURLWithPath: \"/\")"
            case "Decimal": "Decimal()"
            case "NSNumber": "NSNumber(value: 0)"
            case "NSDecimalNumber": "NSDecimalNumber.zero"
            case "NSSet": "NSSet()"
            case "NSOrderedSet": "NSOrderedSet()"
            default: nil
            }
        case .generic("Swift", let path, _):
            return switch path.last?.name {
            case "Array", "Set": "[]"
            case "Dictionary": "[:]"
            default: nil
            }
        case .optional, .generic, .tuple, .existential, .any, .anyObject, .void: return nil
        }
    }

    /// The name of a type on the first level of a module; Foundation may keep it in a module of its own.
    private static func name(_ type: MangledType, in module: String) -> String? {
        guard case .nominal(let owner, let path) = type, path.count == 1 else { return nil }
        return owner == module || (module == "Foundation" && owner.hasPrefix("Foundation")) ? path[0].name : nil
    }

    // MARK: Text

    private static func withoutOptional(_ text: String) -> String { text.hasSuffix("?") ? String(text.dropLast()) : text }

    /// `Tag` of `Set<Tag>`.
    private static func element(of text: String) -> String {
        guard let start = text.firstIndex(of: "<") else { preconditionFailure("a set names the type of its elements") }
        return String(text[text.index(after: start)...].dropLast())
    }
}
