// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import MirroringCore
import ObjectGraph
import Synchronization

/// Fetches records with quarantined values again: once in each launch, a day after the last attempt, and when the key of a value has arrived.
/// A record that another device changes arrives with the next import.
struct UnreadableRetry: Sendable {
    let sync: StoreSync

    /// Records that one transaction imports: the contents of their assets are in memory.
    private static let recordsMax = 50

    /// Runs at the end of an import.
    func run(_ database: SyncDatabase) async throws {
        let now = sync.environment.now()
        let last = sync.state.withLock { $0.importer.unreadableRetried }
        let isDue = RetryPolicy.retriesQuarantined(secondsSinceLast: last.map { now.timeIntervalSince($0) })
        // The key of an encrypted value may arrive earlier, also that of an attribute which only a later version of the model has.
        let keys = database.sealer.keys
        // The status has the number of the shown objects, and that of the withheld ones.
        guard sync.state.withLock({ $0.details.unreadableCount > 0 || $0.details.withheldCount > 0 }) else {
            return sync.state.withLock { $0.importer.unreadableRetried = $0.importer.unreadableRetried ?? now }
        }
        let due = try await sync.onQueue { [file = sync.file] in
            try file.unreadableValues.recordsToRetry(isDue: isDue) { try keys.hasKey(named: $0) }
        }
        do {
            try await fetch(due, database)
        } catch {
            // An asset that can't be downloaded, and that the server may have: the values stay quarantined until the end of the next import.
            guard CloudFailure(error).code == .assetNotAvailable else { throw error }
            return
        }
        if isDue { sync.state.withLock { $0.importer.unreadableRetried = now } }
    }

    /// - Throws: `CloudFailure` if the server cannot be reached.
    func fetch(_ due: [UnreadableValues.Records], _ database: SyncDatabase) async throws {
        for records in due {
            let zone = records.row.zone
            var parts = LookUpParts(records.names, database.client.limits, atMost: Self.recordsMax)
            while let results = try await database.client.lookUp(&parts, in: zone.id) {
                // Missing records were deleted, which a page shows.
                var found: [Record] = []
                for case .record(let record) in results where !record.isDeleted { found.append(try database.opened(record, of: zone.id)) }
                if !found.isEmpty { try await add(found, of: zone, database) }
            }
        }
    }

    /// Imports the present versions of records.
    private func add(_ found: [Record], of zone: MirrorZone, _ database: SyncDatabase) async throws {
        guard let row = try await sync.onQueue({ [file = sync.file] in try file.zones.row(zone.number) }),
            let token = row.token
        else { return }
        // A full fetch in progress, or a fetch that is due, goes on after the page.
        let generation = row.isFullFetch ? row.generation : nil
        var page = ImportPage(
            records: found, deletions: [], askedWith: token, token: token, moreComing: generation != nil || row.needsFetch,
            generation: generation)
        let needed = try await sync.onQueue { [file = sync.file, page] in
            try file.stagedPages.assetsNeeded(by: page, of: ImportChain(page, of: zone))
        }
        let download = try await database.download(needed, in: zone.id)
        page.quarantine(download.unreadable)
        var chain = ImportChain(page, of: zone)
        chain.add(download.contents)
        _ = try await PageReader(sync: sync).apply(chain, of: row, database)
    }
}
