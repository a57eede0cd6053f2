// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

extension Predicate {
    /// The predicate as a format string that parses to the same predicate, except for objects.
    package var formatDescription: String {
        switch self {
        case .value(let value): return value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .not(let predicate):
            switch predicate {
            case .and, .or: return "NOT (\(predicate.formatDescription))"
            default: return "NOT \(predicate.formatDescription)"
            }
        case .and(let predicates): return Self.joined(predicates, " AND ", empty: "TRUEPREDICATE")
        case .or(let predicates): return Self.joined(predicates, " OR ", empty: "FALSEPREDICATE")
        case .comparison(let comparison): return comparison.formatDescription
        case .block: return "BLOCKPREDICATE"
        }
    }

    private static func joined(_ predicates: [Predicate], _ word: String, empty: String) -> String {
        if predicates.isEmpty { return empty }
        return predicates.map { predicate in
            switch predicate {
            case .and, .or: "(\(predicate.formatDescription))"
            default: predicate.formatDescription
            }
        }.joined(separator: word)
    }
}

extension Comparison {
    var formatDescription: String {
        let prefix =
            switch modifier {
            case .direct: ""
            case .all: "ALL "
            case .any: "ANY "
            }
        return
            "\(prefix)\(left.formatDescription) \(`operator`.word)\(options.formatDescription) \(right.formatDescription)"
    }
}

extension Comparison.Operator {
    var word: String {
        switch self {
        case .lessThan: "<"
        case .lessThanOrEqualTo: "<="
        case .greaterThan: ">"
        case .greaterThanOrEqualTo: ">="
        case .equalTo: "=="
        case .notEqualTo: "!="
        case .matches: "MATCHES"
        case .like: "LIKE"
        case .beginsWith: "BEGINSWITH"
        case .endsWith: "ENDSWITH"
        case .in: "IN"
        case .contains: "CONTAINS"
        case .between: "BETWEEN"
        }
    }
}

extension Comparison.Options {
    static let letters: [(Comparison.Options, Character)] = [
        (.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n"), (.localeSensitive, "l"),
    ]

    var formatDescription: String {
        let letters = Self.letters.filter { contains($0.0) }.map(\.1)
        return letters.isEmpty ? "" : "[\(String(letters))]"
    }
}

extension Expression {
    package var formatDescription: String {
        switch self {
        case .constant(let value): return value.formatDescription
        case .selfObject: return "SELF"
        case .variable(let name): return "$\(name)"
        case .keyPath(let keys): return Self.path(keys, first: true)
        case .path(let base, let keys):
            return "\(Self.closed(base)).\(Self.path(keys, first: false))"
        case .aggregate(let members): return "{\(members.map(\.formatDescription).joined(separator: ", "))}"
        case .subquery(let collection, let variable, let predicate):
            return "SUBQUERY(\(collection.formatDescription), $\(variable), \(predicate.formatDescription))"
        case .conditional(let predicate, let first, let second):
            return
                "TERNARY(\(predicate.formatDescription), \(first.formatDescription), \(second.formatDescription))"
        case .function(let name, let arguments):
            if name == "castObject:toType:" { return "CAST(\(Self.list(arguments)))" }
            if let sign = Self.infix[name], arguments.count == 2 {
                return "\(Self.closed(arguments[0])) \(sign) \(Self.closed(arguments[1]))"
            }
            return "\(name)(\(Self.list(arguments)))"
        case .combination(let operation, let first, let second):
            return "\(Self.closed(first)) \(operation.rawValue) \(Self.closed(second))"
        case .message(let target, let name, let arguments):
            return "FUNCTION(\(Self.list([target, .constant(.string(name))] + arguments)))"
        case .anyKey: return "ANYKEY"
        case .block(_, let arguments): return "BLOCK(\(Self.list(arguments)))"
        }
    }

    static let infix = [
        "add:to:": "+", "from:subtract:": "-", "multiply:by:": "*", "divide:by:": "/", "raise:toPower:": "**",
        "bitwiseAnd:with:": "&", "bitwiseOr:with:": "|", "bitwiseXor:with:": "^", "leftshift:by:": "<<", "rightshift:by:": ">>",
    ]

    private static func list(_ arguments: [Expression]) -> String {
        arguments.map(\.formatDescription).joined(separator: ", ")
    }

    private static func closed(_ expression: Expression) -> String {
        switch expression {
        case .function(let name, _) where infix[name] != nil: return "(\(expression.formatDescription))"
        case .combination: return "(\(expression.formatDescription))"
        default: return expression.formatDescription
        }
    }

    /// Reserved words must be escaped only at the start of a path.
    private static func path(_ keys: [String], first: Bool) -> String {
        let start = keys.first.map { first && PredicateWords.reserved.contains($0.uppercased()) ? "#\($0)" : $0 }
        return ([start].compactMap { $0 } + keys.dropFirst()).joined(separator: ".")
    }
}

extension PredicateValue {
    var formatDescription: String {
        switch self {
        case .null: "nil"
        case .bool(let value): value ? "1" : "0"
        case .int(let value): String(value)
        case .double(let value): value.isFinite ? "\(value)" : "CAST(\"\(value)\", \"NSNumber\")"
        case .decimal(let value): "CAST(\"\(value)\", \"NSDecimalNumber\")"
        case .string(let value): Self.quoted(value)
        case .date(let value): "CAST(\(PredicateValue.double(value).formatDescription), \"NSDate\")"
        case .data(let value): "CAST(\"\(value.base64EncodedString())\", \"NSData\")"
        case .uuid(let value): "CAST(\"\(value.uuidString)\", \"NSUUID\")"
        case .url(let value): "CAST(\(Self.quoted(value)), \"NSURL\")"
        case .object(let object): object.reference is NSNull ? "<null>" : "<\(type(of: object.reference))>"
        case .list(let members): "{\(members.map(\.formatDescription).joined(separator: ", "))}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20:
                let hex = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
