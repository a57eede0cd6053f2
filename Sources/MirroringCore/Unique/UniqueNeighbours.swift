// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// The rows that have unique values which a plan gives to others.
///
/// Objects of different zones are never merged: one of them would become visible to other users, or hidden from them. A record with a unique
/// value of an object in another zone is withheld. A relocated object is shown by its record in another zone, so an edit of its source
/// record that gives it a used value is not forwarded.
package struct UniqueNeighbours: Sendable {
    /// Rows of the plan's zone, to be loaded with their surroundings before the page is planned again.
    package private(set) var keys: [RowKey] = []
    /// Names of the plan's records with values that objects of other zones have.
    package private(set) var blocked: Set<String> = []

    /// - Parameters:
    ///   - zone: The zone of the plan.
    ///   - owners: Returns the rows of the store that have unique values.
    ///   - zoneOf: Returns the zone of a row's current record.
    package init(
        of plan: ImportPlan, in zone: Int64, owners: (UniqueValues) throws -> [RowKey], zoneOf: (RowKey) throws -> Int64?
    ) rethrows {
        keys = plan.takenBack
        if plan.unique.isEmpty, plan.given.isEmpty { return }
        let deleted = plan.deletedKeys, names = plan.recordNames
        let sources = Set(plan.bookkeeping.records.filter(\.isRelocated).map(\.key))
        var last: [UniqueValues: RowKey] = [:]
        for (unique, key) in plan.unique {
            var same: [RowKey] = [], isBlocked = false
            for owner in try owners(unique) where owner != key && !deleted.contains(owner) {
                if !sources.contains(key), try zoneOf(owner) == zone { same.append(owner) } else { isBlocked = true }
            }
            if let other = last[unique], other != key {
                if sources.contains(key) {
                    isBlocked = true
                } else if sources.contains(other) {
                    if let name = names[other] { blocked.insert(name) }
                } else {
                    same.append(other)
                }
            }
            last[unique] = key
            if isBlocked, let name = names[key] { blocked.insert(name) }
            if !same.isEmpty { keys += same + [key] }
        }
        for (unique, key) in plan.given {
            keys += try owners(unique).filter { try $0 != key && !deleted.contains($0) && zoneOf($0) == zone }
        }
    }
}
