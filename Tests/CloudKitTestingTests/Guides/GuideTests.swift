// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import CoreData
import Foundation
import Testing

/// The code of the guides in Documentation/Tarn.docc, which show parts of it only.
@Suite struct GuideTests {
    @Test func aNoteReachesTheOtherDevice() async throws {
        let cloud = try TestCloud()
        let phone = try makeContainer(on: try await cloud.device("phone", account: "mia"))
        let tablet = try makeContainer(on: try await cloud.device("tablet", account: "mia"))

        try await phone.write("Milk")
        try await phone.sync(timeout: .seconds(600))
        try await tablet.sync(timeout: .seconds(600))
        #expect(try await tablet.texts() == ["Milk"])
    }

    /// `HowMirroringWorks.md` shows the picture.
    @Test func theGuideShowsTheRecordOfANote() async throws {
        let cloud = try TestCloud()
        let phone = try makeContainer(on: try await cloud.device("phone", account: "mia"))
        try await phone.write("Milk")
        try await phone.sync(timeout: .seconds(600))
        let picture = try await cloud.picture()

        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let guide = try String(contentsOf: root.appendingPathComponent("Documentation/Tarn.docc/HowMirroringWorks.md"), encoding: .utf8)
        // Names of users and records are random.
        func masked(_ text: String) -> String { text.replacing(/_[0-9a-f]{32}|[0-9A-F-]{36}/, with: "…") }
        #expect(masked(guide).contains("```\n\(masked(picture))\n```"), "the guide shows another picture than\n\(picture)")
    }

    @Test func aLosingValueIsInTheConflictLog() async throws {
        let cloud = try TestCloud()
        let phoneDevice = try await cloud.device("phone", account: "mia")
        let phone = try makeContainer(on: phoneDevice)
        let tablet = try makeContainer(on: try await cloud.device("tablet", account: "mia"))
        try await phone.write("Milk")
        try await phone.sync(timeout: .seconds(600))
        try await tablet.sync(timeout: .seconds(600))

        phoneDevice.goOffline()
        try await phone.write("Bread")
        try await tablet.write("Rice")
        try await tablet.sync(timeout: .seconds(600))
        phoneDevice.goOnline()
        try await phone.sync(timeout: .seconds(600))
        try await tablet.sync(timeout: .seconds(600))

        #expect(try await phone.texts() == ["Bread"])
        #expect(try await tablet.texts() == ["Bread"])
        let conflict = try #require(try phone.conflicts().first)
        #expect(conflict.propertyName == "text")
        #expect(conflict.losingValue as? String == "Rice")

        try await phone.performBackgroundTask { context in
            _ = try phone.restoreLosingValue(of: conflict, in: context)
            try context.save()
        }
        #expect(try await phone.texts() == ["Rice"])
    }

    @Test func theArchiveIsRestoredWhenItsUserIsBack() async throws {
        let cloud = try TestCloud()
        let device = try await cloud.device("phone", account: "mia")
        let container = try makeContainer(on: device)
        try await container.write("Milk")
        try await container.sync(timeout: .seconds(600))
        container.pauseSyncing()
        try await container.write("Bread")

        try await device.signIn(to: "ben")
        container.resumeSyncing()
        try await container.sync(timeout: .seconds(600))
        #expect(try await container.texts() == [])
        #expect(container.syncStatus.accountChange?.archiveName != nil)

        try await device.signIn(to: "mia")
        try await container.sync(timeout: .seconds(600))
        #expect(try await container.texts() == ["Milk"])

        let store = try #require(container.persistentStoreCoordinator.persistentStores.first)
        let archive = try #require(try container.storeArchives(of: store).first)
        try await container.restoreStoreArchive(archive, in: store)
        container.viewContext.performAndWait { container.viewContext.reset() }
        try await container.sync(timeout: .seconds(600))
        #expect(try await container.texts() == ["Bread"])
    }

    @Test func anOfflineDeviceReportsIt() async throws {
        let cloud = try TestCloud()
        let device = try await cloud.device("phone", account: "mia")
        let container = try makeContainer(on: device)
        try await container.sync(timeout: .seconds(600))

        device.goOffline()
        try await container.write("Milk")
        for await status in container.syncStatusUpdates where status.activity == .offline && status.pendingCount == 1 { break }
        let note = try #require(try await container.notes().first)
        #expect([.waiting, .uploading].contains(try container.syncState(of: note)))

        device.goOnline()
        try await container.sync(timeout: .seconds(600))
        #expect(container.syncStatus.pendingCount == 0)
    }

    @MainActor @Test func aNoteIsSharedWithAnotherUser() async throws {
        let cloud = try TestCloud()
        let mia = try makeContainer(on: try await cloud.device("phone", account: "mia"), scopes: [.private, .shared])
        let bensDevice = try await cloud.device("tablet", account: "ben")
        let ben = try makeContainer(on: bensDevice, scopes: [.private, .shared])
        try await mia.write("Milk")
        try await mia.sync(timeout: .seconds(600))

        let notes = try await mia.notes().map { mia.viewContext.object(with: $0) }
        let (_, share, _) = try await mia.share(notes, to: nil)
        share.publicPermission = .readWrite
        let privateStore = mia.persistentStoreCoordinator.persistentStores[0]
        try await mia.persistUpdatedShare(share, in: privateStore)
        try await mia.sync(timeout: .seconds(600))

        let address = try #require(share.url)
        let invitation = try await bensDevice.container.shareMetadata(for: address)
        let sharedStore = ben.persistentStoreCoordinator.persistentStores[1]
        _ = try await ben.acceptShareInvitations(from: [invitation], into: sharedStore)
        try await ben.sync(timeout: .seconds(600))
        #expect(try await ben.texts() == ["Milk"])
        #expect(ben.canUpdateRecord(forManagedObjectWith: try #require(try await ben.notes().first)))
    }
}
