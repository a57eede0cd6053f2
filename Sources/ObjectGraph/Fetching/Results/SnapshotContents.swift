// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Sections and their items, with distinct identifiers.
///
/// Duplicate and missing identifiers end the process with a message, as Apple's snapshots raise an exception.
struct SnapshotContents<Section: Hashable, Item: Hashable> {
    private(set) var sections: [(id: Section, items: [Item])] = []
    private(set) var reloadedSections: [Section] = []
    private(set) var reloadedItems: [Item] = []
    private(set) var reconfiguredItems: [Item] = []
    private var owners: [Item: Section] = [:]

    var items: [Item] { sections.flatMap(\.items) }
    var itemCount: Int { owners.count }

    func index(ofSection section: Section) -> Int? { sections.firstIndex { $0.id == section } }
    func section(of item: Item) -> Section? { owners[item] }

    func items(in section: Section) -> [Item] { sections[existing(section)].items }

    /// - Returns: The item's index among all items.
    func index(ofItem item: Item) -> Int? {
        guard let owner = owners[item] else { return nil }
        var index = 0
        for (id, items) in sections {
            if id == owner { return items.firstIndex(of: item).map { index + $0 } }
            index += items.count
        }
        return nil
    }

    // MARK: Items

    mutating func append(items: [Item], to section: Section?) {
        guard let last = sections.indices.last else { preconditionFailure("a snapshot needs a section before it takes items") }
        insert(items, section.map(existing) ?? last, at: nil)
    }

    mutating func insert(items: [Item], beside item: Item, after: Bool) {
        let (section, index) = position(of: item)
        insert(items, section, at: index + (after ? 1 : 0))
    }

    private mutating func insert(_ items: [Item], _ section: Int, at place: Int?) {
        for item in items {
            let isNew = owners.updateValue(sections[section].id, forKey: item) == nil
            precondition(isNew, "an item identifier is in a snapshot once")
        }
        sections[section].items.insert(contentsOf: items, at: place ?? sections[section].items.count)
    }

    mutating func delete(items: [Item]) {
        let deletedItems = Set(items)
        let affected = Set(deletedItems.compactMap { owners.removeValue(forKey: $0) })
        for section in sections.indices where affected.contains(sections[section].id) {
            sections[section].items.removeAll(where: deletedItems.contains)
        }
        reloadedItems.removeAll(where: deletedItems.contains)
        reconfiguredItems.removeAll(where: deletedItems.contains)
    }

    mutating func deleteAllItems() { self = SnapshotContents() }

    mutating func move(item: Item, beside other: Item, after: Bool) {
        let (section, index) = position(of: item)
        sections[section].items.remove(at: index)
        owners[item] = nil
        insert(items: [item], beside: other, after: after)
    }

    mutating func reload(items: [Item]) {
        for item in items {
            precondition(owners[item] != nil, "an item that is reloaded is in the snapshot")
            reloadedItems.append(item)
        }
    }

    mutating func reconfigure(items: [Item]) {
        for item in items {
            precondition(owners[item] != nil, "an item that is reconfigured is in the snapshot")
            reconfiguredItems.append(item)
        }
    }

    private func position(of item: Item) -> (section: Int, place: Int) {
        guard let owner = owners[item] else { preconditionFailure("the item identifier is not in the snapshot") }
        let section = existing(owner)
        guard let index = sections[section].items.firstIndex(of: item) else {
            preconditionFailure("an item is in the section that owns it")
        }
        return (section, index)
    }

    // MARK: Sections

    mutating func append(sections ids: [Section]) { insert(sections: ids, at: sections.count) }

    mutating func insert(sections ids: [Section], beside section: Section, after: Bool) {
        insert(sections: ids, at: existing(section) + (after ? 1 : 0))
    }

    private mutating func insert(sections ids: [Section], at place: Int) {
        let existingIDs = Set(sections.map(\.id))
        precondition(existingIDs.isDisjoint(with: ids) && Set(ids).count == ids.count, "a section identifier is in a snapshot once")
        sections.insert(contentsOf: ids.map { ($0, []) }, at: place)
    }

    mutating func delete(sections ids: [Section]) {
        let deletedIDs = Set(ids)
        for section in sections where deletedIDs.contains(section.id) { for item in section.items { owners[item] = nil } }
        sections.removeAll { deletedIDs.contains($0.id) }
        reloadedSections.removeAll(where: deletedIDs.contains)
    }

    mutating func move(section: Section, beside other: Section, after: Bool) {
        let moved = sections.remove(at: existing(section))
        sections.insert(moved, at: existing(other) + (after ? 1 : 0))
    }

    mutating func reload(sections ids: [Section]) {
        for id in ids { reloadedSections.append(sections[existing(id)].id) }
    }

    private func existing(_ section: Section) -> Int {
        guard let index = index(ofSection: section) else { preconditionFailure("the section identifier is not in the snapshot") }
        return index
    }

    // MARK: Other identifiers

    /// - Returns: nil if an identifier cannot be converted.
    func mapped<S: Hashable, I: Hashable>(_ section: (Section) -> S?, _ item: (Item) -> I?) -> SnapshotContents<S, I>? {
        var result = SnapshotContents<S, I>()
        for (id, items) in sections {
            guard let id = section(id) else { return nil }
            let converted = items.compactMap(item)
            guard converted.count == items.count else { return nil }
            result.append(sections: [id])
            result.append(items: converted, to: id)
        }
        result.reloadedSections = reloadedSections.compactMap(section)
        result.reloadedItems = reloadedItems.compactMap(item)
        result.reconfiguredItems = reconfiguredItems.compactMap(item)
        return result
    }
}

extension SnapshotContents: Sendable where Section: Sendable, Item: Sendable {}

extension SnapshotContents<String, NSManagedObjectID> {
    /// Section names and object IDs. Objects that changed in their place are marked as reloaded.
    init(_ state: ResultsState, reloaded changes: ResultsChanges) {
        self.init()
        for (index, entry) in state.sections.entries.enumerated() {
            append(sections: [entry.name])
            append(items: state.list.objects(state.sections.range(index)).map(\.objectID), to: entry.name)
        }
        reload(items: changes.changes.filter { $0.type == .update || $0.type == .move }.map(\.object.objectID))
    }
}
