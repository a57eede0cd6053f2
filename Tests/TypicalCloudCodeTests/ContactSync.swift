// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation

// Code as apps have it around the sync engine.

final class ContactSync: @unchecked Sendable, CKSyncEngineDelegate {
    struct AppData: Codable {
        var names: [String: String] = [:]
        var fields: [String: Data] = [:]
        var state: CKSyncEngine.State.Serialization?
    }

    static let zoneName = "Contacts"
    private let lock = NSLock()
    private var data: AppData
    private let database: CKDatabase
    private var _engine: CKSyncEngine?

    init(container: CKContainer, data: AppData = AppData()) {
        database = container.privateCloudDatabase
        self.data = data
    }

    var engine: CKSyncEngine {
        if let engine = _engine { return engine }
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: lock.withLock { data.state }, delegate: self)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        _engine = engine
        return engine
    }

    var names: [String: String] { lock.withLock { data.names } }

    func save(_ name: String, id: String) {
        lock.withLock { data.names[id] = name }
        let zone = CKRecordZone(zoneName: Self.zoneName)
        engine.state.add(pendingDatabaseChanges: [.saveZone(zone)])
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(CKRecord.ID(recordName: id, zoneID: zone.zoneID))])
    }

    func delete(id: String) {
        lock.withLock { data.names[id] = nil }
        let recordID = CKRecord.ID(recordName: id, zoneID: CKRecordZone.ID(zoneName: Self.zoneName))
        engine.state.add(pendingRecordZoneChanges: [.deleteRecord(recordID)])
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let event): lock.withLock { data.state = event.stateSerialization }
        case .accountChange(let event):
            switch event.changeType {
            case .signIn: break
            case .switchAccounts, .signOut: lock.withLock { data = AppData() }
            @unknown default: print("unknown account change: \(event)")
            }
        case .fetchedDatabaseChanges(let event):
            for deletion in event.deletions where deletion.zoneID.zoneName == Self.zoneName {
                switch deletion.reason {
                case .deleted, .purged: lock.withLock { data.names = [:] }
                case .encryptedDataReset: break
                @unknown default: break
                }
            }
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications { merge(modification.record) }
            for deletion in event.deletions { lock.withLock { data.names[deletion.recordID.recordName] = nil } }
        case .sentRecordZoneChanges(let event):
            var again: [CKSyncEngine.PendingRecordZoneChange] = []
            var zones: [CKSyncEngine.PendingDatabaseChange] = []
            for record in event.savedRecords { remember(record) }
            for failed in event.failedRecordSaves {
                switch failed.error.code {
                case .serverRecordChanged:
                    guard let server = failed.error.serverRecord else { continue }
                    remember(server)
                    again.append(.saveRecord(failed.record.recordID))
                case .zoneNotFound:
                    zones.append(.saveZone(CKRecordZone(zoneID: failed.record.recordID.zoneID)))
                    again.append(.saveRecord(failed.record.recordID))
                case .unknownItem:
                    lock.withLock { data.fields[failed.record.recordID.recordName] = nil }
                    again.append(.saveRecord(failed.record.recordID))
                case .networkFailure, .networkUnavailable, .zoneBusy, .serviceUnavailable, .notAuthenticated,
                    .operationCancelled:
                    break
                default: print("could not save: \(failed.error)")
                }
            }
            syncEngine.state.add(pendingDatabaseChanges: zones)
            syncEngine.state.add(pendingRecordZoneChanges: again)
        case .sentDatabaseChanges, .willFetchChanges, .willFetchRecordZoneChanges, .didFetchRecordZoneChanges,
            .didFetchChanges, .willSendChanges, .didSendChanges:
            break
        @unknown default: print("unknown event: \(event)")
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let scope = context.options.scope
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
            guard let name = self.names[recordID.recordName] else {
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
                return nil
            }
            let record = self.known(recordID) ?? CKRecord(recordType: "Contact", recordID: recordID)
            record.encryptedValues["name"] = name
            return record
        }
    }

    private func merge(_ record: CKRecord) {
        remember(record)
        let name = record.encryptedValues["name"] as? String
        lock.withLock { data.names[record.recordID.recordName] = name }
    }

    private func remember(_ record: CKRecord) {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        lock.withLock { data.fields[record.recordID.recordName] = archiver.encodedData }
    }

    private func known(_ id: CKRecord.ID) -> CKRecord? {
        guard let fields = lock.withLock({ data.fields[id.recordName] }),
            let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: fields)
        else { return nil }
        unarchiver.requiresSecureCoding = true
        return CKRecord(coder: unarchiver)
    }
}
