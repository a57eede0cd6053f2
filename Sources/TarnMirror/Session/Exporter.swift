// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import MirroringCore
import Synchronization

/// The export operations: plan a batch, send it, store the server's response.
struct Exporter: Sendable {
    let session: MirrorSession

    func plan(_ scope: SyncMachine.ExportScope, _ size: RequestSize) async throws -> ExportPlan {
        try await replayOutbox()
        return try await session.onFile { [mirrored = session.mirrored, environment = session.environment, session] in
            let (plan, rejectedCount) = try mirrored.nextBatch(scope, itemsMax: size.items) { batch in
                Self.write(batch, key: environment.makeName(), isAtomic: size.isAtomic)
            }
            if plan.batch == nil { session.rejected(rejectedCount) }
            return plan
        }
    }

    // MARK: Send

    func send(_ batch: ExportBatch, _ size: RequestSize) async throws -> BatchVerdict {
        let (written, rejected) = try await write(batch, isAtomic: size.isAtomic)
        guard let written else {
            return try await session.onFile { [mirrored = session.mirrored] in try mirrored.settle(batch, key: nil, outcomes: rejected) }
        }
        return try await exchange(written, rejected: rejected, of: batch)
    }

    /// Uploads the assets of a batch and stores its request, unless planning did so.
    ///
    /// - Returns: nil if every item is rejected.
    private func write(_ batch: ExportBatch, isAtomic: Bool) async throws -> (written: ExportBatch?, rejected: [String: ItemOutcome]) {
        if batch.request != nil { return (batch, [:]) }
        var items: [ExportBatch.Item] = []
        var rejected: [String: ItemOutcome] = [:]
        for item in batch.items {
            switch try await session.client.upload(item) {
            case .success(let assets): items.append(item.written(with: assets))
            case .failure(let failure): rejected[item.recordName] = .refused(failure)
            }
        }
        let uploaded = ExportBatch(items: items, zone: batch.zone, syncToken: batch.syncToken, historyToken: batch.historyToken)
        guard let written = Self.write(uploaded, key: session.environment.makeName(), isAtomic: isAtomic) else { return (nil, rejected) }
        try await session.onFile { [mirrored = session.mirrored] in try mirrored.put(written) }
        return (written, rejected)
    }

    /// Creates the request of a batch; nil for one with uploads, and for one without items.
    private static func write(_ batch: ExportBatch, key: String, isAtomic: Bool) -> ExportBatch? {
        guard !batch.items.isEmpty, batch.items.allSatisfy(\.uploads.isEmpty) else { return nil }
        // The response repeats only assets, to which the server adds addresses.
        let assetFields = Set(
            batch.items.flatMap { item in item.record.fields.compactMap { if case .asset? = $0.value.value { $0.key } else { nil } } })
        var request = ModifyRecordsRequest(
            operations: batch.items.map { RecordOperation($0.operation.kind, $0.record) }, zoneID: batch.zone.id, atomic: isAtomic,
            desiredKeys: assetFields.sorted())
        request.historyToken = batch.historyToken
        let written = ExportBatch.Request(key: key, bodies: [request.encoded()], plainBodies: nil, counts: [batch.items.count])
        return ExportBatch(
            items: batch.items, zone: batch.zone, syncToken: batch.syncToken, historyToken: batch.historyToken, phase: .written(written))
    }

    /// Sends the request of a batch, and stores the response.
    ///
    /// - Parameters:
    ///   - rejected: Outcomes of the items of the planned batch that are not in the request.
    ///   - planned: The planned batch.
    private func exchange(
        _ batch: ExportBatch, rejected: [String: ItemOutcome] = [:], of planned: ExportBatch? = nil
    ) async throws -> BatchVerdict {
        guard let request = batch.request, let body = request.bodies.first else { return BatchVerdict() }
        // Fetched pages show the records from before the request.
        session.chain.withLock { $0 = PageChain() }
        try session.environment.reached(.requestStored)
        let response: ModifyRecordsResponse
        do {
            response = try await session.client.modifyRecords(
                encoded: body, count: batch.items.count, idempotencyKey: request.key, knownSyncToken: batch.syncToken)
        } catch {
            let failure = CloudFailure(error)
            // If the file cannot be written, the request stays stored, which is safe.
            try? await session.onFile { [mirrored = session.mirrored] in try mirrored.note(failure, ofRequest: request.key) }
            throw error
        }
        try session.environment.reached(.responseReceived)
        let outcomes = Self.outcomes(of: response).merging(rejected) { sent, _ in sent }
        let items = batch.items + (planned?.items ?? []).filter { rejected[$0.recordName] != nil }
        let sent = ExportBatch(items: items, zone: batch.zone, syncToken: batch.syncToken)
        return try await session.onFile { [mirrored = session.mirrored] in
            try mirrored.settle(
                sent, key: request.key, outcomes: outcomes, next: response.nextSyncToken,
                saved: response.syncToken ?? response.nextSyncToken)
        }
    }

    private static func outcomes(of response: ModifyRecordsResponse) -> [String: ItemOutcome] {
        var outcomes: [String: ItemOutcome] = [:]
        for result in response.results {
            switch result {
            case .record(let record): outcomes[record.recordName] = record.isDeleted ? .deleted : .saved(record)
            case .failure(let name, let error, _): outcomes[name] = error.code == .atomicError ? .aborted : .refused(CloudFailure(error))
            }
        }
        return outcomes
    }

    // MARK: Outbox

    /// Replays unacknowledged requests in order: their effect is known before anything is imported or sent.
    func replayOutbox() async throws {
        while let batch = try await session.onFile({ [mirrored = session.mirrored] in try mirrored.outbox() }) {
            _ = try await exchange(batch)
        }
    }
}
