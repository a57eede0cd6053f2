// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit
import SQLiteStore

extension StoreQuery {
    /// Returns the same query as a request to a custom store.
    func request(_ layouts: [EntityLayout], _ type: NSFetchRequestResultType) -> NSFetchRequest<any NSFetchRequestResult> {
        let layout = layouts[entity]
        let request = NSFetchRequest<any NSFetchRequestResult>(entityName: layout.name)
        request.entity = layout.description
        request.includesSubentities = includesSubentities
        request.predicate = predicate.map { NSPredicate.made($0) }
        request.sortDescriptors = sort.isEmpty ? nil : sort.map(\.descriptor)
        request.fetchLimit = limit ?? 0
        request.fetchOffset = offset
        request.resultType = type
        return request
    }
}

extension SortKey {
    /// The descriptor that the key was made of.
    fileprivate var descriptor: NSSortDescriptor {
        let method = TextCollation.selectors.first { $0.value == collation }?.key
        return NSSortDescriptor(key: keyPath.joined(separator: "."), ascending: ascending, selector: method.map { Selector($0) })
    }
}
