// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import Synchronization

/// A property's name, with a cache of its location in objects of one layout.
///
/// Generated accessors have one per property: the name is looked up once, not at each access.
public final class ManagedPropertyKey: Sendable {
    /// The property's name.
    public let name: String
    /// Layout number in the upper half, location in the lower; 0 before the first use.
    private let remembered = Atomic<UInt64>(0)

    /// Creates the key of a property.
    public init(_ name: String) { self.name = name }

    /// - Precondition: The entity has the property, and it is an attribute or a to-one relationship.
    @inline(__always)
    func slot(in layout: EntityLayout) -> Int {
        let code = code(in: layout)
        precondition(code >= 0, "'\(layout.name).\(name)' is a to-many relationship")
        return code
    }

    /// - Precondition: The entity has the property, and it is a to-many relationship.
    @inline(__always)
    func toManyIndex(in layout: EntityLayout) -> Int {
        let code = code(in: layout)
        precondition(code < 0, "'\(layout.name).\(name)' is not a to-many relationship")
        return ~code
    }

    @inline(__always)
    private func code(in layout: EntityLayout) -> Int {
        let cached = remembered.load(ordering: .relaxed)
        if UInt32(truncatingIfNeeded: cached >> 32) == layout.number { return Int(Int32(truncatingIfNeeded: cached)) }
        return lookUp(in: layout)
    }

    private func lookUp(in layout: EntityLayout) -> Int {
        let code: Int =
            switch layout.entity.location(of: name) {
            case .slot(let index): index
            case .toMany(let index): ~index
            case nil: preconditionFailure("entity '\(layout.name)' has no property '\(name)'")
            }
        let packed = UInt64(layout.number) << 32 | UInt64(UInt32(bitPattern: Int32(code)))
        remembered.store(packed, ordering: .relaxed)
        return code
    }
}
