// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import TestBasics
import Testing

/// Zones in the console: created, deleted, restored, followed.
@Suite struct ZonePagesTests {
    private static let zones = "\(ConsoleTests.base)/zones"
    private let village: Village
    private let visitor: BrowserSession
    private let mia: Village.Villager

    init() async throws {
        (village, visitor) = try await BrowserSession.signedIn()
        let token = try await village.store.addToken(userName: "mia", deviceLabel: "b", now: 0)
        mia = Village.Villager(village: village, account: "mia", token: token, name: "")
    }

    private func names() async throws -> [String] {
        let response: ZonesResponse = try await mia.ask(.private, .listZones)
        return response.zones.map(\.zoneID.zoneName).sorted()
    }

    @Test func zonesAreCreatedAndDeletedByName() async throws {
        for text in ["The zone Notes was created.", "The zone Notes exists already."] {
            let answer = await visitor.post(Self.zones, ["do": "create", "zone": "Notes"])
            #expect(answer.status == 303)
            let location = try #require(answer.location)
            #expect(await visitor.get(location).text.contains(text))
            #expect(try await names().contains("Notes"))
        }
        #expect(await visitor.post(Self.zones, ["do": "create", "zone": ""]).text.contains(#"role="alert""#))
        let delete = "\(Self.zones)/private/Notes/delete"
        #expect(await visitor.get(delete).text.contains("Type the name"))
        #expect(await visitor.post(delete, ["zone": "notes"]).status == 400)
        #expect(try await names().contains("Notes"))
        #expect(await visitor.post(delete, ["zone": "Notes"]).status == 303)
        #expect(try await !names().contains("Notes"))
        #expect(await visitor.post("\(Self.zones)/public/_defaultZone/delete", ["zone": "_defaultZone"]).status == 404)
    }

    @Test func zonesAreListedWithTheirSizes() async throws {
        try await mia.modify((0..<12).map { RecordOperation(.create, .plant("p\($0)")) })
        let page = await visitor.get(Self.zones).text
        #expect(page.contains(#"<td>Garden</td><td><code>you</code></td><td class="number">12</td>"#))
        let call = village.service.call(
            Partition(
                containerIdentifier: Village.container, environment: .development, scope: .private,
                owner: try await village.service.userRecordName(
                    of: try #require(try await village.store.account(named: "mia")), in: Village.container)),
            Caller(userRecordName: "", deviceID: "", kind: .operator), baseURL: "")
        // A zone with more changes than are counted has no number.
        #expect(
            try await village.service.zoneContents.sizes(call, limit: 10, counting: 11).first { $0.name == Village.garden }?.records == nil)
        #expect(
            try await village.service.zoneContents.sizes(call, limit: 10, counting: 12).first { $0.name == Village.garden }?.records == 12)
    }

    /// Browsers remove the segments `.` and `..` from addresses.
    @Test func namesOfDotsHaveAddresses() async throws {
        let names = [".", "..", "~.", "~..", "~~.."]
        for name in names {
            #expect(await visitor.post(Self.zones, ["do": "create", "zone": name]).status == 303)
            let record = Record(recordName: name, recordType: "Dots")
            let request = ModifyRecordsRequest(operations: [RecordOperation(.create, record)], zoneID: ZoneID(zoneName: name))
            let response: ModifyRecordsResponse = try await mia.ask(.private, .modifyRecords, request)
            for case .failure(_, let error, _) in response.results { throw error }
        }
        let list = await visitor.get(Self.zones).text
        for name in names {
            let segment = "~\(name)"
            #expect(list.contains("\"\(Self.zones)/private/\(segment)\""))
            let record = "\(ConsoleTests.base)/records/private/\(segment)/\(segment)"
            #expect(await visitor.get("\(Self.zones)/private/\(segment)").text.contains("href=\"\(record)\""))
            #expect(await visitor.get(record).status == 200)
            #expect(await visitor.get("\(record)/history").text.contains("History of \(name)"))
            #expect(await visitor.get("\(Self.zones)/private/\(segment)/shares").text.contains("Shares in \(name)"))
        }
        #expect(await visitor.post("\(Self.zones)/private/~../delete", ["zone": ".."]).status == 303)
        #expect(try await self.names().sorted().filter { $0.hasSuffix(".") } == [".", "~.", "~..", "~~.."])
    }

    @Test func aLongListOfZonesNamesTheirNumber() async throws {
        #expect(await !visitor.get(Self.zones).text.contains("The first 200 of"))
        for start in [0, 105] {
            let operations = (start..<start + 105).map { ZoneOperation.create(ZoneID(zoneName: "Zone \($0)")) }
            let response: ZonesResponse = try await mia.ask(.private, .modifyZones, ZonesModifyRequest(operations: operations))
            for case .failure(_, let error) in response.zones { throw error }
        }
        let count = try await names().count
        #expect(count > 200)
        #expect(await visitor.get(Self.zones).text.contains("The first 200 of \(count) zones of the private database."))
        #expect(await visitor.get("\(ConsoleTests.base)/records").text.contains("The list has the first 200 zones of a database at most."))
    }

    @Test func aZoneIsRestoredToATime() async throws {
        let page = "\(Self.zones)/private/Garden/restore"
        #expect(await visitor.get(page).text.contains("keeps no history"))
        try await village.store.keepHistory(milliseconds: 86_400_000, now: village.clock.now)
        try await mia.modify([RecordOperation(.create, .plant("a"))])
        village.clock.advance(seconds: 60)
        village.clock.advance(seconds: 60)
        try await mia.modify([RecordOperation(.forceDelete, Record(recordName: "a")), RecordOperation(.create, .plant("b"))])
        #expect(await visitor.post(page, ["at": "yesterday"]).text.contains("Enter a date"))
        #expect(await visitor.post(page, ["at": "2001-01-01T00:00"]).text.contains("outside the history"))
        // The clock began at 17:46:40.
        let done = await visitor.post(page, ["at": "2030-03-17T17:47:40"])
        #expect(done.text.contains("Restored: 1 record, removed: 1."), "\(done.text)")
        #expect(try await mia.lookup("a")[0].record != nil)
        #expect(try await mia.lookup("b")[0].record == nil)
    }

    @Test func aDeletedZoneIsListedAndRestored() async throws {
        try await village.store.keepHistory(milliseconds: 86_400_000, now: village.clock.now)
        try await mia.modify([RecordOperation(.create, .plant("a"))])
        village.clock.advance(seconds: 120)
        #expect(await !visitor.get(Self.zones).text.contains("Deleted zones"))
        #expect(await visitor.post("\(Self.zones)/private/Garden/delete", ["zone": "Garden"]).status == 303)
        try await village.service.deletedZones.emptyAll()
        let page = await visitor.get(Self.zones).text
        #expect(page.contains("Deleted zones"))
        #expect(page.contains(#"<a href="\#(Self.zones)/private/Garden/restore" aria-label="Restore Garden">"#))
        // A minute after the record was saved.
        #expect(await visitor.post("\(Self.zones)/private/Garden/restore", ["at": "2030-03-17T17:47:40"]).text.contains("Zone restored"))
        #expect(try await mia.lookup("a")[0].record != nil)
        #expect(await !visitor.get(Self.zones).text.contains("Deleted zones"))
    }

    @Test func theChangeFeedBeginsWithTheNewestChangeAndContinuesByPage() async throws {
        for start in [0, 100] { try await mia.modify((start..<start + 100).map { RecordOperation(.create, .plant("p\($0)")) }) }
        let first = await visitor.get("\(Self.zones)/private/Garden").text
        let newest = try #require(first.range(of: ">p199</a>")?.lowerBound)
        #expect(newest < (try #require(first.range(of: ">p100</a>")?.lowerBound)))
        #expect(!first.contains(">p99</a>"))
        // The script's token is that of the end, although older pages follow.
        let token = try #require(first.range(of: #"data-token=""#).map { String(first[$0.upperBound...].prefix { $0 != "\"" }) })
        try await mia.modify([RecordOperation(.create, .plant("fresh"))])
        let query = ZoneChangesQuery(zoneID: ZoneID(zoneName: Village.garden), syncToken: token)
        let response: ZoneChangesResponse = try await mia.ask(.private, .zoneChanges, ZoneChangesRequest(zones: [query]))
        guard case .changes(let changes)? = response.zones.first else {
            Issue.record("the token has no changes")
            return
        }
        #expect(changes.records.map(\.recordName) == ["fresh"])
        let next = try #require(first.range(of: "?token=").map { String(first[$0.upperBound...].prefix { $0 != "\"" }) })
        let second = await visitor.get("\(Self.zones)/private/Garden?token=\(next)").text
        #expect(second.contains(">p0</a>"))
        #expect(!second.contains(">p100</a>"))
    }

    @Test func sharesAreListedWithTheirParticipants() async throws {
        #expect(await visitor.get("\(Self.zones)/private/Garden/shares").text.contains("There are no shares."))
        var share = Record(recordName: ShareDetails.zoneShareName, recordType: ShareDetails.recordType)
        share.sharing.details = ShareDetails(publicPermission: .readOnly)
        try await mia.modify([RecordOperation(.create, share)])
        let page = await visitor.get("\(Self.zones)/private/Garden/shares").text
        #expect(page.contains("the whole zone"))
        #expect(page.contains("READ_ONLY"))
        #expect(page.contains("OWNER"))
    }

    @Test func aTestNotificationIsSentForASubscription() async throws {
        let page = "\(ConsoleTests.base)/subscriptions"
        #expect(await visitor.get(page).text.contains("No subscriptions."))
        let subscription = Subscription(subscriptionID: "all <changes>", kind: .database)
        let request = SubscriptionsModifyRequest(operations: [.create(subscription)])
        _ = try await mia.ask(.private, .modifySubscriptions, request, SubscriptionsResponse.self)
        #expect(await visitor.get(page).text.contains("all &lt;changes&gt;"))
        let sent = await visitor.post(page, ["do": "test", "scope": "private", "id": "all <changes>"])
        #expect(sent.text.contains("was sent to your devices, none of which listens"))
        let account = try #require(try await village.store.account(named: "mia"))
        let name = try await village.service.userRecordName(of: account, in: Village.container)
        let audience = PushAudience(containerIdentifier: Village.container, environment: .development, userRecordName: name)
        let first = village.hub.listen(audience, deviceID: "a"), second = village.hub.listen(audience, deviceID: "b")
        let heard = await visitor.post(page, ["do": "test", "scope": "private", "id": "all <changes>"])
        #expect(heard.text.contains("was sent to 2 listening devices of yours."))
        for listener in [first, second] { listener.close() }
        #expect(await !visitor.post(page, ["do": "test", "scope": "private", "id": "other"]).text.contains("was sent"))
    }
}
