// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// The fate of a deferred reference when its source or its target reaches a zone by a relocation, and not as a new object of a page.
package enum DeferredReferenceArrival: Hashable, Sendable {
    /// One of the objects is still missing.
    case waits
    /// The slot of the source's row takes the target.
    case set(slot: Int, target: RowKey)
    /// The row has the target already.
    case done
    /// The row has another value. It was set without the target being visible, and wins; the conflict log gets the target.
    case lost(ConflictEntry)

    /// - Parameters:
    ///   - source: The record of the source in the zone.
    ///   - row: The row of the source; nil if it was deleted.
    ///   - target: The key of the target's row; nil if the target has no record in the zone, or no row.
    package static func decide(
        _ reference: ParkedRelationship, source: RecordState?, row: Row?, target: RowKey?, mapping: RecordMapping
    ) -> DeferredReferenceArrival {
        guard let source, source.stage != .needsDelete, let row, let target, let entity = mapping.entities[source.key.entityIndex],
            let property = entity.mapping(of: reference.key.relationship), case .toOne(let relationship) = property.kind,
            mapping.model.entities[relationship.destination].hierarchy.contains(target.entityIndex)
        else { return .waits }
        if row.values[property.slot].isNull { return .set(slot: property.slot, target: target) }
        if row.values[property.slot] == .reference(target) { return .done }
        return .lost(reference.lost(of: mapping.syncName(ofEntity: source.key.entityIndex), to: .local))
    }

    /// Returns the fields of references with targets that arrived before the source was adopted from another zone. Without their merge
    /// bases the next merge sets them.
    ///
    /// - Parameter hasTarget: Whether the zone has a record of a name.
    package static func resolvedFields(
        of state: RecordState, _ references: [ParkedRelationship], mapping: RecordMapping, hasTarget: (String) throws -> Bool
    ) rethrows -> [(field: String, key: ParkedRelationship.Key)] {
        guard let entity = mapping.entities[state.key.entityIndex] else { return [] }
        return try references.compactMap { reference in
            guard try hasTarget(reference.destination),
                let property = entity.properties.first(where: { $0.name == reference.key.relationship })
            else { return nil }
            return (property.fieldName, reference.key)
        }
    }
}

extension LinkMapping {
    /// Returns `true` if the rows of a link have to be linked: both objects are shown, and are of the entities of the relationship.
    ///
    /// - Parameter hasRow: Whether a row exists.
    package func links(_ first: RecordState?, _ second: RecordState?, in mapping: RecordMapping, hasRow: (RowKey) throws -> Bool) rethrows
        -> Bool
    {
        guard let first, let second, first.stage != .needsDelete, second.stage != .needsDelete else { return false }
        return try hasRow(first.key) && hasRow(second.key) && accepts(first.key, second.key, in: mapping)
    }
}
