// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Foundation
import Testing

// Operations as apps make them their own.

final class NoteFetch: CKFetchRecordsOperation {
    private let log: NoteLog

    init(_ names: [String], into log: NoteLog) {
        self.log = log
        super.init()
        recordIDs = names.map { CKRecord.ID(recordName: $0) }
        perRecordResultBlock = { id, result in
            if case .success = result { log.add(id.recordName) }
        }
        qualityOfService = .userInitiated
    }
}

final class AllZones: CKFetchRecordZonesOperation {
    override init() {
        super.init()
        name = "all zones"
    }
}

final class NoteLog: @unchecked Sendable {
    private let lock = NSLock()
    private var names: [String] = []

    func add(_ name: String) { lock.withLock { names.append(name) } }
    var all: [String] { lock.withLock { names.sorted() } }
}

@Suite struct OwnOperationTests {
    @Test func operationsOfAnAppsOwnWaitForEachOther() async throws {
        let database = try await TestCloud().device("phone").container.privateCloudDatabase
        let records = ["a", "b"].map { CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: $0)) }
        let log = NoteLog()
        let save = CKModifyRecordsOperation(recordsToSave: records)
        let fetch = NoteFetch(["a", "b", "c"], into: log)
        let zones = AllZones()
        zones.perRecordZoneResultBlock = { id, _ in log.add(id.zoneName) }
        fetch.addDependency(save)
        zones.addDependency(fetch)
        let queue = OperationQueue()
        for operation in [zones, fetch, save] as [CKDatabaseOperation] { operation.database = database }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            zones.completionBlock = { continuation.resume() }
            queue.addOperations([zones, fetch, save], waitUntilFinished: false)
        }
        #expect(log.all == ["_defaultZone", "a", "b"])
        #expect(type(of: CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()) == CKFetchRecordZonesOperation.self)
    }
}
