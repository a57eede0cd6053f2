// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Foundation
import TestBasics
import Testing

private let garden = CKRecordZone(zoneName: "Garden")

private func plant(_ name: String, in zone: CKRecordZone? = nil) -> CKRecord {
    CKRecord(recordType: "Plant", recordID: CKRecord.ID(recordName: name, zoneID: zone?.zoneID ?? .default))
}

/// Operations that resume after the process that began them.
@Suite struct LongLivedTests {
    @Test func anOperationIsPersistedBeforeItsFirstRequestAndForgottenAfterItsEnd() async throws {
        let device = try await TestCloud().device("phone")
        let callbacks = CallbackLog()
        let operation = CKModifyRecordsOperation(recordsToSave: [plant("sage")]).longLived().logging(to: callbacks)
        operation.longLivedOperationWasPersistedBlock = { callbacks.add("kept, \(device.asked("records/modify")) asked") }
        operation.modifyRecordsResultBlock = { result in
            let heard = DispatchSemaphore(value: 0)
            device.container.fetchAllLongLivedOperationIDs { ids, _ in
                callbacks.add("end \(word(result)), \(ids?.count ?? -1) kept")
                heard.signal()
            }
            heard.wait()
        }
        await device.run(operation)
        #expect(callbacks.all == ["kept, 0 asked", "sage ok", "end ok, 0 kept"])
        #expect(try await device.container.allLongLivedOperationIDs().isEmpty)
        device.restart()
        #expect(try await device.container.allLongLivedOperationIDs().isEmpty)
    }

    @Test func anOrdinaryOperationIsNotPersisted() async throws {
        let device = try await TestCloud().device("phone")
        let callbacks = CallbackLog()
        let operation = CKModifyRecordsOperation(recordsToSave: [plant("sage")]).logging(to: callbacks)
        operation.longLivedOperationWasPersistedBlock = { callbacks.add("kept") }
        await device.run(operation)
        #expect(callbacks.all == ["sage ok", "end ok"])
    }

    @Test func aGroupAndAConfiguredDatabaseMakeItLongLived() async throws {
        let device = try await TestCloud().device("phone")
        let callbacks = CallbackLog()
        let configuration = CKOperation.Configuration()
        configuration.isLongLived = true
        let grouped = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        grouped.group = CKOperationGroup()
        grouped.group?.defaultConfiguration = configuration
        grouped.longLivedOperationWasPersistedBlock = { callbacks.add("group") }
        await device.run(grouped)
        let configured = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        configured.longLivedOperationWasPersistedBlock = { callbacks.add("database") }
        await withCheckedContinuation { continuation in
            configured.completionBlock = { continuation.resume() }
            device.database.configuredWith(configuration: configuration) { $0.add(configured) }
        }
        #expect(callbacks.all == ["group", "database"])
    }

    @Test func anOperationResumesInTheNextProcessAndReportsToIt() async throws {
        let device = try await TestCloud().device("phone")
        let (before, after) = (CallbackLog(), CallbackLog())
        let operation = CKModifyRecordsOperation(recordsToSave: [plant("sage")]).longLived().logging(to: before).restarting(device)
        await device.run(operation)
        await device.finishLongLivedOperations()
        #expect(before.all == [])
        #expect(device.asked("records/modify") == 1)
        #expect(try await device.database.record(for: CKRecord.ID(recordName: "sage")).recordType == "Plant")

        #expect(try await device.container.allLongLivedOperationIDs() == [operation.operationID])
        let fetched = try #require(try await device.container.longLivedOperation(for: operation.operationID))
        let upload = try #require(fetched as? CKModifyRecordsOperation)
        #expect(upload.operationID == operation.operationID)
        #expect(upload.configuration.isLongLived)
        #expect(upload.recordsToSave?.map(\.recordID.recordName) == ["sage"])
        // Journaled results need no server.
        device.goOffline()
        await device.run(upload.logging(to: after))
        #expect(after.all == ["sage ok", "end ok"])
        #expect(after.records.first?.recordChangeTag != nil)
        #expect(device.asked("records/modify") == 1)
        #expect(try await device.container.allLongLivedOperationIDs().isEmpty)
        #expect(try await device.container.longLivedOperation(for: operation.operationID) == nil)
    }

    @Test func aRequestWithALostResponseIsExecutedOnce() async throws {
        let cloud = try TestCloud()
        let device = try await cloud.device("phone")
        cloud.clock.skipsWaits = false
        device.fail(.answerLost, operation: "records/modify")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("photo-" + UUID().uuidString)
        try Data("a photo".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let sage = plant("sage")
        sage["photo"] = CKAsset(fileURL: file)
        let operation = CKModifyRecordsOperation(recordsToSave: [sage]).longLived(.utility)
        device.database.add(operation)
        // The server has saved it, the device waits before it asks again.
        try await until { cloud.clock.waits != 0 }
        device.restart()
        await device.finishLongLivedOperations()
        let callbacks = CallbackLog()
        let fetched = try #require(try await device.kept() as? CKModifyRecordsOperation)
        await device.run(fetched.logging(to: callbacks))
        // A creation with another key would be refused now: the record is there.
        #expect(callbacks.all == ["sage ok", "end ok"])
        #expect(device.asked("records/modify") == 2)
        #expect(device.asked("assets/upload") == 1)
    }

    @Test func earlierResultsAreDeliveredAgain() async throws {
        let device = try await TestCloud().device("phone")
        _ = try await device.database.modifyRecordZones(saving: [garden, CKRecordZone(zoneName: "House")], deleting: [])
        let records = [plant("sage", in: garden), plant("fern", in: CKRecordZone(zoneName: "House"))]
        let operation = CKModifyRecordsOperation(recordsToSave: records).longLived()
        operation.perRecordSaveBlock = { _, _ in device.restart() }
        await device.run(operation)
        let callbacks = CallbackLog()
        let fetched = try #require(try await device.kept() as? CKModifyRecordsOperation)
        await device.run(fetched.logging(to: callbacks))
        #expect(callbacks.all == ["sage ok", "fern ok", "end ok"])
        #expect(device.asked("records/modify") <= 3)
        #expect(Set(callbacks.records.map(\.recordID.zoneID.zoneName)) == ["Garden", "House"])
    }

    @Test func errorsOfItemsArePersisted() async throws {
        let device = try await TestCloud().device("phone")
        _ = try await device.database.save(plant("sage"))
        let operation = CKModifyRecordsOperation(recordsToSave: [plant("sage"), plant("fern")]).longLived().restarting(device)
        await device.run(operation)
        await device.finishLongLivedOperations()
        device.goOffline()
        let callbacks = CallbackLog()
        let fetched = try #require(try await device.kept() as? CKModifyRecordsOperation)
        await device.run(fetched.logging(to: callbacks))
        #expect(callbacks.all == ["sage serverRecordChanged", "fern ok", "end partialFailure"])
    }

    @Test func aTransientFailureEndsAtTheResourceTimeout() async throws {
        let device = try await TestCloud().device("phone")
        let operation = CKModifyRecordsOperation(recordsToSave: [plant("sage")]).longLived()
        await device.run(operation.restarting(device) { device.goOffline() })
        await device.finishLongLivedOperations()
        device.goOnline()
        let callbacks = CallbackLog()
        let fetched = try #require(try await device.kept() as? CKModifyRecordsOperation)
        await device.run(fetched.logging(to: callbacks))
        #expect(callbacks.all.count == 1)
        #expect(callbacks.all.first?.hasPrefix("end network") == true)
    }

    @Test func addingAResumedOperationTakesItsTurn() async throws {
        let cloud = try TestCloud()
        let device = try await cloud.device("phone")
        cloud.clock.skipsWaits = false
        let operation = CKModifyRecordsOperation(recordsToSave: [plant("sage")]).longLived()
        await device.run(operation.restarting(device) { device.goOffline() })
        let fetched = try #require(try await device.kept() as? CKModifyRecordsOperation)
        try await until { cloud.clock.waits != 0 }
        device.goOnline()
        let callbacks = CallbackLog()
        await device.run(fetched.logging(to: callbacks))
        #expect(callbacks.all == ["sage ok", "end ok"])
        await device.finishLongLivedOperations()
        #expect(try await device.container.allLongLivedOperationIDs().isEmpty)
    }

    @Test func twoObjectsOfOneOperationReceiveTheSameResults() async throws {
        let cloud = try TestCloud()
        let device = try await cloud.device("phone")
        cloud.clock.skipsWaits = false
        device.goOffline()
        let (first, second) = (CallbackLog(), CallbackLog())
        let operation = CKModifyRecordsOperation(recordsToSave: [plant("sage")]).longLived(.utility).logging(to: first)
        device.database.add(operation)
        try await until { cloud.clock.waits != 0 }
        let fetched = try #require(try await device.kept() as? CKModifyRecordsOperation)
        device.database.add(fetched.logging(to: second))
        device.goOnline()
        cloud.clock.advance(by: .seconds(60))
        await device.ended(fetched)
        #expect(first.all == ["sage ok", "end ok"])
        #expect(second.all == first.all)
        #expect(device.asked("records/modify") == 2)
        #expect(try await device.container.allLongLivedOperationIDs().isEmpty)
    }

    @Test func cancellingRemovesIt() async throws {
        let device = try await TestCloud().device("phone")
        let callbacks = CallbackLog()
        let running = CKModifyRecordsOperation(recordsToSave: [plant("sage")]).longLived().logging(to: callbacks)
        running.longLivedOperationWasPersistedBlock = { running.cancel() }
        await device.run(running)
        #expect(callbacks.all == ["end operationCancelled"])
        #expect(try await device.container.allLongLivedOperationIDs().isEmpty)

        device.goOffline()
        await device.run(CKModifyRecordsOperation(recordsToSave: [plant("fern")]).longLived().restarting(device))
        let fetched = try #require(try await device.kept())
        fetched.cancel()
        #expect(try await device.container.allLongLivedOperationIDs().isEmpty)
        device.goOnline()
        device.restart()
        await device.finishLongLivedOperations()
        let error = await error { try await device.database.record(for: CKRecord.ID(recordName: "fern")) }
        #expect(error?.code == .unknownItem)
    }

    @Test func anotherAccountNeitherListsNorResumesIt() async throws {
        let cloud = try TestCloud()
        let device = try await cloud.device("phone", account: "mia")
        device.goOffline()
        cloud.clock.skipsWaits = false
        await device.run(CKModifyRecordsOperation(recordsToSave: [plant("sage")]).longLived().restarting(device))
        let fetched = try #require(try await device.kept() as? CKModifyRecordsOperation)
        device.goOnline()
        try await device.signIn(to: "eve")
        device.restart()
        await device.finishLongLivedOperations()
        #expect(try await device.container.allLongLivedOperationIDs().isEmpty)
        #expect(try await device.container.longLivedOperation(for: fetched.operationID) == nil)
        let callbacks = CallbackLog()
        await device.run(fetched.logging(to: callbacks))
        #expect(callbacks.all == ["end notAuthenticated"])
        #expect(device.asked("records/modify") == 0)

        try await device.signIn(to: "mia")
        _ = try await device.container.allLongLivedOperationIDs()
        await device.finishLongLivedOperations()
        #expect(try await device.database.record(for: CKRecord.ID(recordName: "sage")).recordType == "Plant")
    }

    @Test func unfetchedResultsAreRemovedAfterAWeek() async throws {
        let cloud = try TestCloud()
        let device = try await cloud.device("phone")
        await device.run(CKModifyRecordsOperation(recordsToSave: [plant("sage")]).longLived().restarting(device))
        await device.finishLongLivedOperations()
        cloud.clock.advance(by: .seconds(6 * 24 * 3600))
        device.restart()
        #expect(try await device.container.allLongLivedOperationIDs().count == 1)
        cloud.clock.advance(by: .seconds(25 * 3600))
        device.restart()
        #expect(try await device.container.allLongLivedOperationIDs().isEmpty)
    }
}

extension TestDevice {
    /// Waits for the end of an operation that was added.
    func ended(_ operation: CKOperation) async {
        let after = BlockOperation {}
        after.addDependency(operation)
        await withCheckedContinuation { continuation in
            after.completionBlock = { continuation.resume() }
            OperationQueue().addOperation(after)
        }
    }
}
