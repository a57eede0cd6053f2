// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
public import PredicateKit

/// An expression whose value is what a fetch request finds, or how much it finds.
///
/// The request and the context are expressions themselves, constants as a rule. In a predicate for a store the request
/// is carried out once, before the store is asked, so it cannot depend on the object under test.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchrequestexpression
public final class NSFetchRequestExpression: PredicateKit.NSExpression {
    /// Gives a fetch request.
    public let requestExpression: PredicateKit.NSExpression
    /// Gives the context that the request is carried out in.
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

    public required convenience init?(coder: NSCoder) { nil }

    /// - Precondition: When the value is asked for, `fetch` gives an `NSFetchRequest`, `context` an
    ///   `NSManagedObjectContext`, and the request succeeds. Apple raises exceptions there.
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
            preconditionFailure("a fetch request expression needs a managed object context, not \(context.map { "a \(type(of: $0))" } ?? "nil")")
        }
        do {
            return try request.value(in: context, isCountOnly: isCountOnly)
        } catch {
            preconditionFailure("the fetch of a fetch request expression failed: \(error)")
        }
    }
}

/// A fetch request whose type of results is not known.
private protocol FetchForExpression {
    func value(in context: NSManagedObjectContext, isCountOnly: Bool) throws -> Any
}

extension NSFetchRequest: FetchForExpression {
    fileprivate func value(in context: NSManagedObjectContext, isCountOnly: Bool) throws -> Any {
        isCountOnly ? try context.count(for: self) : try context.fetch(self) as [Any]
    }
}
