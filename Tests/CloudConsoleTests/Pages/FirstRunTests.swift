// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
import CloudEngineSQLite
import CloudService
import ServiceFixtures
import TestBasics
import Testing

/// The one-time link that makes the first operator.
@Suite struct FirstRunTests {
    private static let form = ["account": "olga", "password": "correct horse battery", "again": "correct horse battery"]

    private let village: Village
    private let visitor: BrowserSession

    init() throws {
        village = try Village()
        visitor = BrowserSession(village)
    }

    private func secret() async throws -> String {
        let path = try #require(try await visitor.console.openFirstRun())
        return String(try #require(path.split(separator: "=").last))
    }

    private func submit(_ secret: String, _ changes: [String: String] = [:], origin: String? = nil) async -> BrowserSession.Answer {
        var fields = Self.form.merging(changes) { $1 }
        fields["secret"] = secret
        return await visitor.post("/console/first-run", fields, code: "", origin: origin)
    }

    private func operators() async throws -> [String] { try await village.store.profiles().filter(\.isOperator).map(\.accountName) }

    @Test func theSetupLinkCreatesAnOperatorAndASession() async throws {
        let secret = try await secret()
        let page = await visitor.get("/console/first-run?secret=\(secret)")
        #expect(page.status == 200)
        #expect(page.text.contains("name=\"again\""))
        let made = await submit(secret)
        #expect(made.status == 303)
        #expect(made.location == "/console")
        #expect(await visitor.get("/console").text.contains("olga"))
        #expect(try await operators() == ["olga"])
        let events = try await village.store.auditEvents(before: nil, limit: 10).map { "\($0.event.actor) \($0.event.action)" }
        #expect(events.contains("olga console.first-run"))
        #expect(try await village.store.account(named: "olga", password: Self.form["password"] ?? "") != nil)
    }

    @Test func theSetupLinkIsAcceptedOnce() async throws {
        let secret = try await secret()
        #expect(await submit(secret).status == 303)
        let again = await submit(secret, ["account": "eve"])
        #expect(again.status == 403)
        #expect(again.text.contains("does not work"))
        #expect(try await operators() == ["olga"])
    }

    @Test func concurrentSetupFormsCreateOneOperator() async throws {
        let (secret, console) = (try await secret(), visitor.console)
        let statuses = await withTaskGroup(of: Int.self) { group in
            for number in 0..<4 {
                let body = "secret=\(secret)&account=o\(number)&password=correct%20horse%20battery&again=correct%20horse%20battery"
                group.addTask {
                    let request = ServiceRequest(
                        method: "POST", path: "/console/first-run", query: "", headers: [:], body: .bytes(Array(body.utf8)),
                        baseURL: "http://tarn.example")
                    return await console.respond(to: request)?.status ?? 0
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [303, 403, 403, 403])
        #expect(try await operators().count == 1)
    }

    @Test func theSetupLinkExpires() async throws {
        let secret = try await secret()
        village.clock.advance(seconds: 3599)
        #expect(await visitor.get("/console/first-run?secret=\(secret)").status == 200)
        village.clock.advance(seconds: 1)
        #expect(await submit(secret).status == 403)
        #expect(try await operators().isEmpty)
    }

    @Test func aServerWithAnOperatorHasNoSetupLink() async throws {
        _ = try await village.villager("mia")
        let secret = try await secret()
        try await village.store.updateProfile(ofUser: "mia") { $0.isOperator = true }
        #expect(try await visitor.console.openFirstRun() == nil)
        // A command may have made the operator after the link was printed.
        #expect(await submit(secret).status == 403)
        #expect(try await operators() == ["mia"])
    }

    @Test(arguments: [
        (["account": "o l"], "letters, digits"), (["account": ""], "letters, digits"), (["password": "eleven char"], "12 characters"),
        (["again": "correct horse batter"], "differ"), (["account": "mia"], "exists"),
    ])
    func rejectedSetupFormsKeepTheLink(_ changes: [String: String], _ problem: String) async throws {
        _ = try await village.villager("mia")
        let secret = try await secret()
        let refused = await submit(secret, changes)
        #expect(refused.status == 400)
        #expect(refused.text.contains(problem))
        #expect(!refused.text.contains(Self.form["password"] ?? ""), "the page repeats a password")
        #expect(try await operators().isEmpty)
        #expect(await submit(secret).status == 303)
    }

    /// The notes of a first app belong to an account that a command made, with devices and no password.
    @Test func anAccountWithoutAPasswordBecomesTheOperatorOnConfirmation() async throws {
        let token = try await village.store.addUser(name: "me", deviceLabel: "phone", now: 0)
        let secret = try await secret()
        #expect(await visitor.get("/console/first-run?secret=\(secret)").text.contains("value=\"me\""))
        let asked = await submit(secret, ["account": "me"])
        #expect(asked.status == 400)
        #expect(asked.text.contains("name=\"claim\""))
        #expect(try await operators().isEmpty)
        #expect(await submit(secret, ["account": "me", "claim": "on"]).status == 303)
        #expect(try await operators() == ["me"])
        #expect(await visitor.get("/console").text.contains("me"))
        #expect(try await village.store.device(forToken: token, now: 0) != nil)
        #expect(try await village.store.profiles().count == 1)
        let events = try await village.store.auditEvents(before: nil, limit: 10).map { "\($0.event.actor) \($0.event.action)" }
        #expect(events.contains("me console.first-run.claim"))
    }

    @Test func anAccountThatSomebodySignsInToCannotBeClaimed() async throws {
        _ = try await village.villager("mia")
        try await village.store.setPassword("another horse battery", ofUser: "mia")
        let secret = try await secret()
        let refused = await submit(secret, ["account": "mia", "claim": "on"])
        #expect(refused.status == 400)
        #expect(!refused.text.contains("name=\"claim\""))
        #expect(try await operators().isEmpty)
        #expect(try await village.store.account(named: "mia", password: "another horse battery") != nil)
    }

    @Test func wrongSetupLinksAreThrottledAndTheValidOneIsNot() async throws {
        let secret = try await secret()
        for _ in 0..<10 { #expect(await visitor.get("/console/first-run?secret=guess").status == 403) }
        #expect(await visitor.get("/console/first-run?secret=guess").status == 429)
        #expect(await visitor.get("/console/first-run?secret=\(secret)").status == 200)
        village.clock.advance(seconds: 60)
        #expect(await visitor.get("/console/first-run").status == 403)
        let events = try await village.store.auditEvents(before: nil, limit: 100)
        #expect(events.count { $0.event.action == "console.first-run" } == 11)
        #expect(!events.contains { $0.event.subject.contains(secret) })
    }

    @Test func setupFormsOfOtherOriginsAreRejected() async throws {
        let secret = try await secret()
        #expect(await submit(secret, origin: "https://evil.example").status == 403)
        #expect(try await operators().isEmpty)
        #expect(await submit(secret, origin: "http://tarn.example").status == 303)
    }

    @Test func theConsoleShowsTheSetupLinkWhileItIsValid() async throws {
        #expect(await visitor.get("/console").text.contains("name=\"password\""))
        let secret = try await secret()
        #expect(await visitor.get("/console").text.contains("one-time link"))
        #expect(await visitor.get("/console/signin").text.contains("name=\"password\""))
        #expect(await submit(secret).status == 303)
        #expect(await BrowserSession(village).get("/console").text.contains("name=\"password\""))
    }
}
