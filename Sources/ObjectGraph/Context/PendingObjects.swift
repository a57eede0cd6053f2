// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Objects of one context that wait for a save, held strongly.
///
/// Each object knows its place here, so that adding, finding and removing cost no search.
struct PendingObjects: Sequence {
    private var places: ContiguousArray<NSManagedObject?> = []
    private(set) var count = 0
    /// How often an object came to wait, so that newcomers are noticed.
    private(set) var arrivals = 0
    /// Objects came in the order in which they were created: the rule for inserts.
    private var isInOrder = true
    private var lastSequence = Int64.min
    private var ordered: [NSManagedObject]?
    /// Of what waits, and of what waited since nothing did.
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

    /// Few layouts, many objects: questions about layouts are not asked of each object.
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

    /// In the order in which they were created.
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

    // Amortised: closing costs what is here, and comes after as many removals.
    private mutating func closeGaps() {
        guard places.count > 64, places.count > 2 * count else { return }
        places.removeAll { $0 == nil }
        for index in places.indices { places[index]?.pendingPlace = Int32(truncatingIfNeeded: index) }
    }
}
