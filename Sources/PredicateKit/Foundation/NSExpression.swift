// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// One side of a comparison: a constant, a key path from the object under test, a function of other expressions.
///
/// Foundation on Linux has a class of this name that cannot be made or subclassed; `CoreData` re-exports this one so
/// that it is found first, also in files that import both.
///
/// Misuse ends the process with a sentence, as Apple's class raises an exception: an unknown function, a format that
/// cannot be read, a property that this type of expression does not have.
///
/// Source: developer.apple.com/documentation/foundation/nsexpression
open class NSExpression: NSObject, NSCopying {
    /// Raw values are Apple's.
    public enum ExpressionType: UInt, Sendable {
        case constantValue = 0
        case evaluatedObject = 1
        case variable = 2
        case keyPath = 3
        case function = 4
        case unionSet = 5
        case intersectSet = 6
        case minusSet = 7
        case subquery = 13
        case aggregate = 14
        case anyKey = 15
        case block = 19
        case conditional = 20
    }

    package let tree: Expression
    /// A constant as it was given, which may be more than a predicate's value of it.
    private let given: Any?

    package init(tree: Expression, given: Any? = nil) {
        self.tree = tree
        self.given = given
        super.init()
    }

    /// Fails when the archive holds no expression.
    public required convenience init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: "format") as String?,
            let tree = try? Expression(format: text)
        else { return nil }
        self.init(tree: tree)
    }

    // MARK: Making expressions

    public convenience init(format expressionFormat: String, argumentArray arguments: [Any]) {
        do throws(PredicateFailure) {
            self.init(tree: try Expression(format: expressionFormat, arguments.map { FormatArgument($0) }))
        } catch {
            fatalError(PredicateFormatError(error, format: expressionFormat).description)
        }
    }

    public convenience init(format expressionFormat: String, _ args: any CVarArg...) {
        self.init(format: expressionFormat, argumentArray: args)
    }

    /// Makes an expression from a format string that may be wrong, such as one that a person typed.
    ///
    /// - Throws: ``PredicateFormatError`` with the column and what was expected there.
    public convenience init(parsing format: String, argumentArray arguments: [Any]? = nil) throws(PredicateFormatError) {
        do throws(PredicateFailure) {
            self.init(tree: try Expression(format: format, (arguments ?? []).map { FormatArgument($0) }))
        } catch {
            throw PredicateFormatError(error, format: format)
        }
    }

    public convenience init(forConstantValue obj: Any?) {
        self.init(tree: .constant(PredicateValue(constant: obj)), given: obj)
    }

    open class func expressionForEvaluatedObject() -> NSExpression { NSExpression(tree: .selfObject) }

    open class func expressionForAnyKey() -> NSExpression { NSExpression(tree: .anyKey) }

    public convenience init(forVariable string: String) { self.init(tree: .variable(string)) }

    public convenience init(forKeyPath keyPath: String) {
        precondition(!keyPath.isEmpty, "a key path has at least one key")
        let keys = Expression.keys(keyPath)
        self.init(tree: keys == ["self"] || keys == ["SELF"] ? .selfObject : .keyPath(keys))
    }

    /// - Parameters:
    ///   - name: A predefined function with its colons, `sum:` or `now`.
    ///   - parameters: Expressions; anything else counts as a constant.
    public convenience init(forFunction name: String, arguments parameters: [Any]) {
        let arguments = parameters.map(Self.tree(of:))
        if name == "valueForKeyPath:", arguments.count == 2, case .keyPath(let keys) = arguments[1] {
            self.init(tree: arguments[0].appending(keys))
        } else {
            precondition(
                PredicateFunctions.accepts(name, arguments.count),
                "there is no function \(name) of \(arguments.count) arguments")
            self.init(tree: .function(name, arguments))
        }
    }

    /// A method of the target's value. Methods cannot be found by name here; those known are the functions of the
    /// predicate language and the usual ones of text, numbers, dates and collections.
    public convenience init(
        forFunction target: NSExpression, selectorName name: String, arguments parameters: [Any]?
    ) {
        let arguments = (parameters ?? []).map(Self.tree(of:))
        if let function = PredicateMethods.functions[name], arguments.isEmpty {
            self.init(tree: .function(function, [target.tree]))
        } else {
            precondition(
                PredicateMethods.isKnown(name, arguments.count),
                "there is no method \(name) of \(arguments.count) arguments")
            self.init(tree: .message(target.tree, name, arguments))
        }
    }

    public convenience init(forAggregate subexpressions: [Any]) {
        self.init(tree: .aggregate(subexpressions.map(Self.tree(of:))))
    }

    public convenience init(forUnionSet left: NSExpression, with right: NSExpression) {
        self.init(tree: .combination(.union, left.tree, right.tree))
    }

    public convenience init(forIntersectSet left: NSExpression, with right: NSExpression) {
        self.init(tree: .combination(.intersect, left.tree, right.tree))
    }

    public convenience init(forMinusSet left: NSExpression, with right: NSExpression) {
        self.init(tree: .combination(.minus, left.tree, right.tree))
    }

    public convenience init(
        forSubquery expression: NSExpression, usingIteratorVariable variable: String, predicate: Any
    ) {
        guard let predicate = predicate as? NSPredicate else {
            preconditionFailure("a subquery needs a predicate, not a \(type(of: predicate))")
        }
        self.init(tree: .subquery(expression.tree, variable: variable, predicate.tree))
    }

    public convenience init(
        forConditional predicate: NSPredicate, trueExpression: NSExpression, falseExpression: NSExpression
    ) {
        self.init(tree: .conditional(predicate.tree, trueExpression.tree, falseExpression.tree))
    }

    /// - Parameter block: Takes the object under test, the arguments as they were given, and the context.
    public convenience init(
        block: @escaping (Any?, [Any], NSMutableDictionary?) -> Any, arguments: [NSExpression]?
    ) {
        self.init(tree: .block(ExpressionBlock(block), (arguments ?? []).map(\.tree)))
    }

    private static func tree(of argument: Any) -> Expression {
        (argument as? NSExpression)?.tree ?? .constant(PredicateValue(constant: argument))
    }

    // MARK: Values

    /// The value for an object; variables are looked up in the context by name.
    ///
    /// Numbers come as `NSNumber`, collections as arrays. What has no value, such as a variable that the context does
    /// not have, ends the process with a sentence.
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

    open var constantValue: Any? {
        guard case .constant(let value) = tree else { wrongType("constant value") }
        return given ?? value.foundationValue
    }

    /// Expressions decoded from an archive may be evaluated here without it.
    open func allowEvaluation() {}

    func wrongType(_ property: String) -> Never {
        preconditionFailure("the expression \(tree.formatDescription) has no \(property)")
    }

    // MARK: Identity

    open override var description: String { tree.formatDescription }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSExpression else { return false }
        return tree == other.tree || tree.canonical == other.tree.canonical
    }

    open override var hash: Int { tree.canonical.hashValue }
}
