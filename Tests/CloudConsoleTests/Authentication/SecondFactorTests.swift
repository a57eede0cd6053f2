// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudStorageSupport
import CloudWire
import Foundation
import ServiceFixtures
import StorageFixtures
import TestBasics
import Testing

@testable import TarnCommands

/// Codes of an authenticator app after the password.
@Suite struct SecondFactorTests {
    /// Text between two others on a page.
    private static func text(_ page: String, after start: String, before end: String) -> String? {
        guard let from = page.range(of: start), let to = page[from.upperBound...].range(of: end) else { return nil }
        return String(page[from.upperBound..<to.lowerBound])
    }

    /// The app's code now, or some steps from now.
    private static func code(_ secret: [UInt8], _ village: Village, steps: Int64 = 0) -> String {
        TimeCode.code(of: secret, step: TimeCode.step(at: village.clock.now) + steps)
    }

    private static func bytes(ofBase32 text: String) -> [UInt8] {
        var (bytes, buffer, bits) = ([UInt8](), 0, 0)
        for letter in text.utf8 {
            let value = Int(letter) - (letter >= 65 ? 65 : 24)
            (buffer, bits) = ((buffer << 5 | value) & 0xFFFF, bits + 5)
            if bits >= 8 { bytes.append(UInt8(buffer >> (bits - 8) & 255)); bits -= 8 }
        }
        return bytes
    }

    /// Turns mia's second factor on in the console. A minute later its codes are new.
    private static func turnedOn() async throws -> (Village, BrowserSession, secret: [UInt8], recovery: [String]) {
        let (village, visitor) = try await BrowserSession.signedIn()
        let setup = await visitor.post("/console/second-factor", ["do": "begin", "password": "correct horse"])
        let address = try #require(text(setup.text, after: "href=\"otpauth", before: "\""))
        let secret = bytes(ofBase32: try #require(text(address, after: "secret=", before: "&")))
        #expect(secret.count == TimeCode.secretBytes)
        let confirmed = await visitor.post("/console/second-factor", ["do": "confirm", "code": code(secret, village)])
        let codes = try #require(text(confirmed.text, after: "<pre class=\"secret\">", before: "</pre>")).split(separator: "\n").map(
            String.init)
        #expect(codes.count == 10)
        village.clock.advance(seconds: 60)
        return (village, visitor, secret, codes)
    }

    private static func challenge(_ visitor: BrowserSession) async throws -> String {
        let page = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        #expect(page.status == 200)
        #expect(!page.headers.contains { $0.name == "Set-Cookie" })
        return try #require(text(page.text, after: "name=\"challenge\" value=\"", before: "\""))
    }

    private static func enter(_ code: String, _ challenge: String, _ visitor: BrowserSession) async -> Int {
        await visitor.post("/console/signin", ["challenge": challenge, "code": code], code: "").status
    }

    @Test func theConsoleRequestsACodeAfterThePassword() async throws {
        let (village, _, secret, _) = try await Self.turnedOn()
        let visitor = BrowserSession(village)
        let challenge = try await Self.challenge(visitor)
        #expect(await visitor.get("/console").text.contains("name=\"password\""), "the password alone opens nothing")
        #expect(await Self.enter("000000", challenge, visitor) == 401)
        #expect(await Self.enter(Self.code(secret, village), challenge, visitor) == 303)
        #expect(await visitor.get("/console").text.contains("Containers"))
    }

    @Test func theRequestedPageOpensAfterTheCode() async throws {
        let (village, _, secret, _) = try await Self.turnedOn()
        let visitor = BrowserSession(village)
        let next = "/console/users?q=m"
        let field = #"name="next" value="\#(next)""#
        let page = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse", "next": next], code: "").text
        #expect(page.contains(field), "\(page)")
        let challenge = try #require(Self.text(page, after: "name=\"challenge\" value=\"", before: "\""))
        let wrong = await visitor.post("/console/signin", ["challenge": challenge, "code": "000000", "next": next], code: "").text
        #expect(wrong.contains(field), "\(wrong)")
        let form = ["challenge": challenge, "code": Self.code(secret, village), "next": next]
        let signedIn = await visitor.post("/console/signin", form, code: "")
        #expect(signedIn.headers.first { $0.name == "Location" }?.value == next)
    }

    @Test func aCodeIsAcceptedOnce() async throws {
        let (village, _, secret, _) = try await Self.turnedOn()
        let visitor = BrowserSession(village)
        let challenge = try await Self.challenge(visitor)
        let code = Self.code(secret, village, steps: 1), earlier = Self.code(secret, village)
        #expect(await Self.enter(code, challenge, visitor) == 303)
        #expect(await Self.enter(code, challenge, visitor) == 401)
        #expect(await Self.enter(earlier, challenge, visitor) == 401, "a code of before the last one was seen, too")
    }

    @Test func codesOfNeighbouringTimeStepsAreAccepted() async throws {
        let (village, _, secret, _) = try await Self.turnedOn()
        let visitor = BrowserSession(village)
        let challenge = try await Self.challenge(visitor)
        #expect(await Self.enter(Self.code(secret, village, steps: -2), challenge, visitor) == 401)
        #expect(await Self.enter(Self.code(secret, village, steps: 2), challenge, visitor) == 401)
        #expect(await Self.enter(Self.code(secret, village, steps: -1), challenge, visitor) == 303)
        #expect(await Self.enter(Self.code(secret, village, steps: 1), challenge, visitor) == 303)
    }

    @Test func aRecoveryCodeIsAcceptedOnce() async throws {
        let (village, _, _, recovery) = try await Self.turnedOn()
        let visitor = BrowserSession(village)
        let challenge = try await Self.challenge(visitor)
        #expect(await Self.enter(recovery[0].uppercased().replacing("-", with: " "), challenge, visitor) == 303)
        #expect(await Self.enter(recovery[0], challenge, visitor) == 401)
        #expect(await Self.enter(recovery[1], challenge, visitor) == 303)
        let account = try #require(try await village.store.account(named: "mia"))
        #expect(try await village.store.secondFactor(ofAccount: account)?.recoveryCodes == 8)
        let stored = try village.place.storedBytes()
        #expect(stored.firstRange(of: Data(recovery[2].utf8)) == nil)
        #expect(stored.firstRange(of: Data(recovery[2].replacing("-", with: "").uppercased().utf8)) == nil)
    }

    /// A stranger with the password cannot guess without end: signing in again does not forget wrong codes.
    @Test func wrongCodesAreThrottledLikeWrongPasswords() async throws {
        let (village, _, secret, _) = try await Self.turnedOn()
        let visitor = BrowserSession(village)
        for _ in 0..<5 {
            let challenge = try await Self.challenge(visitor)
            #expect(await Self.enter("000000", challenge, visitor) == 401)
        }
        let account = try #require(try await village.store.account(named: "mia"))
        let refused = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        #expect(refused.status == 429)
        #expect(try await village.store.secondFactor(ofAccount: account) != nil)
        village.clock.advance(seconds: 60)
        #expect(await Self.enter(Self.code(secret, village), try await Self.challenge(visitor), visitor) == 303)
    }

    @Test func aChallengeExpiresAndIsValidForTheConsoleOnly() async throws {
        let (village, _, secret, _) = try await Self.turnedOn()
        let visitor = BrowserSession(village)
        let late = try await Self.challenge(visitor)
        village.clock.advance(seconds: 300)
        #expect(await Self.enter(Self.code(secret, village), late, visitor) != 303)
        #expect(await Self.enter(Self.code(secret, village), late.replacing("0", with: "1"), visitor) != 303)
        let place = SignInPlace(containerIdentifier: Village.container, environment: .development, isKept: false)
        let result = try await village.service.signIns.signIn(name: "mia", password: "correct horse", to: place, network: "")
        guard case .needsCode(let web) = result else {
            Issue.record("web apps ask for a code, too")
            return
        }
        #expect(await Self.enter(Self.code(secret, village), web, visitor) != 303)
        #expect(try await village.store.accesses(ofUser: "mia").count == 2, "a device, and the session that turned the factor on")
    }

    @Test func enablingTheSecondFactorNeedsThePassword() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let refused = await visitor.post("/console/second-factor", ["do": "begin", "password": "wrong"])
        #expect(refused.status == 401)
        #expect(!refused.text.contains("otpauth"))
        #expect(await visitor.post("/console/second-factor", ["do": "confirm", "code": "123456"]).status == 401)
        let account = try #require(try await village.store.account(named: "mia"))
        #expect(try await village.store.secondFactor(ofAccount: account) == nil)
    }

    @Test func disablingTheSecondFactorNeedsACode() async throws {
        let (village, visitor, secret, _) = try await Self.turnedOn()
        let account = try #require(try await village.store.account(named: "mia"))
        await #expect(throws: StorageFailure.self) { try await village.store.beginSecondFactor(ofAccount: account, now: village.clock.now) }
        #expect(await visitor.post("/console/second-factor", ["do": "off", "code": "000000"]).status == 401)
        #expect(try await village.store.secondFactor(ofAccount: account) != nil)
        #expect(await visitor.post("/console/second-factor", ["do": "off", "code": Self.code(secret, village)]).status == 303)
        #expect(try await village.store.secondFactor(ofAccount: account) == nil)
        let actions = try await village.store.auditEvents(before: nil, limit: 20).map { "\($0.event.action) \($0.event.outcome.rawValue)" }
        #expect(actions.contains("second-factor.on done"))
        #expect(actions.contains("second-factor.off refused"))
        #expect(actions.contains("second-factor.off done"))
    }

    @Test func aCommandOnTheServerDisablesTheSecondFactor() async throws {
        let (village, _, _, _) = try await Self.turnedOn()
        var command = try #require(
            try TarnCommand.parseAsRoot(["user", "second-factor", "mia", "--off"] + village.place.arguments)
                as? any AsyncParsableCommand)
        try await command.run()
        let visitor = BrowserSession(village)
        #expect(await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "").status == 303)
        let last = try await village.store.auditEvents(before: nil, limit: 2).map(\.event.action)
        #expect(last == ["console.sign-in", "user.second-factor.off"])
        await #expect(throws: (any Error).self) { try await command.run() }
    }
}
