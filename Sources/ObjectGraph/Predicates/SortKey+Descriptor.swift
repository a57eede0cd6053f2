// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import PredicateKit

extension SortKey {
    /// Creates the stores' sort key for a descriptor of a fetch request.
    ///
    /// - Throws: `CocoaError` 134070 for a comparator, and for a key path that leads to no property.
    package init(_ descriptor: NSSortDescriptor, of entity: String, layouts: [EntityLayout]) throws {
        if descriptor.hasComparator {
            throw CocoaError(
                .persistentStoreOperation,
                sentence: "A sort descriptor of \(entity) has a comparator, which cannot run in a store; sort the results.")
        }
        guard let key = descriptor.givenKey ?? KeyPathProbe.name(of: descriptor.propertyKeyPath, layouts: layouts) else {
            throw CocoaError(
                .persistentStoreOperation,
                sentence: "A sort descriptor names no attribute of \(entity); sort by a key or a property, or sort the results.")
        }
        self.init(keyPath: Expression.keys(key), ascending: descriptor.ascending, collation: descriptor.collation)
    }
}

extension NSSortDescriptor {
    /// Creates a descriptor that sorts by the property of a Swift descriptor. Text is ordered as by `compare:`; Differs:
    /// Apple orders it as a file manager does unless the Swift descriptor has another comparator, which Linux does not
    /// reveal.
    ///
    /// Source: developer.apple.com/documentation/foundation/nssortdescriptor/init(_:)
    public convenience init<Compared: NSObject>(_ sortDescriptor: SortDescriptor<Compared>) {
        guard let keyPath = sortDescriptor.keyPath else {
            preconditionFailure("a sort descriptor with a comparator of its own has no property to sort by")
        }
        self.init(property: keyPath, ascending: sortDescriptor.order == .forward)
    }

    /// Sorts in memory only: a fetch with a comparator throws.
    public convenience init<Root: NSManagedObject, Value>(
        keyPath: KeyPath<Root, Value>, ascending: Bool, comparator cmptr: @escaping Comparator
    ) {
        self.init(wrapping: keyPath, ascending: ascending) { first, second in
            cmptr(first ?? NSNull(), second ?? NSNull())
        }
    }
}
