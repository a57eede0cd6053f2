// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The deferred references of an object that was relocated. They belong to its current record, in the destination zone. The plan of a page of
/// the source zone knows them under the name of the source record: an edit there may set or clear the relationship.
package enum RelocatedReferences {
    /// Returns the deferred references of a current record under the name of its source record.
    ///
    /// - Parameter references: Those of the current record.
    package static func named(_ source: String, _ references: [ParkedRelationship]) -> [ParkedRelationship] {
        references.map { ParkedRelationship(source: source, relationship: $0.key.relationship, destination: $0.destination) }
    }

    /// Moves the changed deferred references of source records to the changes of their destination zones.
    ///
    /// - Parameters:
    ///   - changes: The changes of the source zone.
    ///   - current: Returns the current record of the object of a source record, with its zone; nil for another record, and for an object
    ///     without a current record.
    /// - Returns: The changes of each destination zone.
    package static func take(
        from changes: inout BookkeepingChanges, current: (String) throws -> (zone: Int64, name: String)?
    ) rethrows -> [(zone: Int64, changes: BookkeepingChanges)] {
        if changes.parked.isEmpty, changes.unparked.isEmpty { return [] }
        var taken: [(zone: Int64, changes: BookkeepingChanges)] = []
        for source in Set(changes.parked.map(\.key.source) + changes.unparked.map(\.source)).sorted() {
            guard let (zone, name) = try current(source) else { continue }
            var moved = BookkeepingChanges()
            moved.parked = named(name, changes.parked.filter { $0.key.source == source })
            moved.unparked = changes.unparked.filter { $0.source == source }
                .map { ParkedRelationship.Key(source: name, relationship: $0.relationship) }
            changes.parked.removeAll { $0.key.source == source }
            changes.unparked.removeAll { $0.source == source }
            taken.append((zone, moved))
        }
        return taken
    }
}
