// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudConsole
import CloudService
import Foundation
import ServiceFixtures
import TestBasics
import Testing

@testable import TarnCommands

/// The page with the ways to a container for clients other than apps on Linux.
@Suite struct ReachPageTests {
    private static let page = "\(ConsoleTests.base)/reach"

    /// The code of the page, as a browser copies it.
    private static func codes(in text: String) -> [String] {
        text.matches(of: /<pre id="[^"]+">([^<]*)<\/pre>/).map { match in
            [("&quot;", "\""), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")].reduce(String(match.1)) {
                $0.replacing($1.0, with: $1.1)
            }
        }
    }

    /// A session on a console with an address for apps.
    private static func visitor(_ village: Village, serviceAddress: String) async -> BrowserSession {
        let visitor = BrowserSession(
            village, console: Console(service: village.service, storage: village.store, serviceAddress: serviceAddress))
        _ = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        return visitor
    }

    @Test func itsCommandsNameThisServerAndTheContainer() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let visitor = await Self.visitor(village, serviceAddress: "https://apps.example")
        let codes = Self.codes(in: await visitor.get(Self.page).text)
        let commands = codes.flatMap { $0.replacing("\\\n", with: "").split(separator: "\n") }.filter { $0.hasPrefix("tarn ") }
        #expect(commands.count == 9)
        for command in commands {
            let words = command.split(separator: " ").dropFirst().map { String($0).replacing("'", with: "") }
            #expect(throws: Never.self, "\(command)") { try TarnCommand.parseAsRoot(words) }
        }
        for command in ["pull", "push", "compare", "sign-in"] {
            let line = try #require(commands.first { $0.hasPrefix("tarn icloud \(command) ") })
            #expect(line.contains("--container \(Village.container) --environment development"))
            #expect(line.contains("--server 'https://apps.example'") == (command != "sign-in"))
        }
        let snippet = try #require(codes.first { $0.contains("TarnMirror.Options") })
        #expect(snippet.contains(#"containerIdentifier: "\#(Village.container)", server: "https://apps.example""#))
        #expect(snippet.contains("options.environment = .development"))
    }

    /// Mirrors and commands send no token without encryption to another machine.
    @Test func anAddressWithoutEncryptionIsPointedOut() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let warning = "other machines need an https address"
        #expect(await visitor.get(Self.page).text.contains(warning))
        #expect(await !Self.visitor(village, serviceAddress: "https://apps.example").get(Self.page).text.contains(warning))
    }

    @Test func itListsTheKindsOfClientsByTheirLastRequest() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        #expect(await visitor.get(Self.page).text.contains("No client has used it since the server started."))
        func note(_ agent: String?, _ container: String = Village.container) {
            visitor.console.note(
                RequestNote(
                    time: village.clock.now, method: "POST", endpoint: "records/modify", status: 200, errorCode: nil, milliseconds: 1,
                    requestUUID: "r", path: "/database/1/\(container)/development/private/records/modify",
                    client: ClientKind(userAgent: agent)))
            village.clock.advance(seconds: 60)
        }
        note("TarnMirror/0.2.0")
        note("Tarn/0.2.0")
        note("Mozilla/5.0", "iCloud.org.example.other")
        let text = await visitor.get(Self.page).text
        let mirror = try #require(text.range(of: "TarnMirror: apps on Apple’s platforms"))
        let module = try #require(text.range(of: "Tarn’s CloudKit module"))
        #expect(module.lowerBound < mirror.lowerBound)
        #expect(!text.contains("Browsers, with CloudKit JS"))
    }

    @Test(
        arguments: [
            ("Tarn/0.2.0", ClientKind.cloudKit), ("TarnMirror/0.2.0", .mirror), ("tarn", .command), ("Mozilla/5.0 (X11)", .browser),
            ("curl/8", .other),
            ("", .other), (nil, .other),
        ] as [(String?, ClientKind)])
    func aClientIsKnownByItsUserAgent(_ agent: String?, _ kind: ClientKind) {
        #expect(ClientKind(userAgent: agent) == kind)
    }

    @Test func itTellsWhetherProductionHasTheSchema() async throws {
        let (_, visitor) = try await BrowserSession.signedIn()
        #expect(await visitor.get(Self.page).text.contains("that production lacks"))
        #expect(await visitor.confirm("\(ConsoleTests.base)/schema", ["do": "deploy"]).status == 303)
        #expect(await visitor.get(Self.page).text.contains("Production has the schema of development."))
        #expect(await visitor.get("\(Self.page)/more").status == 404)
        #expect(await visitor.post(Self.page, [:]).status == 404)
    }
}
