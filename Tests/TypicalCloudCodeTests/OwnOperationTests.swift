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

/// The way of apps that want an upload to go on after they end.
final class Uploads {
    let container: CKContainer
    private(set) var resumed: [CKOperation.ID] = []
    private var whenResumed: ([String]) -> Void = { _ in }

    init(container: CKContainer) { self.container = container }

    func resume(completion: @escaping (Error?) -> Void) {
        container.fetchAllLongLivedOperationIDs { [weak self] ids, error in
            guard let self = self, let ids = ids, error == nil else { return completion(error) }
            for id in ids {
                self.resumed.append(id)
                self.container.fetchLongLivedOperation(withID: id) { operation, _ in
                    guard let upload = operation as? CKModifyRecordsOperation else { return }
                    let done = self.whenResumed
                    upload.modifyRecordsCompletionBlock = { saved, _, _ in done(saved?.map(\.recordID.recordName) ?? []) }
                    self.container.add(upload)
                }
            }
            completion(nil)
        }
    }

    func resumed(_ done: @escaping ([String]) -> Void) { whenResumed = done }

    func upload(_ records: [CKRecord], completion: @escaping ([CKRecord]?, Error?) -> Void) {
        let operation = CKModifyRecordsOperation(recordsToSave: records)
        let configuration = CKOperation.Configuration()
        configuration.isLongLived = true
        configuration.qualityOfService = .utility
        operation.configuration = configuration
        operation.longLivedOperationWasPersistedBlock = { print("kept") }
        operation.modifyRecordsCompletionBlock = { saved, _, error in completion(saved, error) }
        container.privateCloudDatabase.add(operation)
    }
}

@Suite struct OwnOperationTests {
    @Test func longLivedUploadsAreForgottenAfterTheirEnd() async throws {
        let device = try await TestCloud().device("phone")
        let uploads = Uploads(container: device.container)
        let saved = await withCheckedContinuation { continuation in
            uploads.upload([CKRecord(recordType: "Note")]) { saved, _ in continuation.resume(returning: saved?.count) }
        }
        #expect(saved == 1)
        let error = await withCheckedContinuation { continuation in uploads.resume { continuation.resume(returning: $0) } }
        #expect(error == nil)
        #expect(uploads.resumed.isEmpty)
        #expect(try await device.container.longLivedOperation(for: "gone") == nil)
    }

    @Test func uploadsResumeAfterTheAppWasTerminated() async throws {
        let device = try await TestCloud().device("phone")
        let log = NoteLog()
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "milk"))
        let upload = CKModifyRecordsOperation(recordsToSave: [note])
        upload.configuration.isLongLived = true
        upload.modifyRecordsCompletionBlock = { _, _, _ in log.add("heard by nobody") }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            upload.longLivedOperationWasPersistedBlock = {
                log.add("kept")
                device.restart()
                continuation.resume()
            }
            device.container.privateCloudDatabase.add(upload)
        }

        let uploads = Uploads(container: device.container)
        let names = await withCheckedContinuation { continuation in
            uploads.resumed { saved in continuation.resume(returning: saved) }
            uploads.resume { _ in }
        }
        #expect(names == ["milk"])
        #expect(log.all == ["kept"])
        #expect(uploads.resumed == [upload.operationID])
    }

    @Test func subclassedOperationsRespectDependencies() async throws {
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
