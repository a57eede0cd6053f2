// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import PredicateKit

extension NSSortDescriptor {
    /// Creates a descriptor that sorts managed objects by a property; nil first when ascending. Equals the descriptor of
    /// the property's name.
    ///
    /// Source: developer.apple.com/documentation/foundation/nssortdescriptor
    public convenience init<Root: NSManagedObject, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
        self.init(property: keyPath, ascending: ascending)
    }

    /// Creates the same descriptor, where overload resolution would prefer Foundation's initializer for its narrower
    /// type.
    public convenience init<Root: NSManagedObject, Value: Comparable>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
        self.init(property: keyPath, ascending: ascending)
    }

    /// Creates a descriptor that sorts by a property, optional or not; nil first when ascending.
    ///
    /// Foundation on Linux has this initializer only for comparable, non-optional values.
    ///
    /// Source: developer.apple.com/documentation/foundation/nssortdescriptor
    public convenience init<Root, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
        self.init(keyPath: keyPath, ascending: ascending) { first, second in
            ComparisonResult(rawValue: PredicateValue.sortOrder(PredicateValue(first), PredicateValue(second))) ?? .orderedSame
        }
    }
}
