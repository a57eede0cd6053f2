// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import ManagedModel

/// Gives an object that was never sent another record name, because a record of another object has arrived under its name. Record names of
/// objects with unique values follow from the values: both objects had the same values once.
package enum Rekeying {
    /// A new name is derived from the values this often; after that the name is random.
    private static let nameAttemptsMax = 8

    /// Returns `true` if a record takes the name of an object with other unique values.
    ///
    /// - Parameters:
    ///   - state: The record of that name on this device.
    ///   - row: The row of the object.
    package static func isNameTaken(from state: RecordState, _ row: Row, by record: Record, mapping: RecordMapping) -> Bool {
        isRekeyable(state) && Set(mapping.uniqueValues(of: row)).isDisjoint(with: mapping.uniqueValues(of: record))
    }

    /// Returns `true` if an object cannot have its record name in the zone that it is relocated to, since another object has it there: the
    /// name follows from values that both had, or a participant of the share chose the name.
    ///
    /// - Parameters:
    ///   - record: The record of that name in the destination zone.
    ///   - withheld: The withheld record of that name in the destination zone.
    package static func isNameTaken(
        from state: RecordState, _ row: Row, inDestination record: RecordState?, withheld: Record?, mapping: RecordMapping
    ) -> Bool {
        if let record { return record.key != state.key }
        guard mapping.isUnique(state.key.entityIndex) else { return false }
        return withheld.map { Set(mapping.uniqueValues(of: row)).isDisjoint(with: mapping.uniqueValues(of: $0)) } ?? false
    }

    /// Returns `true` for a record that no server ever had. One that is sent again, as to a restored server, has a name by which other
    /// devices know the object: under another name it would be two objects there.
    package static func isRekeyable(_ state: RecordState) -> Bool {
        state.changeTag == nil && state.system.created == nil && state.stage == .needsUpload && !state.isRelocated
    }

    /// Returns the record name that follows from a row's unique values; nil if it has none, or all names are taken.
    package static func name(of row: Row, mapping: RecordMapping, isFree: (String) throws -> Bool) rethrows -> String? {
        guard let unique = mapping.uniqueValues(of: row).first else { return nil }
        return try (0..<nameAttemptsMax).lazy.map { mapping.recordName(for: unique, attempt: $0) }.first(where: isFree)
    }

    /// Returns the links of an object after it was renamed. Links that other devices made belong to the object that keeps the name.
    ///
    /// - Parameters:
    ///   - links: The links of the old name.
    ///   - mark: The number of the last history transaction.
    ///   - makeName: Returns a new record name.
    package static func links(
        _ links: [LinkState], renaming old: String, to new: String, mark: Int64, mapping: RecordMapping, makeName: () -> String
    ) -> [LinkState] {
        var changes: [LinkState] = []
        for var link in links where isOwn(link) {
            let wasSent = link.changeTag != nil || link.stage == .uploaded
            link.pair = link.pair.renaming(old, to: new, isSymmetric: mapping.links[link.pair.kind]?.isSymmetric == true)
            if wasSent, link.isLive {
                // A join record is immutable, and this one leads to the other object.
                var replacement = LinkState(recordName: makeName(), pair: link.pair, stage: .needsUpload, mark: mark)
                replacement.ranks = link.ranks
                changes.append(replacement)
                link.stage = .needsDelete
                link.mark = mark
                link.failure = nil
            }
            changes.append(link)
        }
        return changes
    }

    /// Returns the pairs, under the old name, that the object's row leaves when the object is renamed. Join records of other devices were
    /// applied to the row that had the name. They stand for the object that keeps it, whose row is linked when its record is applied.
    ///
    /// - Parameter links: The links of the old name.
    package static func pairsToUnlink(_ links: [LinkState]) -> [LinkPair] {
        let live = links.filter(\.isLive)
        let renamed = Set(live.filter(isOwn).map(\.pair))
        var pairs: [LinkPair] = []
        for link in live where !renamed.contains(link.pair) && !pairs.contains(link.pair) { pairs.append(link.pair) }
        return pairs
    }

    /// Whether this device has created a link, or changed it.
    private static func isOwn(_ link: LinkState) -> Bool { link.changeTag == nil || link.mark > 0 }
}
