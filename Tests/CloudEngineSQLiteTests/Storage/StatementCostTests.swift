// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import EngineFixtures
import Foundation
import GRDB
import StatementPlans
import StorageFixtures
import TestBasics
import Testing

@testable import CloudEngineSQLite

/// Statements that a request does not need, and work that grows with what it does not need.
@Suite struct StatementCostTests {
    /// A stored query subscription on plants that cannot be decoded.
    private static func unreadable(_ id: String, _ bench: Bench) async throws {
        // The partition has a row after the first write.
        let part = try await bench.write { _, unit, _ in (unit as? SQLiteUnit)?.writtenPart }
        let body = #"{"subscriptionID":"\#(id)","subscriptionType":"query","query":{"recordType":"Plant"},"firesOn":7}"#
        try await bench.sqliteStore.pool.write { db in
            try db.execute(
                sql: "INSERT INTO subscriptions (part, id, body) VALUES (?, ?, ?)", arguments: [part, id, Data(body.utf8)])
        }
    }

    @Test func aSearchForAnOperatorReadsOneAccount() async throws {
        let folder = TemporaryFolder()
        let recording = StatementRecording(URL(fileURLWithPath: folder.path))
        let store = try SQLiteServerStore(path: folder.path, use: .server, passwordRounds: 16)
        #expect(try await store.addFirstOperator(named: "a", password: "correct horse", isClaiming: false, now: 0) == .added)
        for number in 0..<200 { _ = try await store.addUser(name: "user\(number)", deviceLabel: "d", now: 0) }
        let before = recording.steps
        #expect(try await store.hasOperator())
        #expect(recording.steps - before < 100)
    }

    @Test func aSaveWithoutAKeyDoesNotLookAtStoredAnswers() async throws {
        let folder = TemporaryFolder()
        let recording = StatementRecording(URL(fileURLWithPath: folder.path))
        let bench = try Bench(place: ServerPlace(.sqlite, folder: folder))
        _ = try await bench.write { engine, unit, call in
            let request = ModifyRecordsRequest(operations: [.init(.create, .plant("p1"))], zoneID: .defaultZone)
            let outcome = try engine.records.modify(request, in: unit, call)
            try engine.quotas.trimAnswers(exceptKey: nil, of: call.partition, in: unit)
            return outcome.response
        }
        #expect(!recording.statements.contains { $0.contains("answer_bytes FROM partitions") })
    }

    /// The writer reads of query subscriptions only which types they are about.
    @Test func aSaveDecodesNoQuerySubscription() async throws {
        let bench = try await Bench.withGarden()
        try await bench.write { _, unit, _ in try unit.save(Subscription(subscriptionID: "all", kind: .database)) }
        try await Self.unreadable("unreadable", bench)
        let request = ModifyRecordsRequest(operations: [.init(.create, .plant("p1"))], zoneID: Bench.garden)
        let outcome = try await bench.write { try $0.records.modify(request, in: $1, $2) }
        #expect(outcome.rounds.count == 1)
        #expect(outcome.notifications.map(\.subscriptionID) == ["all"])
        let other = SubscriptionsModifyRequest(operations: [.create(Subscription(subscriptionID: "other", kind: .database))])
        let results = try await bench.write { try $0.subscriptions.modify(other, in: $1, $2).response.subscriptions }
        if case .failure(_, let error) = results[0] { Issue.record("the subscription was refused: \(error.reason)") }
    }

    /// Devices create theirs again whenever they connect.
    @Test func aSubscriptionThatTheServerHasIsNotWritten() async throws {
        let bench = try Bench()
        var subscription = Subscription(subscriptionID: "all", kind: .database)
        func create() async throws {
            let request = SubscriptionsModifyRequest(operations: [.create(subscription)])
            _ = try await bench.write { try $0.subscriptions.modify(request, in: $1, $2) }
        }
        func hasMark() async throws -> Bool? {
            try await bench.sqliteStore.pool.read { try Bool.fetchOne($0, sql: "SELECT CAST(body AS TEXT) LIKE '% ' FROM subscriptions") }
        }
        try await create()
        try await bench.sqliteStore.pool.write { try $0.execute(sql: "UPDATE subscriptions SET body = CAST(body || ' ' AS BLOB)") }
        try await create()
        #expect(try await hasMark() == true)
        subscription.notification.title = "Changed"
        try await create()
        #expect(try await hasMark() == false)
    }

    /// A device sends its token with each save.
    @Test func anUnchangedClientTokenIsNotWritten() async throws {
        let bench = try await Bench.withGarden()
        func save(_ token: [UInt8]) async throws {
            try await bench.write { _, unit, _ in try unit.setClientToken(token, ofUser: "_mia", device: "phone", in: 1) }
        }
        try await save([1])
        try await bench.sqliteStore.pool.write {
            try $0.execute(sql: "CREATE TRIGGER refusal BEFORE INSERT ON client_tokens BEGIN SELECT RAISE(ABORT, 'written'); END")
        }
        try await save([1])
        await #expect(throws: (any Error).self) { try await save([2]) }
    }

    @Test func aSaveOfATypeThatIsNotQueriedHasNoRound() async throws {
        let bench = try await Bench.withGarden()
        try await Self.unreadable("unreadable", bench)
        let request = ModifyRecordsRequest(
            operations: [.init(.create, CloudWire.Record(recordName: "t1", recordType: "Tree", fields: [:]))], zoneID: Bench.garden)
        #expect(try await bench.write { try $0.records.modify(request, in: $1, $2) }.rounds.isEmpty)
    }

    /// Once the work of a round is used up, the subscriptions that are left are not decoded.
    @Test func skippedSubscriptionsAreNotDecoded() async throws {
        var limits = Limits()
        limits.subscriptionWorkPerRequest = 10_000
        let bench = try await Bench.withGarden(limits: limits)
        try await bench.modify(.init(.create, .plant("first", ["name": .string("x")])))
        let names = FieldValue.list((0..<200).map { .string("name \($0)") }, of: .string)
        let query = Query(recordType: "Plant", filters: [QueryFilter(.field("name"), .isIn, names)])
        try await bench.write { _, unit, _ in
            let part = QuerySubscription(query: query, firesOn: [.create], firesOnce: false, zoneID: nil)
            try unit.save(Subscription(subscriptionID: "a", kind: .query(part)))
        }
        for number in 0..<5 { try await Self.unreadable("b\(number)", bench) }
        let request = ModifyRecordsRequest(operations: [.init(.create, .plant("p1", ["name": .string("y")]))], zoneID: Bench.garden)
        let round = try #require(try await bench.write { try $0.records.modify(request, in: $1, $2) }.rounds.first)
        let fired = try await bench.read { engine, reader, _ in try engine.firing.evaluate(round, in: reader) }
        #expect(fired.skippedCount == 5)
    }
}
