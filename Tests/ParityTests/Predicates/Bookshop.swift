// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// Five books, named by letters, as the domain of the predicate tests.
///
/// | | title | pages | price | rating | sold | isOut | published | author | tags |
/// |---|---|---|---|---|---|---|---|---|---|
/// | A | Alpha | 100 | 10.5 | 4.5 | 1000 | yes | 1000 | Ada (born 100, rank 1) | fiction, old |
/// | B | beta | 250 | 5 | 3 | 0 | no | – | Ada | – |
/// | C | Gämma | 300 | – | 4.5 | 7 | yes | 2000 | Émile (born –, rank 2) | fiction |
/// | D | delta*? | 0 | 99.99 | -1.5 | -3 | no | 1500 | – | new, old, fiction |
/// | E | (empty) | 250 | 0 | 0 | 5000000000 | yes | 500 | zoe (born 50, rank 3) | new |
struct Bookshop {
    let context: NSManagedObjectContext
    private(set) var books: [String: NSManagedObject] = [:]
    private(set) var authors: [String: NSManagedObject] = [:]
    private(set) var tags: [String: NSManagedObject] = [:]

    static let number = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    /// - Parameter isSaved: Whether the books are in the store, or only in the context.
    init(isSaved: Bool) throws {
        context = try Library.context()
        let made = context.performAndWait { [context] in Self.fill(context) }
        (books, authors, tags) = (made.0, made.1, made.2)
        if isSaved { try context.performAndWait { [context] in try context.save() } }
    }

    static func date(_ seconds: Double) -> Date { Date(timeIntervalSinceReferenceDate: seconds) }

    private static func fill(
        _ context: NSManagedObjectContext
    ) -> ([String: NSManagedObject], [String: NSManagedObject], [String: NSManagedObject]) {
        func object(_ entity: String, _ values: [String: Any]) -> NSManagedObject {
            let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
            for (key, value) in values { object.setValue(value, forKey: key) }
            return object
        }
        let ada = object("Author", ["name": "Ada", "born": date(100), "rank": 1])
        let emile = object("Author", ["name": "Émile", "rank": 2])
        let zoe = object("Author", ["name": "zoe", "born": date(50), "rank": 3])
        let (fiction, old) = (object("Tag", ["label": "fiction"]), object("Tag", ["label": "old"]))
        let new = object("Tag", ["label": "new"])
        let a = object(
            "Book",
            [
                "title": "Alpha", "pages": 100, "price": NSDecimalNumber(string: "10.5"), "rating": 4.5, "sold": 1000, "isOut": true,
                "published": date(1000), "author": ada, "tags": NSSet(array: [fiction, old]), "isbn": number,
            ])
        let b = object(
            "Book",
            ["title": "beta", "pages": 250, "price": NSDecimalNumber(string: "5"), "rating": 3.0, "author": ada, "cover": Data([1, 2])])
        let c = object(
            "Book",
            [
                "title": "Gämma", "pages": 300, "rating": 4.5, "sold": 7, "isOut": true, "published": date(2000), "author": emile,
                "tags": NSSet(array: [fiction]),
            ])
        let d = object(
            "Book",
            [
                "title": "delta*?", "price": NSDecimalNumber(string: "99.99"), "rating": -1.5, "sold": -3, "published": date(1500),
                "tags": NSSet(array: [new, old, fiction]),
            ])
        let e = object(
            "Book",
            [
                "title": "", "pages": 250, "price": NSDecimalNumber(string: "0"), "sold": 5_000_000_000 as Int64, "isOut": true,
                "published": date(500), "author": zoe, "tags": NSSet(array: [new]),
            ])
        return (
            ["A": a, "B": b, "C": c, "D": d, "E": e], ["Ada": ada, "Émile": emile, "zoe": zoe],
            ["fiction": fiction, "old": old, "new": new]
        )
    }

    /// The letters of the books that a fetch returns.
    func fetched(_ predicate: NSPredicate, sort: [NSSortDescriptor] = []) throws -> String {
        try context.performAndWait {
            let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
            request.predicate = predicate
            request.sortDescriptors = sort
            let letters = try context.fetch(request).map { letter(of: $0) }
            return (sort.isEmpty ? letters.sorted() : letters).joined()
        }
    }

    func count(_ predicate: NSPredicate) throws -> Int {
        try context.performAndWait {
            let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
            request.predicate = predicate
            return try context.count(for: request)
        }
    }

    /// The letters of the books that match in memory.
    func filtered(_ predicate: NSPredicate) -> String {
        context.performAndWait { books.filter { predicate.evaluate(with: $0.value) }.map(\.key).sorted().joined() }
    }

    private func letter(of object: NSManagedObject) -> String { books.first { $0.value == object }?.key ?? "?" }
}
