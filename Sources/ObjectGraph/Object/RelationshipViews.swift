// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel

/// An ordered set through which an app changes a to-many relationship. It shows the current members at any time.
///
/// Foundation's ordered set reads its own contents in ways that cannot be overridden, so this one stores the members, is
/// updated by changes elsewhere, and forwards each of its own changes to the relationship.
protocol RelationshipView: AnyObject {
    var count: Int { get }
    /// Whether the set has followed every change of the relationship, so that it may follow the next one alone.
    var isCurrent: Bool { get set }
    func isOf(_ owner: NSManagedObject, _ index: Int) -> Bool
    func show(_ members: [NSManagedObject])
    func append(_ member: NSManagedObject)
}

/// A context's ordered sets that the app still references.
struct RelationshipViews {
    private struct Entry { weak var view: (any RelationshipView)? }

    private var entries: [Entry] = []
    /// The set that changed last in this event: apps get the set of a relationship anew for each member that they add.
    private var recent: (any RelationshipView)?
    /// A relationship of which several members change together: its sets are refreshed after the last change.
    var changing: (owner: ObjectIdentifier, index: Int)?

    var isEmpty: Bool { entries.isEmpty }

    mutating func add(_ view: any RelationshipView) {
        entries.removeAll { $0.view == nil }
        entries.append(Entry(view: view))
    }

    /// - Parameter appended: The new last member, if nothing else changed.
    func refresh(_ owner: NSManagedObject, _ index: Int, appended: NSManagedObject?) {
        var members: [NSManagedObject]?
        // Without a set of this relationship, its members need not be read.
        for view in entries.compactMap(\.view) where view.isOf(owner, index) {
            if let appended, view.isCurrent, view.count + 1 == owner.toMany[index].memberCount {
                view.append(appended)
                continue
            }
            let current = members ?? owner.toManyObjects(index)
            members = current
            view.show(current)
            view.isCurrent = true
        }
    }

    mutating func noteChange(by view: any RelationshipView) { recent = view }

    /// Returns the set that changed last, if it is of the relationship.
    func recentView(of owner: NSManagedObject, _ index: Int) -> (any RelationshipView)? {
        guard changing == nil, let recent, recent.isCurrent, recent.isOf(owner, index) else { return nil }
        return recent
    }

    /// Ends an event. Refreshes, merges, rollbacks and undo change relationships without a notice to their sets.
    mutating func endEvent() {
        recent = nil
        entries.removeAll { $0.view == nil }
        for view in entries.compactMap(\.view) { view.isCurrent = false }
    }
}

extension NSManagedObject {
    /// Returns a set through which the relationship can be changed.
    ///
    /// Differs: `as? Set` of it is empty, since Foundation on Linux bridges instances of its own classes only, and no subclass.
    /// Cast ``value(forKey:)``, or map `allObjects`.
    ///
    /// - Precondition: The property is a to-many relationship.
    public func mutableSetValue(forKey key: String) -> NSMutableSet {
        RelationshipSet(owner: self, index: toManyIndex(key))
    }

    /// Returns an ordered set through which the relationship can be changed.
    ///
    /// - Precondition: The property is an ordered to-many relationship.
    public func mutableOrderedSetValue(forKey key: String) -> NSMutableOrderedSet {
        let index = toManyIndex(key)
        precondition(
            layout.entity.toMany[index].declaration.isOrdered,
            "'\(layout.name).\(key)' is not ordered; use mutableSetValue(forKey:)")
        if let recent = contextReference?.relationshipViews.recentView(of: self, index) as? NSMutableOrderedSet { return recent }
        let set = RelationshipOrderedSet(owner: self, index: index)
        contextReference?.relationshipViews.add(set)
        return set
    }

    private final func toManyIndex(_ key: String) -> Int {
        guard case .toMany(let index) = location(of: key) else {
            preconditionFailure("'\(layout.name).\(key)' is not a to-many relationship")
        }
        return index
    }

    /// - Parameter appended: The new last member, if nothing else changed.
    final func refreshViews(_ index: Int, appended: NSManagedObject? = nil) {
        guard let views = contextReference?.relationshipViews, !views.isEmpty else { return }
        if let changing = views.changing, changing.owner == ObjectIdentifier(self), changing.index == index { return }
        views.refresh(self, index, appended: appended)
    }

    /// Refreshes a relationship's ordered sets once for several changes.
    final func refreshingViewsOnce(_ index: Int, _ body: () -> Void) {
        guard let context = contextReference, !context.relationshipViews.isEmpty else { return body() }
        let outer = context.relationshipViews.changing
        context.relationshipViews.changing = (ObjectIdentifier(self), index)
        body()
        context.relationshipViews.changing = outer
        refreshViews(index)
    }
}

private func managedObject(_ object: Any) -> NSManagedObject {
    guard let object = object as? NSManagedObject else { preconditionFailure("a relationship holds managed objects") }
    return object
}

private final class RelationshipSet: NSMutableSet {
    private let owner: NSManagedObject
    private let index: Int

    init(owner: NSManagedObject, index: Int) {
        self.owner = owner
        self.index = index
        super.init(capacity: 0)
    }

    @available(*, unavailable, message: "a relationship's set cannot be decoded")
    required init?(coder: NSCoder) { preconditionFailure("a relationship's set cannot be decoded") }

    @available(*, unavailable, message: "a relationship's set is made by its object")
    required init(capacity: Int) { preconditionFailure("a relationship's set is made by its object") }

    override var count: Int { owner.loadedToMany(index)?.memberCount ?? 0 }

    override func member(_ object: Any) -> Any? {
        guard let object = object as? NSManagedObject, owner.loadedToMany(index)?.contains(object.key) == true else { return nil }
        return object
    }

    override func objectEnumerator() -> NSEnumerator { (owner.toManyObjects(index) as NSArray).objectEnumerator() }

    // Foundation's own implementation ends the process for a subclass.
    override var description: String { description(withLocale: nil) }
    override func description(withLocale locale: Locale?) -> String {
        NSSet(array: owner.toManyObjects(index)).description(withLocale: locale)
    }

    override func add(_ object: Any) { owner.addToMany(index, managedObject(object)) }
    override func remove(_ object: Any) {
        if let object = object as? NSManagedObject { owner.removeFromMany(index, object) }
    }

    override func addObjects(from array: [Any]) { owner.addMembers(index, array.map(managedObject)) }
    override func removeAllObjects() { owner.removeMembers(index, owner.toManyObjects(index)) }
    override func union(_ other: Set<AnyHashable>) { addObjects(from: other.map(\.base)) }
    override func minus(_ other: Set<AnyHashable>) { owner.removeMembers(index, other.compactMap { $0.base as? NSManagedObject }) }
    override func intersect(_ other: Set<AnyHashable>) {
        owner.removeMembers(index, owner.toManyObjects(index).filter { !other.contains($0) })
    }
    override func setSet(_ other: Set<AnyHashable>) {
        intersect(other)
        union(other)
    }
}

private final class RelationshipOrderedSet: NSMutableOrderedSet, RelationshipView {
    private let owner: NSManagedObject
    private let index: Int
    /// Contexts show the changes of their objects in their sets.
    private let showsOwnChanges: Bool
    var isCurrent = true

    init(owner: NSManagedObject, index: Int) {
        self.owner = owner
        self.index = index
        showsOwnChanges = owner.contextReference == nil
        super.init(capacity: 0)
        for (place, object) in owner.toManyObjects(index).enumerated() { super.insert(object, at: place) }
    }

    @available(*, unavailable, message: "a relationship's set cannot be decoded")
    required init?(coder: NSCoder) { preconditionFailure("a relationship's set cannot be decoded") }

    @available(*, unavailable, message: "a relationship's set is made by its object")
    required init(arrayLiteral elements: Any...) { preconditionFailure("a relationship's set is made by its object") }

    func isOf(_ owner: NSManagedObject, _ index: Int) -> Bool { owner === self.owner && index == self.index }

    func show(_ members: [NSManagedObject]) {
        let common = zip(0..<count, members).prefix { (super.object(at: $0) as? NSManagedObject) === $1 }.count
        // Foundation's other methods may call the ones below.
        for place in (common..<count).reversed() { super.removeObject(at: place) }
        for place in common..<members.count { super.insert(members[place], at: place) }
    }

    func append(_ member: NSManagedObject) { super.insert(member, at: count) }

    /// Changes a copy by `body`, and sets it as the relationship's value.
    private func change(_ body: (NSMutableOrderedSet) -> Void) {
        let copy = NSMutableOrderedSet(array: owner.toManyObjects(index))
        body(copy)
        showing { owner.changeMembers(index, to: copy.map(managedObject)) }
    }

    private func retainMembers(where isKept: (NSManagedObject) -> Bool) {
        showing { owner.changeMembers(index, to: owner.toManyObjects(index).filter(isKept)) }
    }

    private func showing(_ body: () -> Void) {
        body()
        if showsOwnChanges { return show(owner.toManyObjects(index)) }
        // A changed object is retained by its context anyway.
        if owner.isMarkedChanged { owner.contextReference?.relationshipViews.noteChange(by: self) }
    }

    override func add(_ object: Any) { showing { owner.addToMany(index, managedObject(object)) } }
    override func addObjects(from array: [Any]) { showing { owner.addMembers(index, array.map(managedObject)) } }
    override func remove(_ object: Any) {
        if let object = object as? NSManagedObject { showing { owner.removeFromMany(index, object) } }
    }
    override func removeObjects(in array: [Any]) {
        showing { owner.removeMembers(index, array.compactMap { $0 as? NSManagedObject }) }
    }
    override func union(_ other: NSOrderedSet) { addObjects(from: other.array) }
    override func minus(_ other: NSOrderedSet) { removeObjects(in: other.array) }
    override func unionSet(_ other: Set<AnyHashable>) { addObjects(from: other.map(\.base)) }
    override func minusSet(_ other: Set<AnyHashable>) { removeObjects(in: other.map(\.base)) }

    override func insert(_ object: Any, at idx: Int) { change { $0.insert(object, at: idx) } }
    override func removeObject(at idx: Int) { change { $0.removeObject(at: idx) } }
    override func replaceObject(at idx: Int, with obj: Any) { change { $0.replaceObject(at: idx, with: obj) } }
    override func setObject(_ obj: Any, at idx: Int) { change { $0.setObject(obj, at: idx) } }
    override func exchangeObject(at idx1: Int, withObjectAt idx2: Int) {
        change { $0.exchangeObject(at: idx1, withObjectAt: idx2) }
    }
    override func moveObjects(at indexes: IndexSet, to idx: Int) { change { $0.moveObjects(at: indexes, to: idx) } }
    override func insert(_ objects: [Any], at indexes: IndexSet) { change { $0.insert(objects, at: indexes) } }
    override func replaceObjects(at indexes: IndexSet, with objects: [Any]) {
        change { $0.replaceObjects(at: indexes, with: objects) }
    }
    override func removeObjects(in range: NSRange) { change { $0.removeObjects(in: range) } }
    override func removeObjects(at indexes: IndexSet) { change { $0.removeObjects(at: indexes) } }
    override func removeAllObjects() { change { $0.removeAllObjects() } }
    // Foundation's own implementation never returns.
    override func intersect(_ other: NSOrderedSet) { retainMembers { other.contains($0) } }
    override func intersectSet(_ other: Set<AnyHashable>) { retainMembers { other.contains($0) } }
    override func sort(comparator cmptr: (Any, Any) -> ComparisonResult) { change { $0.sort(comparator: cmptr) } }
    override func sort(options opts: NSSortOptions = [], usingComparator cmptr: (Any, Any) -> ComparisonResult) {
        change { $0.sort(options: opts, usingComparator: cmptr) }
    }
    override func sortRange(
        _ range: NSRange, options opts: NSSortOptions = [], usingComparator cmptr: (Any, Any) -> ComparisonResult
    ) {
        change { $0.sortRange(range, options: opts, usingComparator: cmptr) }
    }
    override func sort(using sortDescriptors: [NSSortDescriptor]) { change { $0.sort(using: sortDescriptors) } }
}
