// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Testing

/// Requests of one group on a real server in this process: `whole-saves`.
@Suite struct SaveGroupTests {
    private static let zone = ZoneID(zoneName: "Garden")

    private struct Fixture {
        let cloud: InProcessCloud
        let client: CloudDatabaseClient
        let reader: CloudDatabaseClient

        init(limits: Limits = Limits(), offered: Set<Capability> = Set(Capability.allCases)) async throws {
            let cloud = try InProcessCloud(limits: limits, offered: offered)
            self.cloud = cloud
            func client(_ transport: InProcessTransport) -> CloudDatabaseClient {
                CloudDatabaseClient(containerIdentifier: "iCloud.org.example.garden", environment: .development, scope: .private, transport: transport)
            }
            self.client = client(try await cloud.addUser("mia", device: "tablet"))
            reader = client(try await cloud.addDevice("phone", of: "mia"))
            _ = try await self.client.modifyZones(ZonesModifyRequest(operations: [.create(SaveGroupTests.zone)]))
        }

        func send(
            _ operations: [RecordOperation], _ part: Int, of parts: Int, id: String = "one", isAtomic: Bool = true, key: String? = nil, count: Int
        ) async throws -> ModifyRecordsResponse {
            var request = ModifyRecordsRequest(operations: operations, zoneID: SaveGroupTests.zone, atomic: false, desiredKeys: [])
            request.saveGroup = SaveGroup(id: id, part: part, parts: parts, isAtomic: isAtomic)
            return try await client.modifyRecords(
                encoded: request.encoded(), operationCount: operations.count, groupCount: count, idempotencyKey: key ?? "\(id)-\(part)")
        }

        /// Names of the records that another device reads, in order of change.
        func names() async throws -> [String] {
            let answer = try await reader.zoneChanges(ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: SaveGroupTests.zone)]))
            guard case .changes(let changes)? = answer.zones.first else { return [] }
            return changes.records.filter { !$0.isDeleted }.map(\.recordName)
        }
    }

    private static func create(_ names: String...) -> [RecordOperation] {
        names.map { RecordOperation(.create, Record(recordName: $0, recordType: "Plant", fields: ["name": Field(.string($0))])) }
    }

    @Test func stagedRequestsAreInvisibleUntilTheLastOneArrives() async throws {
        let fixture = try await Fixture()
        #expect(try await fixture.send(Self.create("a", "b"), 0, of: 3, count: 4).saveGroup == .staged)
        #expect(try await fixture.send(Self.create("c"), 1, of: 3, count: 4).saveGroup == .staged)
        #expect(try await fixture.names() == [])
        let answer = try await fixture.send(Self.create("d"), 2, of: 3, count: 4)
        #expect(answer.saveGroup == .saved)
        #expect(answer.results.map(\.recordName) == ["a", "b", "c", "d"])
        #expect(try await fixture.names() == ["a", "b", "c", "d"])
        // The answer was lost: the last request is answered as it was, and executes nothing.
        #expect(try await fixture.send(Self.create("d"), 2, of: 3, count: 4) == answer)
        try fixture.cloud.discard()
    }

    @Test func aMissingRequestIsNamedAndTheGroupIsExecutedOnceItArrives() async throws {
        let fixture = try await Fixture()
        #expect(try await fixture.send(Self.create("b"), 1, of: 3, count: 3).saveGroup == .staged)
        #expect(try await fixture.send(Self.create("c"), 2, of: 3, count: 3).saveGroup == .missing([0]))
        #expect(try await fixture.names() == [])
        #expect(try await fixture.send(Self.create("a"), 0, of: 3, count: 3).saveGroup == .staged)
        #expect(try await fixture.send(Self.create("c"), 2, of: 3, count: 3).saveGroup == .saved)
        #expect(try await fixture.names() == ["a", "b", "c"])
        try fixture.cloud.discard()
    }

    @Test func anAtomicGroupSavesNothingIfAnItemIsRefused() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(Self.create("taken"), 0, of: 1, id: "first", count: 1)
        #expect(try await fixture.send(Self.create("a", "taken"), 0, of: 2, count: 3).saveGroup == .staged)
        let answer = try await fixture.send(Self.create("b"), 1, of: 2, count: 3)
        #expect(answer.saveGroup == .refused)
        #expect(answer.results.map(\.recordName) == ["taken"])
        guard case .failure(_, let error, let record?) = answer.results[0] else { throw CKError(.internalError, "a failure with its record") }
        #expect(error.code == .conflict && record.recordName == "taken")
        #expect(try await fixture.names() == ["taken"])
        // Also if the answer was lost and there is room by now.
        #expect(try await fixture.send(Self.create("b"), 1, of: 2, count: 3) == answer)
        // The same of one request, and without being atomic.
        #expect(try await fixture.send(Self.create("c", "taken"), 0, of: 1, id: "two", count: 2).saveGroup == .refused)
        #expect(try await fixture.names() == ["taken"])
        let lenient = try await fixture.send(Self.create("c", "taken"), 0, of: 1, id: "three", isAtomic: false, count: 2)
        #expect(lenient.saveGroup == .saved && lenient.results.count == 2)
        #expect(try await fixture.names() == ["taken", "c"])
        try fixture.cloud.discard()
    }

    @Test func groupsAreBounded() async throws {
        var limits = Limits()
        limits.saveGroupBytes = 600
        limits.saveGroupsPerDevice = 2
        limits.requestsPerSaveGroup = 4
        let fixture = try await Fixture(limits: limits)
        #expect(try await fixture.send(Self.create("a"), 0, of: 3, count: 9).saveGroup == .staged)
        await #expect(throws: CKError.self) { try await fixture.send(Self.create("b", "c", "d", "e"), 1, of: 3, count: 9) }
        await #expect(throws: CKError.self) { try await fixture.send(Self.create("b"), 1, of: 4, count: 9) }
        await #expect(throws: CKError.self) { try await fixture.send(Self.create("b"), 5, of: 5, id: "long", count: 9) }
        await #expect(throws: CKError.self) { try await fixture.send(Self.create("b"), -1, of: 3, count: 9) }
        // The oldest group goes when a device begins more than it may.
        for id in ["two", "three"] { #expect(try await fixture.send(Self.create("a"), 0, of: 2, id: id, count: 2).saveGroup == .staged) }
        #expect(try await fixture.send(Self.create("b"), 1, of: 2, id: "three", count: 2).saveGroup == .saved)
        #expect(try await fixture.send(Self.create("z"), 2, of: 3, count: 3).saveGroup == .missing([0, 1]))
        try fixture.cloud.discard()
    }

    @Test func stagedRequestsExpireAndBelongToTheDeviceThatSentThem() async throws {
        let fixture = try await Fixture()
        #expect(try await fixture.send(Self.create("a"), 0, of: 2, count: 2).saveGroup == .staged)
        var last = ModifyRecordsRequest(operations: Self.create("b"), zoneID: Self.zone, atomic: false)
        last.saveGroup = SaveGroup(id: "one", part: 1, parts: 2)
        let foreign = try await fixture.reader.modifyRecords(encoded: last.encoded(), operationCount: 1, groupCount: 2, idempotencyKey: "foreign")
        #expect(foreign.saveGroup == .missing([0]))
        fixture.cloud.clock.advance(by: .seconds(2 * 86_400))
        try await fixture.cloud.removeExpired()
        #expect(try await fixture.send(Self.create("b"), 1, of: 2, count: 2).saveGroup == .missing([0]))
        #expect(try await fixture.names() == [])
        try fixture.cloud.discard()
    }

    @Test func aServerWithoutTheCapabilityExecutesEachRequestAsItComes() async throws {
        let fixture = try await Fixture(offered: Set(Capability.allCases).subtracting([.wholeSaves]))
        let answer = try await fixture.send(Self.create("a"), 0, of: 2, count: 2)
        #expect(answer.saveGroup == nil && answer.results.count == 1)
        #expect(try await fixture.names() == ["a"])
        try fixture.cloud.discard()
    }
}
