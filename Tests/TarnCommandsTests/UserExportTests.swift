// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Foundation
import Testing

@testable import TarnCommands

/// `tarn user export` to a folder that gets its name once it is complete.
@Suite struct UserExportTests {
    private static let container = "iCloud.org.example.notes"
    private let files = FileManager.default

    /// The export has written the account and records when it finds that the file of an asset is missing.
    @Test func aFailedExportLeavesNoFolder() async throws {
        let cloud = try InProcessCloud()
        let client = CloudDatabaseClient(
            containerIdentifier: Self.container, environment: .development, scope: .private,
            transport: try await cloud.addUser("mia", device: "phone"))
        let zoneID = ZoneID(zoneName: "Notes")
        _ = try await client.modifyZones(ZonesModifyRequest(operations: [.create(zoneID)]))
        let photo = try await client.uploadAsset(
            .bytes(Array(repeating: 1, count: 5000)), recordType: "Note", recordName: "n1", fieldName: "photo", zoneID: zoneID)
        let note = Record(recordName: "n1", recordType: "Note", fields: ["photo": Field(.asset(photo))])
        _ = try await client.modifyRecords(
            ModifyRecordsRequest(operations: [RecordOperation(.create, note)], zoneID: zoneID), idempotencyKey: "n1")
        let (folder, copies) = (ScratchFolder("tarn-user-export"), ScratchFolder("tarn-user-copy"))
        try await cloud.backUp(to: folder.path)
        try cloud.discard()
        let assets = folder.path + "/assets"
        try files.moveItem(atPath: assets, toPath: folder.path + "/unmounted")
        let copy = copies.path + "/copy"
        let failed = await CommandRun("user", "export", "mia", "--to", copy, "--data", folder.path)
        #expect(failed.status == 1)
        #expect(failed.notes.contains("asset"), "\(failed.notes)")
        #expect(!files.fileExists(atPath: copy))
        #expect(!files.fileExists(atPath: copy + ".partial"))

        try? files.removeItem(atPath: assets)
        try files.moveItem(atPath: folder.path + "/unmounted", toPath: assets)
        let exported = await CommandRun("user", "export", "mia", "--to", copy + "/", "--data", folder.path)
        #expect(exported.output == "\(copy): 1 record and 1 file of mia\n", "\(exported.notes)")
        #expect(!files.fileExists(atPath: copy + ".partial"))
    }

    @Test func theRestOfAnInterruptedExportIsNotReplaced() async throws {
        let folder = ScratchFolder("tarn-user-export")
        #expect(await CommandRun("user", "add", "mia", "--data", folder.path).status == 0)
        let copy = folder.path + "/copy"
        try files.createDirectory(atPath: copy + ".partial", withIntermediateDirectories: true)
        let refused = await CommandRun("user", "export", "mia", "--to", copy, "--data", folder.path)
        #expect(refused.status == 1)
        #expect(refused.notes.contains("\(copy).partial is there"), "\(refused.notes)")
        #expect(!files.fileExists(atPath: copy))
    }
}
