// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import PredicateKit

extension NSSortDescriptor {
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
