// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite("Derived attributes, fetched properties and one-way relationships")
struct DerivedAttributeTests {
    @Test func derivedStringsFollowTheirObject() throws {
        try Market.withContext { context in
            let ware = Market.ware("Crème Brûlée", "abc", context)
            try context.save()
            context.refresh(ware, mergeChanges: false)
            #expect(ware.value(forKey: "search") as? String == "creme brulee")
            #expect(ware.value(forKey: "loud") as? String == "CRÈME BRÛLÉE")
            ware.setValue("Éclair", forKey: "name")
            try context.save()
            context.refresh(ware, mergeChanges: false)
            #expect(ware.value(forKey: "search") as? String == "eclair")
            #expect(ware.value(forKey: "loud") as? String == "ÉCLAIR")
            ware.setValue(nil, forKey: "name")
            try context.save()
            context.refresh(ware, mergeChanges: false)
            #expect(ware.value(forKey: "search") == nil)
            let request = NSFetchRequest<Ware>(entityName: "Ware")
            request.predicate = NSPredicate(format: "search == nil")
            #expect(try context.count(for: request) == 1)
        }
    }

    /// The store increments counts, so a written one would stay wrong.
    @Test func aDerivedValueIsWrittenByTheStoreAlone() throws {
        try Market.withContext { context in
            let shop = Trader.inserted("shop", context)
            let ware = Market.ware("one", "abc", context)
            shop.mutableSetValue(forKey: "wares").add(ware)
            shop.setValue(50, forKey: "count")
            try context.save()
            context.refreshAllObjects()
            #expect(shop.value(forKey: "count") as? Int == 1)
            shop.setValue(99, forKey: "count")
            ware.setValue("loud", forKey: "loud")
            try context.save()
            context.refreshAllObjects()
            #expect(shop.value(forKey: "count") as? Int == 1)
            #expect(ware.value(forKey: "loud") as? String == "ONE")
            shop.setValue(99, forKey: "count")
            shop.mutableSetValue(forKey: "wares").removeAllObjects()
            try context.save()
            context.refreshAllObjects()
            #expect(shop.value(forKey: "count") as? Int == 0)
        }
    }

    @Test func aDerivedTimeIsTheTimeOfTheLastSave() throws {
        try Market.withContext { context in
            let before = Date(timeIntervalSinceNow: -2)
            let ware = Market.ware("one", "abc", context)
            try context.save()
            context.refresh(ware, mergeChanges: false)
            let first = try #require(ware.value(forKey: "changed") as? Date)
            #expect(first > before)
            #expect(first < Date(timeIntervalSinceNow: 2))
            ware.setValue("two", forKey: "name")
            try context.save()
            context.refresh(ware, mergeChanges: false)
            #expect(try #require(ware.value(forKey: "changed") as? Date) >= first)
        }
    }

    @Test func derivedValuesReadToOneRelationships() throws {
        try Market.withContext { context in
            let wares = [Market.ware("one", "abc", context), Market.ware("two", "abd", context)]
            let kind = Kind.inserted("food", context)
            for ware in wares { ware.setValue(kind, forKey: "kind") }
            try context.save()
            context.refreshAllObjects()
            #expect(wares.map { $0.value(forKey: "kindName") as? String } == ["food", "food"])
            kind.setValue("drink", forKey: "name")
            try context.save()
            context.refreshAllObjects()
            #expect(wares.map { $0.value(forKey: "kindName") as? String } == ["drink", "drink"])
            kind.mutableSetValue(forKey: "wares").removeAllObjects()
            try context.save()
            context.refreshAllObjects()
            #expect(wares.map { $0.value(forKey: "kindName") as? String } == [nil, nil])
        }
    }

    @Test func derivedValuesCountAndSumToManyRelationships() throws {
        try Market.withContext { context in
            let kind = Kind.inserted("food", context)
            let other = Kind.inserted("other", context)
            let shop = Trader.inserted("shop", context)
            let wares = (0..<4).map { Market.ware("w\($0)", "abc\($0)", context) }
            func check(_ count: Int, _ total: Double, _ others: Int, _ sold: Int) throws {
                try context.save()
                for object in [kind, other, shop] as [NSManagedObject] { context.refresh(object, mergeChanges: false) }
                #expect(kind.value(forKey: "count") as? Int == count)
                #expect(kind.value(forKey: "total") as? Double == total)
                #expect(other.value(forKey: "count") as? Int == others)
                #expect(shop.value(forKey: "count") as? Int == sold)
            }
            try check(0, 0, 0, 0)
            for ware in wares { ware.setValue(kind, forKey: "kind") }
            shop.mutableSetValue(forKey: "wares").addObjects(from: Array(wares[..<3]))
            try check(4, 6, 0, 3)
            wares[0].setValue(10, forKey: "price")
            try check(4, 14.5, 0, 3)
            for ware in wares[2...] { ware.setValue(other, forKey: "kind") }
            try check(2, 11.5, 2, 3)
            other.setValue(Set<Ware>(), forKey: "wares")
            context.delete(wares[2])
            try check(2, 11.5, 0, 2)
            shop.setValue(Set([wares[3]]), forKey: "wares")
            try check(2, 11.5, 0, 1)
            kind.setValue(Set<Ware>(), forKey: "wares")
            try check(0, 0, 0, 1)
        }
    }

    @Test func aDerivedDescriptionKeepsItsExpression() {
        let attribute = Market.model.entitiesByName["Ware"]?.attributesByName["search"] as? NSDerivedAttributeDescription
        #expect(attribute?.derivationExpression != nil)
        #expect(attribute?.attributeType == .stringAttributeType)
    }

    @Test func aFetchedPropertyIsCachedUntilARefresh() throws {
        try Market.withContext { context in
            let ware = Market.ware("same", "aaa", context)
            _ = Market.ware("same", "ccc", context)
            _ = Market.ware("same", "bbb", context)
            _ = Market.ware("another", "ddd", context)
            try context.save()
            func codes() -> [String] {
                (ware.value(forKey: "alike") as? [Any] ?? []).compactMap { ($0 as? Ware)?.value(forKey: "code") as? String }
            }
            #expect(codes() == ["bbb", "ccc"])
            _ = Market.ware("same", "bbc", context)
            try context.save()
            #expect(codes() == ["bbb", "ccc"])
            context.refresh(ware, mergeChanges: true)
            #expect(codes() == ["bbb", "bbc", "ccc"])
            #expect(!ware.hasChanges)
            let property = Market.model.entitiesByName["Ware"]?.propertiesByName["alike"] as? NSFetchedPropertyDescription
            #expect(property?.fetchRequest?.entityName == "Ware")
        }
    }

    @Test func aMemberBelongsToOneOwnerWithoutAnInverse() throws {
        try Market.withContext { context in
            let shop = Trader.inserted("shop", context)
            let guests = ["a", "b", "c"].map { Guest.inserted($0, context) }
            shop.setValue(Set(guests[..<2]), forKey: "guests")
            shop.orderedMembers("line").addObjects(from: [guests[2], guests[0], guests[1]])
            try context.save()
            context.refreshAllObjects()
            #expect(shop.memberNames("guests").sorted() == ["a", "b"])
            #expect(shop.memberNames("line") == ["c", "a", "b"])
            shop.mutableSetValue(forKey: "guests").remove(guests[0])
            shop.mutableSetValue(forKey: "guests").add(guests[2])
            shop.orderedMembers("line").exchangeObject(at: 0, withObjectAt: 2)
            #expect(shop.hasChanges)
            try context.save()
            context.refreshAllObjects()
            #expect(shop.memberNames("guests").sorted() == ["b", "c"])
            #expect(shop.memberNames("line") == ["b", "a", "c"])
            shop.mutableSetValue(forKey: "guests").removeAllObjects()
            context.refresh(shop, mergeChanges: false)
            #expect(shop.memberNames("guests").sorted() == ["b", "c"])
            context.delete(guests[1])
            try context.save()
            context.refreshAllObjects()
            #expect(shop.memberNames("line") == ["a", "c"])
        }
    }
}
