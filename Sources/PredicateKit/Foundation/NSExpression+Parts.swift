// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

// What an expression is made of. A property that this type of expression does not have ends the process with a sentence.
extension NSExpression {
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

    public var keyPath: String {
        switch tree {
        case .keyPath(let keys), .path(_, let keys): keys.joined(separator: ".")
        case .selfObject: "self"
        default: wrongType("key path")
        }
    }

    public var variable: String {
        switch tree {
        case .variable(let name), .subquery(_, let name, _): name
        default: wrongType("variable")
        }
    }

    /// The function's name; keys from the value of another expression are the function `valueForKeyPath:`.
    public var function: String {
        switch tree {
        case .function(let name, _), .message(_, let name, _): name
        case .path: "valueForKeyPath:"
        default: wrongType("function")
        }
    }

    /// What a method is called on.
    public var operand: NSExpression {
        switch tree {
        case .message(let target, _, _), .path(let target, _): NSExpression(tree: target)
        case .function(_, let arguments) where !arguments.isEmpty: NSExpression(tree: arguments[0])
        default: wrongType("operand")
        }
    }

    public var arguments: [NSExpression]? {
        switch tree {
        case .function(_, let arguments), .message(_, _, let arguments), .block(_, let arguments):
            arguments.map { NSExpression(tree: $0) }
        case .path(_, let keys): [NSExpression(tree: .keyPath(keys))]
        default: wrongType("arguments")
        }
    }

    /// Of an aggregate its members, as expressions; of a subquery what it goes over.
    public var collection: Any {
        switch tree {
        case .aggregate(let members): members.map { NSExpression(tree: $0) }
        case .subquery(let collection, _, _): NSExpression(tree: collection)
        case .constant(.list(let members)): members.map { NSExpression(tree: .constant($0)) }
        default: wrongType("collection")
        }
    }

    public var predicate: NSPredicate {
        switch tree {
        case .subquery(_, _, let predicate), .conditional(let predicate, _, _): NSPredicate.made(predicate)
        default: wrongType("predicate")
        }
    }

    public var left: NSExpression {
        guard case .combination(_, let left, _) = tree else { wrongType("left expression") }
        return NSExpression(tree: left)
    }

    public var right: NSExpression {
        guard case .combination(_, _, let right) = tree else { wrongType("right expression") }
        return NSExpression(tree: right)
    }

    public var `true`: NSExpression {
        guard case .conditional(_, let first, _) = tree else { wrongType("true expression") }
        return NSExpression(tree: first)
    }

    public var `false`: NSExpression {
        guard case .conditional(_, _, let second) = tree else { wrongType("false expression") }
        return NSExpression(tree: second)
    }

    public var expressionBlock: (Any?, [Any], NSMutableDictionary?) -> Any {
        guard case .block(let block, _) = tree else { wrongType("block") }
        return block.body
    }
}
