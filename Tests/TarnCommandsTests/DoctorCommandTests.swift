// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudWire
import Foundation
import Logging
import Testing

@testable import TarnCommands

@Suite struct DoctorCommandTests {
    private static let container = "iCloud.org.example.notes"

    /// Grades by check.
    private func grades(_ run: CommandRun) -> [String: String] {
        struct Line: Decodable {
            var check: String
            var grade: String
        }
        let lines = run.output.split(separator: "\n").compactMap { try? JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        return Dictionary(lines.map { ($0.check, $0.grade) }, uniquingKeysWith: { $0 == "ok" ? $1 : $0 })
    }

    @Test func aSoundFolderHasNoProblems() async {
        let folder = ScratchFolder("tarn-doctor")
        _ = await CommandRun("user", "add", "mia", "--data", folder.path)
        let fresh = await CommandRun("doctor", "--data", folder.path, "--json")
        // The disk of the tests may be small.
        #expect(grades(fresh).filter { $0.key != "disk" }.values.allSatisfy { $0 != "problem" }, "\(fresh.output)\(fresh.notes)")
        #expect(grades(fresh)["data folder"] == "ok")
        #expect(grades(fresh)["database"] == "ok")
        #expect(grades(fresh)["operators"] == "warning")
        #expect(fresh.output.contains("open the one-time link of 'tarn serve'"), "\(fresh.output)")
        #expect(grades(fresh)["containers"] == "warning")
        _ = await CommandRun("user", "profile", "mia", "--operator", "--data", folder.path)
        _ = await CommandRun("record", "put", "n1", "title=1", "--type", "Note", "--container", Self.container, "--data", folder.path)
        let used = await CommandRun("doctor", "--data", folder.path, "--json")
        #expect(grades(used)["operators"] == "ok")
        #expect(grades(used)["schema"] == "warning")
        #expect(used.output.contains("1 record type in development, 0 in production"), "\(used.output)")
    }

    @Test func eachProblemOfAFolderSaysWhatToDo() async throws {
        let folder = ScratchFolder("tarn-doctor")
        let none = await CommandRun("doctor", "--data", folder.path)
        #expect(none.status == 1)
        #expect(none.output.contains("-> name its folder with --data"), "\(none.output)")
        _ = await CommandRun("user", "add", "mia", "--data", folder.path)
        let typo = await CommandRun("doctor", "--data", folder.path, "--container", "iCloud.org.exmple.notes", "--json")
        #expect(grades(typo)["container"] == "problem")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
        let open = await CommandRun("doctor", "--data", folder.path, "--json")
        #expect(grades(open)["data folder"] == "problem")
        #expect(open.output.contains("chmod -R go-rwx"), "\(open.output)")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.path)
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: folder.path + "/tarn.sqlite" + suffix) }
        try Data("no database, and long enough to be looked at as one".utf8).write(to: URL(filePath: folder.path + "/tarn.sqlite"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.path + "/tarn.sqlite")
        let damaged = await CommandRun("doctor", "--data", folder.path, "--json")
        #expect(grades(damaged)["database"] == "problem", "\(damaged.output)")
        #expect(damaged.status == 1)
    }

    /// Any server may say any time.
    @Test(arguments: [Int64.min, -1, Int64.max])
    func anExtremeTimeOfTheServerIsAProblem(_ time: Int64) {
        #expect(ServerChecks.clock(String(time), now: 1_900_000_000_000).grade == .problem)
    }

    @Test func valuesAreGraded() {
        #expect([0, 1_000_000_000, 50_000_000_000].map { FolderChecks.finding(freeBytes: $0).grade } == [.problem, .warning, .ok])
        let now: Int64 = 1_900_000_000
        #expect(
            [now - 1, now + 86_400, now + 90 * 86_400].map { ServerChecks.finding(certificate: $0, now: now).grade } == [
                .problem, .warning, .ok,
            ])
        #expect(FolderChecks.library("3.46.1").state.contains("serializes checkpoints"))
        #expect(!FolderChecks.library("3.51.3").state.contains("serializes"))
        for (error, check) in [
            ("NIOSSLError.handshakeFailed(... CERTIFICATE_VERIFY_FAILED ...)", "TLS"), ("connect: ECONNREFUSED", "reachability"),
            ("HTTPClientError.connectTimeout", "reachability"), ("NIOConnectionError(dnsAError: ...)", "reachability"),
        ] {
            let finding = ServerChecks.unreachable("https://cloud.example.org", error)
            #expect(finding.check == check)
            #expect(!finding.advice.isEmpty)
        }
    }

    @Test func aServerIsCheckedAsAClientReachesIt() async throws {
        let folder = ScratchFolder("tarn-doctor")
        let token = await CommandRun("user", "add", "mia", "--data", folder.path).output.trimmingCharacters(in: .whitespacesAndNewlines)
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let server = try LocalServer(
            data: folder.path, host: "127.0.0.1", port: 0, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let serving = Task { try await server.run(endsOnSignals: false) { continuation.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        let address = "http://127.0.0.1:\(try #require(await iterator.next()))"
        for (secret, grade) in [(token, "ok"), ("wrong", "problem")] {
            let setup = ClientSetup(server: address, token: secret, findings: [])
            let findings = await ServerChecks(setup: setup, container: Self.container, environment: .development).run()
            let grades = Dictionary(findings.map { ($0.check, $0.grade.rawValue) }, uniquingKeysWith: { first, _ in first })
            #expect(grades["reachability"] == "ok", "\(findings)")
            #expect(grades["clock"] == "ok", "\(findings)")
            #expect(grades["data"] == "ok", "\(findings)")
            #expect(grades["token"] == grade, "\(findings)")
        }
        serving.cancel()
        _ = await serving.result
        let stopped = await CommandRun("doctor", "--server", address, "--json")
        #expect(grades(stopped)["reachability"] == "problem", "\(stopped.output)")
        #expect(stopped.status == 1)
        let invalid = await CommandRun("doctor", "--server", "cloud", "--json")
        #expect(grades(invalid)["address"] == "problem")
    }

    @Test func aClientsSetUpIsRead() throws {
        let folder = ScratchFolder("tarn-doctor")
        try FileManager.default.createDirectory(atPath: folder.path + "/tarn", withIntermediateDirectories: true)
        let file = folder.path + "/tarn/tarn.json"
        let json =
            #"{"server": "https://a.example", "token": "t", "containers": {"iCloud.own": {"server": "https://b.example", "caCertificate": "ca.pem"}}}"#
        #expect(FileManager.default.createFile(atPath: file, contents: Data(json.utf8), attributes: [.posixPermissions: 0o644]))
        let variables = ["XDG_CONFIG_HOME": folder.path]
        let all = try #require(try ClientSetup.read(server: nil, variables: variables, container: nil))
        #expect(all.server == "https://a.example")
        #expect(all.token == "t")
        #expect(all.findings.map(\.grade) == [.ok, .warning])
        // A token is never sent to a server that it was not made for.
        let own = try #require(try ClientSetup.read(server: nil, variables: variables, container: "iCloud.own"))
        #expect(own.server == "https://b.example")
        #expect(own.token == nil)
        #expect(own.caCertificate == folder.path + "/tarn/ca.pem")
        let environment = try #require(
            try ClientSetup.read(server: nil, variables: ["TARN_SERVER": "https://c.example", "TARN_TOKEN": "u"], container: nil))
        #expect(environment.token == "u")
        #expect(environment.server == "https://c.example")
    }
}
