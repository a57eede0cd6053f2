// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite("Validation and key-value coding")
struct ValidationTests {
    private func failure(_ body: () throws -> Void) -> NSError? {
        do {
            try body()
            return nil
        } catch {
            return error as NSError
        }
    }

    struct Case: CustomTestStringConvertible, @unchecked Sendable {
        // Unchecked: numbers and texts only.
        let key: String
        let value: Any?
        let code: Int
        var testDescription: String { "\(key) = \(value ?? "nil"): \(code)" }
    }

    @Test(arguments: [
        Case(key: "code", value: nil, code: 1570), Case(key: "code", value: "ab", code: 1670),
        Case(key: "code", value: "ABCD", code: 1680),
        Case(key: "price", value: -1, code: 1620), Case(key: "price", value: 100.5, code: 1610),
        Case(key: "price", value: 100, code: 0),
        Case(key: "price", value: nil, code: 0), Case(key: "stock", value: 1000, code: 1550), Case(key: "stock", value: 999, code: 0),
    ])
    func aSaveReportsTheViolatedRule(_ rule: Case) throws {
        try Market.withContext { context in
            let ware = Market.ware("one", "abc", context)
            ware.setValue(rule.value, forKey: rule.key)
            let error = failure { try context.save() }
            #expect(error?.code ?? 0 == rule.code)
            guard let error else { return }
            #expect(error.domain == NSCocoaErrorDomain)
            #expect(error.userInfo[NSValidationKeyErrorKey] as? String == rule.key)
            #expect(error.userInfo[NSValidationObjectErrorKey] as? NSManagedObject == ware)
            #expect((error.userInfo[NSValidationPredicateErrorKey] as? NSPredicate != nil) == (rule.code != 1570))
            var value = rule.value.map { $0 as AnyObject }
            #expect(failure { try ware.validateValue(&value, forKey: rule.key) }?.code == rule.code)
            #expect(failure { try ware.validateForInsert() }?.code == rule.code)
            #expect(ware.isInserted)
        }
    }

    @Test func severalViolationsAreReportedInOneError() throws {
        try Market.withContext { context in
            let ware = Market.ware("one", "ab", context)
            ware.setValue(-1, forKey: "price")
            ware.setValue(5000, forKey: "stock")
            let error = try #require(failure { try context.save() })
            #expect(error.code == 1560)
            let details = error.userInfo[NSDetailedErrorsKey] as? [NSError] ?? []
            #expect(details.map(\.code).sorted() == [1550, 1620, 1670])
            #expect(details.first { $0.code == 1550 }?.localizedDescription.contains("Too much of it.") == true)
            ware.setValue("abc", forKey: "code")
            ware.setValue(1, forKey: "price")
            ware.setValue(1, forKey: "stock")
            try context.save()
            ware.setValue("ABC", forKey: "code")
            #expect(failure { try context.save() }?.code == 1680)
            #expect(failure { try ware.validateForUpdate() }?.code == 1680)
        }
    }

    @Test(arguments: [(0, 0), (1, 1580), (2, 0), (5, 0), (6, 1590)])
    func minimumAndMaximumCountsAreValidated(_ count: Int, _ code: Int) throws {
        try Market.withContext { context in
            let kind = Kind.inserted("food", context)
            kind.setValue(Set((0..<count).map { Market.ware("w", "code\($0)", context) }), forKey: "wares")
            let error = failure { try context.save() }
            #expect(error?.code ?? 0 == code)
            #expect(error?.userInfo[NSValidationKeyErrorKey] as? String == (code == 0 ? nil : "wares"))
        }
    }

    @Test func descriptionsKeepTheirValidationRules() {
        let price = Market.model.entitiesByName["Ware"]?.attributesByName["price"]
        #expect(price?.validationPredicates.count == 2)
        #expect(price?.validationWarnings.count == 2)
    }

    @Test func keyPathsAreReadAndSet() throws {
        try Market.withContext { context in
            let kind = Kind.inserted("food", context)
            let wares = [("a", 1.0), ("b", 2), ("b", 6)].map { name, price in
                let ware = Market.ware(name, "code", context)
                ware.setValue(price, forKey: "price")
                ware.setValue(kind, forKey: "kind")
                return ware
            }
            #expect(wares[0].value(forKeyPath: "kind.name") as? String == "food")
            #expect(wares[0].value(forKeyPath: "name") as? String == "a")
            #expect(kind.value(forKeyPath: "wares.@count") as? Int == 3)
            #expect((kind.value(forKeyPath: "wares.@sum.price") as? NSNumber)?.doubleValue == 9)
            #expect((kind.value(forKeyPath: "wares.@avg.price") as? NSNumber)?.doubleValue == 3)
            #expect(kind.value(forKeyPath: "wares.@max.price") as? Double == 6)
            #expect(kind.value(forKeyPath: "wares.@min.price") as? Double == 1)
            #expect(kind.value(forKeyPath: "wares.@max.name") as? String == "b")
            #expect((kind.value(forKeyPath: "wares.@unionOfObjects.name") as? [String])?.sorted() == ["a", "b", "b"])
            #expect((kind.value(forKeyPath: "wares.@distinctUnionOfObjects.name") as? [String])?.sorted() == ["a", "b"])
            #expect(kind.value(forKeyPath: "wares.name") as? Set<String> == ["a", "b"])
            #expect((wares[0].value(forKeyPath: "kind.wares.@count") as? Int) == 3)
            wares[0].setValue("fruit", forKeyPath: "kind.name")
            #expect(kind.nameValue == "fruit")
            wares[0].mutableSetValue(forKeyPath: "kind.wares").remove(wares[1])
            #expect(kind.value(forKeyPath: "wares.@count") as? Int == 2)
            wares[1].setValue("x", forKeyPath: "kind.name")
            #expect(wares[1].value(forKeyPath: "kind.name") == nil)
        }
    }

    @Test func dictionariesOfValuesAndUnknownKeysAreHandled() throws {
        try Market.withContext { context in
            let ware = Market.ware("one", "abc", context)
            let values = ware.dictionaryWithValues(forKeys: ["name", "code", "expires"])
            #expect(values["name"] as? String == "one")
            #expect(values["code"] as? String == "abc")
            #expect(values["expires"] is NSNull)
            ware.setValuesForKeys(["name": "two", "price": 3, "expires": Date(timeIntervalSinceReferenceDate: 5)])
            #expect(ware.nameValue == "two")
            #expect(ware.value(forKey: "price") as? Double == 3)
            #expect(ware.value(forKey: "expires") as? Date == Date(timeIntervalSinceReferenceDate: 5))
            ware.setValuesForKeys(["expires": NSNull()])
            #expect(ware.value(forKey: "expires") == nil)
            #expect(ware.value(forKey: "objectID") as? NSManagedObjectID == ware.objectID)
            #expect(ware.value(forKey: "hasChanges") as? Bool == true)
            let guest = Guest.inserted("a", context)
            #expect(guest.value(forKey: "nothing") as? String == "no nothing")
            guest.setValue("b", forKey: "nothing")
            #expect(guest.nameValue == "b")
        }
    }
}
