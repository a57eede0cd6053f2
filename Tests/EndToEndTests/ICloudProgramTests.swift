// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudKit
import Foundation
import NIOCore
import NIOHTTP1
import TestBasics
import Testing

@testable import TarnCommands

/// `tarn icloud` as a user runs it, between `tarn serve --profile apple` and `tarn serve`.
@Suite(.closesFixtures, .tags(.slow)) struct ICloudProgramTests {
    private static let container = "iCloud.org.example.notes"

    private struct Server {
        let address: String
        let data: String
    }

    private func serve(_ name: String, _ arguments: [String], in folder: Folder) async throws -> Server {
        let data = folder.path(name)
        let child = try ChildProcess(
            "tarn", program: Programs.folder.appendingPathComponent("tarn"),
            arguments: ["serve", "--port", "0", "--data", data, "--exit-with-parent"] + arguments,
            log: URL(fileURLWithPath: folder.path("\(name).log"))
        ).stoppedWithTest()
        return Server(
            address: try await within(.seconds(60), "\(name) did not start") { try await child.line(after: "tarn: listening on ") },
            data: data)
    }

    private func write(_ text: String, _ name: String, in folder: Folder) throws -> String {
        let path = folder.path(name)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    /// Signs in on the page, as a browser does, and returns the address to which it goes.
    private func signIn(at page: URL) async throws -> String {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        let client = HTTPClient(configuration: configuration)
        var request = HTTPClientRequest(url: page.absoluteString)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
        request.body = .bytes(ByteBuffer(string: "name=mia&password=correct+horse"))
        let response: HTTPClientResponse
        do {
            response = try await client.execute(request, timeout: .seconds(30))
        } catch {
            try await client.shutdown()
            throw error
        }
        try await client.shutdown()
        return try #require(response.headers.first(name: "Location"), "signing in was answered \(response.status)")
    }

    @Test(.timeLimit(.minutes(5))) func recordsGoToTarnAndBack() async throws {
        let folder = try Folder()
        let apple = try await serve("apple", ["--profile", "apple"], in: folder)
        let tarn = try await serve("tarn", [], in: folder)
        try await Programs.tarn(["user", "add", "mia", "--data", apple.data], in: folder)
        try await Programs.setPassword("correct horse", apple.data, in: folder)
        let apiToken = try await Programs.tarn(
            ["token", "add", "--container", Self.container, "--callback", "http://localhost/", "--data", apple.data], in: folder)
        let tokenFile = try write(
            try await Programs.tarn(["user", "add", "mia", "--data", tarn.data], in: folder), "tarn-token", in: folder)
        let access = [
            "--container", Self.container, "--icloud", apple.address, "--api-token-file", try write(apiToken, "api-token", in: folder),
            "--session", folder.path("session"),
        ]

        // The program that the user signs in with, and the records of an app.
        let app = CKContainer(identifier: Self.container)
        let appSession = URL(fileURLWithPath: folder.path("app-session"))
        CKContainer.configure(
            .iCloud(apiToken: .init(apiToken), sessionFile: appSession, server: apple.address), for: Self.container)
        #expect(try await app.accountStatus() == .noAccount)
        let callback = try #require(URL(string: try await signIn(at: try await app.signInURL())))
        try app.signIn(webAuthToken: try #require(CKContainer.webAuthToken(inCallback: callback)))
        #expect(try await app.accountStatus() == .available)
        let zone = CKRecordZone(zoneName: "Garden")
        _ = try await app.privateCloudDatabase.save(zone)
        let photo = try write(String(repeating: "photo", count: 100_000), "photo", in: folder)
        let record = CKRecord(recordType: "Plant", recordID: CKRecord.ID(recordName: "p1", zoneID: zone.zoneID))
        record["name"] = "Sage"
        record["photo"] = CKAsset(fileURL: URL(fileURLWithPath: photo))
        _ = try await app.privateCloudDatabase.save(record)

        // The command signs in by itself.
        let page = try await signIn(at: try await app.signInURL())
        let command = (["icloud", "sign-in"] + access).map { "'\($0)'" }.joined(separator: " ")
        let tarnProgram = Programs.folder.appendingPathComponent("tarn").path
        let signInCommand = try ChildProcess(
            "sh", program: URL(fileURLWithPath: "/bin/sh"), arguments: ["-c", "printf '%s\\n' '\(page)' | '\(tarnProgram)' \(command)"],
            log: URL(fileURLWithPath: folder.path("sign-in.log")))
        #expect(await signInCommand.everything().hasPrefix("Signed in as _"))
        #expect(await signInCommand.ended() == 0)

        let pair = access + ["--server", tarn.address, "--token-file", tokenFile]
        func run(_ arguments: [String]) async throws -> Programs.Ended {
            try await Programs.run("tarn", ["icloud"] + arguments + pair, in: folder)
        }
        let before = try await run(["compare", "--json"])
        #expect(before.status == 2, "\(before.complaint)")
        let line = #"{"zone":"Garden","recordType":"Plant","recordName":"p1","difference":"onlyInICloud","fields":[],"reason":null}"#
        #expect(before.output == line + "\n")
        let pulled = try await run(["pull", "--state", folder.path("pull.json")])
        #expect(pulled.output == "1 record copied\n", "\(pulled.complaint)")
        #expect(try await run(["compare"]).status == 0)

        // Changes on the Tarn server are copied back.
        CKContainer.configure(
            CKContainer.Configuration(
                server: tarn.address, token: CKContainer.Configuration.Token(try String(contentsOfFile: tokenFile, encoding: .utf8))),
            for: Self.container)
        let copy = try await app.privateCloudDatabase.record(for: record.recordID)
        #expect(copy["name"] as? String == "Sage")
        copy["name"] = "Mint"
        _ = try await app.privateCloudDatabase.save(copy)
        #expect(try await run(["compare"]).status == 2)
        let pushed = try await run(["push", "--state", folder.path("push.json"), "--json"])
        #expect(pushed.output == #"{"copied":1,"deleted":0,"leftOut":0,"rejected":0}"# + "\n", "\(pushed.complaint)")
        #expect(try await run(["compare"]).status == 0)

        // iCloud rejects a record with a field of another type.
        try await Programs.tarn(
            ["record", "put", "t1", "height=2", "--type", "Tree", "--container", Self.container, "--data", apple.data], in: folder)
        let tree = CKRecord(recordType: "Tree", recordID: CKRecord.ID(recordName: "t2", zoneID: zone.zoneID))
        tree["height"] = "tall"
        _ = try await app.privateCloudDatabase.save(tree)
        let rejected = try await run(["push", "--state", folder.path("push.json")])
        #expect(rejected.status == 1)
        #expect(rejected.output == "0 records copied, 1 rejected\n")
        #expect(rejected.complaint.contains("Garden: t2: "), "\(rejected.complaint)")
    }
}
