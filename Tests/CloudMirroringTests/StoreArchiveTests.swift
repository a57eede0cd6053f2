// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CoreData
import Foundation
import TestBasics
import Testing

/// Archives of stores are listed, restored for a user that returned or confirmed their identity, and removed.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct StoreArchiveTests {
    private typealias Options = NSPersistentCloudKitContainerOptions

    /// Mia's tablet after it was stopped: one post on the server, one that was not sent.
    private func miasTablet(_ cloud: InProcessCloud) async throws -> URL {
        let mia = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try mia.edit { $0.insert("Post", ["title": "Mia's"]) }
        try await mia.container.sync(timeout: .seconds(600))
        mia.container.pauseSyncing()
        try mia.edit { context in
            let post = context.insert("Post", ["title": "Unsent"])
            post.setValue(Set([context.insert("Tag", ["name": "unsent"])]), forKey: "tags")
        }
        try await mia.kill()
        return mia.file
    }

    private func tablet(_ transport: InProcessTransport, _ file: URL, _ configure: (Options) -> Void = { _ in }) throws -> Device {
        try Device("tablet", transport, file: file) { if let options = $0.cloudKitContainerOptions { configure(options) } }
    }

    private func store(_ device: Device) throws -> NSPersistentStore {
        try #require(device.container.persistentStoreCoordinator.persistentStores.first)
    }

    private let miasObjects = "Post  title Mia's\nPost  title Unsent  tags [\"unsent\"]\nTag  name unsent  posts [\"Unsent\"]"

    private func expectMiasObjects(_ device: Device) throws {
        let dump = try device.dump
        #expect(dump == miasObjects)
    }

    @Test func theArchiveIsRestoredWhenItsUserIsBack() async throws {
        let cloud = try InProcessCloud()
        let file = try await miasTablet(cloud)
        let bo = try tablet(try await cloud.addUser("bo", device: "tablet"), file)
        try await bo.container.sync(timeout: .seconds(600))
        try bo.edit { $0.insert("Post", ["title": "Bo's"]) }
        try await bo.container.sync(timeout: .seconds(600))
        try await bo.kill()
        let mia = try tablet(try await cloud.addDevice("tablet", of: "mia"), file)
        try await mia.container.sync(timeout: .seconds(600))
        #expect(try mia.dump == "Post  title Mia's")

        let archives = try mia.container.storeArchives(of: try store(mia))
        let mias = try #require(archives.first)
        #expect(archives.count == 2)
        let (restored, replaced) = try await mia.container.restoreStoreArchive(mias, in: try store(mia))
        #expect(try store(mia) === restored)
        #expect(replaced.objectCount == 1)
        try await mia.container.sync(timeout: .seconds(600))
        try expectMiasObjects(mia)
        // Bo's sign-in and Mia's own are still to be acknowledged.
        #expect(try mia.container.accountChanges(in: restored).count == 2)
        #expect(try await cloud.records(ofType: "CD_Post").count == 3)
        #expect(try mia.container.storeArchives(of: restored).count == 3)

        // Bo's objects are not Mia's to send.
        let bos = try #require(archives.last)
        await #expect(throws: CocoaError.self) { try await mia.container.restoreStoreArchive(bos, in: restored) }
        try expectMiasObjects(mia)
        try mia.container.removeStoreArchive(bos, of: restored)
        #expect(!FileManager.default.fileExists(atPath: bos.url.path))
        #expect(throws: CocoaError.self) { try mia.container.removeStoreArchive(bos, of: restored) }
    }

    /// The user has another account now, and confirms that.
    @Test func theArchiveIsRestoredForAnotherAccountOnceThePersonConfirms() async throws {
        let cloud = try InProcessCloud()
        let file = try await miasTablet(cloud)
        let other = try tablet(try await cloud.addUser("mia2", device: "tablet"), file)
        try await other.container.sync(timeout: .seconds(600))
        #expect(try other.dump == "")
        let archive = try #require(try other.container.storeArchives(of: try store(other)).first)
        try await other.container.restoreStoreArchive(archive, in: try store(other), asPresentAccount: true)
        try await other.container.sync(timeout: .seconds(600))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia2"))
        try await phone.container.sync(timeout: .seconds(600))
        try expectMiasObjects(other)
        try expectMiasObjects(phone)
    }

    /// Shares stay with the account that made them; their objects are the new account's alone.
    @Test func sharedObjectsAreSentToTheOtherAccountWithoutTheShare() async throws {
        let all = try await Sharers()
        try await all.plan()
        try await all.mia.share("Trip")
        try await all.sync()
        let before = try all.mia.dump
        try await all.mia.kill()
        let other = try Device.sharing("tablet", try await all.cloud.addUser("mia2", device: "tablet"), file: all.mia.file)
        try await other.sync()
        #expect(try other.dump == "")
        let archive = try #require(try other.container.storeArchives(of: try other.own).first)
        await #expect(throws: CocoaError.self) {
            try await other.container.restoreStoreArchive(archive, in: try other.others, asPresentAccount: true)
        }
        try await other.container.restoreStoreArchive(archive, in: try other.own, asPresentAccount: true)
        try await other.sync()
        let after = try other.dump
        #expect(after == before)
        #expect(try other.container.fetchShares(in: nil).isEmpty)
        let phone = try Device("phone2", try await all.cloud.addDevice("phone2", of: "mia2"))
        try await phone.sync()
        let elsewhere = try phone.dump
        #expect(elsewhere == before)
    }

    // MARK: Another server

    /// The data folder of the server was created again, with the same users.
    @Test func aNewServerFolderIsToldFromAnotherUser() async throws {
        let file = try await miasTablet(try InProcessCloud())
        let new = try InProcessCloud(seed: 2)
        let mia = try tablet(try await new.addUser("mia", device: "tablet"), file)
        try await mia.container.sync(timeout: .seconds(600))
        let change = try #require(mia.container.syncStatus.accountChange)
        #expect(change.kind == .serverReplaced)
        #expect(change.outcome == .emptied)
        #expect(change.serverIdentity?.count == 32)
        #expect(change.previousServerIdentity?.count == 32)
        #expect(change.serverIdentity != change.previousServerIdentity)
        #expect(try mia.dump == "")
        let archive = try #require(try mia.container.storeArchives(of: try store(mia)).first)
        await #expect(throws: CocoaError.self) { try await mia.container.restoreStoreArchive(archive, in: try store(mia)) }
        try await mia.container.restoreStoreArchive(archive, in: try store(mia), asPresentAccount: true)
        try await mia.container.sync(timeout: .seconds(600))
        try expectMiasObjects(mia)
        #expect(try await new.records(ofType: "CD_Post").count == 2)
    }

    @Test func everythingIsSentToANewServerIfTheAppWantsThat() async throws {
        let file = try await miasTablet(try InProcessCloud())
        let new = try InProcessCloud(seed: 2)
        let mia = try tablet(try await new.addUser("mia", device: "tablet"), file) { $0.serverReplacedPolicy = .upload }
        try await mia.container.sync(timeout: .seconds(600))
        try expectMiasObjects(mia)
        #expect(mia.container.syncStatus.accountChange?.outcome == .uploaded)
        #expect(try mia.container.storeArchives(of: try store(mia)).isEmpty)
        #expect(try await new.records(ofType: "CD_Post").count == 2)
        let phone = try Device("phone", try await new.addDevice("phone", of: "mia"))
        try await phone.container.sync(timeout: .seconds(600))
        try expectMiasObjects(phone)
    }

    /// Backups have the identity of their servers.
    @Test func aRestoredServerIsTheSameServer() async throws {
        let cloud = try InProcessCloud()
        let mia = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try mia.edit { $0.insert("Post", ["title": "Mia's"]) }
        try await mia.container.sync(timeout: .seconds(600))
        let backup = TestScope.temporaryFolder("tarn-backup").path
        try await cloud.backUp(to: backup)
        try await cloud.restore(from: backup)
        try await mia.kill()
        let again = try tablet(try await cloud.addDevice("tablet", of: "mia"), mia.file) { $0.serverReplacedPolicy = .keep }
        try await again.container.sync(timeout: .seconds(600))
        #expect(try again.dump == "Post  title Mia's")
        #expect(again.container.syncStatus.accountChange == nil)
    }

    /// Public data belong to no account; another server does not have them.
    @Test func publicDataAreArchivedWhenTheServerIsReplaced() async throws {
        let first = try InProcessCloud()
        let mia = try Device("tablet", try await first.addUser("mia", device: "tablet")) {
            $0.cloudKitContainerOptions?.databaseScope = .public
        }
        try mia.edit { $0.insert("Post", ["title": "Everybody's"]) }
        try await mia.container.sync(timeout: .seconds(600))
        try await mia.kill()
        let new = try InProcessCloud(seed: 2)
        // No user is signed in: the server is recognized nevertheless.
        let visitor = try tablet(new.addVisitor(device: "tablet"), mia.file) { $0.databaseScope = .public }
        try await visitor.until { $0.accountChange?.kind == .serverReplaced }
        #expect(try visitor.dump == "")
        #expect(try visitor.container.storeArchives(of: try store(visitor)).map(\.objectCount) == [1])
    }

    // MARK: The app decides

    @Test(arguments: [true, false]) func aStoreThatIsKeptWaitsForTheDecision(isSamePerson: Bool) async throws {
        let cloud = try InProcessCloud()
        let file = try await miasTablet(cloud)
        let other = try tablet(try await cloud.addUser("mia2", device: "tablet"), file) { $0.accountChangePolicy = .keep }
        try await other.until { $0.accountChange?.outcome == .unresolved }
        try await other.until { if case .error = $0.activity { true } else { false } }
        try expectMiasObjects(other)
        try other.container.resolveAccountChange(isSamePerson ? .upload : .archive, in: try store(other))
        try await other.settles { try other.container.accountChanges(in: try store(other)).last?.outcome != .unresolved }
        let dump = try other.dump
        #expect(dump == (isSamePerson ? miasObjects : ""))
        #expect(other.container.syncStatus.accountChange?.outcome == (isSamePerson ? .uploaded : .emptied))
        #expect(throws: CocoaError.self) { try other.container.resolveAccountChange(.archive, in: try store(other)) }
    }

    @Test func theDecisionEndsWhenTheUserIsBack() async throws {
        let cloud = try InProcessCloud()
        let file = try await miasTablet(cloud)
        let other = try tablet(try await cloud.addUser("bo", device: "tablet"), file) { $0.accountChangePolicy = .keep }
        try await other.until { $0.accountChange?.outcome == .unresolved }
        try await other.kill()
        let mia = try tablet(try await cloud.addDevice("tablet", of: "mia"), file) { $0.accountChangePolicy = .keep }
        try await mia.container.sync(timeout: .seconds(600))
        try expectMiasObjects(mia)
    }
}
