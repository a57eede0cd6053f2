// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import TestBasics
import Testing

@testable import TarnCommands

/// The page on which people sign in for a web app, and the console's own sign-in, against pages of other sites.
@Suite struct SignInPageTests {
    /// The address of the sign-in page in the response to a page of `origin`; nil if it has none.
    private static func address(_ village: Village, origin: String?) async throws -> String? {
        let token = try await village.store.addAPIToken(
            APIToken(containerIdentifier: Village.container, environment: .development, label: "page"), now: village.clock.now)
        var request = ServiceRequest(
            method: "GET", path: "/database/1/\(Village.container)/development/private/zones/list", query: "ckAPIToken=\(token)",
            baseURL: "http://tarn.example")
        request.headers["origin"] = origin
        guard case .bytes(let bytes) = await village.service.respond(to: request).body else { return nil }
        return try WireError(json: bytes).redirectURL
    }

    @Test func theSignInPageNamesTheRequestingOrigin() async throws {
        let village = try Village()
        let visitor = BrowserSession(village)
        let address = try #require(try await Self.address(village, origin: "https://evil.example"))
        let page = await visitor.get(String(address.dropFirst("http://tarn.example".count)))
        #expect(page.text.contains("<strong>https://evil.example</strong>"))
        #expect(page.headers.contains { $0.name == "Cross-Origin-Opener-Policy" && $0.value == "unsafe-none" }, "the opener gets the token")
    }

    @Test(arguments: ["null", "*", "evil.example", "https://", "https://a/b", "https://a b", "javascript://x"])
    func malformedOriginsReceiveNoSignInURL(_ origin: String) async throws {
        #expect(try await Self.address(try Village(), origin: origin) == nil)
    }

    @Test func programsWithoutAnOriginReceiveASignInURL() async throws {
        #expect(try await Self.address(try Village(), origin: nil) != nil)
    }

    @Test func consoleSignInIsRejectedForSandboxedAndForeignPages() async throws {
        let (_, visitor) = try await BrowserSession.signedIn()
        let form = "name=mia&password=correct+horse"
        #expect(await visitor.send("POST", "/console/signin", form, origin: "null").status == 403)
        #expect(await visitor.send("POST", "/console/signin", form, origin: "https://evil.example").status == 403)
        let own = "http://tarn.example"
        #expect(await visitor.send("POST", "/console/signin", form, origin: own, headers: ["sec-fetch-site": "cross-site"]).status == 403)
        #expect(await visitor.send("POST", "/console/signin", form, origin: own, headers: ["sec-fetch-site": "same-origin"]).status == 303)
    }

    @Test func signingInOpensTheRequestedPage() async throws {
        let (village, first) = try await BrowserSession.signedIn()
        let visitor = BrowserSession(village, console: first.console)
        let page = "/console/c/\(Village.container)/development/records?place=private%2Fa%2Fb&type=Plant"
        let asked = await visitor.get(page).text
        #expect(asked.contains(#"name="next" value="\#(page.replacing("&", with: "&amp;"))""#), "\(asked)")
        let wrong = await visitor.post("/console/signin", ["name": "mia", "password": "wrong one", "next": page], code: "").text
        #expect(wrong.contains(#"name="next" value="/console/c/"#), "\(wrong)")
        let signedIn = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse", "next": page], code: "")
        #expect(signedIn.headers.first { $0.name == "Location" }?.value == page)
    }

    @Test(arguments: [
        "https://evil.example", "//evil.example", "/consolex", "/signin", "/console/\r\nSet-Cookie: a=b", "/console/\\evil.example", "",
        "/console/" + String(repeating: "x", count: 5000),
    ])
    func signingInOpensNoOtherAddress(_ address: String) async throws {
        let (village, first) = try await BrowserSession.signedIn()
        let visitor = BrowserSession(village, console: first.console)
        let signedIn = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse", "next": address], code: "")
        #expect(signedIn.headers.first { $0.name == "Location" }?.value == "/console")
    }

    @Test func aFormOfAnEndedSessionSaysThatNothingWasSaved() async throws {
        let (village, first) = try await BrowserSession.signedIn()
        let visitor = BrowserSession(village, console: first.console)
        let page = "/console/c/\(Village.container)/development/records/public/_defaultZone/p"
        let refused = await visitor.post(page, ["do": "save"], code: "")
        #expect(refused.status == 403)
        #expect(refused.text.contains("nothing of the form was saved"))
        #expect(refused.text.contains(#"name="next" value="\#(page)""#))
        #expect(await visitor.post("/console/signout", [:], code: "").text.contains("nothing of the form") == false)
    }

    /// A download must not be a file with the sign-in page, and signing in opens no download.
    @Test(arguments: ["csv", "json"]) func anExportWithoutASessionIsRefused(_ kind: String) async throws {
        let (village, first) = try await BrowserSession.signedIn()
        let visitor = BrowserSession(village, console: first.console)
        let answer = await visitor.get("\(ConsoleTests.base)/records/export.\(kind)?place=public/_defaultZone&type=Plant")
        #expect(answer.status == 403)
        #expect(!answer.headers.contains { $0.name == "Content-Disposition" })
        #expect(answer.text.contains(#"name="password""#))
        #expect(!answer.text.contains(#"name="next""#))
    }

    @Test func tokensForProductionRequireOrigins() {
        let arguments = ["token", "add", "--container", "iCloud.org.example.notes", "--environment", "production"]
        #expect(throws: (any Error).self) { try TarnCommand.parseAsRoot(arguments) }
        #expect(throws: Never.self) { try TarnCommand.parseAsRoot(arguments + ["--origin", "https://app.example.org"]) }
    }
}
