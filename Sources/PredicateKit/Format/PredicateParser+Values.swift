// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension PredicateParser {
    mutating func value() throws(PredicateFailure) -> Expression {
        let column = token.column
        let node = try operand()
        return try asExpression(node, column)
    }

    /// Parses either side of a comparison: set operators bind weakest.
    mutating func operand() throws(PredicateFailure) -> Node {
        let column = token.column
        var left = try arithmetic()
        var length = 0
        while let word = keyword, let operation = SetOperation(rawValue: word) {
            length += 1
            guard length <= Self.nestingMax else {
                throw failure("more than \(Self.nestingMax) operators in a row", token.column)
            }
            let first = try asExpression(left, column)
            try advance()
            let column = token.column
            let right = try arithmetic()
            left = .expression(.combination(operation, first, try asExpression(right, column)))
        }
        return left
    }

    // MARK: Arithmetic

    /// Operators between two values, by sign. All of them group from the left.
    ///
    /// Differs: Apple's grammar doesn't define the precedence of the bitwise operators; here they bind as in C, all of
    /// them tighter than comparisons.
    private static let infixOperators: [String: (name: String, precedence: Int)] = [
        "|": ("bitwiseOr:with:", 0), "^": ("bitwiseXor:with:", 1), "&": ("bitwiseAnd:with:", 2),
        "<<": ("leftshift:by:", 3), ">>": ("rightshift:by:", 3), "+": ("add:to:", 4), "-": ("from:subtract:", 4),
        "*": ("multiply:by:", 5), "/": ("divide:by:", 5), "**": ("raise:toPower:", 6),
    ]

    /// Parses a value, and operators of at least a minimum precedence.
    private mutating func arithmetic(_ minimum: Int = 0) throws(PredicateFailure) -> Node {
        let column = token.column
        var left = try postfix()
        var length = 0
        while case .sign(let sign) = token.kind, let (name, precedence) = Self.infixOperators[sign], precedence >= minimum {
            // A chain becomes a tree as deep as it is long.
            length += 1
            guard length <= Self.nestingMax else {
                throw failure("more than \(Self.nestingMax) operators in a row", token.column)
            }
            let first = try asExpression(left, column)
            try advance()
            let column = token.column
            let operand = try arithmetic(precedence + 1)
            left = .expression(.function(name, [first, try asExpression(operand, column)]))
        }
        return left
    }

    // MARK: Paths

    private mutating func postfix() throws(PredicateFailure) -> Node {
        let column = token.column
        var node = try nested { (parser) throws(PredicateFailure) in try parser.primary() }
        while true {
            if try accept(".") {
                node = .expression(try asExpression(node, column).appending(try keys()))
            } else if isSign("["), case .expression(let base) = node {
                try advance()
                node = .expression(try index(of: base))
            } else {
                return node
            }
        }
    }

    private mutating func keys() throws(PredicateFailure) -> [String] {
        let keys: [String]
        switch token.kind {
        case .word(let word, _): keys = [word]
        case .collection(let name): keys = [name]
        case .placeholder("K"): keys = try keyArgument()
        default: throw failure("expected a key after the dot")
        }
        try advance()
        return keys
    }

    private mutating func index(of base: Expression) throws(PredicateFailure) -> Expression {
        let position: Expression
        if let word = keyword, ["FIRST", "LAST", "SIZE"].contains(word) {
            try advance()
            position = .constant(.string(word))
        } else {
            position = try value()
        }
        try expect("]", "after the index")
        if position == .constant(.string("SIZE")) { return base.appending(["@count"]) }
        return .function("objectFrom:withIndex:", [base, position])
    }

    private mutating func keyArgument() throws(PredicateFailure) -> [String] {
        let column = token.column
        guard case .value(.string(let path)) = try argument(), !path.isEmpty else {
            throw PredicateFailure(
                .argument, "%K needs a key path as text, argument \(argumentNumber) isn't one", column: column)
        }
        return Expression.keys(path)
    }

    // MARK: Primaries

    private mutating func primary() throws(PredicateFailure) -> Node {
        let start = token
        switch token.kind {
        case .string(let text): return try literal(.string(text))
        case .int(let value): return try literal(.int(value))
        case .double(let value): return try literal(.double(value))
        case .variable(let name):
            try advance()
            return .expression(.variable(name))
        case .collection(let name):
            try advance()
            return .expression(.keyPath([name]))
        case .selector(let name):
            try advance()
            return .expression(try function(name, start.column))
        case .placeholder(let letter): return try placeholder(letter)
        case .word(let word, let isKey): return try self.word(word, isKey, start.column)
        case .sign("("):
            try advance()
            let inner = try or()
            try expect(")", "to close the parenthesis")
            return inner
        case .sign("{"):
            try advance()
            return .expression(try aggregate())
        case .sign("<"):
            // The printed form of an NSNull.
            try advance()
            guard keyword == "NULL" else { throw failure("expected a key, a value or a condition") }
            try advance()
            try expect(">", "to close <null>")
            return .expression(.constant(.nullObject))
        case .sign("-"):
            try advance()
            let operand = try nested { (parser) throws(PredicateFailure) in try parser.postfix() }
            return .expression(negated(try asExpression(operand, start.column)))
        case .sign("~"):
            try advance()
            let operand = try nested { (parser) throws(PredicateFailure) in try parser.postfix() }
            return .expression(.function("onesComplement:", [try asExpression(operand, start.column)]))
        default: throw failure("expected a key, a value or a condition")
        }
    }

    private func negated(_ expression: Expression) -> Expression {
        switch expression {
        case .constant(.int(let value)) where value != .min: .constant(.int(-value))
        case .constant(.double(let value)): .constant(.double(-value))
        default: .function("chs:", [expression])
        }
    }

    private mutating func literal(_ value: PredicateValue) throws(PredicateFailure) -> Node {
        try advance()
        return .expression(.constant(value))
    }

    private mutating func aggregate() throws(PredicateFailure) -> Expression {
        let members = try list(until: "}")
        let constants = members.compactMap { if case .constant(let value) = $0 { value } else { nil } }
        return constants.count == members.count ? .constant(.list(constants)) : .aggregate(members)
    }

    private mutating func list(until close: String) throws(PredicateFailure) -> [Expression] {
        var members: [Expression] = []
        if try accept(close) { return members }
        repeat { members.append(try value()) } while try accept(",")
        try expect(close, "or ','")
        return members
    }

    private mutating func placeholder(_ letter: Character) throws(PredicateFailure) -> Node {
        let column = token.column
        if letter == "K" {
            let keys = try keyArgument()
            try advance()
            return .expression(.keyPath(keys))
        }
        let argument = try argument()
        let number = argumentNumber
        try advance()
        switch argument {
        case .predicate(let predicate): return .predicate(predicate)
        case .expression(let expression): return .expression(expression)
        case .value(let value):
            guard letter == "@" || Number(value) != nil else {
                throw PredicateFailure(
                    .argument, "%\(letter) needs a number, argument \(number) isn't one", column: column)
            }
            return .expression(.constant(value))
        }
    }

    private mutating func word(_ word: String, _ isKey: Bool, _ column: Int) throws(PredicateFailure) -> Node {
        let upper = word.uppercased()
        if !isKey {
            if let value = PredicateWords.literals[upper] { return try literal(value) }
            if upper == "SELF" {
                try advance()
                return .expression(.selfObject)
            }
            if upper == "ANYKEY" {
                try advance()
                return .expression(.anyKey)
            }
            if PredicateWords.reserved.contains(upper) {
                throw failure("\(upper) is a reserved word; as a key it is written #\(word)", column)
            }
        }
        try advance()
        if !isKey, isSign("(") { return .expression(try function(word, column)) }
        return .expression(.keyPath([word]))
    }
}

extension Expression {
    /// The keys of a path in text form.
    package static func keys(_ path: String) -> [String] {
        path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    /// The value at keys of this expression's value, in its shortest form.
    package func appending(_ keys: [String]) -> Expression {
        switch self {
        case .selfObject: .keyPath(keys)
        case .keyPath(let own): .keyPath(own + keys)
        case .path(let base, let own): .path(of: base, own + keys)
        default: .path(of: self, keys)
        }
    }
}
