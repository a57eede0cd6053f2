// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// Applies reported changes to a copy of the results, as a table view does, and compares.
@Suite struct RandomResultsTests {
    private typealias Erased = NSFetchedResultsController<any NSFetchRequestResult>

    /// Random numbers from a seed.
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }

    private final class Table: NSObject, NSFetchedResultsControllerDelegate {
        var sections: [(name: String, rows: [NSManagedObject])] = []
        var problems: [String] = []
        private var removedRows: [IndexPath] = []
        private var insertedRows: [(IndexPath, NSManagedObject)] = []
        private var removedSections: [Int] = []
        private var insertedSections: [(Int, String)] = []
        private var hasSeenRows = false

        func load(_ controller: NSFetchedResultsController<NSManagedObject>) {
            sections = (controller.sections ?? []).map { ($0.name, $0.objects as? [NSManagedObject] ?? []) }
        }

        func controllerWillChangeContent(_ controller: Erased) {
            (removedRows, insertedRows, removedSections, insertedSections, hasSeenRows) = ([], [], [], [], false)
        }

        func controller(
            _ controller: Erased, didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
            for type: NSFetchedResultsChangeType
        ) {
            if hasSeenRows { problems.append("sections come before rows") }
            if type == .insert { insertedSections.append((sectionIndex, sectionInfo.name)) } else { removedSections.append(sectionIndex) }
        }

        func controller(
            _ controller: Erased, didChange anObject: Any, at indexPath: IndexPath?, for type: NSFetchedResultsChangeType,
            newIndexPath: IndexPath?
        ) {
            hasSeenRows = true
            guard let object = anObject as? NSManagedObject else { return problems.append("no object") }
            if let indexPath, sections[indexPath[0]].rows[indexPath[1]] !== object { problems.append("former index of another object") }
            switch (type, indexPath, newIndexPath) {
            case (.insert, nil, let to?): insertedRows.append((to, object))
            case (.delete, let from?, nil): removedRows.append(from)
            case (.move, let from?, let to?):
                removedRows.append(from)
                insertedRows.append((to, object))
            case (.update, .some, _): break
            default: problems.append("a change with the wrong paths")
            }
        }

        func controllerDidChangeContent(_ controller: Erased) {
            for path in removedRows.sorted(by: >) { sections[path[0]].rows.remove(at: path[1]) }
            for index in removedSections.sorted(by: >) {
                if !sections[index].rows.isEmpty { problems.append("a section goes with rows") }
                sections.remove(at: index)
            }
            for (index, name) in insertedSections.sorted(by: { $0.0 < $1.0 }) { sections.insert((name, []), at: index) }
            for (path, object) in insertedRows.sorted(by: { $0.0 < $1.0 }) { sections[path[0]].rows.insert(object, at: path[1]) }
        }
    }

    private final class Differences: NSObject, NSFetchedResultsControllerDelegate {
        var ids: [NSManagedObjectID] = []
        var failures = 0
        func controller(_ controller: Erased, didChangeContentWith diff: CollectionDifference<NSManagedObjectID>) {
            if let next = ids.applying(diff) { ids = next } else { failures += 1 }
        }
    }

    private final class Snapshots: NSObject, NSFetchedResultsControllerDelegate {
        var sections: [String] = []
        var items: [NSManagedObjectID] = []
        func controller(_ controller: Erased, didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference) {
            let snapshot = snapshot as NSDiffableDataSourceSnapshot<String, NSManagedObjectID>
            sections = snapshot.sectionIdentifiers
            items = snapshot.sectionIdentifiers.flatMap { snapshot.itemIdentifiers(inSection: $0) }
        }
    }

    private func request(_ format: String?) -> NSFetchRequest<NSManagedObject> {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
        request.sortDescriptors = ["kind", "amount", "name"].map { NSSortDescriptor(key: $0, ascending: true) }
        request.predicate = format.map { NSPredicate(format: $0) }
        return request
    }

    private struct Turns {
        var random: Seeded
        var count = 0

        /// Makes a few changes.
        mutating func turn(_ context: NSManagedObjectContext) throws {
            var live = try context.fetch(Shelves.sorted("Item", by: "name"))
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                let kind = ["a", "b", "c", "d"].randomElement(using: &random) ?? "a"
                let choice = Int.random(in: 0..<10, using: &random)
                if choice < 4 || live.isEmpty {
                    count += 1
                    let values: [String: Any] = ["name": "item \(count)", "kind": kind, "amount": Int.random(in: 0...9, using: &random)]
                    live.append(Shelves.insert("Item", values, into: context))
                    continue
                }
                let place = live.indices.randomElement(using: &random) ?? 0
                switch choice {
                case 4, 5: context.delete(live.remove(at: place))
                case 6: live[place].setValue(kind, forKey: "kind")
                case 7: live[place].setValue(Double(count), forKey: "weight")
                default: live[place].setValue(Int.random(in: 0...9, using: &random), forKey: "amount")
                }
            }
            if Int.random(in: 0..<6, using: &random) == 0 { try context.save() } else { context.processPendingChanges() }
        }
    }

    @Test(arguments: [(1, nil), (2, "amount > 3"), (3, nil), (4, "amount > 3 AND kind != 'b'")] as [(UInt64, String?)])
    func reportedChangesTransformOldResultsIntoNewOnes(seed: UInt64, format: String?) throws {
        let context = try Shelves.context()
        try context.performAndWait {
            let controller = NSFetchedResultsController(
                fetchRequest: request(format), managedObjectContext: context, sectionNameKeyPath: "kind", cacheName: nil)
            let table = Table()
            controller.delegate = table
            try controller.performFetch()
            table.load(controller)
            var turns = Turns(random: Seeded(state: seed))
            for _ in 0..<150 {
                try turns.turn(context)
                let expected = try context.fetch(request(format))
                try #require(controller.fetchedObjects == expected)
                let sections = controller.sections ?? []
                try #require(table.sections.map(\.name) == sections.map(\.name))
                try #require(table.sections.flatMap(\.rows) == expected)
                try #require(sections.map(\.numberOfObjects) == table.sections.map(\.rows.count))
                try #require(table.problems == [])
            }
            for object in controller.fetchedObjects ?? [] {
                let path = try #require(controller.indexPath(forObject: object))
                try #require(controller.object(at: path) === object)
            }
            #expect(turns.count > 100)
        }
    }

    @Test(arguments: [5, 6] as [UInt64])
    func differencesTransformOldResultsIntoNewOnes(seed: UInt64) throws {
        let context = try Shelves.context()
        try context.performAndWait {
            let controller = NSFetchedResultsController(
                fetchRequest: request("amount > 2"), managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
            let delegate = Differences()
            controller.delegate = delegate
            try controller.performFetch()
            var turns = Turns(random: Seeded(state: seed))
            for _ in 0..<100 {
                try turns.turn(context)
                // The save changes the identifier.
                if !context.hasChanges { delegate.ids = (controller.fetchedObjects ?? []).map(\.objectID) }
                try #require(delegate.ids == (controller.fetchedObjects ?? []).map(\.objectID))
                try #require(try controller.fetchedObjects == context.fetch(request("amount > 2")))
            }
            #expect(delegate.failures == 0)
        }
    }

    @Test(arguments: [7, 8] as [UInt64])
    func snapshotsHoldTheFetchedResults(seed: UInt64) throws {
        let context = try Shelves.context()
        try context.performAndWait {
            let controller = NSFetchedResultsController(
                fetchRequest: request(nil), managedObjectContext: context, sectionNameKeyPath: "kind", cacheName: nil)
            let delegate = Snapshots()
            controller.delegate = delegate
            try controller.performFetch()
            var turns = Turns(random: Seeded(state: seed))
            for _ in 0..<100 {
                try turns.turn(context)
                if !context.hasChanges { continue }
                try #require(delegate.sections == (controller.sections ?? []).map(\.name))
                try #require(Set(delegate.items) == Set((controller.fetchedObjects ?? []).map(\.objectID)))
            }
            #expect(delegate.items.count > 10)
        }
    }
}
