// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import CoreData
import Foundation
import SQLiteStore
import Synchronization
import TestBasics
import Testing

/// The next batch is planned while one is in flight, and sent only if its items are still pending.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct BatchAheadTests {
    private static let batch = 10
    private static let posts = 25

    /// Counts names that a mirror takes, one for each record and one for each request that it plans.
    private final class Names: Sendable {
        private let state = Mutex((taken: 0, awaited: Int.max))
        let reached = Gate()

        var taken: Int { state.withLock { $0.taken } }

        func expect(_ count: Int) { state.withLock { $0.awaited = count } }

        func next() -> String {
            let isAwaited = state.withLock { state in
                state.taken += 1
                return state.taken == state.awaited
            }
            if isAwaited { reached.open() }
            return UUID().uuidString
        }
    }

    private static func device(
        _ name: String, _ transport: InProcessTransport, over wire: (any CloudTransport)? = nil, file: URL? = nil,
        recordBytes: Int = Limits().recordBytes,
        _ names: Names = Names()
    ) throws -> Device {
        try Device(
            name, transport, over: wire, file: file,
            configure: { environment in
                environment.limits.operationsPerRequest = batch
                environment.requestsPerBatch = 1
                environment.limits.recordBytes = recordBytes
                environment.makeName = { names.next() }
            })
    }

    private static func insertPosts(_ device: Device) throws {
        try device.edit { context in for index in 0..<posts { context.insert("Post", ["title": "post \(index)"]) } }
    }

    /// Changes a post of the second batch.
    private static func changeOne(of device: Device) throws {
        try device.edit { context in
            let post = try context.all("Post").first { $0.value(forKey: "title") as? String == "post 15" }
            post?.setValue("changed", forKey: "title")
        }
    }

    /// How many records each request wrote.
    private static func sizes(_ faults: Faults) -> [Int] {
        faults.bodies.compactMap { try? ModifyRecordsRequest(json: $0) }.map(\.operations.count).filter { $0 > 0 }
    }

    /// Another device of the user shows the first one's posts, each once.
    private static func isWhole(_ device: Device, _ cloud: InProcessCloud) async throws {
        let other = try Self.device("other", try await cloud.addDevice("other", of: "mia"))
        try await other.container.sync(timeout: .seconds(600))
        #expect(try other.dump == device.dump)
        #expect(try other.dump.split(separator: "\n").count == posts)
        #expect(try outbox(device).isEmpty)
        try await other.discard()
    }

    /// Bodies of the requests that wait for their answers, once all that was begun is written.
    private static func outbox(_ device: Device) throws -> [[UInt8]] {
        let store = try #require(device.container.persistentStoreCoordinator.persistentStores.first)
        return try store.storage.write { writer in
            var bodies: [[UInt8]] = []
            try writer.query("SELECT body FROM TARN_OUTBOX ORDER BY number") { row in bodies.append(row.blob(0).map { [UInt8]($0) } ?? []) }
            return bodies
        }
    }

    @Test func theNextBatchIsPlannedWhileOneIsOnItsWay() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let holding = Holding(transport) { path, body in
            path.hasSuffix("records/modify") && body.firstRange(of: Array("CD_title".utf8)) != nil
        }
        let names = Names()
        let tablet = try Self.device("tablet", transport, over: holding, names)
        try await tablet.settles()
        let before = names.taken
        // A name for each record, and one for each of two requests, of which one is held.
        names.expect(before + Self.posts + 2)
        try Self.insertPosts(tablet)
        try await holding.gate.reached()
        try await names.reached.pass()
        holding.gate.open()
        try await tablet.container.sync(timeout: .seconds(600))
        // Nothing was planned twice.
        #expect(names.taken == before + Self.posts + 3)
        try await Self.isWhole(tablet, cloud)
    }

    /// A batch with assets is uploaded in its turn, and planned once as well.
    @Test func assetUploadsArePlannedOnce() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let names = Names()
        let tablet = try Self.device("tablet", transport, recordBytes: 1000, names)
        try await tablet.settles()
        let before = names.taken
        let content = String(repeating: "long ", count: 500)
        try tablet.edit { context in
            for index in 0..<Self.posts { context.insert("Post", ["title": "post \(index)", "content": content]) }
        }
        try await tablet.container.sync(timeout: .seconds(600))
        // A name for each record, one for each plan, and one for each request.
        #expect(names.taken == before + Self.posts + 3 + 3)
        try await Self.isWhole(tablet, cloud)
    }

    /// A save, here one of something that was planned ahead, is sent as it is now.
    @Test func concurrentChangesDiscardThePipelinedBatch() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport)
        let names = Names()
        let held = Gate()
        // The first answer waits until something was saved.
        let tablet = try Self.device("tablet", transport, over: Delayed(faults, held), names)
        try await tablet.settles()
        names.expect(names.taken + Self.posts + 2)
        try Self.insertPosts(tablet)
        try await names.reached.pass()
        try Self.changeOne(of: tablet)
        held.open()
        try await tablet.container.sync(timeout: .seconds(600))
        #expect(Self.sizes(faults) == [10, 10, 5], "what was changed before it was sent is sent once")
        try await Self.isWhole(tablet, cloud)
    }

    /// The server takes one item less than it was sent.
    @Test func aPartlyRejectedBatchDiscardsThePipelinedOne() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport)
        let tablet = try Self.device("tablet", transport, over: faults)
        try await tablet.settles()
        faults.plan(
            "records/modify",
            .answer { body in
                let answer = try ModifyRecordsResponse(json: body)
                return ModifyRecordsResponse(results: Array(answer.results.dropLast()), syncToken: nil).encoded()
            })
        tablet.timers.runFreely()
        try Self.insertPosts(tablet)
        try await tablet.settles { faults.isSpent }
        let sizes = Self.sizes(faults)
        #expect(faults.isSpent, "what was not answered for is sent again: \(sizes)")
        #expect(sizes.first == 10, "what was not answered for is sent again: \(sizes)")
        #expect(sizes.reduce(0, +) > Self.posts, "what was not answered for is sent again: \(sizes)")
        try await Self.isWhole(tablet, cloud)
        #expect(try tablet.container.conflicts().isEmpty)
    }

    /// The device dies with two requests in doubt: the stored requests are replayed unchanged, in order.
    @Test func bothAreSentOnceMore() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport), later = Faults(transport)
        let names = Names()
        // The first request is carried out, and not answered.
        let held = Gate()
        let tablet = try Self.device("tablet", transport, over: Delayed(faults, held), names)
        try await tablet.settles()
        names.expect(names.taken + Self.posts + 2)
        try Self.insertPosts(tablet)
        try await names.reached.pass()
        let kept = try Self.outbox(tablet)
        let files = tablet.file.deletingLastPathComponent(), copies = files.appendingPathExtension("copy")
        try FileManager.default.copyItem(at: files, to: copies)
        faults.die(at: faults.log.count + 1, isCarriedOut: false)
        held.open()
        try await tablet.discard()

        let again = try Self.device("tablet", transport, over: later, file: copies.appending(component: tablet.file.lastPathComponent))
        try Self.changeOne(of: again)
        try await again.container.sync(timeout: .seconds(600))
        let sent = later.bodies.filter { (try? ModifyRecordsRequest(json: $0))?.operations.isEmpty == false }
        #expect(kept.count == 2)
        #expect(Array(sent.prefix(2)) == kept)
        #expect(Self.sizes(later) == [10, 10, 6])
        try await Self.isWhole(again, cloud)
        #expect(try again.container.conflicts().isEmpty)
    }

    /// The device dies when the batch that was planned ahead is kept, and before or after it arrived.
    @Test(arguments: [false, true]) func aPipelinedBatchSurvivesAKill(isCarriedOut: Bool) async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport)
        var tablet = try Self.device("tablet", transport, over: faults)
        try await tablet.settles()
        faults.die(at: faults.log.count + 2, isCarriedOut: isCarriedOut)
        try Self.insertPosts(tablet)
        try await tablet.until { $0.activity == .offline }
        try await tablet.kill()
        tablet = try Self.device("tablet", transport, file: tablet.file)
        try await tablet.container.sync(timeout: .seconds(600))
        try await Self.isWhole(tablet, cloud)
        #expect(try tablet.container.conflicts().isEmpty)
    }
}

/// Holds the answers to requests that save titles until a gate is opened.
private final class Delayed: CloudTransport {
    private let transport: Faults
    private let gate: Gate
    var needsIdleTimeout: Bool { transport.needsIdleTimeout }

    init(_ transport: Faults, _ gate: Gate) {
        self.transport = transport
        self.gate = gate
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let response = try await transport.send(request)
        if case .bytes(let body) = request.body, body.firstRange(of: Array("CD_title".utf8)) != nil { try await gate.pass() }
        return response
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream { try await transport.stream(request) }
}
