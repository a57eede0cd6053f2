// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore
import ObjectGraph
import Synchronization

/// Fetches records with quarantined values again: once in each launch, and when the key of a value has arrived. A record that another
/// device changes arrives with the next import.
struct UnreadableRetry: Sendable {
    let sync: StoreSync

    /// Runs at the end of an import.
    func run(_ database: SyncDatabase) async throws {
        guard sync.file.mapping.hasEncryptedFields else { return }
        let isFirst = sync.state.withLock { !$0.importer.hasRetriedUnreadable }
        let keys = database.sealer.keys
        let due = try await sync.onQueue { [file = sync.file] in
            try file.unreadableRecordsToRetry(isFirst: isFirst) { try keys.hasKey(named: $0) }
        }
        try await fetch(due, database)
        sync.state.withLock { $0.importer.hasRetriedUnreadable = true }
    }

    /// - Throws: `CloudFailure` if the server cannot be reached.
    func fetch(_ due: [MirrorFile.UnreadableRecords], _ database: SyncDatabase) async throws {
        for records in due {
            let zone = records.row.zone
            // Missing records were deleted, which a page shows.
            let found = try await database.lookUp(records.names, in: zone.id).records
            guard !found.isEmpty, let row = try await sync.onQueue({ [file = sync.file] in try file.zoneRow(zone.number) }),
                let token = row.token
            else { continue }
            // A full fetch in progress, or a fetch that is due, goes on after the page.
            let generation = row.isFullFetch ? row.generation : nil
            var page = ImportPage(
                records: found, deletions: [], askedWith: token, token: token, moreComing: generation != nil || row.needsFetch,
                generation: generation)
            let needed = try await sync.onQueue { [file = sync.file, page] in
                try file.assetsNeeded(by: page, of: ImportChain(page, of: zone))
            }
            let download = try await database.download(needed, in: zone.id)
            page.quarantine(download.unreadable)
            var chain = ImportChain(page, of: zone)
            chain.add(download.contents)
            _ = try await PageReader(sync: sync).apply(chain, of: row, database)
        }
    }
}
