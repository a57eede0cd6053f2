// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

@Suite struct SortTests {
    private static func rows() -> [([NSSortDescriptor], String)] {
        func by(_ key: String, _ ascending: Bool = true) -> NSSortDescriptor { NSSortDescriptor(key: key, ascending: ascending) }
        func by(_ key: String, _ selector: String, _ ascending: Bool = true) -> NSSortDescriptor {
            NSSortDescriptor(key: key, ascending: ascending, selector: NSSelectorFromString(selector))
        }
        let title = by("title")
        return [
            ([title], "EACBD"), ([by("title", false)], "DBCAE"), ([by("title", "compare:")], "EACBD"),
            ([by("title", "caseInsensitiveCompare:")], "EABDC"), ([by("title", "localizedCompare:")], "EABDC"),
            ([by("title", "localizedCaseInsensitiveCompare:")], "EABDC"), ([by("title", "localizedStandardCompare:")], "EABDC"),
            ([by("title", "localizedStandardCompare:", false)], "CDBAE"), ([by("pages"), title], "DAEBC"),
            ([by("pages", false), title], "CEBAD"), ([by("pages", false), by("title", false)], "CBEAD"), ([by("price")], "CEBAD"),
            ([by("price", false)], "DABEC"), ([by("rating", false), by("sold", false)], "ACBED"), ([by("sold")], "DBCAE"),
            ([by("published")], "BEADC"), ([by("isOut"), title], "BDEAC"), ([by("author.name"), title], "DABEC"),
            ([by("author.rank", false), by("pages")], "ECABD"), ([by("author.born"), by("pages")], "DCEAB"),
        ]
    }

    @Test func aStoreSortsBySortDescriptors() throws {
        let shop = try Bookshop(isSaved: true)
        for (index, (sort, expected)) in Self.rows().enumerated() {
            #expect(try shop.fetched(NSPredicate(value: true), sort: sort) == expected, "row \(index)")
        }
    }

    @Test func unsavedObjectsAreSorted() throws {
        let shop = try Bookshop(isSaved: false)
        for (index, (sort, expected)) in Self.rows().enumerated() {
            #expect(try shop.fetched(NSPredicate(value: true), sort: sort) == expected, "row \(index)")
        }
    }

    @Test func arraysAreSortedBySortDescriptors() throws {
        let shop = try Bookshop(isSaved: true)
        shop.context.performAndWait {
            let letters = shop.books.sorted { $0.key < $1.key }
            for (index, (sort, expected)) in Self.rows().enumerated() {
                let sorted = (letters.map(\.value) as NSArray).sortedArray(using: sort)
                let found = sorted.compactMap { object in letters.first { $0.value === object as AnyObject }?.key }.joined()
                #expect(found == expected, "row \(index)")
            }
        }
    }

    @Test func aSortDescriptorHasItsKeyAndMethod() {
        let descriptor = NSSortDescriptor(key: "a.b", ascending: false, selector: NSSelectorFromString("localizedCompare:"))
        #expect(descriptor.key == "a.b")
        #expect(!descriptor.ascending)
        #expect(descriptor.selector.map { NSStringFromSelector($0) } == "localizedCompare:")
        #expect((descriptor.reversedSortDescriptor as? NSSortDescriptor)?.ascending == true)
        #expect((descriptor.reversedSortDescriptor as? NSSortDescriptor)?.key == "a.b")
        #expect(NSSortDescriptor(key: "n", ascending: true).selector.map { NSStringFromSelector($0) } == "compare:")
        #expect(
            NSSortDescriptor(key: "n", ascending: true).compare(["n": 1] as NSDictionary, to: ["n": 2] as NSDictionary) == .orderedAscending
        )
        #expect(
            NSSortDescriptor(key: "n", ascending: false).compare(["n": 1] as NSDictionary, to: ["n": 2] as NSDictionary)
                == .orderedDescending)
        let byLength = NSSortDescriptor(key: "n", ascending: true) { first, second in
            let (a, b) = ((first as? String)?.count ?? 0, (second as? String)?.count ?? 0)
            return a < b ? .orderedAscending : a > b ? .orderedDescending : .orderedSame
        }
        #expect(byLength.compare(["n": "zz"] as NSDictionary, to: ["n": "aaa"] as NSDictionary) == .orderedAscending)
    }

    @Test func sortDescriptorsAreEqualByValue() {
        let descriptors = [
            NSSortDescriptor(key: "a", ascending: true), NSSortDescriptor(key: "a", ascending: false),
            NSSortDescriptor(key: "b", ascending: true),
            NSSortDescriptor(key: nil, ascending: true),
            NSSortDescriptor(key: "a", ascending: true, selector: NSSelectorFromString("localizedCompare:")),
            NSSortDescriptor(key: "a", ascending: true) { _, _ in .orderedSame },
            NSSortDescriptor(keyPath: \NSManagedObject.objectID, ascending: true),
        ]
        for (index, descriptor) in descriptors.enumerated() {
            for (other, second) in descriptors.enumerated() { #expect((descriptor == second) == (index == other), "\(index), \(other)") }
        }
        let again = NSSortDescriptor(key: "a", ascending: true)
        #expect(again == descriptors[0])
        #expect(again.hash == descriptors[0].hash)
        #expect(Set([again, descriptors[0]]).count == 1)
        #expect(NSSortDescriptor(key: "a", ascending: true, selector: NSSelectorFromString("compare:")) == again)
        #expect(NSSortDescriptor(keyPath: \NSManagedObject.objectID, ascending: true) == descriptors[6])
        #expect(descriptors[1].reversedSortDescriptor as? NSSortDescriptor == again)
        #expect(again.copy() as? NSSortDescriptor == again)
        let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
        request.sortDescriptors = [again]
        #expect((request.copy() as? NSFetchRequest<NSManagedObject>)?.sortDescriptors == [descriptors[0]])
    }

    @Test func sortDescriptorsAreArchived() throws {
        for descriptor in [
            NSSortDescriptor(key: "a.b", ascending: false), NSSortDescriptor(key: nil, ascending: true),
            NSSortDescriptor(key: "a", ascending: true, selector: NSSelectorFromString("localizedStandardCompare:")),
        ] {
            let data = try NSKeyedArchiver.archivedData(withRootObject: [descriptor] as NSArray, requiringSecureCoding: true)
            let array = try NSKeyedUnarchiver.unarchivedObject(ofClasses: [NSArray.self, NSSortDescriptor.self], from: data) as? NSArray
            let again = try #require(array?.firstObject as? NSSortDescriptor)
            again.allowEvaluation()
            #expect(again == descriptor)
            #expect(again.key == descriptor.key)
            #expect(again.ascending == descriptor.ascending)
            #expect(again.selector == descriptor.selector)
        }
    }

    @Test func sortDescriptorsMayBeSubclassed() {
        final class ByTitle: NSSortDescriptor {
            convenience init(_ ascending: Bool) { self.init(key: "title", ascending: ascending) }
        }
        let descriptor = ByTitle(false)
        #expect(descriptor.key == "title")
        #expect(!descriptor.ascending)
        #expect(descriptor.compare(["title": "a"] as NSDictionary, to: ["title": "b"] as NSDictionary) == .orderedDescending)
    }

    @Test func aStoreRejectsComparatorsAndUnknownKeys() throws {
        let shop = try Bookshop(isSaved: true)
        let comparator = NSSortDescriptor(key: "title", ascending: true) { _, _ in .orderedSame }
        for sort in [comparator, NSSortDescriptor(key: "nothing", ascending: true), NSSortDescriptor(key: "tags", ascending: true)] {
            // Apple raises exceptions for these, which a Swift test could not catch.
            #expect(throws: CocoaError.self) { try shop.fetched(NSPredicate(value: true), sort: [sort]) }
        }
    }
}
