// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// What turns one list of sections into another, as a table view needs to hear it: deletions by their old place,
/// insertions by their new one, moves by both; an object that only changed keeps its place.
struct ResultsDifference {
    struct Change {
        let object: NSManagedObject
        let type: NSFetchedResultsChangeType
        let from: IndexPath?
        let to: IndexPath?
    }

    private(set) var deletedSections: [Int] = []
    private(set) var insertedSections: [Int] = []
    private(set) var changes: [Change] = []

    var isEmpty: Bool { deletedSections.isEmpty && insertedSections.isEmpty && changes.isEmpty }

    init(from old: [FetchedResults.Section], to new: [FetchedResults.Section], touched: Set<NSManagedObject>) {
        let oldNames = old.map(\.name)
        let newNames = new.map(\.name)
        deletedSections = oldNames.indices.filter { !newNames.contains(oldNames[$0]) }
        insertedSections = newNames.indices.filter { !oldNames.contains(newNames[$0]) }

        let oldPaths = Self.paths(of: old)
        let newPaths = Self.paths(of: new)
        for object in old.lazy.flatMap(\.members) where newPaths[ObjectIdentifier(object)] == nil {
            changes.append(Change(object: object, type: .delete, from: oldPaths[ObjectIdentifier(object)]?.indexPath, to: nil))
        }
        let isAnythingKept = touched.contains { oldPaths[ObjectIdentifier($0)] != nil && newPaths[ObjectIdentifier($0)] != nil }
        let moved = isAnythingKept ? Self.moved(old: old, new: new, touched: touched) : []
        for object in new.lazy.flatMap(\.members) {
            let id = ObjectIdentifier(object)
            guard let from = oldPaths[id] else {
                changes.append(Change(object: object, type: .insert, from: nil, to: newPaths[id]?.indexPath))
                continue
            }
            if moved.contains(id) {
                changes.append(Change(object: object, type: .move, from: from.indexPath, to: newPaths[id]?.indexPath))
            } else if touched.contains(object) {
                changes.append(Change(object: object, type: .update, from: from.indexPath, to: newPaths[id]?.indexPath))
            }
        }
    }

    /// Made an index path only for what is told: there are as many places as results.
    private struct Place {
        let section: Int
        let row: Int

        var indexPath: IndexPath { IndexPath(indexes: [section, row]) }
    }

    private static func paths(of sections: [FetchedResults.Section]) -> [ObjectIdentifier: Place] {
        var paths: [ObjectIdentifier: Place] = [:]
        paths.reserveCapacity(sections.reduce(0) { $0 + $1.members.count })
        for (index, section) in sections.enumerated() {
            for (row, object) in section.members.enumerated() { paths[ObjectIdentifier(object)] = Place(section: index, row: row) }
        }
        return paths
    }

    /// Touched objects that are in another section, or in another order among those that stayed.
    private static func moved(
        old: [FetchedResults.Section], new: [FetchedResults.Section], touched: Set<NSManagedObject>
    ) -> Set<ObjectIdentifier> {
        func entries(_ sections: [FetchedResults.Section]) -> [(ObjectIdentifier, String)] {
            sections.flatMap { section in section.members.map { (ObjectIdentifier($0), section.name) } }
        }
        let before = entries(old)
        let after = entries(new)
        let stayed = Set(before.map(\.0)).intersection(after.map(\.0))
        let oldSection = Dictionary(uniqueKeysWithValues: before)
        let newSection = Dictionary(uniqueKeysWithValues: after)
        let untouched = stayed.subtracting(touched.map(ObjectIdentifier.init))
        // What nobody touched keeps its order, so a touched object moved if its untouched neighbours differ.
        func predecessors(_ order: [(ObjectIdentifier, String)]) -> [ObjectIdentifier: Int] {
            var count = 0
            var result: [ObjectIdentifier: Int] = [:]
            for (id, _) in order where stayed.contains(id) {
                result[id] = count
                if untouched.contains(id) { count += 1 }
            }
            return result
        }
        let oldPlace = predecessors(before)
        let newPlace = predecessors(after)
        var moved = Set(stayed.subtracting(untouched).filter { oldPlace[$0] != newPlace[$0] || oldSection[$0] != newSection[$0] })
        // Touched objects may also have changed order among themselves.
        let rest = { (order: [(ObjectIdentifier, String)]) in order.map(\.0).filter { stayed.contains($0) && !moved.contains($0) } }
        for change in rest(after).difference(from: rest(before)) {
            if case .insert(_, let id, _) = change { moved.insert(id) }
        }
        return moved
    }
}
