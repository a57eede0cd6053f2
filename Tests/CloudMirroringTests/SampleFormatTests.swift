// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudMirroring
import CoreData
import Foundation
import ObjectGraph
import SQLiteStore
import TestBasics
import Testing

/// Files that earlier versions of the library wrote. Each has a post that is being relocated to a share.
///
///     record                  source zone                      destination zone
///     Post "Trip"             deletion pending                 pending
///     Tag "holiday"           deletion pending                 pending
///     Attachment 1            deletion pending                 pending
///     Attachment 2            deletion pending                 deleted before it was sent
///     Post "Diary", its tag   uploaded                         –
///     Post "Old"              deletion pending                 –
///     Post "New"              pending                          –
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct SampleFormatTests {
    private static let samples = ["format12", "format13"]

    /// Opens a copy of a sample with another server, and waits for the notification.
    private func device(_ sample: String) async throws -> Device {
        let file = try #require(Bundle.module.url(forResource: sample, withExtension: "sqlite", subdirectory: "Samples"))
        let folder = TestScope.temporaryFolder()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let copy = folder.appendingPathComponent("Posts.sqlite")
        try FileManager.default.copyItem(at: file, to: copy)
        let cloud = try InProcessCloud()
        return try Device("tablet", try await cloud.addUser("mia", device: "tablet"), file: copy) { description in
            description.cloudKitContainerOptions?.serverReplacedPolicy = .keep
            description.cloudKitContainerOptions?.accountChangePolicy = .keep
        }
    }

    private func rows(_ device: Device, _ sql: String) throws -> [String] {
        var rows: [String] = []
        try device.container.persistentStoreCoordinator.persistentStores.first?.storage.read { reader in
            try reader.query(sql) { rows.append($0.text(0) ?? "") }
        }
        return rows
    }

    @Test(arguments: samples) func relocatedRecordsAreMarked(sample: String) async throws {
        let device = try await device(sample)
        let trip = try device.read { try #require(try $0.post(titled: "Trip")?.objectID) }
        #expect(try device.container.syncState(of: trip) == .waiting)
        #expect(
            try rows(device, "SELECT entity || ' ' || pk FROM TARN_RECORD WHERE isRelocated = 1 ORDER BY 1") == [
                "Attachment 1", "Attachment 2", "Post 1", "Tag 1",
            ])
        #expect(try rows(device, "SELECT zone || ' ' || stage FROM TARN_RECORD WHERE isRelocated = 1 GROUP BY 1") == ["0 2"])
        #expect(
            try rows(device, "SELECT zone || ' ' || entity || ' ' || pk || ' ' || stage FROM TARN_RECORD WHERE isRelocated = 0 ORDER BY 1")
                == [
                    "0 Post 2 0", "0 Post 3 2", "0 Post 4 1", "0 Tag 2 0", "1 Attachment 1 1", "1 Attachment 2 2", "1 Post 1 1",
                    "1 Tag 1 1",
                ])
        #expect(try rows(device, "SELECT pk FROM TARN_RECORD WHERE pk <= 0").isEmpty)
    }

    @Test(arguments: samples) func redirectsThatOtherRowsNameAreFlagged(sample: String) async throws {
        let device = try await device(sample)
        _ = try device.container.syncState(of: try device.read { try #require(try $0.post(titled: "Trip")?.objectID) })
        #expect(
            try rows(device, "SELECT name FROM TARN_MERGED WHERE isReferenced = 1 ORDER BY name")
                == ["merged-lacked", "merged-linked", "merged-referenced"])
        #expect(try rows(device, "SELECT name FROM TARN_MERGED WHERE isReferenced = 0") == ["merged-idle"])
    }

    @Test(arguments: samples) func stagedPagesHaveTheirNewColumns(sample: String) async throws {
        let device = try await device(sample)
        _ = try device.container.syncState(of: try device.read { try #require(try $0.post(titled: "Trip")?.objectID) })
        #expect(
            try rows(device, "SELECT name FROM pragma_table_info('TARN_STAGEDPAGE')")
                == ["zone", "number", "asked", "token", "generation", "deletes", "form", "digest", "body"])
    }

    /// The earlier format had the number of a list in progress below zero.
    @Test(arguments: samples) func listOfZonesIsStillInProgress(sample: String) async throws {
        let device = try await device(sample)
        _ = try device.container.syncState(of: try device.read { try #require(try $0.post(titled: "Trip")?.objectID) })
        #expect(try rows(device, "SELECT CAST(value AS TEXT) FROM TARN_STATE WHERE key = 'listing'") == ["1"])
        #expect(try rows(device, "SELECT CAST(value AS TEXT) FROM TARN_STATE WHERE key = 'isZoneListingInProgress'") == ["1"])
    }

    /// Objects and their sync states are those of the earlier version.
    @Test(arguments: samples) func objectsStay(sample: String) async throws {
        let device = try await device(sample)
        #expect(
            try device.dump == """
                Attachment  thumbnail <2:3>  post → Trip
                Post  content Sea  title Trip  attachments ["Attachment"]  tags ["holiday"]
                Post  content from the phone  title Diary  tags ["mine"]
                Post  title New
                Tag  name holiday  posts ["Trip"]
                Tag  name mine  posts ["Diary"]
                """)
        for title in ["Trip", "New"] {
            #expect(try device.container.syncState(of: try device.read { try #require(try $0.post(titled: title)?.objectID) }) == .waiting)
        }
        let diary = try device.container.syncState(of: try device.read { try #require(try $0.post(titled: "Diary")?.objectID) })
        guard case .onServer = diary else {
            Issue.record("the diary is \(diary)")
            return
        }
    }
}
