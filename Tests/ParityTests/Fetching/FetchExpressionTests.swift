// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct FetchExpressionTests {
    private func expression(_ format: String, countOnly: Bool, _ context: NSManagedObjectContext) -> NSExpression {
        let request = Shelves.sorted("Item", by: "amount")
        request.predicate = NSPredicate(format: format)
        return NSFetchRequestExpression.expression(
            forFetch: NSExpression(forConstantValue: request), context: NSExpression(forConstantValue: context), countOnly: countOnly)
    }

    private func comparison(_ left: NSExpression, _ type: NSComparisonPredicate.Operator, _ right: NSExpression) -> NSPredicate {
        NSComparisonPredicate(leftExpression: left, rightExpression: right, modifier: .direct, type: type, options: [])
    }

    @Test func aFetchExpressionEvaluatesToTheResultOfItsRequest() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let all = try #require(
                expression("amount > 5", countOnly: false, context).expressionValue(with: nil, context: nil) as? [NSManagedObject])
            #expect(all.map { $0.value(forKey: "amount") as? Int } == [6, 7, 8])
            let count = expression("amount > 5", countOnly: true, context)
            #expect(count.expressionValue(with: nil, context: nil) as? Int == 3)
            let own = try #require(count as? NSFetchRequestExpression)
            #expect(own.isCountOnlyRequest)
            #expect(own.expressionType == .block)
            #expect(own.contextExpression.constantValue as? NSManagedObjectContext === context)
            #expect((own.requestExpression.constantValue as? NSFetchRequest<NSManagedObject>)?.entityName == "Item")
        }
    }

    @Test func storePredicatesMayContainFetchExpressions() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let request = Shelves.sorted("Item", by: "amount")
            request.predicate = comparison(.expressionForEvaluatedObject(), .in, expression("amount < 3", countOnly: false, context))
            #expect(try context.fetch(request).map { $0.value(forKey: "amount") as? Int } == [1, 2])
            let more = comparison(NSExpression(forKeyPath: "amount"), .greaterThan, expression("amount < 7", countOnly: true, context))
            request.predicate = more
            let found = try context.fetch(request)
            #expect(found.map { $0.value(forKey: "amount") as? Int } == [7, 8])
            #expect(found.allSatisfy { more.evaluate(with: $0) })
            #expect(try context.count(for: request) == 2)
        }
    }
}
