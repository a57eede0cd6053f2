// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit

/// Cached results of fetched properties. In the context, since few objects have any.
struct FetchedPropertyResults {
    private struct Key: Hashable {
        let sequence: Int64
        let name: String
    }

    private static let countMax = 10_000
    private var results: [Key: [Any]] = [:]

    subscript(object: NSManagedObject, name: String) -> [Any]? {
        get { results[Key(sequence: object.sequence, name: name)] }
        set {
            // Drops the results of deallocated objects, among others.
            if results.count >= Self.countMax { results = [:] }
            results[Key(sequence: object.sequence, name: name)] = newValue
        }
    }

    mutating func removeResults(of object: NSManagedObject) {
        guard !results.isEmpty else { return }
        for name in object.layout.fetchedProperties.keys { results[Key(sequence: object.sequence, name: name)] = nil }
    }
}

extension NSManagedObject {
    /// - Returns: The result of the property's request, cached until the object is refreshed.
    final func fetched(_ property: NSFetchedPropertyDescription) -> [Any] {
        guard let context = contextReference, let request = property.fetchRequest, !flags.contains(.detached) else { return [] }
        if let cached = context.fetchedPropertyResults[self, property.name] { return cached }
        let bound = NSFetchRequest<any NSFetchRequestResult>(copying: request)
        bound.predicate = request.predicate?.withSubstitutionVariables(["FETCH_SOURCE": self, "FETCHED_PROPERTY": property])
        // After a failed fetch, the next read fetches again.
        guard let result = try? context.fetch(bound) else { return [] }
        context.fetchedPropertyResults[self, property.name] = result
        return result
    }
}
