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
                CloudDatabaseClient(
                    containerIdentifier: "iCloud.org.example.garden", environment: .development, scope: .private, transport: transport)
            }
            self.client = client(try await cloud.addUser("mia", device: "tablet"))
            reader = client(try await cloud.addDevice("phone", of: "mia"))
            _ = try await self.client.modifyZones(ZonesModifyRequest(operations: [.create(SaveGroupTests.zone)]))
        }

        func send(
            _ operations: [RecordOperation], _ part: Int, of parts: Int, id: String = "one", isAtomic: Bool = true, key: String? = nil,
            count: Int, asking capabilities: Set<Capability> = []
        ) async throws -> ModifyRecordsResponse {
            var request = ModifyRecordsRequest(operations: operations, zoneID: SaveGroupTests.zone, atomic: false, desiredKeys: [])
            request.saveGroup = SaveGroup(id: id, part: part, parts: parts, isAtomic: isAtomic)
            return try await client.modifyRecords(
                encoded: request.encoded(), operationCount: operations.count, groupCount: count, idempotencyKey: key ?? "\(id)-\(part)",
                asking: capabilities)
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
        // The response was lost: the last request gets the same response, and executes nothing.
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

    /// A device that relies on a refusal must notice a restore of the server to an earlier state.
    @Test func aRejectedGroupHasTheTokenThatItsRefusalsFollowFrom() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(Self.create("taken"), 0, of: 1, id: "first", count: 1)
        let lost = RecordOperation(.delete, Record(recordName: "gone", recordType: "Plant", recordChangeTag: "1"))
        func changes(after token: String) async throws -> [String] {
            let answer = try await fixture.client.zoneChanges(
                ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: Self.zone, syncToken: token)]))
            guard case .changes(let changes)? = answer.zones.first else { throw CKError(.internalError, "changes of the zone") }
            return changes.records.map(\.recordName)
        }
        let answer = try await fixture.send(
            Self.create("a") + [lost] + Self.create("taken"), 0, of: 1, id: "two", count: 3, asking: [.lostHistory])
        #expect(answer.saveGroup == .refused)
        let token = try #require(answer.syncToken)
        #expect(try await changes(after: token) == [])
        _ = try await fixture.send(Self.create("b"), 0, of: 1, id: "three", count: 1)
        #expect(try await changes(after: token) == ["b"])
        #expect(try await fixture.send(Self.create("taken"), 0, of: 1, id: "four", count: 1).syncToken == nil, "it is not asked for")
        try fixture.cloud.discard()
    }

    @Test func anAtomicGroupSavesNothingIfAnItemIsRejected() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(Self.create("taken"), 0, of: 1, id: "first", count: 1)
        #expect(try await fixture.send(Self.create("a", "taken"), 0, of: 2, count: 3).saveGroup == .staged)
        let answer = try await fixture.send(Self.create("b"), 1, of: 2, count: 3)
        #expect(answer.saveGroup == .refused)
        #expect(answer.results.map(\.recordName) == ["taken"])
        guard case .failure(_, let error, let record?) = answer.results[0] else {
            throw CKError(.internalError, "a failure with its record")
        }
        #expect(error.code == .conflict)
        #expect(record.recordName == "taken")
        #expect(try await fixture.names() == ["taken"])
        // Also after a lost response and with enough quota.
        #expect(try await fixture.send(Self.create("b"), 1, of: 2, count: 3) == answer)
        // The same of one request, and without being atomic.
        #expect(try await fixture.send(Self.create("c", "taken"), 0, of: 1, id: "two", count: 2).saveGroup == .refused)
        #expect(try await fixture.names() == ["taken"])
        let lenient = try await fixture.send(Self.create("c", "taken"), 0, of: 1, id: "three", isAtomic: false, count: 2)
        #expect(lenient.saveGroup == .saved)
        #expect(lenient.results.count == 2)
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
        let foreign = try await fixture.reader.modifyRecords(
            encoded: last.encoded(), operationCount: 1, groupCount: 2, idempotencyKey: "foreign")
        #expect(foreign.saveGroup == .missing([0]))
        fixture.cloud.clock.advance(by: .seconds(2 * 86_400))
        try await fixture.cloud.removeExpired()
        #expect(try await fixture.send(Self.create("b"), 1, of: 2, count: 2).saveGroup == .missing([0]))
        #expect(try await fixture.names() == [])
        try fixture.cloud.discard()
    }

    /// Staged requests count as saved records do, until they are executed, dropped or expired.
    @Test func stagedRequestsCountAgainstTheQuota() async throws {
        var limits = Limits()
        limits.userBytes = 5_000
        let fixture = try await Fixture(limits: limits)
        func operations(_ kind: RecordOperation.Kind, _ names: [String], bytes: Int, tags: [String: String] = [:]) -> [RecordOperation] {
            names.map { name in
                RecordOperation(
                    kind,
                    Record(
                        recordName: name, recordType: "Plant", recordChangeTag: tags[name],
                        fields: ["name": Field(.string(String(repeating: "x", count: bytes)))]))
            }
        }
        let saved = try await fixture.send(operations(.create, ["old"], bytes: 1_000), 0, of: 1, id: "first", count: 1)
        guard case .record(let old)? = saved.results.first else { throw CKError(.internalError, "the record is saved") }
        #expect(try await fixture.send(operations(.create, ["a"], bytes: 2_000), 0, of: 3, count: 9).saveGroup == .staged)
        func isRefused(_ operations: [RecordOperation], _ part: Int, id: String) async throws -> Bool {
            do {
                return try await fixture.send(operations, part, of: 3, id: id, key: "\(id)-\(part)-\(operations.count)", count: 9).saveGroup
                    != .staged
            } catch let error as CKError where error.code == .quotaExceeded {
                return true
            }
        }
        // In the same group and in another one.
        #expect(try await isRefused(operations(.create, ["b"], bytes: 2_000), 1, id: "one"))
        #expect(try await isRefused(operations(.create, ["b"], bytes: 2_000), 1, id: "two"))
        // A repetition does not count twice, and neither do replacements and deletions.
        #expect(try await !isRefused(operations(.create, ["a"], bytes: 2_500), 0, id: "one"))
        let tags = ["old": old.recordChangeTag ?? ""]
        #expect(try await !isRefused(operations(.update, ["old"], bytes: 1_900, tags: tags), 1, id: "two"))
        #expect(
            try await !isRefused(
                [RecordOperation(.delete, Record(recordName: "old", recordType: "Plant", recordChangeTag: tags["old"]))], 1, id: "three"))
        #expect(try await isRefused(operations(.create, ["b"], bytes: 1_000), 0, id: "two"))
        // Expired requests free their quota.
        fixture.cloud.clock.advance(by: .seconds(2 * 86_400))
        try await fixture.cloud.removeExpired()
        #expect(try await !isRefused(operations(.create, ["b"], bytes: 3_500), 1, id: "one"))
        try fixture.cloud.discard()
    }

    /// A client that stages for ever, with any number of devices, has the newest groups and no more bytes than the limit.
    @Test func stagedRequestsOfAUserAreBounded() async throws {
        var limits = Limits()
        limits.saveGroupsPerUser = 6
        limits.saveGroupBytes = 1_000
        limits.stagedBytesPerUser = 2_000
        let fixture = try await Fixture(limits: limits)
        let devices = try await (0..<5).asyncMap { number in
            CloudDatabaseClient(
                containerIdentifier: "iCloud.org.example.garden", environment: .development, scope: .private,
                transport: try await fixture.cloud.addDevice("device \(number)", of: "mia"))
        }
        func send(_ device: Int, _ group: Int, part: Int, bytes: Int = 0) async throws -> SaveGroupState? {
            let name = "\(group)-\(part)"
            var request = ModifyRecordsRequest(
                operations: [
                    RecordOperation(
                        .create,
                        Record(
                            recordName: name, recordType: "Plant", fields: ["name": Field(.string(String(repeating: "x", count: bytes)))]))
                ],
                zoneID: Self.zone, atomic: false, desiredKeys: [])
            request.saveGroup = SaveGroup(id: "group \(group)", part: part, parts: 2)
            return try await devices[device].modifyRecords(
                encoded: request.encoded(), operationCount: 1, groupCount: 2, idempotencyKey: "\(name)-\(bytes)"
            ).saveGroup
        }
        func survivors(of count: Int, from first: Int) async throws -> [Int] {
            var groups: [Int] = []
            for group in first..<first + count where try await send(group % 5, group, part: 1) == .saved { groups.append(group) }
            return groups
        }
        // By their number, though no device has more than its own limit.
        for group in 0..<40 {
            #expect(try await send(group % 5, group, part: 0) == .staged)
            fixture.cloud.clock.advance(by: .seconds(1))
        }
        #expect(try await survivors(of: 40, from: 0) == Array(34..<40))
        // By their bytes: two of about 900 fit.
        for group in 100..<120 {
            #expect(try await send(group % 5, group, part: 0, bytes: 600) == .staged)
            fixture.cloud.clock.advance(by: .seconds(1))
        }
        #expect(try await survivors(of: 20, from: 100) == [118, 119])
        try fixture.cloud.discard()
    }

    /// What another user stages in the public database takes nothing from this one.
    @Test func aGroupIsExecutedTogetherInThePublicDatabase() async throws {
        var limits = Limits()
        limits.publicBytes = 3_000
        let cloud = try InProcessCloud(limits: limits)
        func client(_ transport: InProcessTransport) -> CloudDatabaseClient {
            CloudDatabaseClient(
                containerIdentifier: "iCloud.org.example.garden", environment: .development, scope: .public, transport: transport)
        }
        let mia = client(try await cloud.addUser("mia", device: "tablet")), bo = client(try await cloud.addUser("bo", device: "phone"))
        func send(_ names: [String], _ part: Int, by user: CloudDatabaseClient, id: String, count: Int) async throws -> SaveGroupState? {
            let operations = names.map {
                RecordOperation(
                    .create,
                    Record(recordName: $0, recordType: "Plant", fields: ["name": Field(.string(String(repeating: "x", count: 1_000)))]))
            }
            var request = ModifyRecordsRequest(
                operations: operations, zoneID: ZoneID(zoneName: ZoneID.defaultZoneName), atomic: false, desiredKeys: [])
            request.saveGroup = SaveGroup(id: id, part: part, parts: 2)
            return try await user.modifyRecords(
                encoded: request.encoded(), operationCount: names.count, groupCount: count, idempotencyKey: "\(id)-\(part)"
            ).saveGroup
        }
        func names() async throws -> [String] {
            try await bo.lookupRecords(LookupRecordsRequest(records: ["a", "b"].map { LookupRecordsRequest.Item(recordName: $0) })).results
                .compactMap {
                    if case .record(let record) = $0 { record.recordName } else { nil }
                }
        }
        #expect(try await send(["x", "y"], 0, by: bo, id: "bo's", count: 3) == .staged)
        #expect(try await send(["a"], 0, by: mia, id: "mia's", count: 2) == .staged)
        #expect(try await names() == [])
        #expect(try await send(["b"], 1, by: mia, id: "mia's", count: 2) == .saved)
        #expect(try await names() == ["a", "b"])
        // The quota does not allow both.
        #expect(try await send(["z"], 1, by: bo, id: "bo's", count: 3) == .refused)
        try cloud.discard()
    }

    @Test func withoutTheCapabilityEachRequestIsExecutedOnArrival() async throws {
        let fixture = try await Fixture(offered: Set(Capability.allCases).subtracting([.wholeSaves]))
        let answer = try await fixture.send(Self.create("a"), 0, of: 2, count: 2)
        #expect(answer.saveGroup == nil)
        #expect(answer.results.count == 1)
        #expect(try await fixture.names() == ["a"])
        try fixture.cloud.discard()
    }
}

extension Sequence {
    fileprivate func asyncMap<T>(_ transform: (Element) async throws -> T) async rethrows -> [T] {
        var result: [T] = []
        for element in self { result.append(try await transform(element)) }
        return result
    }
}
