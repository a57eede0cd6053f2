// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Objects of one context with unsaved changes, held strongly.
///
/// Each object stores its index in this list, so insertion, lookup and removal need no search.
struct PendingObjects: Sequence {
    private var slots: ContiguousArray<NSManagedObject?> = []
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
        object.pendingPlace = Int32(truncatingIfNeeded: slots.count)
        slots.append(object)
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
        let slot = Int(object.pendingPlace)
        precondition(slots.indices.contains(slot) && slots[slot] === object, "an object waits in its own context only")
        object.pendingPlace = -1
        ordered = nil
        count -= 1
        slots[slot] = nil
        if count == 0 { clear() } else if slot == slots.count - 1 { slots.removeLast() } else { closeGaps() }
    }

    mutating func removeAll() {
        forEach { $0.pendingPlace = -1 }
        clear()
    }

    private mutating func clear() {
        slots = []
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
            let objects = filter { _ in true }
            let result = isInOrder ? objects : objects.sorted { $0.sequence < $1.sequence }
            ordered = result
            return result
        }
    }

    // Without the retains of an iterator.

    func contains(where isWanted: (NSManagedObject) throws -> Bool) rethrows -> Bool {
        var isFound = false
        try slots.borrowEach { object in
            isFound = try isWanted(object)
            return !isFound
        }
        return isFound
    }

    func allSatisfy(_ isWanted: (NSManagedObject) throws -> Bool) rethrows -> Bool { try !contains { try !isWanted($0) } }

    func filter(_ isWanted: (NSManagedObject) throws -> Bool) rethrows -> [NSManagedObject] {
        var objects: [NSManagedObject] = []
        try slots.borrowEach { object in
            if try isWanted(object) { objects.append(object) }
            return true
        }
        return objects
    }

    func forEach(_ body: (NSManagedObject) throws -> Void) rethrows {
        try slots.borrowEach { object in
            try body(object)
            return true
        }
    }

    var underestimatedCount: Int { count }

    func makeIterator() -> Iterator { Iterator(slots: slots) }

    struct Iterator: IteratorProtocol {
        fileprivate let slots: ContiguousArray<NSManagedObject?>
        private var index = 0

        fileprivate init(slots: ContiguousArray<NSManagedObject?>) { self.slots = slots }

        mutating func next() -> NSManagedObject? {
            while index < slots.count {
                index += 1
                if let object = slots[index - 1] { return object }
            }
            return nil
        }
    }

    // Amortized O(1): closing gaps costs as many steps as removals preceded it.
    private mutating func closeGaps() {
        guard slots.count > 64, slots.count > 2 * count else { return }
        slots.removeAll { $0 == nil }
        for index in slots.indices { slots[index]?.pendingPlace = Int32(truncatingIfNeeded: index) }
    }
}
