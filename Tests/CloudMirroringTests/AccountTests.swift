// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CFaultyDisk
import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import Synchronization
import TestBasics
import Testing

/// Another user signs in on a device that has a store.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct AccountTests {
    private func minas(unsent: Bool) async throws -> (cloud: InProcessCloud, file: URL) {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let mia = try Device("tablet", transport, file: nil)
        try mia.edit { $0.insert("Post", ["title": "Mia's"]) }
        try await mia.container.sync(timeout: .seconds(600))
        if unsent {
            mia.container.pauseSyncing()
            try mia.edit { $0.insert("Post", ["title": "Mia's, unsent"]) }
        }
        try await mia.kill()
        return (cloud, mia.file)
    }

    private func archives(beside file: URL) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: file.deletingLastPathComponent(), includingPropertiesForKeys: nil)
            .filter { $0.lastPathComponent.contains("-archive-") && $0.pathExtension == "sqlite" }
    }

    @Test func theOthersDataTakeThePlaceOfTheFirsts() async throws {
        let (cloud, file) = try await minas(unsent: false)
        let bos = try await cloud.addUser("bo", device: "laptop")
        let laptop = try Device("laptop", bos)
        try laptop.edit { $0.insert("Post", ["title": "Bo's"]) }
        try await laptop.container.sync(timeout: .seconds(600))
        let bo = try Device("tablet", try await cloud.addDevice("tablet", of: "bo"), file: file)
        try await bo.container.sync(timeout: .seconds(600))
        #expect(try bo.dump == "Post  title Bo's")
        #expect(try archives(beside: file).map { try StoredPosts.titles(in: $0) } == [["Mia's"]])
        // Mia's data are where they were.
        let mia = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await mia.container.sync(timeout: .seconds(600))
        #expect(try mia.dump == "Post  title Mia's")
    }

    @Test func unsentChangesAreArchived() async throws {
        let (cloud, file) = try await minas(unsent: true)
        let bo = try Device("tablet", try await cloud.addUser("bo", device: "tablet"), file: file)
        try await bo.container.sync(timeout: .seconds(600))
        #expect(try bo.dump == "")
        let archive = try #require(try archives(beside: file).first)
        #expect(try StoredPosts.titles(in: archive) == ["Mia's", "Mia's, unsent"])
    }

    /// The device never requested its identity from the server; the first user's device must not send the post as theirs.
    @Test func savesOfAnUnnoticedSecondUserAreNotTheFirstUsers() async throws {
        let cloud = try InProcessCloud()
        let mias = try await cloud.addUser("mia", device: "tablet"), bos = try await cloud.addUser("bo", device: "tablet")
        let first = try Device("tablet", mias)
        try first.edit { $0.insert("Post", ["title": "Mia's"]) }
        try await first.container.sync(timeout: .seconds(600))
        try await first.kill()
        bos.goOffline()
        let second = try Device("tablet", bos, file: first.file)
        try second.edit { $0.insert("Post", ["title": "Bo's"]) }
        try await second.until { $0.activity == .offline }
        try await second.kill()
        let third = try Device("tablet", mias, file: first.file)
        try await third.container.sync(timeout: .seconds(600))
        #expect(try third.dump == "Post  title Mia's")
        #expect(try await cloud.records(ofType: "CD_Post").count == 1)
        let archive = try #require(try archives(beside: first.file).first)
        #expect(try StoredPosts.titles(in: archive) == ["Mia's", "Bo's"])
        // A user that returns unchanged loses no unsent change.
        third.container.pauseSyncing()
        try third.edit { $0.insert("Post", ["title": "Unsent"]) }
        try await third.kill()
        let fourth = try Device("tablet", mias, file: first.file)
        try await fourth.container.sync(timeout: .seconds(600))
        #expect(try fourth.dump == "Post  title Mia's\nPost  title Unsent")
        #expect(try archives(beside: first.file).count == 1)
    }

    /// Bo signs in without a network, and saves. The archive is Mia's: Bo could get the objects back only with all of hers.
    @Test func objectsThatTheNewUserInsertedBeforeTheServerWasAskedStay() async throws {
        let (cloud, file) = try await minas(unsent: true)
        let bos = try await cloud.addUser("bo", device: "tablet")
        bos.goOffline()
        let first = try Device("tablet", bos, file: file)
        try await first.until { $0.activity == .offline }
        try first.edit { context in
            let post = context.insert("Post", ["title": "Bo's"])
            let mias = try #require(try context.all("Post").first { $0.value(forKey: "title") as? String == "Mia's" })
            mias.setValue("edited by Bo", forKey: "content")
            let (own, shared) = (context.insert("Tag", ["name": "Bo's"]), context.insert("Tag", ["name": "both"]))
            post.setValue(Set([own, shared]), forKey: "tags")
            mias.setValue(Set([shared]), forKey: "tags")
            let attachment = context.insert("Attachment", [:])
            attachment.setValue(mias, forKey: "post")
            context.insert("ImageData", ["data": Data(repeating: 7, count: 100)]).setValue(attachment, forKey: "attachment")
        }
        try first.edit { context in
            let gone = context.insert("Post", ["title": "gone"])
            try context.save()
            context.delete(gone)
        }
        // The app ends and starts again before there is a network.
        try await first.kill()
        let second = try Device("tablet", bos, file: file)
        try await second.until { $0.activity == .offline }
        bos.goOnline()
        try await second.container.sync(timeout: .seconds(600))
        let shown = try second.dump
        #expect(shown.contains("Post  title Bo's  tags [\"Bo\\'s\", \"both\"]"))
        #expect(shown.split(separator: "\n").count == 5, "a post, two tags, an attachment and its data: \(shown)")
        #expect(!shown.contains("Mia's"))
        let laptop = try Device("laptop", try await cloud.addDevice("laptop", of: "bo"))
        try await laptop.container.sync(timeout: .seconds(600))
        #expect(try laptop.dump == shown)
        // Everything is in the archive, and Mia's data on the server are unchanged.
        #expect(try archives(beside: file).map { try StoredPosts.titles(in: $0) } == [["Mia's", "Mia's, unsent", "Bo's"]])
        // A reference to Mia's post as well, which the attachment in the store has lost.
        #expect(try second.read { try $0.all("Attachment").map { $0.value(forKey: "post") == nil } } == [true])
        let archive = try #require(try archives(beside: file).first)
        #expect(
            try StoredPosts.read(archive) { try $0.all("Attachment").map { $0.value(forKeyPath: "post.title") as? String } } == ["Mia's"])
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == "Post  title Mia's")
    }

    /// The author of a save is unknown once the first user was signed in in between: then nothing is sent to the other account.
    @Test func savesOfTheFirstUserAreNotSentByTheSecond() async throws {
        let cloud = try InProcessCloud()
        let mias = try await cloud.addUser("mia", device: "tablet"), bos = try await cloud.addUser("bo", device: "tablet")
        let first = try Device("tablet", mias)
        try first.edit { $0.insert("Post", ["title": "Mia's"]) }
        try await first.container.sync(timeout: .seconds(600))
        try await first.kill()
        let file = first.file
        for (transport, title) in [(bos, "Bo's"), (mias, "Mia's secret"), (bos, "Bo's second")] {
            transport.goOffline()
            let device = try Device("tablet", transport, file: file)
            try await device.until { $0.activity == .offline }
            try device.edit { $0.insert("Post", ["title": title]) }
            try await device.kill()
        }
        bos.goOnline()
        let bo = try Device("tablet", bos, file: file)
        try await bo.container.sync(timeout: .seconds(600))
        #expect(try bo.dump == "")
        #expect(try archives(beside: file).map { try StoredPosts.titles(in: $0) } == [["Mia's", "Bo's", "Mia's secret", "Bo's second"]])
    }

    /// Nothing is emptied without an archive, the status says why, and syncing continues once there is room.
    @Test func aStoreThatCannotBeArchivedIsLeftAlone() async throws {
        let (cloud, file) = try await minas(unsent: true)
        faulty_disk_install()
        let disk = faulty_disk_add(file.deletingPathExtension().path + "-archive-")
        defer { faulty_disk_remove(disk) }
        faulty_disk_change(disk, Int32(FaultyDiskGrowth.rawValue), -1)
        let bo = try Device("tablet", try await cloud.addUser("bo", device: "tablet"), file: file)
        try await bo.until { if case .error = $0.activity { true } else { false } }
        let status = bo.container.syncStatus
        #expect(status.accountChange?.kind == .anotherAccount)
        #expect(status.accountChange?.outcome == .unresolved)
        let reason = "\(status.activity)"
        #expect(reason.contains("the disk is full"))
        #expect(reason.contains("stays unchanged"))
        #expect(!reason.contains("not an error"))
        #expect(try bo.dump == "Post  title Mia's\nPost  title Mia's, unsent")
        // A repeated attempt removes its incomplete file.
        try await until { try archives(beside: file).isEmpty }
        faulty_disk_change(disk, 0, 0)
        try await bo.container.sync(timeout: .seconds(600))
        #expect(try bo.dump == "")
        #expect(bo.container.syncStatus.accountChange?.outcome == .emptied)
        #expect(try archives(beside: file).map { try StoredPosts.titles(in: $0) } == [["Mia's", "Mia's, unsent"]])
    }

    @Test func anArchiveIsMadeWhenItIsWanted() async throws {
        let (cloud, file) = try await minas(unsent: false)
        let bo = try Device("tablet", try await cloud.addUser("bo", device: "tablet"), file: file) {
            $0.cloudKitContainerOptions?.accountChangePolicy = .archive
        }
        try await bo.container.sync(timeout: .seconds(600))
        #expect(try bo.dump == "")
        #expect(try archives(beside: file).map { try StoredPosts.titles(in: $0) } == [["Mia's"]])
    }

    @Test func statusAndListNameTheArchiveAndBothAccounts() async throws {
        let (cloud, file) = try await minas(unsent: true)
        let bo = try Device("tablet", try await cloud.addUser("bo", device: "tablet"), file: file)
        try await bo.container.sync(timeout: .seconds(600))
        let store = try #require(bo.container.persistentStoreCoordinator.persistentStores.first)
        let change = try #require(try bo.container.accountChanges(in: store).first)
        #expect(change.kind == .anotherAccount)
        #expect(change.previousAccount != nil)
        #expect(change.account != nil)
        #expect(change.account != change.previousAccount)
        let archives = try bo.container.storeArchives(of: store)
        #expect(archives.map(\.url.lastPathComponent) == [change.archiveName])
        #expect(archives.first?.account == change.previousAccount)
        #expect(archives.first?.objectCount == 2)
        #expect(archives.first?.pendingCount == 1)
        #expect(bo.container.syncStatus.accountChange == change)
        var updates = bo.container.syncStatusUpdates.makeAsyncIterator()
        #expect(await updates.next()?.accountChange == change)
        try bo.container.acknowledgeAccountChanges(in: store)
        #expect(try bo.container.accountChanges(in: store).isEmpty)
        // Without another event of sync.
        while let status = await updates.next(), status.accountChange != nil {}
        #expect(bo.container.syncStatus.accountChange == nil)
        try await bo.container.sync(timeout: .seconds(600))
    }

    // MARK: While the app runs

    /// The connection that another sign-in changes.
    private final class SignIn: Sendable {
        private let current: Mutex<Result<InProcessTransport, CKError>>

        init(_ transport: Result<InProcessTransport, CKError>) { current = Mutex(transport) }

        func change(to transport: InProcessTransport) { current.withLock { $0 = .success(transport) } }

        func client(_ identifier: String, _ scope: CKDatabase.Scope) throws -> CloudDatabaseClient {
            CloudDatabaseClient(
                containerIdentifier: identifier, environment: .development, scope: scope.wire, transport: try current.withLock { $0 }.get())
        }
    }

    /// - Parameter isTold: Whether the account change is notified, or found by the next save.
    @Test(arguments: [true, false])
    func signingInWhileRunningShowsNoDataOfTheOtherUser(isTold: Bool) async throws {
        let cloud = try InProcessCloud()
        let mias = try await cloud.addUser("mia", device: "tablet")
        let laptop = try Device("laptop", try await cloud.addUser("bo", device: "laptop"))
        try laptop.edit { $0.insert("Post", ["title": "Bo's"]) }
        try await laptop.container.sync(timeout: .seconds(600))

        let signIn = SignIn(.success(mias))
        let tablet = try Device("tablet", mias, configure: { $0.connect = signIn.client })
        try tablet.edit { $0.insert("Post", ["title": "Mia's"]) }
        try await tablet.container.sync(timeout: .seconds(600))
        mias.goOffline()
        try tablet.edit { $0.insert("Post", ["title": "Mia's, unsent"]) }
        signIn.change(to: try await cloud.addDevice("tablet", of: "bo"))
        if isTold {
            NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
        } else {
            tablet.timers.runFreely()
        }
        try await tablet.settles { try tablet.dump == "Post  title Bo's" }
        #expect(try archives(beside: tablet.file).count == 1, "what Mia did not send is kept")
        try await laptop.container.sync(timeout: .seconds(600))
        #expect(try laptop.dump == "Post  title Bo's", "and nothing of it goes to Bo")
    }

    @Test(arguments: [CKError.Code.notAuthenticated, .badContainer])
    func signingInBeginsToSync(_ code: CKError.Code) async throws {
        let cloud = try InProcessCloud()
        let mias = try await cloud.addUser("mia", device: "tablet")
        let signIn = SignIn(.failure(CKError(code)))
        let tablet = try Device("tablet", mias, configure: { $0.connect = signIn.client })
        try tablet.edit { $0.insert("Post", ["title": "Before"]) }
        try await tablet.until { if case .error = $0.activity { true } else { false } }
        signIn.change(to: mias)
        NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
        try await tablet.settles()
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == "Post  title Before")
    }
}
