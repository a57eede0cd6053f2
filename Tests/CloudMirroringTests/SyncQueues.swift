// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import ObjectGraph
import SQLiteStore

@testable import CloudMirroring

/// The tables of the sync metadata that have rows only while something is in flight.
enum SyncQueues {
    /// Returns the queues that are not empty.
    static func rows(of store: NSPersistentStore) throws -> [String] {
        try store.storage.read { reader in
            guard try ZoneTable.exists(reader) else { return [] }
            var rows: [String] = []
            if try OutboxTable.attempts(reader) != nil { rows.append("an unacknowledged request") }
            for zone in try ZoneTable.all(reader) {
                if let staged = try StagedPageTable.summary(zone.zone.number, reader) {
                    rows.append("\(staged.count) staged pages of \(zone.zone.id.zoneName)")
                }
            }
            if try EventTable.rows(after: nil, reader).contains(where: { $0.ended == nil }) { rows.append("an event without an end") }
            return rows
        }
    }
}
