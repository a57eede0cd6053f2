// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

// The parts of an expression.
//
// - Precondition: The expression's type has the part that is read.
extension NSExpression {
    /// The type of the expression.
    public var expressionType: ExpressionType {
        switch tree {
        case .constant: .constantValue
        case .selfObject: .evaluatedObject
        case .variable: .variable
        case .keyPath: .keyPath
        case .function, .path, .message: .function
        case .combination(.union, _, _): .unionSet
        case .combination(.intersect, _, _): .intersectSet
        case .combination(.minus, _, _): .minusSet
        case .subquery: .subquery
        case .aggregate: .aggregate
        case .anyKey: .anyKey
        case .block: .block
        case .conditional: .conditional
        }
    }

    /// The key path of a key path expression.
    public var keyPath: String {
        switch tree {
        case .keyPath(let keys), .path(_, let keys): keys.joined(separator: ".")
        case .selfObject: "self"
        default: wrongType("key path")
        }
    }

    /// The name of a variable, without `$`.
    public var variable: String {
        switch tree {
        case .variable(let name), .subquery(_, let name, _): name
        default: wrongType("variable")
        }
    }

    /// The function's name; `valueForKeyPath:` for keys of another expression's value.
    public var function: String {
        switch tree {
        case .function(let name, _), .message(_, let name, _): name
        case .path: "valueForKeyPath:"
        default: wrongType("function")
        }
    }

    /// The target of a method.
    public var operand: NSExpression {
        switch tree {
        case .message(let target, _, _), .path(let target, _): NSExpression(tree: target)
        case .function(_, let arguments) where !arguments.isEmpty: NSExpression(tree: arguments[0])
        default: wrongType("operand")
        }
    }

    /// The arguments of a function or block; nil without arguments.
    public var arguments: [NSExpression]? {
        switch tree {
        case .function(_, let arguments), .message(_, _, let arguments), .block(_, let arguments):
            arguments.map { NSExpression(tree: $0) }
        case .path(_, let keys): [NSExpression(tree: .keyPath(keys))]
        default: wrongType("arguments")
        }
    }

    /// An aggregate's members, as expressions; a subquery's collection.
    public var collection: Any {
        switch tree {
        case .aggregate(let members): members.map { NSExpression(tree: $0) }
        case .subquery(let collection, _, _): NSExpression(tree: collection)
        case .constant(.list(let members)): members.map { NSExpression(tree: .constant($0)) }
        default: wrongType("collection")
        }
    }

    /// The predicate of a subquery or a conditional.
    public var predicate: NSPredicate {
        switch tree {
        case .subquery(_, _, let predicate), .conditional(let predicate, _, _): NSPredicate.made(predicate)
        default: wrongType("predicate")
        }
    }

    /// The left side of a set operation.
    public var left: NSExpression {
        guard case .combination(_, let left, _) = tree else { wrongType("left expression") }
        return NSExpression(tree: left)
    }

    /// The right side of a set operation.
    public var right: NSExpression {
        guard case .combination(_, _, let right) = tree else { wrongType("right expression") }
        return NSExpression(tree: right)
    }

    /// A conditional's value if its predicate is true.
    public var `true`: NSExpression {
        guard case .conditional(_, let first, _) = tree else { wrongType("true expression") }
        return NSExpression(tree: first)
    }

    /// A conditional's value if its predicate is false.
    public var `false`: NSExpression {
        guard case .conditional(_, _, let second) = tree else { wrongType("false expression") }
        return NSExpression(tree: second)
    }

    /// The code of a block expression.
    public var expressionBlock: (Any?, [Any], NSMutableDictionary?) -> Any {
        guard case .block(let block, _) = tree else { wrongType("block") }
        return block.body
    }
}
