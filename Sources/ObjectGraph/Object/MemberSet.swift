// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The members of a to-many relationship at the time of a read.
///
/// Foundation's own set boxes and hashes each member when it is created, and copies all of them when it is enumerated. Most
/// sets of members are enumerated once.
final class MemberSet: NSSet {
    private static let searchedMax = 16

    private let members: [NSManagedObject]
    /// Created by the first search among more than ``searchedMax`` members.
    private var identifiers: Set<ObjectIdentifier>?

    /// - Parameter members: Distinct objects.
    init(distinct members: [NSManagedObject]) {
        self.members = members
        super.init(objects: nil, count: 0)
    }

    @available(*, unavailable, message: "a relationship's set cannot be decoded")
    required convenience init?(coder: NSCoder) { preconditionFailure("a relationship's set cannot be decoded") }

    // Archived as a plain set, since the class is private to the library.
    override var classForCoder: AnyClass { NSSet.self }

    override var count: Int { members.count }
    override var allObjects: [Any] { members }
    override func anyObject() -> Any? { members.first }
    override func objectEnumerator() -> NSEnumerator { MemberEnumerator(members) }
    override func copy(with zone: NSZone? = nil) -> Any { self }

    /// Managed objects are equal only to themselves.
    override func member(_ object: Any) -> Any? {
        guard let object = object as? NSManagedObject else { return nil }
        guard members.count > Self.searchedMax else { return members.first { $0 === object } }
        let identifiers = self.identifiers ?? Set(members.lazy.map(ObjectIdentifier.init))
        self.identifiers = identifiers
        return identifiers.contains(ObjectIdentifier(object)) ? object : nil
    }
}

private final class MemberEnumerator: NSEnumerator {
    private let members: [NSManagedObject]
    private var index = 0

    init(_ members: [NSManagedObject]) { self.members = members }

    override func nextObject() -> Any? {
        guard index < members.count else { return nil }
        defer { index += 1 }
        return members[index]
    }
}
