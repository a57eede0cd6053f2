// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Objects of one context with unsaved changes, held strongly.
///
/// Each object stores its index in this list, so insertion, lookup and removal need no search.
struct PendingObjects: Sequence {
    private var places: ContiguousArray<NSManagedObject?> = []
    private(set) var count = 0
    /// The number of insertions, by which callers detect new pending objects.
    private(set) var arrivals = 0
    /// Whether objects were added in order of creation, as insertions are.
    private var isInOrder = true
    private var lastSequence = Int64.min
    private var ordered: [NSManagedObject]?
    /// Layouts of the pending objects, and of earlier ones since the list was last empty.
    private(set) var layouts: [EntityLayout] = []

    var isEmpty: Bool { count == 0 }

    func contains(_ object: NSManagedObject) -> Bool { object.pendingPlace >= 0 }

    mutating func insert(_ object: NSManagedObject) {
        guard object.pendingPlace < 0 else { return }
        if object.sequence < lastSequence { isInOrder = false }
        lastSequence = object.sequence
        noteLayout(of: object)
        object.pendingPlace = Int32(truncatingIfNeeded: places.count)
        places.append(object)
        ordered = nil
        count += 1
        arrivals += 1
    }

    /// Few layouts, many objects: layouts are examined once, not per object.
    @inline(__always)
    private mutating func noteLayout(of object: NSManagedObject) {
        if layouts.last === object.layout || layouts.contains(where: { $0 === object.layout }) { return }
        layouts.append(object.layout)
    }

    mutating func remove(_ object: NSManagedObject) {
        guard object.pendingPlace >= 0 else { return }
        let place = Int(object.pendingPlace)
        precondition(places.indices.contains(place) && places[place] === object, "an object waits in its own context only")
        object.pendingPlace = -1
        ordered = nil
        count -= 1
        places[place] = nil
        if count == 0 { clear() } else if place == places.count - 1 { places.removeLast() } else { closeGaps() }
    }

    mutating func removeAll() {
        for object in self { object.pendingPlace = -1 }
        clear()
    }

    private mutating func clear() {
        places = []
        layouts = []
        ordered = nil
        count = 0
        isInOrder = true
        lastSequence = .min
    }

    /// The objects in order of creation.
    var inOrder: [NSManagedObject] {
        mutating get {
            if let ordered { return ordered }
            let objects = Array(self)
            let result = isInOrder ? objects : objects.sorted { $0.sequence < $1.sequence }
            ordered = result
            return result
        }
    }

    var underestimatedCount: Int { count }

    func makeIterator() -> Iterator { Iterator(places: places) }

    struct Iterator: IteratorProtocol {
        fileprivate let places: ContiguousArray<NSManagedObject?>
        private var index = 0

        fileprivate init(places: ContiguousArray<NSManagedObject?>) { self.places = places }

        mutating func next() -> NSManagedObject? {
            while index < places.count {
                index += 1
                if let object = places[index - 1] { return object }
            }
            return nil
        }
    }

    // Amortized O(1): closing gaps costs as many steps as removals preceded it.
    private mutating func closeGaps() {
        guard places.count > 64, places.count > 2 * count else { return }
        places.removeAll { $0 == nil }
        for index in places.indices { places[index]?.pendingPlace = Int32(truncatingIfNeeded: index) }
    }
}
