// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CoreData

/// A list of texts that several devices change, offline too, and that has the same members in the same order on all of
/// them once they have heard of each other. Each member is a contribution.
///
/// Members may be names of anything: addresses of objects (`uriRepresentation` differs between devices: take an attribute
/// that does not), lines of a checklist, points of an agenda.
public struct ContributedList {
    private let contributions: Contributions

    /// See ``ContributedText/init(of:_:by:names:)``.
    public init(of owner: NSManagedObject, _ relationship: String, by author: String, names: ContributionNames = ContributionNames()) {
        contributions = Contributions(owner, relationship, author, names)
    }

    public var values: [String] {
        let objects = contributions.all
        return withExtendedLifetime(objects) { contributions.tree(of: objects) { [$0] }.elements }
    }

    /// - Parameter index: Before which member; their number for the end.
    public func insert(_ value: String, at index: Int) {
        edit { tree, objects in
            contributions.add(value, at: tree.place(before: index), clock: tree.clock + 1, among: objects)
        }
    }

    public func append(_ value: String) {
        edit { tree, objects in
            contributions.add(value, at: tree.place(before: tree.elements.count), clock: tree.clock + 1, among: objects)
        }
    }

    public func remove(at index: Int) {
        edit { tree, objects in remove(index, tree, clock: tree.clock + 1, objects) }
    }

    /// Two devices that move the same member at the same time make two of it: nobody's move is lost.
    ///
    /// - Parameter target: The index that the member has afterwards.
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
