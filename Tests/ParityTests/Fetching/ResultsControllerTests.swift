// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct ResultsControllerTests {
    typealias Erased = NSFetchedResultsController<any NSFetchRequestResult>

    /// Records each change.
    final class Changes: NSObject, NSFetchedResultsControllerDelegate {
        var lines: [String] = []
        func controllerWillChangeContent(_ controller: Erased) { lines.append("will") }
        func controller(
            _ controller: Erased, didChange anObject: Any, at indexPath: IndexPath?, for type: NSFetchedResultsChangeType,
            newIndexPath: IndexPath?
        ) {
            let name = (anObject as? NSManagedObject)?.value(forKey: "name") as? String ?? "?"
            let places = [indexPath, newIndexPath].map { $0.map { "\($0[0]).\($0[1])" } ?? "-" }
            switch type {
            case .insert: lines.append("insert \(name) \(places[1])")
            case .delete: lines.append("delete \(places[0])")
            case .move: lines.append("move \(name) \(places[0])>\(places[1])")
            case .update: lines.append("update \(name) \(places[0])")
            @unknown default: lines.append("?")
            }
        }
        func controller(
            _ controller: Erased, didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
            for type: NSFetchedResultsChangeType
        ) { lines.append("\(type == .insert ? "+" : "-")section \(sectionInfo.name) \(sectionIndex)") }
        func controllerDidChangeContent(_ controller: Erased) { lines.append("did") }
        func take() -> [String] {
            defer { lines = [] }
            return lines
        }
    }

    /// Implements the snapshot method, and records changes that must not be reported besides.
    final class Snapshots: NSObject, NSFetchedResultsControllerDelegate {
        var snapshots: [NSDiffableDataSourceSnapshot<String, NSManagedObjectID>] = []
        var others = 0
        func controller(_ controller: Erased, didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference) {
            snapshots.append(snapshot as NSDiffableDataSourceSnapshot<String, NSManagedObjectID>)
        }
        func controllerDidChangeContent(_ controller: Erased) { others += 1 }
    }

    final class Differences: NSObject, NSFetchedResultsControllerDelegate {
        var differences: [CollectionDifference<NSManagedObjectID>] = []
        var others = 0
        func controller(_ controller: Erased, didChangeContentWith diff: CollectionDifference<NSManagedObjectID>) {
            differences.append(diff)
        }
        func controllerDidChangeContent(_ controller: Erased) { others += 1 }
    }

    private func controller(
        _ context: NSManagedObjectContext, by keys: [String], sections: String? = nil, _ format: String? = nil, cache: String? = nil
    ) -> NSFetchedResultsController<NSManagedObject> {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
        request.sortDescriptors = keys.map { NSSortDescriptor(key: $0, ascending: true) }
        request.predicate = format.map { NSPredicate(format: $0) }
        return NSFetchedResultsController(
            fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: sections, cacheName: cache)
    }

    private func names(_ controller: NSFetchedResultsController<NSManagedObject>) -> [String] {
        (controller.fetchedObjects ?? []).map { $0.value(forKey: "name") as? String ?? "?" }
    }

    /// Apps read rows as `fetchedObjects?[row]`, so each read must not make a list of its own.
    @Test func fetchedObjectsAreOneListUntilTheResultsChange() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let results = controller(context, by: ["amount"])
            let changes = Changes()
            results.delegate = changes
            try results.performFetch()
            func address(_ objects: [NSManagedObject]?) -> Int? {
                objects?.withUnsafeBufferPointer { $0.baseAddress.map { Int(bitPattern: $0) } }
            }
            let first = results.fetchedObjects
            let second = results.fetchedObjects
            #expect(address(first) == address(second))
            #expect(first?.count == 8)
            context.delete(results.object(at: IndexPath(indexes: [0, 0])))
            context.processPendingChanges()
            #expect(names(results) == (2...8).map { "item \($0)" })
            #expect(changes.lines.last == "did")
        }
    }

    @Test func performFetchFillsTheResults() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let results = controller(context, by: ["kind", "amount"], sections: "kind")
            #expect(results.fetchedObjects == nil)
            #expect(results.sections == nil)
            try results.performFetch()
            #expect(names(results) == ["item 2", "item 5", "item 8", "item 3", "item 6", "item 1", "item 4", "item 7"])
            let sections = try #require(results.sections)
            #expect(sections.map(\.name) == ["book", "tool", "toy"])
            #expect(sections.map(\.numberOfObjects) == [3, 2, 3])
            #expect(sections.map(\.indexTitle) == ["B", "T", "T"])
            #expect((sections[1].objects as? [NSManagedObject])?.map { $0.value(forKey: "amount") as? Int32 } == [3, 6])
            #expect(results.object(at: IndexPath(indexes: [2, 1])).value(forKey: "name") as? String == "item 4")
            #expect(results.indexPath(forObject: results.object(at: IndexPath(indexes: [1, 1]))) == IndexPath(indexes: [1, 1]))
            #expect(results.sectionIndexTitles == ["B", "T"])
            #expect(results.section(forSectionIndexTitle: "T", at: 1) == 1)
            #expect(results.sectionIndexTitle(forSectionName: "zebra") == "Z")
            #expect(results.sectionNameKeyPath == "kind")
            #expect(results.cacheName == nil)
            #expect(results.managedObjectContext === context)
            let other = Shelves.insert("Shelf", into: context)
            #expect(results.indexPath(forObject: other) == nil)
        }
    }

    @Test func resultsWithoutSectionNamesHaveOneSection() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            let results = controller(context, by: ["name"])
            try results.performFetch()
            #expect(results.sections?.count == 1)
            #expect(results.sections?.first?.numberOfObjects == 0)
            #expect(results.fetchedObjects?.isEmpty == true)
            let sectioned = controller(context, by: ["kind"], sections: "kind")
            try sectioned.performFetch()
            #expect(sectioned.sections?.isEmpty == true)
        }
    }

    @Test func aSortOrderThatSplitsSectionsIsAnError() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            #expect { try controller(context, by: ["amount"], sections: "kind").performFetch() } throws: {
                ($0 as? CocoaError)?.code.rawValue == 134_060
            }
        }
    }

    @Test func eachChangeIsReportedToTheDelegate() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            let results = controller(context, by: ["amount", "name"])
            let changes = Changes()
            results.delegate = changes
            try results.performFetch()
            func turn(_ body: () throws -> Void) rethrows -> [String] {
                try body()
                context.processPendingChanges()
                return changes.take()
            }
            var items: [String: NSManagedObject] = [:]
            let one = turn { items["b"] = Shelves.insert("Item", ["name": "b", "amount": 2], into: context) }
            #expect(one == ["will", "insert b 0.0", "did"])
            let two = turn {
                items["c"] = Shelves.insert("Item", ["name": "c", "amount": 3], into: context)
                items["a"] = Shelves.insert("Item", ["name": "a", "amount": 1], into: context)
            }
            #expect(two == ["will", "insert a 0.0", "insert c 0.2", "did"])
            #expect(try turn { try context.save() } == [])
            #expect(turn { items["b"]?.setValue("tool", forKey: "kind") } == ["will", "update b 0.1", "did"])
            #expect(turn { items["a"]?.setValue(9, forKey: "amount") } == ["will", "move a 0.0>0.2", "did"])
            #expect(names(results) == ["b", "c", "a"])
            let c = try #require(items["c"])
            let mixed = turn {
                context.delete(c)
                items["d"] = Shelves.insert("Item", ["name": "d", "amount": 0], into: context)
                items["a"]?.setValue(7, forKey: "amount")
            }
            #expect(mixed == ["will", "delete 0.1", "insert d 0.0", "update a 0.2", "did"])
            #expect(names(results) == ["d", "b", "a"])
            #expect(turn { Shelves.insert("Shelf", into: context) } == [])
            try context.save()
            context.reset()
            #expect(results.fetchedObjects?.isEmpty == true)
            try results.performFetch()
            #expect(names(results) == ["d", "b", "a"])
        }
    }

    @Test func sectionChangesAreReportedBeforeObjectChanges() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let results = controller(context, by: ["kind", "amount"], sections: "kind")
            let changes = Changes()
            results.delegate = changes
            try results.performFetch()
            let items = try Shelves.all("Item", by: "amount", in: context)
            items[2].setValue("sword", forKey: "kind")
            context.processPendingChanges()
            #expect(changes.take() == ["will", "+section sword 1", "move item 3 1.0>1.0", "did"])
            items[5].setValue("sword", forKey: "kind")
            context.processPendingChanges()
            #expect(changes.take() == ["will", "-section tool 2", "move item 6 2.0>1.1", "did"])
            #expect(results.sections?.map(\.name) == ["book", "sword", "toy"])
            #expect(results.sections?.map(\.numberOfObjects) == [3, 2, 3])
            for item in items where item.value(forKey: "kind") as? String == "book" { context.delete(item) }
            context.processPendingChanges()
            #expect(changes.take() == ["will", "-section book 0", "delete 0.0", "delete 0.1", "delete 0.2", "did"])
            #expect(results.indexPath(forObject: items[5]) == IndexPath(indexes: [0, 1]))
        }
    }

    @Test func objectsThatStopMatchingAreRemoved() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let results = controller(context, by: ["amount"], "kind == 'tool'")
            let changes = Changes()
            results.delegate = changes
            try results.performFetch()
            #expect(names(results) == ["item 3", "item 6"])
            let items = try Shelves.all("Item", by: "amount", in: context)
            items[2].setValue("toy", forKey: "kind")
            items[0].setValue("tool", forKey: "kind")
            context.processPendingChanges()
            #expect(changes.take() == ["will", "delete 0.0", "insert item 1 0.0", "did"])
            context.rollback()
            #expect(names(results) == ["item 3", "item 6"])
            #expect(changes.take().first == "will")
        }
    }

    @Test func mergedChangesUpdateTheResults() throws {
        let container = try Shelves.container()
        let (writer, reader) = (container.newBackgroundContext(), container.newBackgroundContext())
        try writer.performAndWait { try Shelves.fill(writer) }
        let changes = Changes()
        let results = try reader.performAndWait {
            let results = controller(reader, by: ["amount"])
            results.delegate = changes
            try results.performFetch()
            return results
        }
        let saved = Saved()
        let observer = NotificationCenter.default.addObserver(forName: .NSManagedObjectContextDidSave, object: writer, queue: nil) {
            saved.last = $0
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        try writer.performAndWait {
            let items = try Shelves.all("Item", by: "amount", in: writer)
            writer.delete(items[0])
            items[1].setValue("second", forKey: "name")
            Shelves.insert("Item", ["name": "last", "amount": 100], into: writer)
            try writer.save()
        }
        try reader.performAndWait {
            reader.mergeChanges(fromContextDidSave: try #require(saved.last))
            #expect(changes.take() == ["will", "delete 0.0", "update second 0.1", "insert last 0.7", "did"])
            #expect(names(results).last == "last")
            #expect(names(results).count == 8)
        }
    }

    private final class Saved: @unchecked Sendable {
        // Unchecked: written while the save waits for it.
        var last: Notification?
    }

    @Test func aSnapshotDelegateReceivesNoOtherCall() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let results = controller(context, by: ["kind", "amount"], sections: "kind")
            let delegate = Snapshots()
            results.delegate = delegate
            try results.performFetch()
            let items = try Shelves.all("Item", by: "amount", in: context)
            items[0].setValue(11, forKey: "amount")
            context.processPendingChanges()
            let snapshot = try #require(delegate.snapshots.last)
            #expect(snapshot.sectionIdentifiers == ["book", "tool", "toy"])
            #expect(snapshot.itemIdentifiers(inSection: "toy") == [items[3], items[6], items[0]].map(\.objectID))
            #expect(snapshot.numberOfItems == 8)
            #expect(snapshot.numberOfSections == 3)
            #expect(snapshot.indexOfItem(items[0].objectID) == 7)
            #expect(snapshot.sectionIdentifier(containingItem: items[0].objectID) == "toy")
            #expect(delegate.others == 0)
            let count = delegate.snapshots.count
            context.processPendingChanges()
            #expect(delegate.snapshots.count == count)
            context.delete(items[2])
            context.delete(items[5])
            context.processPendingChanges()
            #expect(delegate.snapshots.last?.sectionIdentifiers == ["book", "toy"])
        }
    }

    @Test func differencesAreDeliveredWithoutSections() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let results = controller(context, by: ["amount"])
            let delegate = Differences()
            results.delegate = delegate
            try results.performFetch()
            let before = try #require(results.fetchedObjects).map(\.objectID)
            let items = try Shelves.all("Item", by: "amount", in: context)
            items[0].setValue(50, forKey: "amount")
            context.delete(items[4])
            Shelves.insert("Item", ["amount": 0], into: context)
            context.processPendingChanges()
            let difference = try #require(delegate.differences.last)
            #expect(before.applying(difference) == results.fetchedObjects?.map(\.objectID))
            #expect(delegate.others == 0)
            // With sections the difference method is not called.
            let sectioned = controller(context, by: ["kind", "amount"], sections: "kind")
            let other = Differences()
            sectioned.delegate = other
            try sectioned.performFetch()
            items[1].setValue("zebra", forKey: "kind")
            context.processPendingChanges()
            #expect(other.differences.isEmpty)
            #expect(other.others == 1)
        }
    }

    @Test func sectionsAreCachedBeyondTheController() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sqlite")
        let name = "Sections \(UUID().uuidString)"
        defer { NSFetchedResultsController<NSManagedObject>.deleteCache(withName: name) }
        for round in 0..<3 {
            let context = try Shelves.container(at: url).newBackgroundContext()
            try context.performAndWait {
                if round == 0 { try Shelves.fill(context) }
                if round == 2 {
                    try Shelves.all("Item", by: "amount", in: context).first?.setValue("anvil", forKey: "kind")
                    try context.save()
                }
                let results = controller(context, by: ["kind", "amount"], sections: "kind", cache: name)
                #expect(results.cacheName == name)
                try results.performFetch()
                #expect(results.sections?.map(\.name) == (round == 2 ? ["anvil", "book", "tool", "toy"] : ["book", "tool", "toy"]))
                #expect(results.sections?.map(\.numberOfObjects) == (round == 2 ? [1, 3, 2, 2] : [3, 2, 3]))
            }
        }
    }

    /// The cache describes the newest state of the files, which pinned contexts and children with changed parents don't see.
    @Test func contextsOfAnotherStateHaveNoSectionCache() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sqlite")
        let name = "Sections \(UUID().uuidString)"
        defer { NSFetchedResultsController<NSManagedObject>.deleteCache(withName: name) }
        let container = try Shelves.container(at: url)
        let (context, writer) = (container.newBackgroundContext(), container.newBackgroundContext())
        func counts(_ context: NSManagedObjectContext) throws -> [Int]? {
            let results = controller(context, by: ["kind", "amount"], sections: "kind", cache: name)
            try results.performFetch()
            return results.sections?.map(\.numberOfObjects)
        }
        try writer.performAndWait { try Shelves.fill(writer) }
        try context.performAndWait {
            try context.setQueryGenerationFrom(.current)
            #expect(try counts(context) == [3, 2, 3])
        }
        try writer.performAndWait {
            try Shelves.all("Item", by: "amount", in: writer).first?.setValue("book", forKey: "kind")
            try writer.save()
        }
        try context.performAndWait {
            #expect(try counts(context) == [3, 2, 3])
            try context.setQueryGenerationFrom(nil)
            context.reset()
            #expect(try counts(context) == [4, 2, 2])
            try Shelves.all("Item", by: "amount", in: context).last?.setValue("tool", forKey: "kind")
            #expect(context.hasChanges)
        }
        let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        child.parent = context
        let childCounts = try child.performAndWait { try counts(child) }
        #expect(childCounts == [3, 3, 2])
    }

    /// A context over a file, since stores in memory have no cache.
    private func contextOfAFile() throws -> NSManagedObjectContext {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sqlite")
        return try Shelves.container(at: url).newBackgroundContext()
    }

    @Test func cacheOfAnotherOrderOfTextIsRebuilt() throws {
        let context = try contextOfAFile()
        let name = "Sections \(UUID().uuidString)"
        defer { NSFetchedResultsController<NSManagedObject>.deleteCache(withName: name) }
        try context.performAndWait {
            for kind in ["a", "B", "a"] { Shelves.insert("Item", ["kind": kind], into: context) }
            try context.save()
            for (method, sections) in [("caseInsensitiveCompare:", ["a", "B"]), ("compare:", ["B", "a"])] {
                let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
                request.sortDescriptors = [NSSortDescriptor(key: "kind", ascending: true, selector: Selector(method))]
                let results = NSFetchedResultsController(
                    fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "kind", cacheName: name)
                try results.performFetch()
                #expect(results.sections?.map(\.name) == sections)
            }
        }
    }

    @Test func cacheOfAnotherRequestIsRebuilt() throws {
        let context = try contextOfAFile()
        let name = "Sections \(UUID().uuidString)"
        defer { NSFetchedResultsController<NSManagedObject>.deleteCache(withName: name) }
        try context.performAndWait {
            try Shelves.fill(context)
            for (keys, section, format, sections) in [
                (["kind", "amount"], "kind", nil, ["book", "tool", "toy"]),
                (["kind", "amount"], "kind", "kind != 'tool'", ["book", "toy"]),
                (["isNew", "amount"], "isNew", nil, ["0", "1"]),
            ] as [([String], String, String?, [String])] {
                let results = controller(context, by: keys, sections: section, format, cache: name)
                try results.performFetch()
                #expect(results.sections?.map(\.name) == sections)
            }
        }
    }

    @Test func resultsWithoutADelegateDoNotFollowChanges() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let results = controller(context, by: ["amount"])
            try results.performFetch()
            Shelves.insert("Item", ["amount": 0], into: context)
            context.processPendingChanges()
            #expect(results.fetchedObjects?.count == 8)
            let changes = Changes()
            results.delegate = changes
            try results.performFetch()
            #expect(results.fetchedObjects?.count == 9)
            Shelves.insert("Item", ["amount": 0], into: context)
            context.processPendingChanges()
            #expect(results.fetchedObjects?.count == 10)
        }
    }

    @Test func performFetchDeliversASnapshot() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let results = controller(context, by: ["amount"])
            let delegate = Snapshots()
            results.delegate = delegate
            try results.performFetch()
            #expect(delegate.snapshots.map(\.numberOfItems) == [8])
        }
    }

    @Test func manySimultaneousChangesKeepTheOrder() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            for number in 0..<1500 {
                Shelves.insert("Item", ["amount": number * 2, "kind": "k\(number / 500)", "name": "\(number)"], into: context)
            }
            try context.save()
            let results = controller(context, by: ["kind", "amount"], sections: "kind")
            let changes = Changes()
            results.delegate = changes
            try results.performFetch()
            let items = try Shelves.all("Item", by: "amount", in: context)
            for number in stride(from: 0, to: 1500, by: 7) { items[number].setValue((number * 31) % 3001, forKey: "amount") }
            for number in stride(from: 3, to: 1500, by: 7) { context.delete(items[number]) }
            for number in stride(from: 5, to: 1500, by: 70) { items[number].setValue("k\((number / 5) % 4)", forKey: "kind") }
            for number in 0..<700 {
                Shelves.insert("Item", ["amount": number * 3 + 1, "kind": "k\(number % 5)", "name": "n"], into: context)
            }
            context.processPendingChanges()
            let again = controller(context, by: ["kind", "amount"], sections: "kind")
            try again.performFetch()
            #expect(results.fetchedObjects?.count == again.fetchedObjects?.count)
            #expect(results.sections?.map(\.name) == again.sections?.map(\.name))
            #expect(results.sections?.map(\.numberOfObjects) == again.sections?.map(\.numberOfObjects))
            func order(_ results: NSFetchedResultsController<NSManagedObject>) -> [String] {
                (results.fetchedObjects ?? []).map { "\($0.value(forKey: "kind") ?? "") \($0.value(forKey: "amount") ?? "")" }
            }
            #expect(order(results) == order(again))
            #expect(changes.lines.first == "will")
            #expect(changes.lines.last == "did")
            let probe = try #require(results.fetchedObjects?[1234])
            #expect(results.indexPath(forObject: probe).map { results.object(at: $0) } === probe)
        }
    }
}
