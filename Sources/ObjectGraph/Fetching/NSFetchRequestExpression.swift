// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
public import PredicateKit

/// An expression that evaluates to the results of a fetch request, or to their number.
///
/// The request and the context are expressions, usually constants. In a predicate for a store the request executes once,
/// before the store evaluates the predicate, so it cannot depend on the evaluated object.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchrequestexpression
public final class NSFetchRequestExpression: PredicateKit.NSExpression {
    /// Evaluates to the fetch request.
    public let requestExpression: PredicateKit.NSExpression
    /// Evaluates to the context that executes the request.
    public let contextExpression: PredicateKit.NSExpression
    /// Whether the value is a number instead of an array.
    public let isCountOnlyRequest: Bool

    private init(_ request: PredicateKit.NSExpression, _ context: PredicateKit.NSExpression, isCountOnly: Bool) {
        requestExpression = request
        contextExpression = context
        isCountOnlyRequest = isCountOnly
        let body: ExpressionBlock.Body = { object, _, bindings in
            Self.value(
                request.expressionValue(with: object, context: bindings), context.expressionValue(with: object, context: bindings),
                isCountOnly: isCountOnly)
        }
        super.init(tree: .block(ExpressionBlock(body, isConstant: true), []))
    }

    /// Fetch expressions have no archive.
    ///
    /// - Returns: nil.
    public required convenience init?(coder: NSCoder) { nil }

    /// Creates a fetch expression.
    ///
    /// - Precondition: When the expression is evaluated, `fetch` evaluates to an `NSFetchRequest`, `context` to an
    ///   `NSManagedObjectContext`, and the request succeeds. Apple raises exceptions otherwise.
    public class func expression(
        forFetch fetch: PredicateKit.NSExpression, context: PredicateKit.NSExpression, countOnly: Bool
    ) -> PredicateKit.NSExpression {
        NSFetchRequestExpression(fetch, context, isCountOnly: countOnly)
    }

    private static func value(_ request: Any?, _ context: Any?, isCountOnly: Bool) -> Any {
        guard let request = request as? any FetchForExpression else {
            preconditionFailure("a fetch request expression needs a fetch request, not \(request.map { "a \(type(of: $0))" } ?? "nil")")
        }
        guard let context = context as? NSManagedObjectContext else {
            preconditionFailure(
                "a fetch request expression needs a managed object context, not \(context.map { "a \(type(of: $0))" } ?? "nil")")
        }
        do {
            return try request.value(in: context, isCountOnly: isCountOnly)
        } catch {
            preconditionFailure("the fetch of a fetch request expression failed: \(error)")
        }
    }
}

/// A fetch request with an erased result type.
private protocol FetchForExpression {
    func value(in context: NSManagedObjectContext, isCountOnly: Bool) throws -> Any
}

extension NSFetchRequest: FetchForExpression {
    fileprivate func value(in context: NSManagedObjectContext, isCountOnly: Bool) throws -> Any {
        isCountOnly ? try context.count(for: self) : try context.fetch(self) as [Any]
    }
}
