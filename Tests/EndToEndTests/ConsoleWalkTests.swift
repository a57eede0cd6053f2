// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import TestBasics
import Testing

@testable import TarnCommands

/// The console and the JavaScript client in a browser, against a server process.
@Suite(.closesFixtures, .tags(.slow), .serialized) struct ConsoleWalkTests {
    static let container = "iCloud.org.example.notes"

    @Test(.enabled("needs Chromium, and Playwright for Python") { await Browser.isThere() }, .timeLimit(.minutes(5)))
    func anOperatorWalksTheConsoleAndAPageUsesTheScript() async throws {
        let folder = try Folder()
        let data = folder.path("data")
        let device = try await Programs.tarn(["user", "add", "mia", "--data", data], in: folder)
        let token = try await Programs.tarn(["token", "add", "--container", Self.container, "--label", "walk", "--data", data], in: folder)
        let server = try ChildProcess(
            "tarn", program: Programs.folder.appendingPathComponent("tarn"),
            arguments: ["serve", "--port", "0", "--data", data, "--exit-with-parent"],
            log: URL(fileURLWithPath: folder.path("serve.log"))
        ).stoppedWithTest()
        let file = try await server.line(
            after: "tarn: no operator yet. Make one within an hour at this one-time link, in a file that only its owner can read: ")
        let link = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        let address = try #require(link.components(separatedBy: "/console/").first)
        try await addPlant(address, device)
        let ended = try await Browser.run("console_test.py", [address, token, Self.container, link], in: folder)
        await server.stop()
        #expect(ended.status == 0, "\(ended.output)\(ended.complaint)")
        #expect(ended.output == "console: ok\n")
    }

    private func addPlant(_ address: String, _ token: String) async throws {
        var request = HTTPClientRequest(url: "\(address)/database/1/\(Self.container)/development/public/records/modify")
        request.method = .POST
        request.headers.add(name: "Authorization", value: "Bearer \(token)")
        request.body = .bytes(
            ByteBuffer(
                string: #"{"operations":[{"operationType":"create","record":{"recordName":"sage","recordType":"Plant","#
                    + #""fields":{"name":{"value":"Sage"},"count":{"value":3},"tags":{"value":["herb"]},"counts":{"value":[1,2]},"#
                    + #""spot":{"type":"LOCATION","value":{"latitude":48,"longitude":11}}}}}]}"#))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(120))
        try #require(response.status == .ok)
        _ = try await response.body.collect(upTo: 1 << 20)
    }
}
