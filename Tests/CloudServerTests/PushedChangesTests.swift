// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
import CloudServer
import CloudService
import CloudWire
import ServiceFixtures
import Testing

/// Notifications that bring what changed.
@Suite struct PushedChangesTests {
    private static let text = Field(.string("green"))

    /// A user with a tablet that creates a garden and a phone that listens.
    private struct Home {
        let server: LiveServer
        let tablet: String
        let path = "/device/1/\(LiveServer.container)/development/push/stream"
        private(set) var events: AsyncStream<PushEvent>.Iterator

        init(_ server: LiveServer, asking capabilities: Set<Capability> = [.pushedChanges]) async throws {
            self.server = server
            tablet = try await server.addUser("mia")
            let phone = try await server.addDevice(of: "mia")
            try await server.makeGarden(token: tablet)
            let all = Subscription(subscriptionID: "all", kind: .database, notification: .silent)
            _ = try await server.post(.modifySubscriptions, SubscriptionsModifyRequest(operations: [.create(all)]), token: tablet)
            let answer = await server.service.respond(
                to: ServiceRequest(
                    method: "GET", path: path,
                    headers: [
                        "authorization": "Bearer \(phone)", HeaderNames.capabilities.lowercased(): Capability.headerValue(capabilities),
                    ],
                    baseURL: "http://tarn.example"))
            guard case .events(let listener) = answer.body else { throw WireError(.internalError, "there is no stream") }
            events = listener.events.makeAsyncIterator()
            _ = await events.next()
        }

        /// The next notification; nil once the stream has ended.
        mutating func next() async -> PushNotification? {
            while let event = await events.next() { if case .notification(let notification) = event { return notification } }
            return nil
        }

        func write(_ names: [String], _ field: Field = PushedChangesTests.text) async throws {
            let operations = names.map { RecordOperation(.create, Record(recordName: $0, recordType: "Plant", fields: ["name": field])) }
            let message = ModifyRecordsRequest(operations: operations, zoneID: LiveServer.garden)
            let answer = try await server.post(.modifyRecords, message, token: tablet)
            guard answer.status == 200 else { throw try WireError(json: answer.body) }
        }

        func page(since token: String?) async throws -> ZoneChanges {
            guard case .changes(let page) = try await server.zoneChanges(token: tablet, since: token).zones[0] else {
                throw WireError(.internalError, "there is no page")
            }
            return page
        }

        func databaseToken() async throws -> String {
            try DatabaseChangesResponse(json: try await server.post(.databaseChanges, DatabaseChangesRequest(), token: tablet).body)
                .syncToken
        }
    }

    @Test func aNotificationHasTheChangePageThatAFetchReturns() async throws {
        try await LiveServer.run { server in
            var home = try await Home(server)
            try await home.write(["a"])
            let start = try await home.page(since: nil), listed = try await home.databaseToken()
            let first = try #require(await home.next()?.changes)
            #expect(first.page.syncToken == start.syncToken)
            #expect(first.databaseToken == listed)

            try await home.write(["b", "c"])
            let told = try #require(await home.next())
            let pushed = try #require(try PushNotification(json: told.encoded()).changes)
            #expect(pushed.previousSyncToken == start.syncToken)
            #expect(pushed.previousDatabaseToken == listed)
            #expect(pushed.page == (try await home.page(since: start.syncToken)))
            #expect(pushed.page.records.count == 2)
            #expect(pushed.databaseToken == (try await home.databaseToken()))

            // Deletions have the form of a change page.
            _ = try await server.modify(.init(.forceDelete, Record(recordName: "a")), token: home.tablet)
            let last = try #require(await home.next().flatMap { try? PushNotification(json: $0.encoded()) }?.changes)
            #expect(last.previousSyncToken == pushed.page.syncToken)
            #expect(last.page.records.map(\.isDeleted) == [true])
            #expect(last.page == (try await home.page(since: pushed.page.syncToken)))
        }
    }

    @Test func aLargeChangePageIsNotPushed() async throws {
        try await LiveServer.run { server in
            var home = try await Home(server)
            try await home.write((0..<PushedChanges.recordsMax).map { "r\($0)" })
            #expect(await home.next()?.changes?.page.texts?.count == PushedChanges.recordsMax)
            try await home.write((0...PushedChanges.recordsMax).map { "s\($0)" })
            let many = await home.next()
            #expect(many != nil)
            #expect(many?.changes == nil)
            try await home.write(["long"], Field(.string(String(repeating: "x", count: PushedChanges.bytesMax))))
            let long = await home.next()
            #expect(long != nil)
            #expect(long?.changes == nil)
        }
    }

    /// Addresses of assets are made for one client.
    @Test func aChangePageWithAssetsIsNotPushed() async throws {
        try await LiveServer.run { server in
            var home = try await Home(server)
            try await home.write(["a"])
            #expect(await home.next()?.changes != nil)
            let item = AssetUploadRequest.Item(recordType: "Plant", recordName: "p", fieldName: "photo")
            let message = AssetUploadRequest(items: [item], zoneID: LiveServer.garden)
            let places = try AssetUploadResponse(json: try await server.post(.uploadAssets, message, token: home.tablet).body)
            guard case .address(let address) = places.results.first else { throw WireError(.internalError, "no address") }
            let receipt = try AssetUploadReceipt(json: try await server.send("POST", address.url, token: nil, body: [1, 2, 3]).body)
            let record = Record(recordName: "p", recordType: "Plant", fields: ["photo": Field(.asset(receipt.asset))])
            #expect(try await server.modify(.init(.forceUpdate, record), token: home.tablet).status == 200)
            let told = await home.next()
            #expect(told != nil)
            #expect(told?.changes == nil)
        }
    }

    /// Visibility depends on shares then.
    @Test func aChangePageOfASharedZoneIsNotPushed() async throws {
        try await LiveServer.run { server in
            var home = try await Home(server)
            let share = Record(recordName: ShareDetails.zoneShareName, recordType: ShareDetails.recordType)
            #expect(try await server.modify(.init(.create, share), token: home.tablet).status == 200)
            let shared = await home.next()
            #expect(shared != nil)
            #expect(shared?.changes == nil)
            try await home.write(["a"])
            let told = await home.next()
            #expect(told != nil)
            #expect(told?.changes == nil)
        }
    }

    @Test func aListenerWithoutTheCapabilityReceivesNoChangePage() async throws {
        try await LiveServer.run { server in
            var home = try await Home(server, asking: [.pushStream])
            try await home.write(["a"])
            let told = await home.next()
            #expect(told?.subscriptionID == "all")
            #expect(told?.changes == nil)
        }
    }

    @Test func aRevokedTokenReceivesNoChangePage() async throws {
        try await LiveServer.run { server in
            var home = try await Home(server)
            try await home.write(["a"])
            #expect(await home.next()?.changes != nil)
            try await server.store.removeDevice(labelled: "phone", ofUser: "mia")
            try await home.write(["b"])
            #expect(await home.next() == nil)
            #expect(server.hub.listeners == 0)
        }
    }

    @Test func coalescedNotificationsHaveNoChangePage() async throws {
        let hub = PushHub()
        let listener = hub.listen(PushTests.mia, deviceID: "phone", wantsChanges: true)
        #expect(hub.isFollowed(PushTests.mia, exceptDevice: "tablet"))
        #expect(!hub.isFollowed(PushTests.mia, exceptDevice: "phone"))
        var told = PushTests.notification("n1")
        told.changes = PushedChanges(
            previousSyncToken: "1", page: ZoneChanges(zoneID: LiveServer.garden, records: [], syncToken: "2", moreComing: false),
            previousDatabaseToken: "1", databaseToken: "2")
        hub.publish([told], to: PushTests.mia, exceptDevice: "tablet")
        hub.publish([told], to: PushTests.mia, exceptDevice: "tablet")
        var events = listener.events.makeAsyncIterator()
        var waiting = told
        waiting.changes = nil
        #expect(await events.next() == .notification(waiting))
        listener.close()
        #expect(!hub.isFollowed(PushTests.mia, exceptDevice: "tablet"))
    }
}
