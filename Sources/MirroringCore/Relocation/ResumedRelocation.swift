// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

/// The source record of an object that this device relocated and withheld since, when a page of the destination zone has all that the
/// object requires.
///
/// An edit in the destination zone may name a required object that arrives later. Until then the object has no row, and its source record
/// seems to be that of a deleted object. Other devices wait for this one to forward the edits of the source record: the new row gets it.
package struct ResumedRelocation: Hashable, Sendable {
    /// The record of the destination zone, without edits of the source record.
    private let record: Record
    private let source: RecordState

    init(_ record: Record, source: RecordState) {
        self.record = record
        self.source = source
    }

    /// Returns `true` if edits of its source record give a withheld record all that its object requires.
    ///
    /// - Parameters:
    ///   - source: The record of the home zone that its stamp names.
    ///   - hasObject: Whether the destination zone shows the object of a record name.
    package static func isComplete(
        _ withheld: IncompleteRecord, source: RecordState, mapping: RecordMapping, hasObject: (String) throws -> Bool
    ) rethrows -> Bool {
        let record = withheld.record
        guard !withheld.lacking.contains(IncompleteRecord.freeValues), let entity = mapping.entity(of: record),
            case .resumed(_, let completed) = RecordArrival.decide(
                record, RecordArrival.Stored(stamped: source, withheld: record), mapping: mapping)
        else { return false }
        return try entity.required.allSatisfy { property in
            switch property.content(in: completed.fields) {
            case .absent: false
            case .inline(.string(let target)) where property.isToOne: try hasObject(target)
            case .inline, .asset: true
            }
        }
    }

    /// Returns the changes of the sync metadata of both zones, behind those of the page.
    ///
    /// - Parameter page: The page's changes of the destination zone, with the keys of the store.
    package func changes(after page: BookkeepingChanges, mapping: RecordMapping) -> (
        home: BookkeepingChanges, destination: BookkeepingChanges
    ) {
        var (home, destination) = (BookkeepingChanges(), BookkeepingChanges())
        if var withheld = page.incomplete.first(where: { $0.record.recordName == record.recordName }) {
            // It still lacks an object. The edits are added to the record when that arrives.
            withheld.record = record
            destination.incomplete = [withheld]
        } else if let current = page.records.first(where: { $0.recordName == record.recordName }), current.hasRow {
            var source = source
            source.key = current.key
            // Position keys belong to the row.
            source.ranks = current.ranks
            source.role = .source(isObjectDeleted: false)
            home.records = [source]
            if let entity = mapping.entities[current.key.entityIndex], let sent = current.forwardingAwaited(entity) {
                destination.records = [sent]
            }
        }
        return (home, destination)
    }
}
