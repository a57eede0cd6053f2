// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import ManagedModel
import MirroringCore
import ObjectGraph
import Synchronization

extension Mirror {
    /// Attempts to revert while imports change the same records.
    private static let revertAttemptsMax = 8

    /// Brings back objects whose deletion the server rejected permanently.
    ///
    /// - Returns: Whether there were any.
    func restoreRejectedDeletions() async throws -> Bool {
        let reversions = try await onQueue { try self.file.reversions(of: nil) }
        var isAny = false
        for (row, reversion) in reversions { if try await revert(reversion, of: row) == nil { isAny = true } }
        return isAny
    }

    /// Replaces rejected changes of objects by the server's state.
    ///
    /// - Throws: `CloudFailure` if the server can't be asked, or has no answer for a record. The changes of other objects may have been
    ///   discarded then.
    func discardRejectedChanges(of keys: [RowKey]) async throws {
        var failure: CloudFailure?
        for _ in 0..<Self.revertAttemptsMax {
            let reversions = try await onQueue { try self.file.reversions(of: keys) }
            if reversions.isEmpty {
                storeChanged()
                return
            }
            failure = nil
            for (row, reversion) in reversions { failure = try await revert(reversion, of: row) ?? failure }
        }
        throw failure ?? CloudFailure(.zoneBusy, "other devices keep changing the same records", retryAfter: 1)
    }

    /// - Returns: Why something stays as it is; nil if all of it was reverted.
    private func revert(_ reversion: Reversion, of row: ZoneTable.Row) async throws -> CloudFailure? {
        guard let token = row.token else { return CloudFailure(.zoneBusy, "the zone was not imported yet", retryAfter: 1) }
        let cloud = try openCloud()
        let (found, missing, failure) = try await cloud.lookUp(reversion.namesToFetch, in: row.zone.id)
        let page = reversion.page(found: found, missing: missing, token: token, generation: row.isFullFetch ? row.generation : nil)
        if page.reverted.isEmpty { return failure }
        var chain = ImportChain(page, of: row.zone)
        let needed = try await onQueue { [chain] in try self.file.assetsNeeded(by: page, of: chain) }
        chain.add(try await cloud.download(needed))
        switch try await onQueue({ [chain] in try self.file.apply(chain, ending: nil) }) {
        case .applied(_, let commit, let zone, _, _):
            if row.zone.isHome { home.withLock { $0 = zone } }
            permissions.forget()
            coordinator.didCommit([commit], by: nil)
            try await countIncomplete()
            return failure
        case .dropped, .lacksAssets:
            home.withLock { $0 = nil }
            return CloudFailure(.zoneBusy, "other devices change the same records", retryAfter: 1)
        }
    }
}

extension MirrorCloud {
    /// Records as the server has them now.
    ///
    /// - Returns: Also names of those that it does not have, and why others could not be read.
    func lookUp(_ names: [String], in zone: ZoneID) async throws -> (found: [Record], missing: Set<String>, failure: CloudFailure?) {
        var found: [Record] = []
        var missing: Set<String> = []
        var failure: CloudFailure?
        var size = max(1, client.limits.operationsPerRequest)
        var rest = names[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(size))
            guard let results = try await results(LookupRecordsRequest(recordNames: part, zoneID: zone)) else {
                size = max(1, part.count / 2)
                continue
            }
            rest = rest.dropFirst(part.count)
            for result in results {
                switch result {
                case .record(let record) where record.isDeleted: missing.insert(record.recordName)
                case .record(let record): found.append(try sealer.opened(record, mapping))
                case .failure(let name, let error, _) where error.code == .notFound: missing.insert(name)
                case .failure(_, let error, _): failure = failure ?? CloudFailure(error)
                }
            }
        }
        return (found, missing, failure)
    }

    /// - Returns: nil if the server takes fewer records at once than this client knows.
    private func results(_ request: LookupRecordsRequest) async throws -> [RecordResult]? {
        do {
            return try await client.lookupRecords(request).results
        } catch {
            guard error.code == .limitExceeded, request.records.count > 1 else { throw error }
            return nil
        }
    }
}
