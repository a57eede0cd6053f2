// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Synchronization
import Testing

@Suite struct ModifyTests {
    @Test func callbacksComeInOrderAndOnce() async throws {
        let (database, zoneID) = try await garden()
        let log = CallbackLog()
        let operation = CKModifyRecordsOperation(
            recordsToSave: [plant("a", in: zoneID), plant("b", in: zoneID)],
            recordIDsToDelete: [CKRecord.ID(recordName: "gone", zoneID: zoneID)])
        operation.perRecordProgressBlock = { record, part in log.add("progress \(record.recordID.recordName) \(part)") }
        operation.perRecordSaveBlock = { id, result in
            if case .success(let record) = result { log.add("saved \(id.recordName) \(record.recordChangeTag != nil)") }
        }
        operation.perRecordDeleteBlock = { id, result in
            if case .success = result { log.add("deleted \(id.recordName)") }
        }
        operation.modifyRecordsResultBlock = { result in
            if case .success = result { log.add("result") }
        }
        await finish(operation, on: database)
        #expect(
            log.all == [
                "progress a 1.0", "progress b 1.0", "saved a true", "saved b true", "deleted gone", "result",
            ])
        #expect(operation.isFinished)
        #expect(!operation.isExecuting)
        #expect(!operation.isCancelled)
    }

    @Test func theOlderBlocksSayTheSame() async throws {
        let (database, zoneID) = try await garden()
        let log = CallbackLog()
        let operation = CKModifyRecordsOperation(
            recordsToSave: [plant("a", in: zoneID)], recordIDsToDelete: [CKRecord.ID(recordName: "gone", zoneID: zoneID)])
        operation.perRecordCompletionBlock = { record, error in
            log.add("record \(record.recordID.recordName) \(error == nil)")
        }
        operation.modifyRecordsCompletionBlock = { saved, deleted, error in
            log.add("\(saved?.map(\.recordID.recordName) ?? []) \(deleted?.map(\.recordName) ?? []) \(error == nil)")
        }
        await finish(operation, on: database)
        #expect(log.all == ["record a true", #"["a"] ["gone"] true"#])
    }

    @Test func bothFormsOfABlockAreCalledOneAtATime() async throws {
        let (database, zoneID) = try await garden()
        let log = CallbackLog()
        let running = Mutex(0)
        let note: @Sendable (String) -> Void = { name in
            let count = running.withLock { count in
                count += 1
                return count
            }
            log.add("\(name) \(count)")
            running.withLock { $0 -= 1 }
        }
        let operation = CKModifyRecordsOperation(recordsToSave: (0..<20).map { plant("p\($0)", in: zoneID) }, recordIDsToDelete: nil)
        operation.perRecordSaveBlock = { _, _ in note("save") }
        operation.perRecordCompletionBlock = { _, _ in note("completion") }
        operation.modifyRecordsResultBlock = { _ in note("result") }
        operation.modifyRecordsCompletionBlock = { _, _, _ in note("end") }
        await finish(operation, on: database)
        let all = Array(repeating: "completion 1", count: 20) + ["end 1", "result 1"] + Array(repeating: "save 1", count: 20)
        #expect(log.all.sorted() == all)
    }

    @Test func anAtomicZoneFailsAsAWhole() async throws {
        let (database, zoneID) = try await garden()
        try await database.save(plant("there", in: zoneID))
        let errors = Mutex<[String: Int]>([:])
        let final = Mutex<CKError?>(nil)
        let operation = CKModifyRecordsOperation(
            recordsToSave: [plant("new", in: zoneID), plant("there", in: zoneID)], recordIDsToDelete: nil)
        operation.perRecordSaveBlock = { id, result in
            if case .failure(let error) = result {
                errors.withLock { $0[id.recordName] = (error as? CKError)?.errorCode }
            }
        }
        operation.modifyRecordsResultBlock = { result in
            if case .failure(let error) = result { final.withLock { $0 = error as? CKError } }
        }
        await finish(operation, on: database)
        #expect(
            errors.withLock { $0 } == [
                "new": CKError.Code.batchRequestFailed.rawValue, "there": CKError.Code.serverRecordChanged.rawValue,
            ])
        let error = try #require(final.withLock { $0 })
        #expect(error.code == .partialFailure)
        #expect(error.partialErrorsByItemID?.count == 2)
        let id = CKRecord.ID(recordName: "there", zoneID: zoneID)
        #expect((error.partialErrorsByItemID?[id] as? CKError)?.serverRecord?.recordID == id)
        let missing = await failure { try await database.record(for: CKRecord.ID(recordName: "new", zoneID: zoneID)) }
        #expect(missing?.code == .unknownItem)
    }

    @Test func withoutAtomicityEachStandsAlone() async throws {
        let (database, zoneID) = try await garden()
        try await database.save(plant("there", in: zoneID))
        let results = try await database.modifyRecords(
            saving: [plant("new", in: zoneID), plant("there", in: zoneID)], deleting: [], atomically: false)
        #expect(results.saveResults.count == 2)
        let new = CKRecord.ID(recordName: "new", zoneID: zoneID)
        #expect(try results.saveResults[new]?.get().recordChangeTag != nil)
        let there = await failure {
            try results.saveResults[CKRecord.ID(recordName: "there", zoneID: zoneID)]?.get()
        }
        #expect(there?.code == .serverRecordChanged)
    }

    @Test func savePoliciesDecideWhoWins() async throws {
        let (database, zoneID) = try await garden()
        let first = plant("a", in: zoneID)
        first["x"] = 1
        first["y"] = 1
        try await database.save(first)
        let mine = try await database.record(for: first.recordID)
        let other = try await database.record(for: first.recordID)
        other["x"] = 2
        try await database.save(other)
        mine["y"] = 3
        let refused = await failure { try await database.save(mine) }
        #expect(refused?.code == .serverRecordChanged)
        #expect(refused?.serverRecord?["x"] == 2)
        #expect(refused?.clientRecord === mine)
        #expect(refused?.ancestorRecord?["y"] == 1)
        _ = try await database.modifyRecords(saving: [mine], deleting: [], savePolicy: .changedKeys)
        let merged = try await database.record(for: first.recordID)
        #expect(merged["x"] == 2)
        #expect(merged["y"] == 3)
        let old = plant("a", in: zoneID)
        old["x"] = 9
        _ = try await database.modifyRecords(saving: [old], deleting: [], savePolicy: .allKeys)
        let all = try await database.record(for: first.recordID)
        #expect(all["x"] == 9)
        #expect(all["y"] == 3)
    }

    @Test func tooManyItemsAreRejectedBeforeTheyAreSent() async throws {
        let (database, zoneID) = try await garden()
        let records = (0...400).map { plant("p\($0)", in: zoneID) }
        let error = await failure { try await database.modifyRecords(saving: records, deleting: []) }
        #expect(error?.code == .limitExceeded)
        let results = try await database.modifyRecords(saving: Array(records.dropLast()), deleting: [])
        #expect(results.saveResults.count == 400)
    }

    @Test func aMissingZoneIsTheErrorOfItsRecords() async throws {
        let (database, zoneID) = try await garden()
        let lost = CKRecordZone.ID(zoneName: "Lost")
        let results = try await database.modifyRecords(
            saving: [plant("a", in: zoneID), plant("b", in: lost)], deleting: [])
        #expect(try results.saveResults[CKRecord.ID(recordName: "a", zoneID: zoneID)]?.get() != nil)
        let error = await failure { try results.saveResults[CKRecord.ID(recordName: "b", zoneID: lost)]?.get() }
        #expect(error?.code == .zoneNotFound)
        let single = await failure { try await database.save(plant("b", in: lost)) }
        #expect(single?.code == .zoneNotFound)
        let fetched = await failure { try await database.record(for: CKRecord.ID(recordName: "b", zoneID: lost)) }
        #expect(fetched?.code == .zoneNotFound)
    }

    @Test func completionHandlersAreCalledOnce() async throws {
        let (database, zoneID) = try await garden()
        let saved = await withCheckedContinuation { continuation in
            database.save(plant("a", in: zoneID)) { record, error in continuation.resume(returning: (record, error)) }
        }
        #expect(saved.0?.recordChangeTag != nil)
        #expect(saved.1 == nil)
        let id = CKRecord.ID(recordName: "a", zoneID: zoneID)
        let fetched = await withCheckedContinuation { continuation in
            database.fetch(withRecordID: id) { record, error in continuation.resume(returning: (record, error)) }
        }
        #expect(fetched.0?.recordID == id)
        let deleted = await withCheckedContinuation { continuation in
            database.delete(withRecordID: id) { id, error in continuation.resume(returning: (id, error)) }
        }
        #expect(deleted.0 == id)
        let missing = await withCheckedContinuation { continuation in
            database.fetch(withRecordID: id) { record, error in continuation.resume(returning: (record, error)) }
        }
        #expect(missing.0 == nil)
        #expect((missing.1 as? CKError)?.code == .unknownItem)
    }

    @Test func assetsTravelAsFiles() async throws {
        let (database, zoneID) = try await garden()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data("hello".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let record = plant("a", in: zoneID)
        record["photo"] = CKAsset(fileURL: file)
        let parts = Mutex<[Double]>([])
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.perRecordProgressBlock = { _, part in parts.withLock { $0.append(part) } }
        await finish(operation, on: database)
        let callbacks = parts.withLock { $0 }
        #expect(callbacks == callbacks.sorted())
        #expect(callbacks.count == 2)
        #expect(callbacks.last == 1)
        let fetched = try await database.record(for: record.recordID)
        let copy = try #require((fetched["photo"] as? CKAsset)?.fileURL)
        #expect(try Data(contentsOf: copy) == Data("hello".utf8))
        let missing = plant("b", in: zoneID)
        missing["photo"] = CKAsset(fileURL: file.appendingPathExtension("not-there"))
        let error = await failure { try await database.save(missing) }
        #expect(error?.code == .assetFileNotFound)
        let without = try await database.records(for: [record.recordID], desiredKeys: [])
        #expect(try without[record.recordID]?.get().allKeys().isEmpty == true)
    }
}

@Suite struct OperationTests {
    @Test func aCancelledOperationStillEnds() async throws {
        let (database, zoneID) = try await garden()
        let log = CallbackLog()
        let operation = CKModifyRecordsOperation(recordsToSave: [plant("a", in: zoneID)])
        operation.modifyRecordsResultBlock = { result in
            if case .failure(let error) = result { log.add("\((error as? CKError)?.errorCode ?? 0)") }
        }
        operation.cancel()
        await finish(operation, on: database)
        #expect(log.all == ["\(CKError.Code.operationCancelled.rawValue)"])
        #expect(operation.isCancelled)
        #expect(operation.isFinished)
    }

    @Test func dependenciesDecideTheOrder() async throws {
        let database = try await testContainer().privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Later")
        let log = CallbackLog()
        let makeZone = CKModifyRecordZonesOperation(recordZonesToSave: [zone])
        makeZone.modifyRecordZonesResultBlock = { _ in log.add("zone") }
        let save = CKModifyRecordsOperation(recordsToSave: [plant("a", in: zone.zoneID)])
        save.modifyRecordsResultBlock = { result in
            if case .success = result { log.add("record") }
        }
        let fetch = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a", zoneID: zone.zoneID)])
        fetch.fetchRecordsResultBlock = { result in
            if case .success = result { log.add("fetched") }
        }
        save.addDependency(makeZone)
        fetch.addDependency(save)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            fetch.completionBlock = { continuation.resume() }
            database.add(fetch)
            database.add(save)
            database.add(makeZone)
        }
        #expect(log.all == ["zone", "record", "fetched"])
    }

    @Test func operationsRunOnAnyQueue() async throws {
        let (database, zoneID) = try await garden()
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let log = CallbackLog()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            for name in ["a", "b", "c"] {
                let operation = CKModifyRecordsOperation(recordsToSave: [plant(name, in: zoneID)])
                operation.database = database
                operation.modifyRecordsResultBlock = { _ in log.add(name) }
                if name == "c" { operation.completionBlock = { continuation.resume() } }
                queue.addOperation(operation)
            }
        }
        #expect(log.all == ["a", "b", "c"])
    }

    @Test func configurationsAndGroupsStoreTheirValues() {
        let operation = CKModifyRecordsOperation()
        #expect(!operation.operationID.isEmpty)
        #expect(operation.operationID != CKModifyRecordsOperation().operationID)
        #expect(operation.isAtomic)
        #expect(operation.savePolicy == .ifServerRecordUnchanged)
        #expect(operation.configuration.timeoutIntervalForRequest == 60)
        #expect(operation.configuration.timeoutIntervalForResource == 7 * 24 * 3600)
        #expect(operation.configuration.allowsCellularAccess)
        operation.qualityOfService = .userInitiated
        #expect(operation.configuration.qualityOfService == .userInitiated)
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 5
        configuration.qualityOfService = .utility
        operation.configuration = configuration
        #expect(operation.qualityOfService == .utility)
        let group = CKOperationGroup()
        group.name = "sync"
        group.quantity = 3
        group.expectedSendSize = .megabytes
        operation.group = group
        #expect(operation.group?.name == "sync")
        #expect(!group.operationGroupID.isEmpty)
        #expect(group.defaultConfiguration != nil)
    }

    @Test func configuredDatabasesAreDefaultsOfOperations() async throws {
        let (database, zoneID) = try await garden()
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .userInitiated
        let saved = try await database.configuredWith(configuration: configuration) { database in
            try await database.save(plant("a", in: zoneID))
        }
        #expect(saved.recordChangeTag != nil)
        let scope = database.configuredWith(group: CKOperationGroup()) { $0.databaseScope }
        #expect(scope == .private)
    }
}
