// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import TestBasics
import Testing

/// Syncing, and its status, of one of several stores.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct StoreSyncTests {
    /// The talk's app: public objects and the user's own, each in their own store.
    private func device(_ name: String, _ transport: InProcessTransport, file: URL? = nil) throws -> Device {
        let file = file ?? TestScope.temporaryFolder().appendingPathComponent("Posts.sqlite")
        let published = Device.description(of: file.deletingLastPathComponent().appendingPathComponent("Public.sqlite"))
        published.cloudKitContainerOptions?.databaseScope = .public
        return try Device(name, transport, file: file, beside: [published])
    }

    private func store(_ device: Device, _ name: String) throws -> NSPersistentStore {
        try #require(device.container.persistentStoreCoordinator.persistentStores.first { $0.url?.lastPathComponent == name })
    }

    private func insert(_ title: String, _ device: Device, into name: String) throws {
        let store = try store(device, name)
        try device.edit { context in context.assign(context.insert("Post", ["title": title]), to: store) }
    }

    private func titles(_ device: Device) throws -> Set<String> {
        Set(try device.read { try $0.all("Post").compactMap { $0.value(forKey: "title") as? String } })
    }

    @Test func aSignedOutStoreDoesNotFailTheOthers() async throws {
        let cloud = try InProcessCloud()
        let mia = try device("mia's", try await cloud.addUser("mia", device: "mia's"))
        try insert("score", mia, into: "Public.sqlite")
        try insert("game", mia, into: "Posts.sqlite")
        try await mia.sync()
        let kiosk = try device("kiosk", cloud.addVisitor(device: "kiosk"))
        try await kiosk.sync()
        #expect(try titles(kiosk) == ["score"])
        #expect(kiosk.container.syncStatus.activity == .idle)
        let (own, all) = (try store(kiosk, "Posts.sqlite"), try store(kiosk, "Public.sqlite"))
        guard case .error = kiosk.container.syncStatus(of: own).activity else { Issue.record("the private store is signed out"); return }
        #expect(kiosk.container.syncStatus(of: all).activity == .idle)
        let error = await #expect(throws: CKError.self) { try await kiosk.container.sync(own, timeout: .seconds(600)) }
        #expect(error?.code == .notAuthenticated)

        // The public store is polled immediately, without waiting for the next interval.
        try insert("second", mia, into: "Public.sqlite")
        try await mia.sync()
        try await kiosk.container.sync(all, timeout: .seconds(600))
        #expect(try titles(kiosk) == ["score", "second"])

        // What waits to be sent is in the way.
        try insert("mine", kiosk, into: "Posts.sqlite")
        try insert("third", mia, into: "Public.sqlite")
        try await mia.sync()
        let waiting = await #expect(throws: CKError.self) { try await kiosk.sync() }
        #expect(waiting?.code == .notAuthenticated)
        #expect(try titles(kiosk) == ["score", "second", "third", "mine"])
        guard case .error = kiosk.container.syncStatus.activity else { Issue.record("something waits for an account"); return }
    }

    /// The public database is read without an account, and written with one.
    @Test func changesPendingForAnAccountFailTheSyncCall() async throws {
        let cloud = try InProcessCloud()
        let kiosk = try device("kiosk", cloud.addVisitor(device: "kiosk"))
        let all = try store(kiosk, "Public.sqlite")
        try await kiosk.container.sync(all, timeout: .seconds(600))
        try insert("score", kiosk, into: "Public.sqlite")
        for _ in 0..<2 {
            let error = await #expect(throws: CKError.self) { try await kiosk.container.sync(all, timeout: .seconds(600)) }
            #expect(error?.code == .notAuthenticated)
        }
        let error = await #expect(throws: CKError.self) { try await kiosk.sync() }
        #expect(error?.code == .notAuthenticated)
        #expect(kiosk.container.syncStatus(of: all).pendingCount == 1)
    }

    @Test func aContainerWhoseOnlyStoreIsSignedOutSaysSo() async throws {
        let cloud = try InProcessCloud()
        let kiosk = try Device("kiosk", cloud.addVisitor(device: "kiosk"))
        let error = await #expect(throws: CKError.self) { try await kiosk.sync() }
        #expect(error?.code == .notAuthenticated)
        guard case .error = kiosk.container.syncStatus.activity else { Issue.record("nobody is signed in"); return }
    }

    @Test func statusUpdatesOfAStoreLeaveOutTheOthers() async throws {
        let cloud = try InProcessCloud()
        let mia = try device("mia's", try await cloud.addUser("mia", device: "mia's"))
        try await mia.sync()
        let own = try store(mia, "Posts.sqlite")
        mia.transport.goOffline()
        try insert("offline", mia, into: "Posts.sqlite")
        for await status in mia.container.syncStatusUpdates(of: own) where status.activity == .offline && status.pendingCount == 1 { break }
        #expect(mia.container.syncStatus(of: try store(mia, "Public.sqlite")).pendingCount == 0)
        let other = NSPersistentStoreCoordinator(managedObjectModel: mia.container.managedObjectModel)
        let local = try other.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
        #expect(mia.container.syncStatus(of: local).activity == .idle)
        await #expect(throws: CocoaError.self) { try await mia.container.sync(local, timeout: .seconds(1)) }
    }
}
