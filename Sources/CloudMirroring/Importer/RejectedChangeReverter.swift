// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import ManagedModel
import MirroringCore
import ObjectGraph
import Synchronization

/// Replaces changes that the server rejected permanently by the server's state.
struct RejectedChangeReverter: Sendable {
    let sync: StoreSync

    /// Attempts to revert while imports change the same records.
    private static let attemptsMax = 8

    /// Restores objects after the server rejected their deletion permanently.
    ///
    /// - Returns: Whether any was restored.
    func restoreRejectedDeletions() async throws -> Bool {
        let reversions = try await sync.onQueue { [file = sync.file] in try file.rejectedChanges.reversions(of: nil) }
        var isAnyRestored = false
        for (row, reversion) in reversions { if try await revert(reversion, of: row) == nil { isAnyRestored = true } }
        return isAnyRestored
    }

    /// Replaces rejected changes of objects by the server's state.
    ///
    /// - Throws: `CloudFailure` if the server can't be reached, or does not respond for a record. The changes of other objects may have
    ///   been discarded then.
    func discardRejectedChanges(of keys: [RowKey]) async throws {
        var failure: CloudFailure?
        for _ in 0..<Self.attemptsMax {
            let reversions = try await sync.onQueue { [file = sync.file] in try file.rejectedChanges.reversions(of: keys) }
            if reversions.isEmpty {
                sync.storeChanged()
                return
            }
            failure = nil
            for (row, reversion) in reversions { failure = try await revert(reversion, of: row) ?? failure }
        }
        throw failure ?? CloudFailure(.zoneBusy, "other devices keep changing the same records", retryAfter: .seconds(1))
    }

    /// - Returns: Why a change was not reverted; nil if all were.
    private func revert(_ reversion: Reversion, of row: ZoneTable.Row) async throws -> CloudFailure? {
        guard let token = row.token else { return CloudFailure(.zoneBusy, "the zone was not imported yet", retryAfter: .seconds(1)) }
        let database = try sync.openDatabase()
        let (records, missing, failure) = try await database.lookUp(reversion.namesToFetch, in: row.zone.id)
        var page = reversion.page(found: records, missing: missing, token: token, generation: row.isFullFetch ? row.generation : nil)
        if page.reverted.isEmpty { return failure }
        let needed = try await sync.onQueue { [file = sync.file, page] in
            try file.stagedPages.assetsNeeded(by: page, of: ImportChain(page, of: row.zone))
        }
        let download = try await database.download(needed, in: row.zone.id)
        page.quarantine(download.unreadable)
        var chain = ImportChain(page, of: row.zone)
        chain.add(download.contents)
        switch try await sync.onQueue({ [file = sync.file, chain] in try file.imports.apply(chain, database, ending: nil) }) {
        case .applied(_, let commit, let zone, _, _, _):
            if row.zone.isHome { sync.state.withLock { $0.importer.homeRow = zone } }
            sync.merge(commit)
            try await sync.countWithheld()
            try await sync.countUnreadable()
            return failure
        case .dropped, .lost, .lacksAssets:
            sync.state.withLock { $0.importer.homeRow = nil }
            return CloudFailure(.zoneBusy, "other devices change the same records", retryAfter: .seconds(1))
        }
    }
}

extension SyncDatabase {
    /// Returns records as the server has them now.
    ///
    /// - Returns: Also the names of missing records, and the failure of a record that could not be read.
    func lookUp(_ names: [String], in zone: ZoneID) async throws -> (records: [Record], missing: Set<String>, failure: CloudFailure?) {
        var records: [Record] = []
        var missing: Set<String> = []
        var failure: CloudFailure?
        for result in try await results(of: names, in: zone) {
            switch result {
            case .record(let record) where record.isDeleted: missing.insert(record.recordName)
            case .record(let record): records.append(try opened(record, of: zone))
            case .failure(let name, let error, _) where error.code == .notFound: missing.insert(name)
            case .failure(_, let error, _): failure = failure ?? CloudFailure(error)
            }
        }
        return (records, missing, failure)
    }
}
