// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension PredicateParser {
    /// Parses a function's arguments; the current token is the opening parenthesis.
    mutating func function(_ name: String, _ column: Int) throws(PredicateFailure) -> Expression {
        try expect("(", "after \(name)")
        switch name.uppercased() {
        case "SUBQUERY": return try subquery()
        case "CAST": return try cast()
        case "TERNARY": return try conditional()
        case "FUNCTION": return try message(column)
        case "FETCH": throw failure("FETCH is not supported", column)
        default: break
        }
        let arguments = try arguments()
        guard let selector = Self.selector(name, arguments.count) else {
            throw PredicateFailure(
                .unknownFunction, "unknown function \(name) of \(arguments.count) arguments", column: column)
        }
        return .function(selector, arguments)
    }

    private mutating func arguments() throws(PredicateFailure) -> [Expression] {
        var members: [Expression] = []
        if try accept(")") { return members }
        repeat { members.append(try value()) } while try accept(",")
        try expect(")", "or ','")
        return members
    }

    /// `length` and `length:` both name the function of one argument; statistics take any number.
    private static func selector(_ name: String, _ count: Int) -> String? {
        let statistics: Set = ["sum", "count", "min", "max", "average", "median", "mode", "stddev"]
        let bare = name.hasSuffix(":") ? String(name.dropLast()) : name
        if statistics.contains(bare), count >= 1 { return bare + ":" }
        if PredicateFunctions.names[name] == count { return name }
        return PredicateFunctions.names.keys.sorted().first { selector in
            PredicateFunctions.names[selector] == count && selector.split(separator: ":").first.map(String.init) == name
        }
    }

    private mutating func subquery() throws(PredicateFailure) -> Expression {
        let collection = try value()
        try expect(",", "after the collection of SUBQUERY")
        guard case .variable(let name) = token.kind else {
            throw failure("expected the variable of SUBQUERY, such as $x")
        }
        try advance()
        try expect(",", "after the variable of SUBQUERY")
        let predicate = try condition()
        try expect(")", "to close SUBQUERY")
        return .subquery(collection, variable: name, predicate)
    }

    private mutating func conditional() throws(PredicateFailure) -> Expression {
        let test = try condition()
        try expect(",", "after the condition of TERNARY")
        let first = try value()
        try expect(",", "between the results of TERNARY")
        let second = try value()
        try expect(")", "to close TERNARY")
        return .conditional(test, first, second)
    }

    /// Evaluates casts of constants while parsing: printed predicates contain dates and other values as casts.
    private mutating func cast() throws(PredicateFailure) -> Expression {
        let column = token.column
        let arguments = try arguments()
        guard arguments.count == 2, case .constant(.string) = arguments[1] else {
            throw failure("expected a value and the name of a type in CAST", column)
        }
        let cast = Expression.function("castObject:toType:", arguments)
        if let value = try cast.constantValue(now: { 0 }) { return .constant(value) }
        return cast
    }

    /// `FUNCTION(target, 'selector', …)`: the target is the first argument of the function of that name.
    private mutating func message(_ column: Int) throws(PredicateFailure) -> Expression {
        let arguments = try arguments()
        guard arguments.count >= 2, case .constant(.string(let name)) = arguments[1] else {
            throw failure("expected a target and the name of a method in FUNCTION", column)
        }
        let operands = [arguments[0]] + arguments.dropFirst(2)
        if let function = PredicateMethods.functions[name], operands.count == 1 { return .function(function, operands) }
        if PredicateMethods.isKnown(name, operands.count - 1) {
            return .message(arguments[0], name, Array(arguments.dropFirst(2)))
        }
        guard let selector = Self.selector(name, operands.count) else {
            throw PredicateFailure(.unknownFunction, "unknown function \(name)", column: column)
        }
        return .function(selector, operands)
    }
}
