// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CoreData
import Foundation
import ObjectGraph
import SQLiteStore
import TestBasics
import Testing

/// Sync that is switched on for a store that was local, off, and on again.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct SwitchTests {
    /// The same file without sync. History goes on, as it has to for a file that has some.
    private func local(_ transport: InProcessTransport, _ file: URL?) throws -> Device {
        try Device("tablet", transport, file: file) { description in
            description.cloudKitContainerOptions = nil
            description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey)
        }
    }

    private func purge(_ device: Device) throws -> Int {
        try device.read { context in
            let request = NSPersistentHistoryChangeRequest.deleteHistory(before: Date.distantFuture)
            request.resultType = .count
            let result = try context.execute(request) as? NSPersistentHistoryResult
            return result?.result as? Int ?? -1
        }
    }

    private func historyCount(_ device: Device) throws -> Int {
        try device.read { context in
            let result = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?))
            return ((result as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction])?.count ?? -1
        }
    }

    /// Objects of both sides stay, with their links.
    @Test func aStoreThatIsRemovedAndAddedAgainResumesSync() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        func sync(_ devices: Device...) async throws { for device in devices { try await device.container.sync(timeout: .seconds(600)) } }
        try tablet.edit { $0.insert("Post", ["title": "before"]) }
        try await sync(tablet, phone)
        let coordinator = tablet.container.persistentStoreCoordinator
        tablet.transport.goOffline()
        try tablet.edit { $0.insert("Post", ["title": "meanwhile"]) }
        try await tablet.until { $0.activity == .offline }
        try coordinator.remove(try #require(coordinator.persistentStores.first))
        // There is nothing that anything could stand in the way of.
        #expect(tablet.container.syncStatus.activity == .idle)
        try await tablet.container.sync(timeout: .seconds(600))
        tablet.transport.goOnline()
        try tablet.container.load()
        try tablet.edit { $0.insert("Post", ["title": "after"]) }
        try await sync(tablet, phone)
        let all = "Post  title after\nPost  title before\nPost  title meanwhile"
        #expect(try tablet.dump == all)
        #expect(try phone.dump == all)
        // A file that is emptied is filled again.
        try coordinator.destroyPersistentStore(at: tablet.file, type: .sqlite)
        try tablet.container.load()
        try await sync(tablet, phone)
        #expect(try tablet.dump == all)
        #expect(try phone.dump == all)
    }

    @Test func localAndServerObjectsAreMerged() async throws {
        let cloud = try InProcessCloud()
        let phone = try Device("phone", try await cloud.addUser("mia", device: "phone"))
        try phone.edit { $0.insert("Post", ["title": "there"]) }
        try await phone.container.sync(timeout: .seconds(600))
        let transport = try await cloud.addDevice("tablet", of: "mia")
        let before = try local(transport, nil)
        try before.edit { context in
            context.insert("Post", ["title": "here"]).setValue(Set([context.insert("Tag", ["name": "old"])]), forKey: "tags")
        }
        try await before.kill()
        let tablet = try Device("tablet", transport, file: before.file)
        try await tablet.container.sync(timeout: .seconds(600))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try tablet.dump == phone.dump)
        #expect(try tablet.dump == "Post  title here  tags [\"old\"]\nPost  title there\nTag  name old  posts [\"here\"]")
    }

    /// Changes of either side while sync is off, and unsent earlier ones, are merged when it is on again, also if history
    /// was purged in that time.
    @Test(arguments: [false, true]) func offAndOnAgainLosesNothing(isPurged: Bool) async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let first = try Device("tablet", transport)
        try first.edit { context in
            let tags = ["kept", "taken"].map { context.insert("Tag", ["name": $0]) }
            for title in ["edited", "deleted", "theirs"] { context.insert("Post", ["title": title]).setValue(Set(tags), forKey: "tags") }
        }
        try await first.container.sync(timeout: .seconds(600))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await phone.container.sync(timeout: .seconds(600))
        first.container.pauseSyncing()
        try first.edit { $0.insert("Post", ["title": "unsent"]) }
        try await first.kill()

        let off = try local(transport, first.file)
        try off.edit { context in
            let post = try context.post(titled: "edited")
            post?.setValue("off", forKey: "content")
            post?.setValue(Set(try context.all("Tag").filter { $0.value(forKey: "name") as? String == "kept" }), forKey: "tags")
            if let post = try context.post(titled: "deleted") { context.delete(post) }
            context.insert("Post", ["title": "made off"])
        }
        // No reader of history is registered that could protect it.
        if isPurged { #expect(try purge(off) > 0) }
        try await off.kill()
        try phone.edit { try $0.post(titled: "theirs")?.setValue("phone", forKey: "content") }
        try await phone.container.sync(timeout: .seconds(600))

        let tablet = try Device("tablet", transport, file: first.file)
        try await tablet.container.sync(timeout: .seconds(600))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try tablet.dump == phone.dump)
        #expect(try tablet.container.conflicts().isEmpty)
        #expect(
            try tablet.dump == """
                Post  content off  title edited  tags ["kept"]
                Post  content phone  title theirs  tags ["kept", "taken"]
                Post  title made off
                Post  title unsent
                Tag  name kept  posts ["edited", "theirs"]
                Tag  name taken  posts ["theirs"]
                """)
    }

    @Test func historyIsNotPurgedPastWhatSyncHasRead() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        for number in 1...3 { try tablet.edit { $0.insert("Post", ["title": "\(number)"]) } }
        try await tablet.container.sync(timeout: .seconds(600))
        tablet.container.pauseSyncing()
        try await tablet.until { $0.activity == .paused }
        let store = try #require(tablet.container.persistentStoreCoordinator.persistentStores.first)
        let count = try historyCount(tablet), latest = try store.storage.read { try $0.latestTransaction() }
        func setRead(_ number: Int64) throws {
            try store.storage.write { try $0.execute("UPDATE TARN_STATE SET value = ? WHERE key = 'historyRead'", [.int(number)]) }
        }
        // The state before the mirror has read the save.
        try setRead(1)
        #expect(try purge(tablet) == 1)
        #expect(try historyCount(tablet) == count - 1)
        try setRead(latest)
        #expect(try purge(tablet) == count - 1)
        #expect(try historyCount(tablet) == 0)
    }
}
