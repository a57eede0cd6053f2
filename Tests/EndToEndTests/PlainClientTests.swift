// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import TestBasics
import Testing

@testable import TarnCommands

/// Another program, in another language, that knows nothing but the protocol.
@Suite(.closesFixtures, .tags(.slow)) struct PlainClientTests {
    private static let container = "iCloud.org.example.plain"
    private static let key = "48439561293906451759052585252797914202762949526041747995844080717082404635286"
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Plain/plain_client.py").path

    @Test(.timeLimit(.minutes(5)))
    func aPlainClientSignsInInEveryWayAndAsksForEverything() async throws {
        let folder = try Folder()
        let data = folder.path("data")
        let device = try await Programs.tarn(["user", "add", "mia", "--data", data], in: folder)
        try await Programs.tarn(["user", "profile", "mia", "--email", "mia@example.org", "--discoverable", "--data", data], in: folder)
        try await Programs.setPassword("correct horse", data, in: folder)
        let token = try await Programs.tarn(
            ["token", "add", "--container", Self.container, "--callback", "http://app.example.org/signed-in", "--data", data], in: folder)
        let pem = folder.path("public.pem")
        try await python(["public-key", Self.key], in: folder).output.write(toFile: pem, atomically: true, encoding: .utf8)
        let keyID = try await Programs.tarn(["token", "add-key", pem, "--container", Self.container, "--data", data], in: folder)
        let server = try ChildProcess(
            "tarn", program: Programs.folder.appendingPathComponent("tarn"),
            arguments: ["serve", "--port", "0", "--data", data, "--operations-access", "local", "--exit-with-parent"],
            log: URL(fileURLWithPath: folder.path("serve.log"))
        ).stoppedWithTest()
        let address = try await server.line(after: "tarn: listening on ")
        let ended = try await python([address, Self.container, token, device, keyID, Self.key], in: folder)
        await server.stop()
        #expect(ended.status == 0, "\(ended.output)\(ended.complaint)")
        #expect(ended.output.hasPrefix("plain: ok "))
    }

    private func python(_ arguments: [String], in folder: Folder) async throws -> Programs.Ended {
        let log = folder.url.appendingPathComponent("python-\(UUID().uuidString).log")
        let child = try ChildProcess(
            "python", program: URL(fileURLWithPath: "/usr/bin/env"), arguments: ["python3", Self.script] + arguments, log: log)
        let output = await child.everything()
        return Programs.Ended(
            status: await child.ended(), output: output, complaint: (try? String(contentsOf: log, encoding: .utf8)) ?? "")
    }
}
