// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The difference of two states of the results, in a table view's terms: deletions by former index, insertions by new
/// index, moves by both. An object that only changed keeps its index relative to the others.
struct ResultsChanges {
    struct Change {
        let object: NSManagedObject
        let type: NSFetchedResultsChangeType
        /// Indices in the former and in the new list.
        let from: Int?
        let to: Int?
    }

    var deletedSections: [Int] = []
    var insertedSections: [Int] = []
    private(set) var changes: [Change] = []

    var isEmpty: Bool { deletedSections.isEmpty && insertedSections.isEmpty && changes.isEmpty }

    /// A changed object with its former and new index and section.
    struct Touched {
        let object: NSManagedObject
        var before: (index: Int, section: String)?
        var after: (index: Int, section: String)?
    }

    init() {}

    /// - Parameter touched: All deleted, inserted and changed objects. The others kept their order.
    init(_ touched: [Touched]) {
        let deletions = touched.filter { $0.before != nil && $0.after == nil }.sorted { ($0.before?.index ?? 0) < ($1.before?.index ?? 0) }
        changes = deletions.map { Change(object: $0.object, type: .delete, from: $0.before?.index, to: nil) }
        let moved = Self.moved(touched)
        for touch in touched.filter({ $0.after != nil }).sorted(by: { ($0.after?.index ?? 0) < ($1.after?.index ?? 0) }) {
            let type: NSFetchedResultsChangeType =
                touch.before == nil ? .insert : moved.contains(ObjectIdentifier(touch.object)) ? .move : .update
            changes.append(Change(object: touch.object, type: type, from: touch.before?.index, to: touch.after?.index))
        }
    }

    /// The objects that changed section, or their order among the remaining ones.
    private static func moved(_ touched: [Touched]) -> Set<ObjectIdentifier> {
        // The number of untouched objects before each one: untouched objects keep their order.
        let oldPlaces = touched.compactMap(\.before?.index).sorted()
        let newPlaces = touched.compactMap(\.after?.index).sorted()
        func rank(_ index: Int, _ places: [Int]) -> Int {
            var (low, high) = (0, places.count)
            while low < high {
                let middle = (low + high) / 2
                if places[middle] < index { low = middle + 1 } else { high = middle }
            }
            return index - low
        }
        var moved: Set<ObjectIdentifier> = []
        var candidates: [(id: ObjectIdentifier, before: Int, after: Int)] = []
        for touch in touched {
            guard let before = touch.before, let after = touch.after else { continue }
            if before.section != after.section || rank(before.index, oldPlaces) != rank(after.index, newPlaces) {
                moved.insert(ObjectIdentifier(touch.object))
            } else {
                candidates.append((ObjectIdentifier(touch.object), before.index, after.index))
            }
        }
        // The changed objects may have changed order among each other: as many as possible keep theirs.
        candidates.sort { $0.before < $1.before }
        let inOrder = longestIncreasing(candidates.map(\.after))
        for (place, entry) in candidates.enumerated() where !inOrder.contains(place) { moved.insert(entry.id) }
        return moved
    }

    /// - Returns: The indices of a longest increasing subsequence.
    static func longestIncreasing(_ values: [Int]) -> Set<Int> {
        var tails: [Int] = []
        var previous = Array(repeating: -1, count: values.count)
        for (place, value) in values.enumerated() {
            var (low, high) = (0, tails.count)
            while low < high {
                let middle = (low + high) / 2
                if values[tails[middle]] < value { low = middle + 1 } else { high = middle }
            }
            if low > 0 { previous[place] = tails[low - 1] }
            if low == tails.count { tails.append(place) } else { tails[low] = place }
        }
        var result: Set<Int> = []
        var index = tails.last ?? -1
        while index >= 0 {
            result.insert(index)
            index = previous[index]
        }
        return result
    }

    /// The changes as a difference of identifiers. An object that only changed is removed and inserted.
    func difference() -> CollectionDifference<NSManagedObjectID>? {
        var entries: [CollectionDifference<NSManagedObjectID>.Change] = []
        for change in changes {
            let id = change.object.objectID
            if let from = change.from { entries.append(.remove(offset: from, element: id, associatedWith: change.to)) }
            if let to = change.to { entries.append(.insert(offset: to, element: id, associatedWith: change.from)) }
        }
        return CollectionDifference(entries)
    }
}
