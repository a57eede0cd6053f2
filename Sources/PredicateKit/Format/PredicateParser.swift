// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The value of a placeholder in a format.
package enum FormatArgument: Sendable {
    case value(PredicateValue)
    case predicate(Predicate)
    case expression(Expression)
}

extension Predicate {
    /// Parses a format string.
    ///
    /// - Parameter arguments: For `%@`, `%K`, `%d` and the like, in order. Ignores arguments beyond those that the format
    ///   uses.
    /// - Throws: ``PredicateFailure`` with `.format` or `.argument`, the column, and the expected token.
    ///
    /// Source: *Predicate Programming Guide*, "Predicate Format String Syntax".
    package init(format: String, _ arguments: [FormatArgument] = []) throws(PredicateFailure) {
        var parser = try PredicateParser(format, arguments)
        self = try parser.predicate()
    }
}

extension Expression {
    /// Parses an expression such as `canonical:(name)` or `items.@count`; errors as for predicates.
    package init(format: String, _ arguments: [FormatArgument] = []) throws(PredicateFailure) {
        var parser = try PredicateParser(format, arguments)
        self = try parser.expression()
    }
}

/// A recursive-descent parser with one token of lookahead.
///
/// Predicates and expressions share their parentheses, so every level returns either, and a caller that needs one of them
/// reports an error for the other.
struct PredicateParser {
    enum Node {
        case predicate(Predicate)
        case expression(Expression)
    }

    /// Deeper nesting is rejected, so that no text can exhaust the stack.
    static let nestingMax = 200

    private var lexer: PredicateLexer
    private(set) var token: PredicateToken
    private let arguments: [FormatArgument]
    private var argumentsUsed = 0
    private var nesting = 0

    init(_ format: String, _ arguments: [FormatArgument]) throws(PredicateFailure) {
        lexer = PredicateLexer(format)
        token = try lexer.next()
        self.arguments = arguments
    }

    mutating func predicate() throws(PredicateFailure) -> Predicate {
        let result = try condition()
        try expectEnd()
        return result
    }

    mutating func expression() throws(PredicateFailure) -> Expression {
        let result = try value()
        try expectEnd()
        return result
    }

    // MARK: Tokens

    mutating func advance() throws(PredicateFailure) { token = try lexer.next() }

    func isSign(_ sign: String) -> Bool { token.kind == .sign(sign) }

    /// The current token as a keyword, upper case.
    var keyword: String? { if case .word(let word, isKey: false) = token.kind { word.uppercased() } else { nil } }

    mutating func accept(_ sign: String) throws(PredicateFailure) -> Bool {
        guard isSign(sign) else { return false }
        try advance()
        return true
    }

    mutating func expect(_ sign: String, _ place: String) throws(PredicateFailure) {
        guard try accept(sign) else { throw failure("expected '\(sign)' \(place)") }
    }

    private func expectEnd() throws(PredicateFailure) {
        guard token.kind == .end else { throw failure("expected AND, OR or the end") }
    }

    func failure(_ expected: String, _ column: Int? = nil) -> PredicateFailure {
        let actual = token.kind == .end ? "the end" : "'\(token.text)'"
        return PredicateFailure(
            .format, column == nil ? "\(expected), found \(actual)" : expected, column: column ?? token.column)
    }

    /// Returns a node as a condition, or reports that an operator is missing.
    func asPredicate(_ node: Node) throws(PredicateFailure) -> Predicate {
        switch node {
        case .predicate(let predicate): return predicate
        case .expression: throw failure("expected a comparison operator")
        }
    }

    func asExpression(_ node: Node, _ column: Int) throws(PredicateFailure) -> Expression {
        switch node {
        case .expression(let expression): return expression
        case .predicate: throw failure("expected a value, not a condition", column)
        }
    }

    mutating func nested<T>(_ body: (inout PredicateParser) throws(PredicateFailure) -> T) throws(PredicateFailure) -> T {
        nesting += 1
        defer { nesting -= 1 }
        guard nesting <= Self.nestingMax else {
            throw failure("more than \(Self.nestingMax) levels are nested", token.column)
        }
        return try body(&self)
    }

    mutating func argument() throws(PredicateFailure) -> FormatArgument {
        guard argumentsUsed < arguments.count else {
            throw PredicateFailure(
                .argument, "placeholder \(argumentsUsed + 1) has no argument", column: token.column)
        }
        argumentsUsed += 1
        return arguments[argumentsUsed - 1]
    }

    var argumentNumber: Int { argumentsUsed }

    // MARK: Logic

    mutating func condition() throws(PredicateFailure) -> Predicate {
        let node = try or()
        return try asPredicate(node)
    }

    mutating func or() throws(PredicateFailure) -> Node {
        let first = try and()
        guard keyword == "OR" || isSign("||") else { return first }
        var parts = [try asPredicate(first)]
        while keyword == "OR" || isSign("||") {
            try advance()
            let part = try and()
            parts.append(try asPredicate(part))
        }
        return .predicate(.or(parts))
    }

    private mutating func and() throws(PredicateFailure) -> Node {
        let first = try not()
        guard keyword == "AND" || isSign("&&") else { return first }
        var parts = [try asPredicate(first)]
        while keyword == "AND" || isSign("&&") {
            try advance()
            let part = try not()
            parts.append(try asPredicate(part))
        }
        return .predicate(.and(parts))
    }

    private mutating func not() throws(PredicateFailure) -> Node {
        guard keyword == "NOT" || isSign("!") else { return try comparison() }
        try advance()
        let inner = try nested { (parser) throws(PredicateFailure) in try parser.not() }
        return .predicate(.not(try asPredicate(inner)))
    }

    private mutating func comparison() throws(PredicateFailure) -> Node {
        if let word = keyword, let value = ["TRUEPREDICATE": true, "FALSEPREDICATE": false][word] {
            try advance()
            return .predicate(.value(value))
        }
        var modifier = Comparison.Modifier.direct
        let isNone = keyword == "NONE"
        if let word = keyword, let parsedModifier = PredicateWords.modifiers[word] {
            try advance()
            modifier = parsedModifier
        }
        let column = token.column
        let left = try operand()
        guard let comparison = comparisonOperator else {
            if modifier != .direct { throw failure("expected a comparison operator") }
            return left
        }
        let leftValue = try asExpression(left, column)
        try advance()
        let options = try options()
        let right = try value()
        let result = Predicate.comparison(
            Comparison(leftValue, comparison, right, modifier: modifier, options: options))
        return .predicate(isNone ? .not(result) : result)
    }

    private var comparisonOperator: Comparison.Operator? {
        switch token.kind {
        case .sign(let sign): PredicateWords.operators[sign]
        default: keyword.flatMap { PredicateWords.operators[$0] }
        }
    }

    private mutating func options() throws(PredicateFailure) -> Comparison.Options {
        guard try accept("[") else { return [] }
        guard case .word(let letters, _) = token.kind else { throw failure("expected c, d, n or l in brackets") }
        var options: Comparison.Options = []
        for letter in letters.lowercased() {
            guard let option = Comparison.Options.letters.first(where: { $0.1 == letter }) else {
                throw failure("expected c, d, n or l in brackets")
            }
            options.insert(option.0)
        }
        try advance()
        try expect("]", "after the options")
        return options
    }
}
