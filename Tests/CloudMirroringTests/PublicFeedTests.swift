// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import Synchronization
import TestBasics
import Testing

/// The public database on a server that has a feed of it.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct PublicFeedTests {
    private func publish(_ description: NSPersistentStoreDescription) { description.cloudKitContainerOptions?.databaseScope = .public }

    private func sync(_ devices: Device...) async throws {
        for device in devices { try await device.container.sync(timeout: .seconds(600)) }
    }

    @Test func deletionsTravelAndNoIndexIsNeeded() async throws {
        let cloud = try InProcessCloud()
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        let bo = try Device("bo's", try await cloud.addUser("bo", device: "phone"), describe: publish)
        let visitor = try Device("visitor's", cloud.addVisitor(device: "kiosk"), describe: publish)
        try mia.edit { context in
            for title in ["Deleted", "Kept"] { context.insert("Post", ["title": title]) }
            let tagged = context.insert("Post", ["title": "Tagged"])
            tagged.setValue(Set([context.insert("Tag", ["name": "game"])]), forKey: "tags")
        }
        try await sync(mia, bo, visitor)
        #expect(try bo.dump == mia.dump)
        #expect(try visitor.dump == mia.dump)
        #expect(try mia.dump.contains("Deleted"))
        try mia.edit { context in if let post = try context.post(titled: "Deleted") { context.delete(post) } }
        try await sync(mia, bo, visitor)
        #expect(try bo.dump == mia.dump)
        #expect(try visitor.dump == mia.dump)
        #expect(try !mia.dump.contains("Deleted"))
        #expect(!bo.transport.log.contains("records/query"))
    }

    /// A user adds the field in which a device notes quarantined values.
    @Test(arguments: [true, false]) func recordsOfOtherUsersQuarantineNothing(hasFeed: Bool) async throws {
        let cloud = try hasFeed ? InProcessCloud() : InProcessCloud(offered: [])
        if !hasFeed {
            for type in ["CD_Post", "CD_Tag", "CD_Attachment", "CD_ImageData", "CDMR"] {
                try await cloud.addIndexes(toType: type, fields: ["___recordID", "___modTime"], container: Device.containerIdentifier)
            }
        }
        let client = CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .public,
            transport: try await cloud.addUser("mia", device: "tablet"))
        func write(_ kind: RecordOperation.Kind, title: String) async throws {
            let forged = Record(
                recordName: "forged", recordType: "CD_Post",
                fields: [
                    "CD_entityName": Field(.string("Post")), "CD_title": Field(.string(title)),
                    "ckEncryption": Field(.string("CD_title 0 - damaged")),
                ])
            let answer = try await client.modifyRecords(
                ModifyRecordsRequest(operations: [RecordOperation(kind, forged)], zoneID: ZoneID.defaultZone), idempotencyKey: title)
            for case .failure(_, let error, _) in answer.results { throw error }
        }
        try await write(.create, title: "a")
        let bo = try Device("bo's", try await cloud.addUser("bo", device: "phone"), describe: publish)
        try await sync(bo)
        #expect(try bo.dump == "Post  title a")
        // A quarantined value of a known record would not arrive.
        try await write(.forceUpdate, title: "b")
        try await sync(bo)
        #expect(try bo.dump == "Post  title b")
        #expect(try bo.container.unreadableValues().isEmpty)
    }

    @Test func aStoreFollowsWhenTheServerGetsAFeedAndWhenItLosesIt() async throws {
        let cloud = try InProcessCloud(offered: [])
        for type in ["CD_Post", "CD_Tag", "CD_Attachment", "CD_ImageData", "CDMR"] {
            try await cloud.addIndexes(toType: type, fields: ["___recordID", "___modTime"], container: Device.containerIdentifier)
        }
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        let bo = try Device("bo's", try await cloud.addUser("bo", device: "phone"), describe: publish)
        try mia.edit { context in for title in ["Early", "Late", "Kept"] { context.insert("Post", ["title": title]) } }
        try await sync(mia, bo)
        try mia.edit { context in if let post = try context.post(titled: "Early") { context.delete(post) } }
        // Unsent objects do not count as deleted.
        try bo.edit { $0.insert("Post", ["title": "Bo's"]) }
        try await sync(mia)
        #expect(try bo.dump.contains("Early"))

        try cloud.stop()
        try cloud.start(offering: Set(Capability.allCases))
        try await sync(bo, mia, bo)
        #expect(try bo.dump == "Post  title Bo's\nPost  title Kept\nPost  title Late")
        #expect(try mia.dump == bo.dump)

        try cloud.stop()
        try cloud.start(offering: [])
        try mia.edit { context in
            if let post = try context.post(titled: "Late") { context.delete(post) }
            context.insert("Post", ["title": "New"])
        }
        try await sync(mia, bo)
        #expect(try mia.dump == "Post  title Bo's\nPost  title Kept\nPost  title New")
        #expect(try bo.dump == "Post  title Bo's\nPost  title Kept\nPost  title Late\nPost  title New")
    }

    /// The clock stands still, and no poll is due.
    @Test func publishedRecordsArriveAtOnce() async throws {
        let cloud = try InProcessCloud()
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        let bo = try Device("bo's", try await cloud.addUser("bo", device: "phone"), describe: publish)
        let visitor = try Device("visitor's", cloud.addVisitor(device: "kiosk"), describe: publish)
        try await sync(mia, bo, visitor)
        try mia.edit { $0.insert("Post", ["title": "News"]) }
        for device in [bo, visitor] { try await device.until { _ in try device.dump == "Post  title News" } }
        try mia.edit { context in if let post = try context.post(titled: "News") { context.delete(post) } }
        for device in [bo, visitor] { try await device.until { _ in try device.dump.isEmpty } }
        // A broken connection is opened again, and missed changes are fetched.
        bo.transport.goOffline()
        try mia.edit { $0.insert("Post", ["title": "Missed"]) }
        try await sync(mia)
        bo.transport.goOnline()
        await bo.timers.asleep(within: 5)
        bo.timers.advance(by: 5)
        try await bo.until { _ in try bo.dump == "Post  title Missed" }
    }

    /// Without a feed no stream is open: the clock starts the polls.
    @Test func aStoreThatLosesTheFeedIsAskedByTheClock() async throws {
        let cloud = try InProcessCloud()
        for type in ["CD_Post", "CD_Tag", "CD_Attachment", "CD_ImageData", "CDMR"] {
            try await cloud.addIndexes(toType: type, fields: ["___recordID", "___modTime"], container: Device.containerIdentifier)
        }
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        let bo = try Device("bo's", try await cloud.addUser("bo", device: "phone"), describe: publish)
        try await sync(mia, bo)
        try cloud.stop()
        try cloud.start(offering: [])
        try mia.edit { $0.insert("Post", ["title": "Later"]) }
        try await sync(mia, bo)
        #expect(try bo.dump == "Post  title Later")
        try mia.edit { $0.insert("Post", ["title": "Even later"]) }
        try await sync(mia)
        #expect(cloud.listeners == 0)
        bo.timers.advance(by: 1_800)
        try await bo.until { _ in try bo.dump == "Post  title Even later\nPost  title Later" }
    }

    /// Two servers behind one address, of which one was not updated yet.
    @Test func serversThatDisagreeDoNotKeepAStoreBusy() async throws {
        let cloud = try InProcessCloud()
        for type in ["CD_Post", "CD_Tag", "CD_Attachment", "CD_ImageData", "CDMR"] {
            try await cloud.addIndexes(toType: type, fields: ["___recordID", "___modTime"], container: Device.containerIdentifier)
        }
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        try mia.edit { context in for number in 0..<10 { context.insert("Post", ["title": "\(number)"]) } }
        try await sync(mia)
        let transport = try await cloud.addUser("bo", device: "phone")
        let disagreeing = Disagreeing(transport)
        let bo = try Device("bo's", transport, over: disagreeing, describe: publish)
        try await sync(bo)
        for title in ["A", "B", "C", "D", "E", "F"] {
            try mia.edit { $0.insert("Post", ["title": title]) }
            try await sync(mia, bo)
        }
        #expect(try bo.dump == mia.dump)
        // Some rounds to find it out, and then queries, which both servers answer.
        #expect(disagreeing.count <= 12)
        let before = disagreeing.count
        try mia.edit { $0.insert("Post", ["title": "G"]) }
        try await sync(mia, bo)
        #expect(try bo.dump == mia.dump)
        #expect(disagreeing.count == before)
    }
}

/// Every second question for the feed goes to a server that has none.
private final class Disagreeing: CloudTransport {
    private let transport: InProcessTransport
    var needsIdleTimeout: Bool { transport.needsIdleTimeout }
    private let asked = Mutex(0)

    init(_ transport: InProcessTransport) { self.transport = transport }

    /// How often the feed was asked for.
    var count: Int { asked.withLock { $0 } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard case .service(let path) = request.target, path.hasSuffix("changes/zone") else { return try await transport.send(request) }
        let number = asked.withLock { count in
            count += 1
            return count
        }
        if number.isMultiple(of: 2) { return try await transport.send(request) }
        return TransportResponse(
            status: 400, headers: TransportHeaders(), body: WireError(.badRequest, "endpoint not applicable").encoded())
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream { try await transport.stream(request) }
}
