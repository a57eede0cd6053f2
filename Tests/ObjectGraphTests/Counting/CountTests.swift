// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import Testing

/// A machine-independent cost: statements. A number may only decrease.
@Suite struct CountTests {
    private let context: NSManagedObjectContext
    private let other: NSManagedObjectContext
    private let file: URL

    init() throws {
        file = try StatementCounter.countedFile()
        let container = try Library.container(at: file)
        context = container.newBackgroundContext()
        other = container.newBackgroundContext()
    }

    private func insert(_ count: Int, into context: NSManagedObjectContext) {
        for number in 0..<count {
            NSEntityDescription.insertNewObject(forEntityName: "Note", into: context).setValue("\(number)", forKey: "text")
        }
    }

    private func statements(_ body: () throws -> Void) throws -> Int { try StatementCounter.count(file, body) }

    private func notes(_ context: NSManagedObjectContext) throws -> [NSManagedObject] {
        try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note"))
    }

    // MARK: Statements

    @Test func aSaveOfNewObjectsIsOneTransaction() throws {
        try context.performAndWait {
            insert(1, into: context)
            let first = try statements { try context.save() }
            // BEGIN, the entity's next key, the row, COMMIT.
            #expect(first <= 5)
            insert(100, into: context)
            let second = try statements { try context.save() }
            #expect(second <= 100 + 4)
        }
    }

    @Test func aSaveOfChangesIsAStatementForEach() throws {
        try context.performAndWait {
            insert(100, into: context)
            try context.save()
            let objects = try notes(context)
            for object in objects { object.setValue("changed", forKey: "text") }
            let changed = try statements { try context.save() }
            #expect(changed <= 100 + 2)
            for object in objects.prefix(50) { context.delete(object) }
            let deleted = try statements { try context.save() }
            #expect(deleted <= 50 + 2)
            let nothing = try statements { try context.save() }
            #expect(nothing == 0)
        }
    }

    @Test func aFetchIsOneStatementAndReadingItsObjectsNone() throws {
        try context.performAndWait {
            insert(200, into: context)
            try context.save()
        }
        try other.performAndWait {
            var objects: [NSManagedObject] = []
            let fetched = try statements { objects = try notes(other) }
            #expect(fetched <= 4)
            #expect(objects.count == 200)
            let read = StatementCounter.count(file) {
                for object in objects { #expect(object.value(forKey: "text") is String) }
            }
            #expect(read == 0)
            let known = try statements { _ = try other.existingObject(with: objects[0].objectID) }
            #expect(known == 0)
            let counted = try statements { _ = try other.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note")) }
            #expect(counted <= 4)
        }
    }

    @Test func aRowByItsIDIsOneStatement() throws {
        var id: NSManagedObjectID?
        try context.performAndWait {
            insert(1, into: context)
            try context.save()
            id = try notes(context).first?.objectID
        }
        let stored = try #require(id)
        try other.performAndWait {
            // The first read opens a connection.
            _ = try other.existingObject(with: stored)
            other.reset()
            let looked = try statements { _ = try other.existingObject(with: stored) }
            #expect(looked <= 3)
        }
    }
}
