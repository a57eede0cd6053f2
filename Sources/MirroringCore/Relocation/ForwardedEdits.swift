// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import ManagedModel

/// Edits that other devices made to relocated objects in their source zone. The device that relocated the objects forwards the edits to the
/// destination zone, and relocates objects that the edits connected with them.
package struct ForwardedEdits: Sendable {
    /// Fields of newer versions of the app for the current record of an object.
    package struct Unapplied: Hashable, Sendable {
        package var key: RowKey
        package var fields: [String: Field]
    }

    /// A row of which others may have to follow it to its zone, or which may have to follow them.
    package struct Connection: Hashable, Sendable {
        package var key: RowKey
        package var references: [RowKey]

        package init(key: RowKey, references: [RowKey]) {
            self.key = key
            self.references = references
        }
    }

    /// Rows whose source records changed. Their current records have to be sent, also if no value changed: their relocation stamps say which
    /// version of the source record was forwarded.
    package private(set) var edited: [RowKey] = []
    package private(set) var unapplied: [Unapplied] = []
    package private(set) var connections: [Connection] = []
    /// Links that arrived, and those that took their place because an end was merged.
    package private(set) var links: [LinkState] = []

    /// - Parameter plan: The import of a page of the source zone.
    package init(_ plan: ImportPlan) { self.init(rows: plan.rows, records: plan.bookkeeping.records, links: plan.bookkeeping.links) }

    package init(rows: [RowIntent], records: [RecordState], links: [LinkState]) {
        for state in records where state.isRelocated {
            edited.append(state.key)
            unapplied.append(Unapplied(key: state.key, fields: state.ancestor.unapplied))
        }
        for intent in rows {
            switch intent {
            case .insert(let row), .update(let row, _):
                connections.append(Connection(key: row.key, references: row.values.compactMap(\.reference)))
            case .delete: continue
            }
        }
        self.links = links.filter(\.isLive)
    }

    /// Returns the zone to which an object of the home zone follows others; nil if it stays.
    ///
    /// - Parameters:
    ///   - zone: The object's zone; nil for an object without a record.
    ///   - others: The zones of objects that it is connected with.
    package static func destination(ofObjectIn zone: Int64?, following others: [Int64?], home: Int64) -> Int64? {
        zone == home ? others.compactMap(\.self).filter { $0 != home }.min() : nil
    }
}
