// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import ServiceFixtures
import TestBasics
import Testing

/// Lists of connected devices.
@Suite struct DevicePagesTests {
    private static func listen(_ villager: Village.Villager, _ credential: CredentialReference?) -> PushListener {
        let audience = PushAudience(
            containerIdentifier: Village.container, environment: .development, userRecordName: villager.name)
        let everybody = PushAudience.public(containerIdentifier: Village.container, environment: .development)
        return villager.village.hub.listen([audience, everybody], deviceID: "chosen", credential: credential, wantsChanges: false)
    }

    @Test func connectedDevicesOfAllAccountsAreListed() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let bo = try await village.villager("bo")
        #expect(await visitor.get("/console/devices.json").text == #"{"total":0,"devices":[]}"#)
        let account = try #require(try await village.store.account(named: "bo"))
        let device = try #require(try await village.store.accesses(ofUser: "bo").first).id
        let listener = Self.listen(bo, .device(account: account, deviceID: device))
        let page = await visitor.get("/console/devices").text
        #expect(page.contains(#"<a href="/console/users/bo">bo</a>"#))
        #expect(page.contains("<td>tablet</td>"))
        #expect(page.contains("2030-03-17 17:46:40.000"))
        #expect(page.contains(#"<strong id="total">1</strong>"#))
        village.clock.advance(seconds: 1)
        let everybody = PushAudience.public(containerIdentifier: Village.container, environment: .development)
        let other = village.hub.listen(everybody, deviceID: "")
        let lines = await visitor.get("/console/devices.json").text
        #expect(lines.contains(#"{"total":2,"devices":[{"account":"","label":"anonymous client","#))
        #expect(lines.contains(#""account":"bo","label":"tablet","#))
        listener.close()
        other.close()
        #expect(await visitor.get("/console/devices.json").text.contains(#""total":0"#))
    }

    @Test func thePageOfAnAccountMarksItsConnectedDevices() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let bo = try await village.villager("bo")
        let account = try #require(try await village.store.account(named: "bo"))
        let device = try #require(try await village.store.accesses(ofUser: "bo").first).id
        #expect(await visitor.get("/console/users/bo/devices.json").text == #"{"connected":[]}"#)
        // Another account's device with the same identifier.
        let stranger = Self.listen(bo, .device(account: account + 1, deviceID: device))
        #expect(await visitor.get("/console/users/bo/devices.json").text == #"{"connected":[]}"#)
        let first = Self.listen(bo, .device(account: account, deviceID: device))
        village.clock.advance(seconds: 1)
        let second = Self.listen(bo, .device(account: account, deviceID: device))
        let lines = await visitor.get("/console/users/bo/devices.json").text
        #expect(lines == #"{"connected":[{"id":"\#(device)","since":1900000000000}]}"#)
        let page = await visitor.get("/console/users/bo").text
        #expect(page.contains(#"data-address="/console/users/bo/devices.json""#))
        #expect(page.contains(#"data-access="\#(device)">2030-03-17 17:46:40.000</td>"#))
        for listener in [stranger, first, second] { listener.close() }
        #expect(await visitor.get("/console/users/nobody/devices.json").status == 404)
    }

    @Test func sessionsOfTheConsoleAreListedWithTheirLastUse() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        village.clock.advance(seconds: 5)
        #expect(await visitor.get("/console/settings").status == 200)
        try await village.service.requestCredentials.storeUses()
        let accesses = try await village.store.accesses(ofUser: "mia")
        let session = try #require(accesses.first { $0.kind == .session(.console, deviceID: nil) })
        #expect(session.lastUse?.time == village.clock.now)
    }

    @Test func theLastUseOfASessionIsShownAndGrows() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        for _ in 0..<2 {
            village.clock.advance(seconds: 60)
            let time = TimestampText.text(village.clock.now)
            #expect(await visitor.get("/console/settings").status == 200)
            #expect(await !visitor.get("/console/users/mia").text.contains("<td>\(time)</td>"))
            try await village.service.requestCredentials.storeUses()
            #expect(await visitor.get("/console/users/mia").text.contains("<td>\(time)</td>"))
        }
    }

    @Test func connectionsAreListedOnceAndTheNewestFirst() {
        let clock = HandClock()
        let hub = PushHub(now: { clock.now })
        let user = PushAudience(containerIdentifier: "app", environment: .production, userRecordName: "_mia")
        let everybody = PushAudience.public(containerIdentifier: "app", environment: .production)
        let session = CredentialReference.session(idHash: Array(0..<32))
        let first = hub.listen([everybody, user], deviceID: "a", credential: session, wantsChanges: false)
        clock.advance(seconds: 1)
        hub.expectPolls(user, deviceID: "b", credential: .serverKey(id: "k"))
        let connections = hub.connections
        #expect(connections.map(\.deviceID) == ["b", "a"])
        #expect(connections.allSatisfy { $0.audience == user })
        #expect(connections.map(\.accessID) == [nil, "0001020304050607"])
        #expect(connections[0].began - connections[1].began == 1000)
        first.close()
        #expect(hub.connections.map(\.deviceID) == ["b"])
    }
}
