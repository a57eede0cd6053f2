// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// One side of a comparison: a constant, a key path from the evaluated object, a function of other expressions.
///
/// Foundation on Linux has a class of this name without initializers; `CoreData` re-exports this one so that lookup
/// prefers it, also in files that import both.
///
/// Misuse ends the process with a message, as Apple's class raises an exception: an unknown function, an invalid format,
/// a part that this type of expression does not have.
///
/// Source: developer.apple.com/documentation/foundation/nsexpression
open class NSExpression: NSObject, NSCopying {
    /// The type of an expression. Raw values are Apple's.
    public enum ExpressionType: UInt, Sendable {
        /// A constant.
        case constantValue = 0
        /// The evaluated object.
        case evaluatedObject = 1
        /// A variable.
        case variable = 2
        /// A key path.
        case keyPath = 3
        /// A function or method call.
        case function = 4
        /// A union of two collections.
        case unionSet = 5
        /// An intersection of two collections.
        case intersectSet = 6
        /// A difference of two collections.
        case minusSet = 7
        /// The members of a collection that match a predicate.
        case subquery = 13
        /// A list of expressions.
        case aggregate = 14
        /// Any key.
        case anyKey = 15
        /// Code of the app.
        case block = 19
        /// A choice by a predicate.
        case conditional = 20
    }

    package let tree: Expression
    /// The constant itself, which may hold more than a predicate's value of it.
    private let constantObject: Any?

    package init(tree: Expression, constantObject: Any? = nil) {
        self.tree = tree
        self.constantObject = constantObject
        super.init()
    }

    /// Unarchives an expression.
    ///
    /// - Returns: nil for another archive.
    public required convenience init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: "format") as String?,
            let tree = try? Expression(format: text)
        else { return nil }
        self.init(tree: tree)
    }

    // MARK: Creation

    /// Parses a format string.
    ///
    /// - Precondition: The format is valid, and has as many placeholders as arguments.
    public convenience init(format expressionFormat: String, argumentArray arguments: [Any]) {
        do throws(PredicateFailure) {
            self.init(tree: try Expression(format: expressionFormat, arguments.map { FormatArgument($0) }))
        } catch {
            fatalError(PredicateFormatError(error, format: expressionFormat).description)
        }
    }

    /// Parses a format string.
    ///
    /// - Precondition: The format is valid, and has as many placeholders as arguments.
    public convenience init(format expressionFormat: String, _ args: any CVarArg...) {
        self.init(format: expressionFormat, argumentArray: args)
    }

    /// Parses a format string that may be invalid, such as user input.
    ///
    /// - Throws: ``PredicateFormatError`` with the column and the expected token.
    public convenience init(parsing format: String, argumentArray arguments: [Any]? = nil) throws(PredicateFormatError) {
        do throws(PredicateFailure) {
            self.init(tree: try Expression(format: format, (arguments ?? []).map { FormatArgument($0) }))
        } catch {
            throw PredicateFormatError(error, format: format)
        }
    }

    /// Creates an expression for a constant.
    public convenience init(forConstantValue obj: Any?) {
        self.init(tree: .constant(PredicateValue(constant: obj)), constantObject: obj)
    }

    /// Returns an expression for the evaluated object.
    open class func expressionForEvaluatedObject() -> NSExpression { NSExpression(tree: .selfObject) }

    /// Returns an expression for any key.
    open class func expressionForAnyKey() -> NSExpression { NSExpression(tree: .anyKey) }

    /// Creates an expression for a variable, named without `$`.
    public convenience init(forVariable string: String) { self.init(tree: .variable(string)) }

    /// Creates an expression for a key path from the evaluated object.
    public convenience init(forKeyPath keyPath: String) {
        precondition(!keyPath.isEmpty, "a key path has at least one key")
        let keys = Expression.keys(keyPath)
        self.init(tree: keys == ["self"] || keys == ["SELF"] ? .selfObject : .keyPath(keys))
    }

    /// Creates a call of a predefined function.
    ///
    /// - Parameters:
    ///   - name: The function's name with its colons, such as `sum:` or `now`.
    ///   - parameters: Expressions; other values are constants.
    /// - Precondition: The function exists and takes that many arguments.
    public convenience init(forFunction name: String, arguments parameters: [Any]) {
        let arguments = parameters.map(Self.tree(of:))
        if name == "valueForKeyPath:", arguments.count == 2, case .keyPath(let keys) = arguments[1] {
            self.init(tree: arguments[0].appending(keys))
        } else {
            precondition(
                PredicateFunctions.accepts(name, arguments.count),
                "unknown function \(name) of \(arguments.count) arguments")
            self.init(tree: .function(name, arguments))
        }
    }

    /// Creates a call of the target's method. Linux cannot find methods by name: supported are the functions of the
    /// predicate language and the usual methods of text, numbers, dates and collections.
    public convenience init(
        forFunction target: NSExpression, selectorName name: String, arguments parameters: [Any]?
    ) {
        let arguments = (parameters ?? []).map(Self.tree(of:))
        if let function = PredicateMethods.functions[name], arguments.isEmpty {
            self.init(tree: .function(function, [target.tree]))
        } else {
            precondition(
                PredicateMethods.isKnown(name, arguments.count),
                "unknown method \(name) of \(arguments.count) arguments")
            self.init(tree: .message(target.tree, name, arguments))
        }
    }

    /// Creates a list of expressions; other values are constants.
    public convenience init(forAggregate subexpressions: [Any]) {
        self.init(tree: .aggregate(subexpressions.map(Self.tree(of:))))
    }

    /// Creates a union of two collections.
    public convenience init(forUnionSet left: NSExpression, with right: NSExpression) {
        self.init(tree: .combination(.union, left.tree, right.tree))
    }

    /// Creates an intersection of two collections.
    public convenience init(forIntersectSet left: NSExpression, with right: NSExpression) {
        self.init(tree: .combination(.intersect, left.tree, right.tree))
    }

    /// Creates a difference of two collections.
    public convenience init(forMinusSet left: NSExpression, with right: NSExpression) {
        self.init(tree: .combination(.minus, left.tree, right.tree))
    }

    /// Creates an expression for the members of a collection that match a predicate.
    ///
    /// - Parameter variable: The predicate's name for a member, without `$`.
    /// - Precondition: `predicate` is an `NSPredicate`.
    public convenience init(
        forSubquery expression: NSExpression, usingIteratorVariable variable: String, predicate: Any
    ) {
        guard let predicate = predicate as? NSPredicate else {
            preconditionFailure("a subquery needs a predicate, not a \(type(of: predicate))")
        }
        self.init(tree: .subquery(expression.tree, variable: variable, predicate.tree))
    }

    /// Creates a choice between two expressions by a predicate.
    public convenience init(
        forConditional predicate: NSPredicate, trueExpression: NSExpression, falseExpression: NSExpression
    ) {
        self.init(tree: .conditional(predicate.tree, trueExpression.tree, falseExpression.tree))
    }

    /// Creates an expression that calls a block.
    ///
    /// - Parameter block: Takes the evaluated object, the arguments' values, and the context.
    public convenience init(
        block: @escaping (Any?, [Any], NSMutableDictionary?) -> Any, arguments: [NSExpression]?
    ) {
        self.init(tree: .block(ExpressionBlock(block), (arguments ?? []).map(\.tree)))
    }

    private static func tree(of argument: Any) -> Expression {
        (argument as? NSExpression)?.tree ?? .constant(PredicateValue(constant: argument))
    }

    // MARK: Values

    /// Evaluates the expression for an object, with variables from the context by name.
    ///
    /// Numbers are `NSNumber`s, collections arrays.
    ///
    /// - Precondition: The expression has a value; the context has its variables.
    open func expressionValue(with object: Any?, context: NSMutableDictionary?) -> Any? {
        if case .constant = tree { return constantValue }
        var variables: [String: PredicateValue] = [:]
        for (name, value) in context ?? [:] {
            if case .string(let name) = PredicateValue(name) { variables[name] = PredicateValue(value) }
        }
        do throws(PredicateFailure) {
            let now = { Date.now.timeIntervalSinceReferenceDate }
            return try tree.value(on: PredicateValue(object), variables: variables, now: now).foundationValue
        } catch {
            preconditionFailure("Unable to evaluate \(tree.formatDescription): \(error)")
        }
    }

    /// The value of a constant expression.
    open var constantValue: Any? {
        guard case .constant(let value) = tree else { wrongType("constant value") }
        return constantObject ?? value.foundationValue
    }

    /// Has no effect: expressions from an archive may always be evaluated here.
    open func allowEvaluation() {}

    func wrongType(_ property: String) -> Never {
        preconditionFailure("the expression \(tree.formatDescription) has no \(property)")
    }

    // MARK: Identity

    open override var description: String { tree.formatDescription }

    /// Returns the expression itself, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSExpression else { return false }
        return tree == other.tree || tree.canonical == other.tree.canonical
    }

    open override var hash: Int { tree.canonical.hashValue }
}
