// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import ObjectGraph
import SQLiteStore
import Synchronization

@testable import CloudMirroring

/// The tables of the sync metadata that have rows only while something is in flight.
enum SyncQueues {
    /// Returns the queues of idle stores that are not empty, once sync is stopped.
    static func rows(of container: NSPersistentCloudKitContainer) async throws -> [String] {
        var rows: [String] = []
        for mirror in container.allMirrors {
            // A status is reported behind the writes that it is about: an operation that began before the stop has one.
            try await mirror.onQueue { () -> Void in }
            guard let status = mirror.state.withLock({ $0.details.lastReport }), status.activity == .idle, status.pendingCount == 0,
                status.lastSuccess != nil
            else { continue }
            rows += try mirror.store.storage.read(Self.rows)
        }
        return rows
    }

    private static func rows(_ reader: StoreReader) throws -> [String] {
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
