// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngineSQLite
import CloudWire
import Foundation
import GRDB
import ServiceFixtures
import StorageFixtures
import TestBasics
import Testing

@testable import CloudService
@testable import TarnCommands

@Suite struct AuditTests {
    private static func events(_ village: Village) async throws -> [AuditEvent] {
        try await village.store.auditEvents(before: nil, limit: 1000).map(\.event).reversed()
    }

    private static func words(_ event: AuditEvent) -> String { "\(event.actor) \(event.action) \(event.subject) \(event.outcome)" }

    @Test func theAuditLogListsSignInsAndRejections() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        _ = await visitor.post("/console/signin", ["name": "mia", "password": "wrong one"], code: "")
        _ = await visitor.post("/console/signin", ["name": "my password", "password": "typed as a name"], code: "")
        #expect(
            try await Self.events(village).map(Self.words) == [
                "mia console.sign-in console done", "anonymous console.sign-in mia refused",
                "anonymous console.sign-in unknown account refused",
            ])
    }

    @Test func theAuditLogListsActionsOfOperatorsWithoutUserData() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        _ = await visitor.get("/console/users")
        _ = await visitor.get("\(ConsoleTests.base)/records/public/_defaultZone/p%3C1%3E")
        _ = await visitor.post("/console/users", ["account": "bo"])
        _ = await visitor.post("/console/users/bo", ["do": "password", "password": "battery staple"])
        _ = await visitor.post("/console/users/bo", ["do": "password", "password": "battery staple"], code: "0")
        _ = await visitor.ask("private/zones/list", "")
        let place = "\(Village.container) development"
        let words = try await Self.events(village).dropFirst().map(Self.words)
        #expect(
            words == [
                "mia console.users.look server done", "mia console.records.look \(place) done", "mia console.users.post bo done",
                "mia console.users.password bo done", "mia console.users.password bo refused",
                "mia console.api.zones.list \(place) private done",
            ])
        for word in words {
            #expect(!word.contains("battery"))
            #expect(!word.contains("p<1>"))
        }
    }

    @Test func thePageHasAFilter() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        _ = await visitor.post("/console/signin", ["name": "mia", "password": "wrong one"], code: "")
        for number in 0..<250 {
            try await village.service.audit.append(
                "console.test", by: .account("bo"), network: "", subject: "subject \(number % 2 == 0 ? "even" : "odd") \(number)")
        }
        let first = await visitor.get("/console/audit").text
        #expect(first.contains("<td>subject odd 249</td>"))
        #expect(!first.contains("<td>subject odd 149</td>"))
        let even = await visitor.get("/console/audit?text=EVEN+").text
        #expect(even.contains("<td>subject even 248</td>"))
        #expect(even.contains("<td>subject even 50</td>"))
        #expect(!even.contains("<td>subject even 48</td>"))
        #expect(!even.contains("subject odd"))
        let link = try #require(even.range(of: #"href="/console/audit?"#)).upperBound
        let address = "/console/audit?" + String(even[link...].prefix { $0 != "\"" }).replacing("&amp;", with: "&")
        let older = await visitor.get(address).text
        #expect(older.contains("<td>subject even 48</td>"))
        #expect(older.contains("<td>subject even 0</td>"))
        #expect(!older.contains("Older events"))
        let refused = await visitor.get("/console/audit?outcome=refused").text
        #expect(refused.contains("<td>console.sign-in</td>"))
        #expect(!refused.contains("console.test"))
        #expect(await visitor.get("/console/audit?text=nothing+of+this").text.contains("No events that the filter shows."))
    }

    @Test func looksIntoAccountsAndRequestsAreListedAndPollingIsNot() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        for page in [
            "/console/users/mia", "/console/users/mia/devices.json", "/console/devices", "/console/devices.json", "/console/log",
            "/console/log.json", "/console/log.json?after=1", "/console/log/kept", "/console/status", "/console/settings",
        ] {
            _ = await visitor.get(page)
        }
        #expect(
            try await Self.events(village).dropFirst().map(Self.words) == [
                "mia console.users.look mia done", "mia console.devices.look server done", "mia console.log.look server done",
                "mia console.log.look kept done",
            ])
    }

    @Test func revokedCredentialsAreNamedByTheirIdentifiers() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        _ = try await village.villager("bo")
        try await village.store.setPassword("battery staple", ofUser: "bo")
        let place = SignInPlace(containerIdentifier: Village.container, environment: .development, isKept: false)
        _ = try await village.service.signIns.signIn(name: "bo", password: "battery staple", to: place, network: "")
        let accesses = try await village.store.accesses(ofUser: "bo")
        let device = try #require(accesses.first { if case .device = $0.kind { true } else { false } }).id
        let session = try #require(accesses.first { if case .session = $0.kind { true } else { false } }).id
        let page = await visitor.get("/console/users/bo").text
        #expect(page.contains("value=\"\(device)\"><button class=\"danger\" name=\"do\" value=\"revoke\""))
        #expect(page.contains("value=\"\(session)\"><button class=\"danger\" name=\"do\" value=\"end-session\""))
        #expect(await visitor.post("/console/users/bo", ["do": "end-session", "id": session]).status == 303)
        #expect(await visitor.post("/console/users/bo", ["do": "revoke", "id": device]).status == 303)
        #expect(try await village.store.accesses(ofUser: "bo").isEmpty)
        let words = try await Self.events(village).suffix(2).map(Self.words)
        #expect(words == ["mia console.users.end-session bo, \(session) done", "mia console.users.revoke bo, \(device) done"])
    }

    @Test func guessedPasswordsDoNotFillTheAuditLog() async throws {
        let village = try Village()
        _ = try await village.villager("mia")
        for number in 0..<RefusalGate.refusalsPerMinute + 30 {
            try await village.service.audit.append(
                "console.sign-in", by: .anonymous, network: "n\(number)", subject: "mia", outcome: .refused)
        }
        #expect(try await Self.events(village).count == RefusalGate.refusalsPerMinute)
        village.clock.advance(seconds: 60)
        try await village.service.audit.append("console.sign-in", by: .anonymous, network: "n", subject: "mia", outcome: .refused)
        let last = try await Self.events(village).suffix(2)
        #expect(last.map(\.action) == ["refusals.not-listed", "console.sign-in"])
        #expect(last.first?.subject == "30 more refusals in the minute before")
    }

    @Test(.onSQLite("the trigger is one of SQLite")) func auditEventsAreImmutableAndExpire() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let queue = try DatabaseQueue(path: village.folder.path + "/tarn.sqlite")
        await #expect(throws: DatabaseError.self) { try await queue.write { try $0.execute(sql: "UPDATE audit SET actor = 'eve'") } }
        try queue.close()
        try await village.store.removeAuditEvents(before: village.clock.now)
        #expect(try await Self.events(village).count == 1)
        try await village.store.removeAuditEvents(before: village.clock.now + 1)
        #expect(try await Self.events(village).isEmpty)
    }

    @Test func auditEventsDropControlCharactersAndTruncateText() {
        let event = AuditEvent(
            time: 0, actor: .account("a\nb\u{1B}[31m"), action: String(repeating: "x", count: 500), subject: "s\tt", outcome: .done)
        #expect(event.actor == "ab[31m")
        #expect(event.action.count == 200)
        #expect(event.subject == "st")
    }

    @Test func theAuditLogListsCommands() async throws {
        let folder = TemporaryFolder()
        for arguments in [
            ["user", "add", "mia"], ["user", "profile", "mia", "--operator"], ["user", "token", "mia", "--device", "phone"],
            ["user", "revoke", "mia", "--device", "phone"], ["user", "list"],
        ] {
            var command = try TarnCommand.parseAsRoot(arguments + ["--data", folder.path])
            if var asynchronous = command as? any AsyncParsableCommand { try await asynchronous.run() } else { try command.run() }
        }
        let store = try SQLiteServerStore(path: folder.path, use: .command, passwordRounds: 16)
        let events = try await store.auditEvents(before: nil, limit: 10).map(\.event).reversed()
        #expect(
            events.map { "\($0.action) \($0.subject)" } == [
                "user.add mia", "user.profile mia, operator: true", "user.token mia, phone", "user.revoke mia, phone",
                "user.list server",
            ])
        #expect(events.allSatisfy { $0.actor.hasPrefix("command line (") })
        try store.close()
    }
}
