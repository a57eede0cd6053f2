// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
@testable import CloudMirroring
import CoreData
import Foundation
import SQLiteStore
import TestBasics
import Testing

/// What syncing did, asked for afterwards.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct EventTests {
    typealias Event = NSPersistentCloudKitContainer.Event

    private func events(
        _ device: Device, _ request: @Sendable () -> NSPersistentCloudKitContainerEventRequest = { .fetchEvents(after: nil as Event?) }
    ) throws -> [Event] {
        try device.read { context in
            let result = try context.execute(request()) as? NSPersistentCloudKitContainerEventResult
            #expect(result?.resultType == .events)
            return try #require(result?.result as? [Event])
        }
    }

    @Test func eventsAreKeptInTheFileAcrossLaunches() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let first = try Device("tablet", transport)
        try first.edit { $0.insert("Post", ["title": "Kept"]) }
        try await first.container.sync(timeout: .seconds(600))
        let before = try events(first)
        #expect(before.first?.type == .setup)
        #expect(before.allSatisfy { $0.succeeded && $0.error == nil && $0.endDate != nil })
        #expect(before.contains { $0.type == .import })
        #expect(before.contains { $0.type == .export })
        #expect(before.allSatisfy { $0.storeIdentifier == first.container.persistentStoreCoordinator.persistentStores[0].identifier })
        try await first.kill()

        let again = try Device("tablet", transport, file: first.file)
        try await again.container.sync(timeout: .seconds(600))
        let all = try events(again)
        #expect(all.prefix(before.count).map(\.identifier) == before.map(\.identifier))
        #expect(all.count > before.count)
        let last = before[before.count - 1]
        #expect(try events(again) { .fetchEvents(after: last) }.map(\.identifier) == all.dropFirst(before.count).map(\.identifier))
        #expect(try events(again) { .fetchEvents(after: last.startDate) }.count == all.count - before.count)
    }

    /// The import of a notification's changes ends before its begin could be stored.
    @Test func changesOfANotificationAreAnEvent() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        try phone.edit { $0.insert("Post", ["title": "one"]) }
        try await tablet.settles { try tablet.dump == "Post  title one" }
        let before = try events(tablet)
        try phone.edit { try $0.all("Post").first?.setValue("two", forKey: "title") }
        try await tablet.settles { try tablet.dump == "Post  title two" && events(tablet).count > before.count }
        let all = try events(tablet)
        let new = all.dropFirst(before.count)
        #expect(Set(all.map(\.identifier)).count == all.count)
        #expect(new.allSatisfy { $0.type == .import && $0.succeeded && $0.endDate != nil })
    }

    @Test func requestsChooseOrderAndCountEvents() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try Device("tablet", transport)
        try await tablet.container.sync(timeout: .seconds(600))
        transport.loseNextRequests(1)
        try tablet.edit { $0.insert("Post", ["title": "Lost at first"]) }
        try await tablet.until { $0.activity == .offline }
        let failed = try events(tablet) {
            let fetch = NSPersistentCloudKitContainerEventRequest.fetchRequestForEvents()
            fetch.predicate = NSPredicate(format: "succeeded == NO AND endDate != nil")
            return .fetchEvents(matching: fetch)
        }
        #expect(failed.count == 1)
        #expect(failed.first?.error != nil)
        #expect(failed.first?.succeeded == false)
        let newest = try events(tablet) {
            let fetch = NSPersistentCloudKitContainerEventRequest.fetchRequestForEvents()
            fetch.predicate = NSPredicate(format: "type == %d", NSPersistentCloudKitContainer.EventType.import.rawValue)
            fetch.sortDescriptors = [NSSortDescriptor(key: "startDate", ascending: false)]
            fetch.fetchLimit = 1
            return .fetchEvents(matching: fetch)
        }
        let imports = try events(tablet).filter { $0.type == .import }
        #expect(newest.map(\.identifier) == imports.suffix(1).map(\.identifier))
        let count = try tablet.read { context in
            let request = NSPersistentCloudKitContainerEventRequest.fetchEvents(after: Date.distantPast)
            request.resultType = .countEvents
            return try (context.execute(request) as? NSPersistentCloudKitContainerEventResult)?.result as? [NSNumber]
        }
        #expect(try count == [NSNumber(value: events(tablet).count)])
        let foreign = NSFetchRequest<any NSFetchRequestResult>(entityName: "Post")
        let error = #expect(throws: CocoaError.self) {
            let context = tablet.container.newBackgroundContext()
            _ = try context.performAndWait { try context.execute(NSPersistentCloudKitContainerEventRequest.fetchEvents(matching: foreign)) }
        }
        #expect(error?.code.rawValue == 134_070)
    }

    @Test func anEventThatTheEndOfTheAppCutOffIsEndedAtTheNextLaunch() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let gate = Gate()
        let tablet = try Device("tablet", transport, over: Faults(transport, gate: gate))
        try await gate.reached()
        #expect(try events(tablet).last?.endDate == nil)
        let (open, file) = (try #require(try events(tablet).last), tablet.file)
        // The process dies: nothing of it writes any more.
        let copy = TestScope.temporaryFolder()
        try FileManager.default.copyItem(at: file.deletingLastPathComponent(), to: copy)
        gate.open()
        try await tablet.discard()
        let again = try Device("tablet", transport, file: copy.appendingPathComponent(file.lastPathComponent))
        try await again.container.sync(timeout: .seconds(600))
        let ended = try #require(try events(again).first { $0.identifier == open.identifier })
        #expect(ended.endDate != nil)
        #expect(!ended.succeeded)
        #expect(ended.error != nil)
    }

    @Test func theLastThousandEventsAreKept() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try await tablet.container.sync(timeout: .seconds(600))
        await tablet.container.stopSyncing()
        let store = try #require(tablet.container.persistentStoreCoordinator.persistentStores.first)
        let added = (0..<1_001).map { EventTable.Row(identifier: UUID(), type: 1, started: Double($0), ended: Double($0), failure: nil) }
        try store.storage.write { writer in for row in added { try EventTable.insert(row, writer) } }
        #expect(try events(tablet).map(\.identifier) == added.dropFirst().map(\.identifier))
    }

    @Test func aStoreThatWasNeverSyncedHasNoEvents() throws {
        let file = TestScope.temporaryFolder().appendingPathComponent("Posts.sqlite")
        let container = NSPersistentContainer(name: "Posts", managedObjectModel: NSManagedObjectModel(Posts.model))
        container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: file)]
        try container.load()
        let context = container.newBackgroundContext()
        let events = try context.performAndWait {
            let request = NSPersistentCloudKitContainerEventRequest.fetchEvents(after: nil as Event?)
            return try (context.execute(request) as? NSPersistentCloudKitContainerEventResult)?.result as? [Event]
        }
        #expect(events == [])
    }
}
