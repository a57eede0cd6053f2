// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

@testable import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import EngineFixtures
import Testing

@Suite struct ChangesTests {
    @Test func everyRecordComesOnceAsItIsNowOldestChangeFirst() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1")), .init(.create, .plant("p2")), .init(.create, .plant("p3")))
        try await bench.modify(.init(.forceUpdate, .plant("p1", ["name": .string("Sage")])))
        let first = try await bench.zoneChanges()
        #expect(first.picture == "+p2 +p3 +p1")
        #expect(first.changes?.moreComing == false)

        let token = first.changes?.syncToken
        #expect(try await bench.zoneChanges(since: token).picture == "")
        try await bench.modify(.init(.forceDelete, .plant("p2")), .init(.create, .plant("p4")))
        let second = try await bench.zoneChanges(since: token)
        #expect(second.picture == "-p2 +p4")
        #expect(second.changes?.records[0].recordType == "Plant")
        #expect(try await bench.zoneChanges().picture == "+p3 +p1 +p4", "a fresh start lists no deletions")
    }

    @Test(arguments: [1, 2, 3, 6, 7, 200])
    func pagesTogetherAreTheWholeHistory(_ limit: Int) async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify((0..<7).map { RecordOperation(.create, .plant("p\($0)")) })
        try await bench.modify(.init(.forceDelete, .plant("p6")))
        var seen: [String] = []
        var token: String?
        var pages = 0
        while pages < 20 {
            let result = try await bench.zoneChanges(since: token, limit: limit)
            let page = try #require(result.changes)
            #expect(page.records.count <= limit)
            seen += page.records.map { ($0.isDeleted ? "-" : "+") + $0.recordName }
            token = page.syncToken
            pages += 1
            if !page.moreComing { break }
        }
        let live = (0..<6).map { "+p\($0)" }
        #expect(seen.filter { $0.hasPrefix("+") } == live)
        #expect(seen.count <= live.count + 1)
        #expect(try await bench.zoneChanges(since: token, limit: limit).picture == "")
    }

    /// Records that are sent as texts are equal to records that are decoded.
    @Test(arguments: [1, 3, 200]) func textsSayWhatRecordsSay(_ limit: Int) async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(
            .init(.create, .plant("p1", ["name": .string("\"ASSETID"), "note": .string("🌱\n\\ \"")])),
            .init(.create, .plant("p2", ["list": .list([.int64(1)], of: .int64)])), .init(.create, .plant("p3")))
        // As if a file had been uploaded.
        try await bench.write { _, unit, call in
            var zone = try #require(try unit.zone(named: Bench.garden.zoneName))
            zone.change = try unit.raiseCounter(by: 1)
            let photo = AssetValue(fileChecksum: "AQID", size: 3)
            let record = Record.plant("p4", tag: "1", ["photo": .asset(photo), "all": .list([.asset(photo)], of: .asset)])
            try unit.save([StoredRecord(record: record, change: zone.change)], in: zone.key, at: call.now)
            _ = try unit.addLinks(["AQID": 2], in: zone.key, at: call.now)
            try unit.save(zone, at: call.now)
        }
        let start = try #require(try await bench.zoneChanges(limit: 1).changes?.syncToken)
        try await bench.modify(.init(.forceDelete, .plant("p3")))
        for (token, reverse) in [(nil, false), (start, false), (nil, true), (start, true)] {
            let query = ZoneChangesQuery(zoneID: Bench.garden, syncToken: token, resultsLimit: limit, reverse: reverse)
            let request = ZoneChangesRequest(zones: [query])
            let read = try await bench.read { try $0.feed.zoneChanges(request, in: $1, $2) }
            let sent = try await bench.read { try $0.feed.zoneChanges(request, asTexts: true, in: $1, $2) }
            #expect(sent.zones[0].changes?.texts != nil)
            #expect(try ZoneChangesResponse(json: sent.encoded()) == read)
        }
    }

    @Test func aPageEndsAtItsBytes() async throws {
        var limits = Limits()
        limits.responseRecordBytes = 1500
        let bench = try await Bench.withGarden(limits: limits)
        let text = FieldValue.string(String(repeating: "x", count: 1000))
        try await bench.modify((0..<3).map { RecordOperation(.create, .plant("p\($0)", ["text": text])) })
        var seen = ""
        var token: String?
        for _ in 0..<3 {
            let result = try await bench.zoneChanges(since: token)
            seen += result.picture + "|"
            token = result.changes?.syncToken
            if result.changes?.moreComing == false { break }
        }
        #expect(seen == "+p0 +p1|+p2|")
    }

    /// A client with the capability gets larger pages, up to the operator's limit and its own.
    @Test func largePagesAreSentOnRequestOnly() async throws {
        var limits = Limits()
        (limits.recordsPerResponse, limits.recordsPerLargePage) = (2, 3)
        let bench = try await Bench.withGarden(limits: limits)
        try await bench.modify((0..<5).map { RecordOperation(.create, .plant("p\($0)")) })
        var asking = bench.call()
        asking.capabilities = [.largePages]
        #expect(try await bench.zoneChanges(limit: 5).picture == "+p0 +p1")
        #expect(try await bench.zoneChanges(limit: 5, as: asking).picture == "+p0 +p1 +p2")
        #expect(try await bench.zoneChanges(as: asking).picture == "+p0 +p1")
        #expect(try await bench.zoneChanges(limit: 1, as: asking).picture == "+p0")
    }

    @Test func aZoneWithoutRoomAnswersAnEmptyPageWithMoreToCome() async throws {
        var limits = Limits()
        limits.recordsPerResponse = 2
        let bench = try await Bench.withGarden(limits: limits)
        let shed = ZoneID(zoneName: "Shed")
        try await bench.makeZone(shed)
        try await bench.modify(.init(.create, .plant("p1")), .init(.create, .plant("p2")))
        try await bench.modify(.init(.create, .plant("s1")), in: shed)
        let request = ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: Bench.garden), ZoneChangesQuery(zoneID: shed)])
        let response = try await bench.read { try $0.feed.zoneChanges(request, in: $1, $2) }
        #expect(response.zones.map(\.picture) == ["+p1 +p2", ""])
        #expect(response.zones.map { $0.changes?.moreComing } == [false, true])
        #expect(try await bench.zoneChanges(since: response.zones[1].changes?.syncToken, in: shed).picture == "+s1")
    }

    @Test func desiredKeysAndTypesNarrowThePageAndNotTheToken() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(
            .init(.create, .plant("p1", ["name": .string("Sage"), "count": .int64(1)])),
            .init(.create, Record(recordName: "b1", recordType: "Bed")))
        let query = ZoneChangesQuery(zoneID: Bench.garden, desiredKeys: ["name"], desiredRecordTypes: ["Plant"])
        let response = try await bench.read { try $0.feed.zoneChanges(ZoneChangesRequest(zones: [query]), in: $1, $2) }
        #expect(response.zones[0].picture == "+p1")
        #expect(response.zones[0].changes?.records[0].fields.keys.sorted() == ["name"])
        #expect(try await bench.zoneChanges(since: response.zones[0].changes?.syncToken).picture == "")
    }

    @Test func theDatabaseTellsEachChangedZoneOnce() async throws {
        let bench = try await Bench.withGarden()
        let shed = ZoneID(zoneName: "Shed")
        try await bench.makeZone(shed)
        let start = try await bench.databaseChanges()
        #expect(start.zones.map(\.zoneID.zoneName) == ["Garden", "Shed"])
        try await bench.modify(.init(.create, .plant("p1")))
        try await bench.modify(.init(.create, .plant("p2")))
        try await bench.modify(.init(.create, .plant("d1")), in: .defaultZone)
        let second = try await bench.databaseChanges(since: start.syncToken)
        #expect(second.zones.map(\.zoneID.zoneName) == ["Garden"])
        try await bench.deleteZone(shed)
        let third = try await bench.databaseChanges(since: second.syncToken)
        #expect(third.zones.map(\.isDeleted) == [true])
        #expect(third.zones[0].zoneID == ZoneID(zoneName: "Shed", ownerRecordName: "_mia"))
        #expect(try await bench.databaseChanges().zones.map(\.zoneID.zoneName) == ["Garden"])
        let paged = try await bench.databaseChanges(since: start.syncToken, limit: 1)
        #expect(paged.zones.map(\.zoneID.zoneName) == ["Garden"])
        #expect(paged.moreComing)
    }

    @Test func aZoneMadeAgainStartsEmptyAndExpiresTheOldTokens() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1")))
        let token = try await bench.zoneChanges().changes?.syncToken
        try await bench.deleteZone(Bench.garden)
        #expect(try await bench.zoneChanges(since: token).error?.code == .zoneNotFound)
        try await bench.makeZone(Bench.garden)
        #expect(try await bench.zoneChanges().picture == "")
        #expect(try await bench.zoneChanges(since: token).error?.nativeCode == .changeTokenExpired)
    }

    @Test func theDefaultZoneHasNoChanges() async throws {
        let bench = try Bench()
        #expect(try await bench.zoneChanges(in: .defaultZone).error?.reason == "cannot get changes in default zone")
    }

    enum BadToken: String, CaseIterable {
        case garbage, empty, tampered, otherZone, ofDatabase, otherUser, otherEpoch, fromTheFuture
    }

    @Test(arguments: BadToken.allCases)
    func aTokenThatIsNotOfThisZoneHasExpired(_ item: BadToken) async throws {
        let bench = try await Bench.withGarden()
        let bo = bench.call(user: "_bo")
        try await bench.makeZone(Bench.garden, bo)
        try await bench.makeZone(ZoneID(zoneName: "Shed"))
        let good = try #require(try await bench.zoneChanges().changes?.syncToken)
        func made(_ epoch: Int64, _ number: Int64) -> String {
            ChangeToken(subject: .zone(key: 1), epoch: epoch, number: number)
                .sealed(for: bench.call().partition, by: bench.store.sealer)
        }
        let bad: String? =
            switch item {
            case .garbage: "AQAAAAAAAAF"
            case .empty: ""
            case .tampered: good.dropLast(1) + (good.hasSuffix("0") ? "1" : "0")
            case .otherZone: try await bench.zoneChanges(in: ZoneID(zoneName: "Shed")).changes?.syncToken
            case .ofDatabase: try await bench.databaseChanges().syncToken
            case .otherUser: try await bench.zoneChanges(as: bo).changes?.syncToken
            case .otherEpoch: made(2, 1)
            case .fromTheFuture: made(1, 1000)
            }
        #expect(try await bench.zoneChanges(since: made(1, 1)).error == nil, "the token this test makes by hand is good")
        let error = try await bench.zoneChanges(since: bad).error
        #expect(error?.code == .badRequest)
        #expect(error?.nativeCode == .changeTokenExpired)
        let ofDatabase = await refusal { try await bench.databaseChanges(since: item == .ofDatabase ? good : bad) }
        #expect(ofDatabase?.nativeCode == .changeTokenExpired)
    }

    @Test func aTokenOlderThanTheRememberedDeletionsHasExpired() async throws {
        let bench = try await Bench.withGarden()
        try await bench.makeZone(ZoneID(zoneName: "Shed"))
        try await bench.modify(.init(.create, .plant("p1")), .init(.create, .plant("p2")))
        let early = try await bench.zoneChanges(limit: 1).changes?.syncToken
        let earlyDatabase = try await bench.databaseChanges().syncToken
        try await bench.modify(.init(.forceDelete, .plant("p1")))
        try await bench.deleteZone(ZoneID(zoneName: "Shed"))
        let late = try await bench.zoneChanges().changes?.syncToken
        let lateDatabase = try await bench.databaseChanges().syncToken
        try await bench.store.removeExpired(now: Bench.start + 91 * 86_400_000)
        #expect(try await bench.zoneChanges(since: early).error?.nativeCode == .changeTokenExpired)
        #expect(try await bench.zoneChanges(since: late).picture == "")
        #expect(await refusal { try await bench.databaseChanges(since: earlyDatabase) }?.nativeCode == .changeTokenExpired)
        #expect(try await bench.databaseChanges(since: lateDatabase).zones.isEmpty)
    }
}
