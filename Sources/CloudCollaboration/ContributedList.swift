// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CoreData

/// A list of texts that several devices edit, also offline, and that converges to the same members in the same order on
/// all of them after sync. Each member is a contribution.
///
/// Members may be identifiers of anything: objects (not their `uriRepresentation`, which differs between devices: use an
/// attribute), lines of a checklist, points of an agenda.
public struct ContributedList {
    private let contributions: Contributions

    /// Creates a list over a relationship. See ``ContributedText/init(of:_:by:names:)``.
    public init(of owner: NSManagedObject, _ relationship: String, by author: String, names: ContributionNames = ContributionNames()) {
        contributions = Contributions(owner, relationship, author, names)
    }

    /// The members, in order.
    public var values: [String] {
        let objects = contributions.all
        return withExtendedLifetime(objects) { contributions.tree(of: objects) { [$0] }.elements }
    }

    /// Inserts a member.
    ///
    /// - Parameters:
    ///   - value: The member to insert.
    ///   - index: The index of the member that follows; the number of members for the end.
    public func insert(_ value: String, at index: Int) {
        edit { tree, objects in
            contributions.add(value, at: tree.place(before: index), clock: tree.clock + 1, among: objects)
        }
    }

    /// Appends a member.
    public func append(_ value: String) {
        edit { tree, objects in
            contributions.add(value, at: tree.place(before: tree.elements.count), clock: tree.clock + 1, among: objects)
        }
    }

    /// Removes a member.
    public func remove(at index: Int) {
        edit { tree, objects in remove(index, tree, clock: tree.clock + 1, objects) }
    }

    /// Moves a member. Concurrent moves of one member by two devices duplicate it, so that neither move is lost.
    ///
    /// - Parameters:
    ///   - index: The member's index.
    ///   - target: The member's index afterwards.
    public func move(from index: Int, to target: Int) {
        edit { tree, objects in
            precondition(tree.elements.indices.contains(target), "a member is moved to where another one is")
            let place = tree.place(before: target > index ? target + 1 : target)
            contributions.add(tree.elements[index], at: place, clock: tree.clock + 1, among: objects)
            remove(index, tree, clock: tree.clock + 2, objects)
        }
    }

    private func remove(_ index: Int, _ tree: CausalTree<ObjectIdentifier, String>, clock: Int64, _ objects: Set<NSManagedObject>) {
        for removal in tree.removals(of: index..<(index + 1)) {
            contributions.add(nil, removing: removal.count, at: removal.place, clock: clock, among: objects)
        }
    }

    private func edit(_ body: (CausalTree<ObjectIdentifier, String>, Set<NSManagedObject>) -> Void) {
        let objects = contributions.all
        withExtendedLifetime(objects) { body(contributions.tree(of: objects) { [$0] }, objects) }
    }
}
