// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The source of a derived attribute, parsed from its expression.
///
/// Source: developer.apple.com/documentation/coredata/nsderivedattributedescription
enum Derivation: Equatable {
    case now
    /// A value of the row itself or, across a to-one relationship, of another row; optionally through a text function.
    case copy(path: [String], function: String?)
    /// `@count` or another operator over a to-many relationship; without attribute for counts.
    case aggregate(relationship: String, operation: String, attribute: String?)

    /// - Returns: nil for an expression that a store cannot compute.
    init?(_ text: String) {
        let text = text.filter { !$0.isWhitespace }
        if text == "now()" {
            self = .now
        } else if text.hasSuffix(")"), let colon = text.firstIndex(of: ":"), text[text.index(after: colon)] == "(" {
            let name = String(text[..<colon])
            let argument = String(text[text.index(colon, offsetBy: 2)...].dropLast())
            switch name {
            case "canonical", "lowercase", "uppercase": self.init(copy: argument, function: name)
            case "count", "sum", "average", "min", "max":
                let operation = "@" + (name == "average" ? "avg" : name)
                self.init(aggregate: argument.split(separator: ".").map(String.init), operation)
            default: return nil
            }
        } else if text.contains("@") {
            let keys = text.split(separator: ".").map(String.init)
            guard let operation = keys.first(where: { $0.hasPrefix("@") }), keys.filter({ $0.hasPrefix("@") }).count == 1 else {
                return nil
            }
            self.init(aggregate: keys.filter { $0 != operation }, operation)
        } else {
            self.init(copy: text, function: nil)
        }
    }

    private init?(copy path: String, function: String?) {
        let keys = path.split(separator: ".").map(String.init)
        guard (1...2).contains(keys.count), keys.allSatisfy({ $0.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } }) else {
            return nil
        }
        self = .copy(path: keys, function: function)
    }

    private init?(aggregate keys: [String], _ operation: String) {
        guard ["@count", "@sum", "@avg", "@min", "@max"].contains(operation), keys.count == (operation == "@count" ? 1 : 2) else {
            return nil
        }
        self = .aggregate(relationship: keys[0], operation: operation, attribute: keys.count == 2 ? keys[1] : nil)
    }
}
