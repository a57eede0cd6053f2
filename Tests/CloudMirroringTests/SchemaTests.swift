// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import CoreData
import Dispatch
import Foundation
import ManagedModel
import Synchronization
import TestBasics
import Testing

/// The model's record types on the server, before anything is saved.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct SchemaTests {
    /// The call blocks its thread, which must not be one that runs tasks.
    private func initialize(
        _ device: Device, _ options: NSPersistentCloudKitContainerSchemaInitializationOptions = []
    ) async -> Result<Void, any Error> {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Result { try device.container.initializeCloudKitSchema(options: options) })
            }
        }
    }

    private static var model: Model {
        var model = Posts.model
        var secret = Attribute(name: "secret", type: .integer16)
        secret.allowsCloudEncryption = true
        model.entities[0].attributes.append(secret)
        return model
    }

    @Test func everyFieldIsKnownToTheServerAndNoSampleStays() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try Device("tablet", transport, model: Self.model)
        try await tablet.container.sync(timeout: .seconds(600))
        try await initialize(tablet).get()
        let client = CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: transport)
        #expect(try await client.listZones().zones.count == 2)
        // A field that was declared refuses another type.
        let zone = ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")
        func refused(_ type: String, _ field: String, _ value: FieldValue) async throws -> Bool {
            let record = Record(recordName: UUID().uuidString, recordType: type, fields: [field: Field(value)])
            let answer = try await client.modifyRecords(
                ModifyRecordsRequest(operations: [RecordOperation(.create, record)], zoneID: zone, atomic: false),
                idempotencyKey: UUID().uuidString)
            if case .failure? = answer.results.first { return true }
            return false
        }
        for (type, field) in [
            ("CD_Post", "CD_title"), ("CD_Post", "CD_title_ckAsset"), ("CD_Post", "CD_moveReceipt"), ("CD_Post", "CD_secret"),
            ("CD_Attachment", "CD_imageData"), ("CD_ImageData", "CD_data"), ("CDMR", "CD_recordNames"),
        ] { #expect(try await refused(type, field, .int64(1)), "\(type).\(field)") }
        #expect(try await refused("CD_Post", "CD_timestamp", .string("x")))
        #expect(try await !refused("CD_Post", "CD_timestamp", .timestamp(1)))
    }

    @Test func aDryRunPrintsTheSchemaAndSendsNothing() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        transport.goOffline()
        let printed = Mutex("")
        let tablet = try Device(
            "tablet", transport, model: Self.model, configure: { $0.print = { text in printed.withLock { $0 += text } } })
        try await initialize(tablet, [.dryRun, .printSchema]).get()
        let text = printed.withLock { $0 }
        #expect(text.hasPrefix("DEFINE SCHEMA\n\n    RECORD TYPE CDDeviceApproval (\n"))
        #expect(text.contains("    RECORD TYPE CDMR (\n        CD_entityNames   STRING QUERYABLE SEARCHABLE SORTABLE,\n"))
        #expect(text.contains("        CD_secret              ENCRYPTED BYTES,\n"))
        #expect(text.contains("        CD_title_ckAsset       ASSET,\n"))
        #expect(!text.contains("___modTime"))
        let error = await #expect(throws: CocoaError.self) { try await initialize(tablet).get() }
        #expect(error?.code.rawValue == 134_060)
        #expect(error?.userInfo[NSUnderlyingErrorKey] is CKError)
    }

    @Test func withoutASyncedStoreThereIsNoSchema() throws {
        let container = NSPersistentCloudKitContainer(name: "Posts", managedObjectModel: NSManagedObjectModel(Posts.model))
        let error = #expect(throws: CocoaError.self) { try container.initializeCloudKitSchema(options: .dryRun) }
        #expect(error?.code.rawValue == 134_060)
        #expect(NSPersistentCloudKitContainerSchemaInitializationOptions.dryRun.rawValue == 2)
        #expect(NSPersistentCloudKitContainerSchemaInitializationOptions.printSchema.rawValue == 4)
    }
}
