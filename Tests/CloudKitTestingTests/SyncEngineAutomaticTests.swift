// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Synchronization
import Testing

private let zoneID = CKRecordZone.ID(zoneName: "Notes")
private let replyID = CKRecord.ID(recordName: "reply", zoneID: zoneID)

/// An app that makes a record at the end of a fetch.
private final class Replier: CKSyncEngineDelegate {
    private let isDue = Mutex(false)
    let sent = AsyncStream<Void>.makeStream()

    func replyToNextFetch() { isDue.withLock { $0 = true } }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .didFetchChanges:
            let isDue = isDue.withLock { isDue in
                defer { isDue = false }
                return isDue
            }
            guard isDue else { return }
            syncEngine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
            syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(replyID)])
        case .sentRecordZoneChanges: sent.continuation.yield()
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) { id in
            CKRecord(recordType: "Reply", recordID: id)
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct SyncEngineAutomaticTests {
    /// The engine's own task starts in the delegate's, and must not be taken for it.
    @Test func aChangeThatADelegatesMethodAddsIsSent() async throws {
        let device = try await TestCloud().device("phone")
        let replier = Replier()
        let engine = CKSyncEngine(
            CKSyncEngine.Configuration(
                database: device.container.privateCloudDatabase, stateSerialization: nil, delegate: replier))
        // The automatic fetch of the start ends before these.
        for _ in 1...3 { try await engine.fetchChanges() }
        replier.replyToNextFetch()
        try await engine.fetchChanges()
        for await _ in replier.sent.stream { break }
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        #expect(try await device.container.privateCloudDatabase.record(for: replyID).recordType == "Reply")
        await engine.cancelOperations()
    }
}
