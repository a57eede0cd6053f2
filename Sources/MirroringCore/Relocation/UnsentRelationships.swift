// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// Relationships between objects of a share that were made while one of the objects was in the home zone.
///
/// Records of different zones are never related, so an object is relocated when the user relates it to a shared one. An object with a missing
/// record stays: another device has deleted the record, and may have relocated the object. Nothing of the relationship is sent before this
/// device adopts the object in the zone of the share.
package enum UnsentRelationships {
    /// Returns the change with which a scan sends the relationships of an object; nil without any.
    ///
    /// - Parameters:
    ///   - state: The current record of the object in the zone of the share.
    ///   - name: Returns the name of a row's current record in that zone; nil for a row of another zone.
    ///   - destinations: Returns the rows that a many-to-many relationship lists, by its index in the entity's `toMany`.
    ///   - links: Returns the object's links in that zone.
    package static func change(
        of state: RecordState, _ row: Row, mapping: RecordMapping, name: (RowKey) throws -> String?,
        destinations: (Int) throws -> [RowKey], links: () throws -> [LinkState]
    ) rethrows -> LocalChange? {
        guard state.stage == .uploaded || state.stage == .needsUpload, !state.isRelocated,
            let entity = mapping.entities[state.key.entityIndex]
        else { return nil }
        let declared = mapping.model.entities[state.key.entityIndex]
        var names = try entity.properties.filter { property in
            // A record that is to be sent anyway has all its references by then.
            guard state.stage == .uploaded, property.isToOne, let key = row.values[property.slot].reference, let target = try name(key)
            else { return false }
            return property.target(property.content(in: state.ancestor.fields)) != target
        }.map { declared.slots[$0.slot].name }
        for (index, relationship) in declared.toMany.enumerated() {
            guard let link = mapping.link(entity: state.key.entityIndex, toMany: index) else { continue }
            let targets = try destinations(index).compactMap { try name($0) }
            if targets.isEmpty { continue }
            let sent = Set(try links().lazy.filter(\.isLive).map(\.pair))
            let isSent = targets.allSatisfy { target in
                sent.contains(
                    link.pair(
                        owner: state.recordName, ownersRelationship: index, ownersEntity: state.key.entityIndex, destination: target,
                        in: mapping))
            }
            if !isSent { names.append(relationship.name) }
        }
        return names.isEmpty ? nil : LocalChange(key: state.key, kind: .update, changedProperties: names)
    }
}
