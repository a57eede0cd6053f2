// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import PredicateKit

extension NSSortDescriptor {
    /// A descriptor that orders managed objects by a property; nil first when ascending. It equals one of the property's name.
    ///
    /// Source: developer.apple.com/documentation/foundation/nssortdescriptor
    public convenience init<Root: NSManagedObject, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
        self.init(property: keyPath, ascending: ascending)
    }

    /// As above, where Foundation's own initialiser would be taken for its narrower type.
    public convenience init<Root: NSManagedObject, Value: Comparable>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
        self.init(property: keyPath, ascending: ascending)
    }

    /// A descriptor that orders by a property, optional or not; nil first when ascending.
    ///
    /// Foundation on Linux has this only for values that can be compared and are not optional.
    ///
    /// Source: developer.apple.com/documentation/foundation/nssortdescriptor
    public convenience init<Root, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
        self.init(keyPath: keyPath, ascending: ascending) { first, second in
            ComparisonResult(rawValue: PredicateValue.sortOrder(PredicateValue(first), PredicateValue(second))) ?? .orderedSame
        }
    }
}
