// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudStorageSupport
import CloudWire
import ServiceFixtures
import TestBasics
import Testing

@testable import CloudConsole

/// Acts that need the operator's password again.
@Suite struct ConfirmationTests {
    private let village: Village
    private let visitor: BrowserSession

    init() async throws {
        (village, visitor) = try await BrowserSession.signedIn()
        _ = try await village.villager("bo")
    }

    private static let tokens = "/console/c/\(Village.container)/production/tokens"

    private func asks(_ path: String, _ fields: [String: String]) async -> Bool {
        await visitor.post(path, fields).text.contains("name=\"confirm-password\"")
    }

    private func hasPassword(_ password: String, _ name: String = "bo") async throws -> Bool {
        try await village.store.account(named: name, password: password) != nil
    }

    @Test func aPasswordIsSetAfterTheOperatorsOwnPassword() async throws {
        village.clock.advance(seconds: 299)
        #expect(await !asks("/console/users/bo", ["do": "password", "password": "battery staple"]))
        village.clock.advance(seconds: 1)
        let form = ["do": "password", "password": "staple <battery>"]
        let asked = await visitor.post("/console/users/bo", form)
        #expect(asked.text.contains("name=\"confirm-password\""))
        #expect(asked.text.contains("name=\"password\" value=\"staple &lt;battery&gt;\""))
        #expect(asked.text.contains("name=\"do\" value=\"password\""))
        let wrong = await visitor.post("/console/users/bo", form.merging(["confirm-password": "wrong"]) { $1 })
        #expect(wrong.status == 401)
        #expect(wrong.text.contains("The password is wrong."))
        #expect(!wrong.text.contains("value=\"wrong\""))
        #expect(try await !hasPassword("staple <battery>"))
        let confirmed = form.merging(["confirm-password": "correct horse"]) { $1 }
        #expect(await visitor.post("/console/users/bo", confirmed).status == 303)
        #expect(try await hasPassword("staple <battery>"))
        // For five minutes.
        #expect(await !asks("/console/users/bo", ["do": "password", "password": "battery staple"]))
        village.clock.advance(seconds: 300)
        #expect(await asks("/console/users/bo", form))
    }

    @Test func actsThatGiveAccessNeedAConfirmation() async throws {
        let deploy = try #require(
            await visitor.post("\(ConsoleTests.base)/schema", ["do": "deploy"]).text.components(
                after: "name=\"confirmed\" value=\"", before: "\""))
        village.clock.advance(seconds: 300)
        let acts: [(String, [String: String])] = [
            ("/console/users/bo", ["do": "profile", "operator": "yes"]), ("/console/users/bo", ["do": "device", "device": "phone"]),
            ("/console/users/mia", ["do": "password", "password": "correct donkey"]), (Self.tokens, ["do": "add-token", "label": "x"]),
            (Self.tokens, ["do": "rotate-token", "id": "1"]), (Self.tokens, ["do": "add-key", "label": "x"]),
            (Self.tokens, ["do": "rotate-key", "id": "1"]), (Self.tokens + "/more", ["do": "add-token", "label": "x"]),
            ("/console/users/bo/more", ["do": "device", "device": "phone"]),
            ("\(ConsoleTests.base)/schema", ["do": "deploy", "confirmed": deploy]),
        ]
        for (path, fields) in acts { #expect(await asks(path, fields), "\(path) \(fields)") }
        #expect(try await village.store.profiles().filter(\.isOperator).map(\.accountName) == ["mia"])
        #expect(try await village.store.users().first { $0.name == "bo" }?.devices.contains("phone") == false)
        #expect(try await village.store.apiTokens().isEmpty)
        #expect(try await !village.service.schema(of: Village.container).differences().isEmpty)
        let others: [(String, [String: String])] = [
            ("/console/users/bo", ["do": "profile", "given": "Bo"]), ("/console/users/bo", ["do": "quota", "quota": "7000000"]),
            ("/console/users/mia", ["do": "device", "device": "phone"]),
            (Self.tokens, ["do": "remove-token", "id": "1"]), ("\(ConsoleTests.base)/schema", ["do": "deploy"]),
            ("\(ConsoleTests.base)/tokens", ["do": "add-token", "label": "x"]),
        ]
        for (path, fields) in others { #expect(await !asks(path, fields), "\(path) \(fields)") }
    }

    /// The page of another environment needs no confirmation, and does not reach credentials of production.
    @Test func aCredentialOfProductionIsChangedOnItsOwnPageOnly() async throws {
        let token = try await village.store.addAPIToken(
            APIToken(
                containerIdentifier: Village.container, environment: .production, label: "site", callbackURL: nil, allowedOrigins: [],
                expires: nil), now: village.clock.now)
        let id = try #require(try await village.store.apiTokens().first?.id)
        village.clock.advance(seconds: 301)
        for verb in ["rotate-token", "remove-token"] {
            let answer = await visitor.post("/console/c/\(Village.container)/development/tokens", ["do": verb, "id": "\(id)"])
            #expect(answer.status == 409, "\(verb)")
        }
        #expect(try await village.store.apiTokens().count == 1)
        #expect(try await village.store.apiToken(token) != nil)
    }

    @Test func wrongPasswordsOfConfirmationsAreThrottled() async throws {
        village.clock.advance(seconds: 300)
        let form = ["do": "password", "password": "battery staple", "confirm-password": "wrong"]
        var statuses: [Int] = []
        for _ in 0..<6 { statuses.append(await visitor.post("/console/users/bo", form).status) }
        #expect(statuses == [401, 401, 401, 401, 401, 429])
        let right = form.merging(["confirm-password": "correct horse"]) { $1 }
        #expect(await visitor.post("/console/users/bo", right).status == 429)
        #expect(try await !hasPassword("battery staple"))
    }

    @Test func anAccountWithASecondFactorConfirmsWithACode() async throws {
        let account = try #require(try await village.store.account(named: "mia"))
        let secret = try await village.store.beginSecondFactor(ofAccount: account, now: village.clock.now)
        func code() -> String { TimeCode.code(of: secret, step: TimeCode.step(at: village.clock.now)) }
        _ = try #require(try await village.store.confirmSecondFactor(ofAccount: account, code: code(), now: village.clock.now))
        village.clock.advance(seconds: 300)
        let form = ["do": "password", "password": "battery staple"]
        #expect(await visitor.post("/console/users/bo", form).text.contains("name=\"confirm-code\""))
        let password = form.merging(["confirm-password": "correct horse"]) { $1 }
        #expect(await visitor.post("/console/users/bo", password).text.contains("name=\"confirm-code\""))
        #expect(await visitor.post("/console/users/bo", form.merging(["confirm-code": "000000"]) { $1 }).status == 401)
        #expect(await visitor.post("/console/users/bo", form.merging(["confirm-code": code()]) { $1 }).status == 303)
        #expect(try await hasPassword("battery staple"))
    }

    @Test func anOperatorFlagNeedsAPasswordOfTheOperatorsRule() async throws {
        // An account without a password gets the rule with its first one.
        #expect(await visitor.post("/console/users/bo", ["do": "profile", "operator": "yes"]).status == 303)
        _ = try await village.villager("cy")
        try await village.store.setPassword("short one", ofUser: "cy")
        for password in ["", "eleven xx y"] {
            let form = ["do": "profile", "operator": "yes", "operator-password": password]
            #expect(await visitor.post("/console/users/cy", form).status == 400)
        }
        #expect(try await village.store.profiles().filter(\.isOperator).map(\.accountName).sorted() == ["bo", "mia"])
        let form = ["do": "profile", "operator": "yes", "operator-password": "correct battery"]
        #expect(await visitor.post("/console/users/cy", form).status == 303)
        #expect(try await village.store.profiles().filter(\.isOperator).count == 3)
        #expect(try await hasPassword("correct battery", "cy"))
    }

    @Test func confirmationsOfTheNewestSessionsAreKept() {
        let confirmations = Confirmations()
        func session(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }
        for number in 0...Confirmations.sessionsMax { confirmations.add(session(number), now: 1_000_000 + Int64(number)) }
        #expect(!confirmations.isValid(session(0), started: 0, now: 1_002_000))
        #expect(confirmations.isValid(session(1), started: 0, now: 1_002_000))
        #expect(confirmations.isValid(session(Confirmations.sessionsMax), started: 0, now: 1_002_000))
        #expect(confirmations.isValid([9], started: 1_001_999, now: 1_002_000), "a sign-in is a confirmation")
    }
}

extension String {
    /// The text between two others, the first of which occurs first.
    fileprivate func components(after start: String, before end: String) -> String? {
        let parts = split(separator: start, maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        return parts[1].split(separator: end, maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init)
    }
}
