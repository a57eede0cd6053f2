// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Testing

@testable import TarnCommands

/// The console and the JavaScript client in a browser, against a server process.
@Suite(.tags(.slow), .serialized) struct ConsoleWalkTests {
    static let container = "iCloud.org.example.notes"

    @Test(.enabled("needs Chromium, and Playwright for Python") { await Browser.isThere() }, .timeLimit(.minutes(5)))
    func anOperatorWalksTheConsoleAndAPageUsesTheScript() async throws {
        let folder = try Folder()
        let data = folder.path("data")
        let device = try await tarn(["user", "add", "mia", "--data", data], in: folder)
        try await tarn(["user", "profile", "mia", "--operator", "--data", data], in: folder)
        try await setPassword("correct horse", data, in: folder)
        let token = try await tarn(["token", "add", "--container", Self.container, "--label", "walk", "--data", data], in: folder)
        let server = try ChildProcess(
            "tarn", program: Programs.folder.appendingPathComponent("tarn"),
            arguments: ["serve", "--port", "0", "--data", data, "--exit-with-parent"],
            log: URL(fileURLWithPath: folder.path("serve.log")))
        let address = try await server.line(after: "tarn: listening on ")
        try await addPlant(address, device)
        let ended = try await Browser.run("console_test.py", [address, token, Self.container], in: folder)
        await server.stop()
        #expect(ended.status == 0, "\(ended.output)\(ended.complaint)")
        #expect(ended.output == "console: ok\n")
    }

    /// The first line that a command prints.
    @discardableResult
    private func tarn(_ arguments: [String], in folder: Folder) async throws -> String {
        let ended = try await Programs.run("tarn", arguments, in: folder)
        try #require(ended.status == 0, "\(arguments.prefix(2)): \(ended.complaint)")
        return ended.output.split(separator: "\n").first.map(String.init) ?? ""
    }

    private func setPassword(_ password: String, _ data: String, in folder: Folder) async throws {
        let tarn = Programs.folder.appendingPathComponent("tarn").path
        let child = try ChildProcess(
            "sh", program: URL(fileURLWithPath: "/bin/sh"),
            arguments: ["-c", #"printf '%s\n' "$2" | "$1" user password mia --data "$3""#, "sh", tarn, password, data],
            log: URL(fileURLWithPath: folder.path("password.log")))
        _ = await child.everything()
        try #require(await child.ended() == 0, "the password could not be set")
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
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        try #require(response.status == .ok)
        _ = try await response.body.collect(upTo: 1 << 20)
    }
}
