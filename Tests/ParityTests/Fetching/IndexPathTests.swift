// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// Index paths of a results controller, in the form of tables and collections.
@Suite struct IndexPathTests {
    @Test func rowsAndItemsHaveSections() {
        var path = IndexPath(row: 3, section: 1)
        #expect(path == IndexPath(indexes: [1, 3]))
        #expect(path == IndexPath(item: 3, section: 1))
        #expect(path.row == 3)
        #expect(path.item == 3)
        #expect(path.section == 1)
        path.row += 1
        path.section = 7
        #expect(path == IndexPath(item: 4, section: 7))
        path.item = 0
        #expect(path == [7, 0])
    }

    @Test func xcodesDelegateReplaysChangesOntoATable() throws {
        let container = try Library.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let names = ["b", "a", "c"]
            let authors = names.map { name in
                let author = Author(context: context)
                author.setValue(name, forKey: "name")
                return author
            }
            try context.save()
            let request = NSFetchRequest<Author>(entityName: "Author")
            request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
            let controller = NSFetchedResultsController(
                fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
            let table = Table()
            controller.delegate = table
            try controller.performFetch()
            table.rows = (0..<(controller.sections?[0].numberOfObjects ?? 0)).map {
                controller.object(at: IndexPath(row: $0, section: 0)).value(forKey: "name") as? String ?? ""
            }
            context.delete(authors[0])
            authors[1].setValue("z", forKey: "name")
            Author(context: context).setValue("d", forKey: "name")
            try context.save()
            #expect(table.rows == ["c", "d", "z"])
            #expect(controller.indexPath(forObject: authors[1])?.row == 2)
        }
    }
}

/// The delegate of Xcode's template, over an array instead of a table.
private final class Table: NSFetchedResultsControllerDelegate {
    var rows: [String] = []
    private var changes: [(IndexPath?, IndexPath?, String)] = []

    func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) { changes = [] }

    func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any, at indexPath: IndexPath?,
        for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) {
        let name = (anObject as? Author)?.value(forKey: "name") as? String ?? ""
        switch type {
        case .insert: changes.append((nil, newIndexPath, name))
        case .delete: changes.append((indexPath, nil, name))
        case .update: changes.append((indexPath, indexPath, name))
        case .move: changes.append((indexPath, newIndexPath, name))
        @unknown default: return
        }
    }

    func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {
        for row in changes.compactMap({ $0.0?.row }).sorted(by: >) { rows.remove(at: row) }
        for (path, name) in changes.compactMap({ change in change.1.map { ($0, change.2) } }).sorted(by: { $0.0.row < $1.0.row }) {
            rows.insert(name, at: path.row)
        }
    }
}
