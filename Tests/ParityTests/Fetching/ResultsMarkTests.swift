// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// What snapshots and differences say of changed objects, and titles that a delegate gives.
@Suite struct ResultsMarkTests {
    private typealias Erased = NSFetchedResultsController<any NSFetchRequestResult>

    private final class Snapshots: NSFetchedResultsControllerDelegate {
        var last: NSDiffableDataSourceSnapshotReference?

        func controller(_ controller: Erased, didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference) { last = snapshot }
    }

    private final class Differences: NSFetchedResultsControllerDelegate {
        var last: CollectionDifference<NSManagedObjectID>?

        func controller(_ controller: Erased, didChangeContentWith diff: CollectionDifference<NSManagedObjectID>) { last = diff }
    }

    private final class Titles: NSFetchedResultsControllerDelegate {
        func controller(_ controller: Erased, sectionIndexTitleForSectionName sectionName: String) -> String? {
            sectionName == "tool" ? nil : "#" + sectionName.suffix(1)
        }
    }

    private func controller(
        _ context: NSManagedObjectContext, by keys: [String], sections: String? = nil
    ) -> NSFetchedResultsController<NSManagedObject> {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
        request.sortDescriptors = keys.map { NSSortDescriptor(key: $0, ascending: true) }
        return NSFetchedResultsController(
            fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: sections, cacheName: nil)
    }

    @Test func changedAndMovedObjectsAreReloaded() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let results = controller(context, by: ["kind", "amount"], sections: "kind")
            let delegate = Snapshots()
            results.delegate = delegate
            try results.performFetch()
            let items = try Shelves.all("Item", by: "amount", in: context)
            items[0].setValue("renamed", forKey: "name")
            items[1].setValue(50, forKey: "amount")
            context.processPendingChanges()
            let snapshot = try #require(delegate.last) as NSDiffableDataSourceSnapshot<String, NSManagedObjectID>
            #expect(Set(snapshot.reloadedItemIdentifiers) == Set([items[0], items[1]].map(\.objectID)))
        }
    }

    @Test func aChangedObjectIsTakenOutAndPutInAgain() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let results = controller(context, by: ["amount"])
            let delegate = Differences()
            results.delegate = delegate
            try results.performFetch()
            let items = try Shelves.all("Item", by: "amount", in: context)
            items[2].setValue("renamed", forKey: "name")
            context.processPendingChanges()
            let difference = try #require(delegate.last)
            #expect(difference.removals.count == 1)
            #expect(difference.insertions.count == 1)
            for change in difference {
                switch change {
                case .insert(let offset, let element, _), .remove(let offset, let element, _):
                    #expect(offset == 2)
                    #expect(element == items[2].objectID)
                }
            }
        }
    }

    @Test func aDelegateGivesTheIndexTitles() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let results = controller(context, by: ["kind", "amount"], sections: "kind")
            let delegate = Titles()
            results.delegate = delegate
            try results.performFetch()
            #expect(results.sections?.map(\.indexTitle) == ["#k", nil, "#y"])
            #expect(results.sectionIndexTitles == ["#k", "#y"])
        }
    }

    @Test func aRequestWithoutOrderIsAnError() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let error = #expect(throws: CocoaError.self) { try controller(context, by: []).performFetch() }
            #expect(error?.localizedDescription.isEmpty == false)
        }
    }

    /// The new object belongs to a section that the order puts elsewhere.
    @Test func anObjectAgainstTheOrderIsAtTheEndOfItsSection() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            for (kind, amount) in [("a", 1), ("a", 2), ("b", 3), ("b", 4)] {
                Shelves.insert("Item", ["kind": kind, "amount": amount, "name": "\(amount)"], into: context)
            }
            try context.save()
            let results = controller(context, by: ["amount"], sections: "kind")
            results.delegate = Titles()
            let delegate = Snapshots()
            results.delegate = delegate
            try results.performFetch()
            Shelves.insert("Item", ["kind": "a", "amount": 5, "name": "5"], into: context)
            context.processPendingChanges()
            #expect(results.sections?.map(\.name) == ["a", "b"])
            #expect(
                results.sections?.map { ($0.objects ?? []).compactMap { ($0 as? NSManagedObject)?.value(forKey: "name") as? String } } == [
                    ["1", "2", "5"], ["3", "4"],
                ])
        }
    }
}
