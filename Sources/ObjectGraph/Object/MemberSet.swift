// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

extension NSSet {
    /// Creates the set of a to-many relationship's members.
    ///
    /// Foundation's initializer for an array boxes each element. A subclass that stores the array would be faster to create and to
    /// enumerate, but Foundation on Linux casts it to an empty `Set`.
    convenience init(members: [NSManagedObject]) {
        let objects = UnsafeMutablePointer<AnyObject>.allocate(capacity: members.count)
        for (index, member) in members.enumerated() { (objects + index).initialize(to: member) }
        defer {
            objects.deinitialize(count: members.count)
            objects.deallocate()
        }
        self.init(objects: objects, count: members.count)
    }
}
