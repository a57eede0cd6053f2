// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudEngine
import CloudEngineSQLite
import CloudWire
import Foundation
import NIOCore
import NIOHTTP1
import Synchronization
import TestBasics
import Testing

/// A server in a process of its own, as it is run.
@Suite struct ServerProcessTests {
    final class ServerProcess: Sendable {
        static let tarn = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent().appending(
            path: "tarn")

        let process: Mutex<Process>
        let port: Int
        /// The output up to the line that reports the port.
        let lines: [String]

        /// Starts `tarn serve` and waits for the line that says it listens.
        convenience init(data: String, arguments: [String] = []) throws {
            try self.init(program: Self.tarn.path, ["serve", "--data", data, "--port", "0", "--log-level", "error"] + arguments)
        }

        init(program: String, _ arguments: [String]) throws {
            let process = Process()
            process.executableURL = URL(filePath: program)
            process.arguments = arguments
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            var text = ""
            while !(text.hasSuffix("\n") && text.contains("tarn: listening on ")) {
                guard let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty else { break }
                text += String(decoding: byte, as: UTF8.self)
            }
            lines = text.split(separator: "\n").map(String.init)
            port = lines.last?.split(separator: ":").last.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? 0
            self.process = Mutex(process)
        }

        /// A test that throws leaves no server.
        deinit { process.withLock { if $0.isRunning { kill($0.processIdentifier, SIGKILL) } } }

        func signal(_ number: Int32) { process.withLock { _ = kill($0.processIdentifier, number) } }

        func wait() -> Int32 {
            process.withLock { process in
                process.waitUntilExit()
                return process.terminationStatus
            }
        }
    }

    /// Whether a test may have a private disk: a small one in memory.
    private static let hasOwnDisks: Bool = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/unshare")
        process.arguments = ["--mount", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"]
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// Responses while the disk is full; every acknowledged record is stored.
    @Test(.enabled("needs root, to have a small disk of its own") { hasOwnDisks })
    func aFullDiskIsADocumentedErrorAndLosesNothing() async throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let script = #"""
            mount -t tmpfs -o size=12m tmpfs "$1" && "$0" user add mia --data "$1/d" && exec "$0" serve --data "$1/d" --port 0 --log-level critical
            """#
        let server = try ServerProcess(program: "/usr/bin/unshare", ["--mount", "sh", "-c", script, ServerProcess.tarn.path, folder.path])
        let token = try #require(server.lines.first { $0.hasPrefix("tarn_") })
        _ = try await post(server.port, .modifyZones, ZonesModifyRequest(operations: [.create(LiveServer.garden)]).encoded(), token: token)
        func answer(_ path: String, _ body: [UInt8]) async throws -> (status: Int, error: WireError?) {
            var request = HTTPClientRequest(url: "http://127.0.0.1:\(server.port)\(path)")
            request.method = .POST
            request.headers.add(name: "Authorization", value: "Bearer \(token)")
            request.body = .bytes(ByteBuffer(bytes: body))
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(120))
            return (
                Int(response.status.code), try? WireError(json: Array(try await response.body.collect(upTo: 1 << 24).readableBytesView))
            )
        }
        let paths = [try await uploadPath(server.port, token: token), try await uploadPath(server.port, token: token)]
        let file = (0..<20_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var upload = HTTPClientRequest(url: "http://127.0.0.1:\(server.port)\(paths[0])")
        upload.method = .POST
        upload.body = .bytes(ByteBuffer(bytes: file))
        let refused = try await HTTPClient.shared.execute(upload, timeout: .seconds(120))
        let reason = try WireError(json: Array(try await refused.body.collect(upTo: 1 << 20).readableBytesView))
        #expect(refused.status.code == 503)
        #expect(reason.code == .tryAgainLater)
        #expect(reason.retryAfter != nil)
        // What arrived of it is gone again: a smaller one has room.
        #expect(try await uploadSmall(paths[1], server.port) == 200)
        var saved: [String] = []
        var error: WireError?
        while error == nil, saved.count < 100 {
            let name = "r\(saved.count)"
            let text = String(repeating: "x", count: 500_000)
            let request = ModifyRecordsRequest(
                operations: [RecordOperation(.create, Record(recordName: name, recordType: "Plant", fields: ["t": Field(.string(text))]))],
                zoneID: LiveServer.garden, desiredKeys: [])
            let result = try await answer("\(LiveServer.database)/records/modify", request.encoded())
            error = result.error
            if result.status == 200 { saved.append(name) }
        }
        #expect(error?.code == .tryAgainLater)
        #expect(error?.retryAfter != nil)
        #expect(!saved.isEmpty)
        let lookup = LookupRecordsRequest(recordNames: saved, zoneID: LiveServer.garden, desiredKeys: [])
        let found = try LookupRecordsResponse(json: try await post(server.port, .lookupRecords, lookup.encoded(), token: token)).results
        #expect(found.allSatisfy { if case .record = $0 { true } else { false } })
        server.signal(SIGTERM)
        #expect(server.wait() == 0)
    }

    private func uploadSmall(_ path: String, _ port: Int) async throws -> Int {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = .POST
        request.body = .bytes(ByteBuffer(bytes: Array(repeating: 1, count: 3_000_000)))
        return Int(try await HTTPClient.shared.execute(request, timeout: .seconds(120)).status.code)
    }

    /// The records that the server acknowledged.
    final class Answered: Sendable {
        private let state = Mutex<Set<String>>([])

        var names: Set<String> { state.withLock { $0 } }

        func add(_ names: [String]) -> Int {
            state.withLock { state in
                state.formUnion(names)
                return state.count
            }
        }
    }

    private func post(
        _ port: Int, _ operation: ServicePath.Operation, _ body: [UInt8], token: String, timeout: TimeAmount = .seconds(20)
    ) async throws -> [UInt8] {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(LiveServer.database)/\(operation.rawValue)")
        request.method = .POST
        request.headers.add(name: "Authorization", value: "Bearer \(token)")
        request.body = .bytes(ByteBuffer(bytes: body))
        let response = try await HTTPClient.shared.execute(request, timeout: timeout)
        guard response.status.code == 200 else { throw WireError(.internalError, "status \(response.status.code)") }
        return Array(try await response.body.collect(upTo: 10_000_000).readableBytesView)
    }

    private func user(_ folder: TemporaryFolder) async throws -> String {
        let store = try SQLiteServerStore(path: folder.path, use: .command, passwordRounds: 16)
        let token = try await store.addUser(name: "mia", deviceLabel: "tablet", now: 1)
        try store.close()
        return token
    }

    @Test func acknowledgedChangesSurviveAKillDuringCommits() async throws {
        let folder = TemporaryFolder()
        let token = try await user(folder)
        let server = try ServerProcess(data: folder.path)
        try #require(server.port > 0)
        _ = try await post(server.port, .modifyZones, ZonesModifyRequest(operations: [.create(LiveServer.garden)]).encoded(), token: token)
        let answered = Answered()
        let total = 400
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for number in 0..<total / 8 {
                        let names = ["\(writer)-\(number)-a", "\(writer)-\(number)-b"]
                        let message = ModifyRecordsRequest(
                            operations: names.map { RecordOperation(.create, Record(recordName: $0, recordType: "Plant")) },
                            zoneID: LiveServer.garden)
                        guard (try? await post(server.port, .modifyRecords, message.encoded(), token: token)) != nil else { return }
                        let count = answered.add(names)
                        // Others are on their way to the disk now.
                        if count == 120 { server.signal(SIGKILL) }
                    }
                }
            }
        }
        _ = server.wait()
        let known = answered.names
        #expect(known.count >= 120)
        #expect(known.count < 2 * total)

        let again = try ServerProcess(data: folder.path)
        var seen: Set<String> = []
        var page = ZoneChangesQuery(zoneID: LiveServer.garden)
        var moreComing = true
        while moreComing {
            let body = try await post(again.port, .zoneChanges, ZoneChangesRequest(zones: [page]).encoded(), token: token)
            guard case .changes(let changes) = try ZoneChangesResponse(json: body).zones[0] else {
                throw WireError(.internalError, "refused")
            }
            seen.formUnion(changes.records.map(\.recordName))
            (page.syncToken, moreComing) = (changes.syncToken, changes.moreComing)
        }
        #expect(seen.isSuperset(of: known))
        for name in seen {
            #expect(seen.contains(String(name.dropLast()) + (name.hasSuffix("a") ? "b" : "a")), "a request is whole or not there")
        }
        again.signal(SIGTERM)
        #expect(again.wait() == 0)
    }

    /// Saves files, and kills the server while one of them is on its way.
    @Test func anUploadInFlightAtAKillIsCompleteOrMissing() async throws {
        let folder = TemporaryFolder()
        let token = try await user(folder)
        let server = try ServerProcess(data: folder.path)
        _ = try await post(server.port, .modifyZones, ZonesModifyRequest(operations: [.create(LiveServer.garden)]).encoded(), token: token)
        let whole = Array(repeating: UInt8(7), count: 600_000)
        let kept = try await upload(whole, to: server.port, token: token)
        let path = try await uploadPath(server.port, token: token)
        let raw = try RawConnection(port: server.port)
        await raw.send("POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 600000\r\n\r\n")
        await raw.send(Array(repeating: 8, count: 400_000))
        // It has begun to write it down.
        try await until { try !FileManager.default.contentsOfDirectory(atPath: folder.path + "/incoming").isEmpty }
        server.signal(SIGKILL)
        _ = server.wait()

        let again = try ServerProcess(data: folder.path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/incoming").isEmpty, "what was arriving is gone")
        let lost = AssetValue(fileChecksum: "x", size: 600_000, receipt: String(path.split(separator: "/")[7]))
        let results = try ModifyRecordsResponse(
            json: try await post(
                again.port, .modifyRecords,
                ModifyRecordsRequest(
                    operations: [
                        RecordOperation(.create, Record(recordName: "kept", recordType: "Plant", fields: ["photo": Field(.asset(kept))])),
                        RecordOperation(.create, Record(recordName: "lost", recordType: "Plant", fields: ["photo": Field(.asset(lost))])),
                    ], zoneID: LiveServer.garden, atomic: false
                ).encoded(), token: token)
        ).results
        guard case .record(let record) = results[0], case .asset(let asset)? = record.fields["photo"]?.value, case .failure = results[1]
        else {
            Issue.record("expected the file that came, and not the other: \(results)")
            return
        }
        let answer = try await HTTPClient.shared.execute(HTTPClientRequest(url: try #require(asset.downloadURL)), timeout: .seconds(120))
        #expect(Array(try await answer.body.collect(upTo: 1 << 20).readableBytesView) == whole)
        again.signal(SIGTERM)
        #expect(again.wait() == 0)
    }

    private func uploadPath(_ port: Int, token: String) async throws -> String {
        let message = AssetUploadRequest(
            items: [.init(recordType: "Plant", recordName: "p", fieldName: "photo")], zoneID: LiveServer.garden)
        let response = try AssetUploadResponse(json: try await post(port, .uploadAssets, message.encoded(), token: token))
        guard case .address(let address) = response.results[0] else { throw WireError(.internalError, "no address") }
        return try #require(URL(string: address.url)?.path)
    }

    private func upload(_ bytes: [UInt8], to port: Int, token: String) async throws -> AssetValue {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(try await uploadPath(port, token: token))")
        request.method = .POST
        request.body = .bytes(ByteBuffer(bytes: bytes))
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(120))
        return try AssetUploadReceipt(json: Array(try await answer.body.collect(upTo: 100_000).readableBytesView)).asset
    }

    /// Starts a command and kills it once something is there.
    private func runKilled(_ arguments: [String], once path: String) async throws {
        let process = Process()
        process.executableURL = ServerProcess.tarn
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        try await until { !process.isRunning || FileManager.default.fileExists(atPath: path) }
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    @Test func aKilledBackupLeavesNoBackup() async throws {
        let (folder, copy, restored) = (TemporaryFolder(), TemporaryFolder(), TemporaryFolder())
        let token = try await user(folder)
        let server = try ServerProcess(data: folder.path)
        _ = try await post(server.port, .modifyZones, ZonesModifyRequest(operations: [.create(LiveServer.garden)]).encoded(), token: token)
        for number in 0..<40 {
            let asset = try await upload(Array(repeating: UInt8(number), count: 2000), to: server.port, token: token)
            let record = Record(recordName: "r\(number)", recordType: "Plant", fields: ["photo": Field(.asset(asset))])
            let request = ModifyRecordsRequest(operations: [RecordOperation(.create, record)], zoneID: LiveServer.garden)
            _ = try await post(server.port, .modifyRecords, request.encoded(), token: token)
        }
        func files(_ path: String) -> Int {
            let all = FileManager.default.enumerator(atPath: path + "/assets")?.allObjects as? [String]
            return (all ?? []).count { $0.split(separator: "/").count == 3 }
        }
        for (arguments, made) in [
            (["backup", "--data", folder.path, "--output", copy.path], copy.path),
            (["restore", "--from", copy.path, "--data", restored.path], restored.path),
        ] {
            // In the middle, at its beginning, and left alone.
            for sign in ["\(made).partial/assets", "\(made).partial", made] {
                try await runKilled(arguments, once: sign)
                let isThere = FileManager.default.fileExists(atPath: made)
                #expect(!isThere || files(made) == 40, "a copy that is there is whole")
                if isThere { break }
            }
            #expect(files(made) == 40)
            #expect(!FileManager.default.fileExists(atPath: "\(made).partial"))
        }
        server.signal(SIGTERM)
        #expect(server.wait() == 0)
    }

    /// Requests, a file and a stream are in flight, one request never ends, and new connections keep arriving.
    @Test func aStoppingServerFinishesRequestsInFlightWithinItsLimit() async throws {
        let folder = TemporaryFolder()
        let token = try await user(folder)
        let server = try ServerProcess(data: folder.path, arguments: ["--limit", "stopSeconds=10"])
        _ = try await post(server.port, .modifyZones, ZonesModifyRequest(operations: [.create(LiveServer.garden)]).encoded(), token: token)
        let path = try await uploadPath(server.port, token: token)
        let (file, endless) = (try RawConnection(port: server.port), try RawConnection(port: server.port))
        await file.send("POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 600000\r\n\r\n")
        await file.send(Array(repeating: 8, count: 400_000))
        await endless.send(
            "POST \(LiveServer.database)/zones/modify HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\nContent-Length: 100\r\n\r\n{"
        )
        try await until { try !FileManager.default.contentsOfDirectory(atPath: folder.path + "/incoming").isEmpty }
        let answered = Answered()
        let port = server.port
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    var number = 0
                    while true {
                        number += 1
                        let name = "\(writer)-\(number)"
                        let message = ModifyRecordsRequest(
                            operations: [RecordOperation(.create, Record(recordName: name, recordType: "Plant"))], zoneID: LiveServer.garden
                        )
                        // The client goes on trying to reach a server that is gone.
                        guard (try? await post(port, .modifyRecords, message.encoded(), token: token, timeout: .seconds(3))) != nil else {
                            return
                        }
                        guard answered.add([name]) == 60 else { continue }
                        server.signal(SIGTERM)
                        try await until { (try? RawConnection(port: port)) == nil }
                        // The file goes on though the server takes no more connections.
                        await file.send(Array(repeating: 8, count: 200_000))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await file.readToEnd().contains("\"size\":600000"))
        #expect(try await endless.readToEnd().hasPrefix("HTTP/1.1 200") == false)
        #expect(server.wait() == 0)

        let again = try ServerProcess(data: folder.path)
        let names = answered.names.sorted()
        let lookup = LookupRecordsRequest(recordNames: Array(names.prefix(200)), zoneID: LiveServer.garden)
        let found = try LookupRecordsResponse(json: try await post(again.port, .lookupRecords, lookup.encoded(), token: token)).results
        #expect(found.count >= 60, "what was answered is there")
        #expect(found.allSatisfy { if case .record = $0 { true } else { false } }, "what was answered is there")
        again.signal(SIGTERM)
        #expect(again.wait() == 0)
    }

    /// Gauges that the guide and the dashboard name.
    @Test func metricsShowTheLoadOfAServer() async throws {
        let folder = TemporaryFolder()
        let token = try await user(folder)
        let server = try ServerProcess(data: folder.path, arguments: ["--operations-access", "all"])
        let upload = try RawConnection(port: server.port)
        await upload.send(
            "POST \(LiveServer.database)/zones/list HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\nContent-Length: 2\r\n\r\n{}")
        #expect(try await upload.read(until: "}").hasPrefix("HTTP/1.1"))
        let response = try await HTTPClient.shared.execute(
            HTTPClientRequest(url: "http://127.0.0.1:\(server.port)/metrics"), timeout: .seconds(60))
        let lines = String(buffer: try await response.body.collect(upTo: 1 << 20)).split(separator: "\n")
        for name in ["running", "waiting", "shed", "in_service"] {
            #expect(lines.contains { $0.hasPrefix("tarn_requests_\(name) ") }, "\(name)")
        }
        server.signal(SIGTERM)
        #expect(server.wait() == 0)
    }

    /// Many systems let a program open 1,024 files until it asks for more.
    @Test func aServerRaisesItsLimitOfOpenFiles() async throws {
        let folder = TemporaryFolder()
        let server = try ServerProcess(
            program: "/bin/sh",
            ["-c", #"ulimit -Sn 64 && exec "$0" serve --data "$1" --port 0 --log-level error"#, ServerProcess.tarn.path, folder.path])
        let held = try (0..<100).map { _ in try RawConnection(port: server.port) }
        for connection in held { await connection.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n") }
        for connection in held { #expect(try await connection.read(until: "}").contains(#"{"status":"ok"}"#)) }
        server.signal(SIGTERM)
        #expect(server.wait() == 0)
    }

    /// A request that the server abandons when it stops is sent again by the client, and nothing of it is stored.
    @Test func aRequestCutOffByAStopStoresNothing() async throws {
        let folder = TemporaryFolder(), log = TemporaryFolder()
        let token = try await user(folder)
        let server = try ServerProcess(
            program: "/bin/sh",
            [
                "-c", #"exec "$0" serve --data "$1" --port 0 --limit stopSeconds=1 --limit shortBodyBytes=16000000 2>"$2""#,
                ServerProcess.tarn.path, folder.path, log.path,
            ])
        // So long that the server has read its beginning once the client has sent all but its end.
        let body =
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Half"}}}],"rest":"\#(String(repeating: "x", count: 15_000_000))"}"#
        let request = try RawConnection(port: server.port)
        await request.send(
            "POST \(LiveServer.database)/zones/modify HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        )
        await request.send(Array(body.utf8.dropLast()))
        server.signal(SIGTERM)
        #expect(try await !request.readToEnd().hasPrefix("HTTP/1.1 200"))
        #expect(server.wait() == 0)
        let lines = try String(contentsOfFile: log.path, encoding: .utf8).split(separator: "\n").filter {
            $0.contains("endpoint=zones/modify")
        }
        #expect(lines.count == 1, "\(lines)")
        #expect(lines.allSatisfy { $0.contains("error=TRY_AGAIN_LATER") && $0.contains("status=503") }, "\(lines)")

        let again = try ServerProcess(data: folder.path, arguments: ["--limit", "shortBodyBytes=16000000"])
        let names = ZonesLookupRequest(zones: [ZoneID(zoneName: "Half")])
        let found = try await post(again.port, .lookupZones, names.encoded(), token: token)
        #expect(String(decoding: found, as: UTF8.self).contains("ZONE_NOT_FOUND"))
        #expect(
            String(decoding: try await post(again.port, .modifyZones, Array(body.utf8), token: token), as: UTF8.self).contains("syncToken"))
        again.signal(SIGTERM)
        #expect(again.wait() == 0)
    }

    @Test func aStoppingServerEndsPushStreamsInOrder() async throws {
        let folder = TemporaryFolder()
        let token = try await user(folder)
        let server = try ServerProcess(data: folder.path)
        var request = HTTPClientRequest(
            url: "http://127.0.0.1:\(server.port)/device/1/\(LiveServer.container)/development/push/stream")
        request.headers.add(name: "Authorization", value: "Bearer \(token)")
        let response = try await HTTPClient.shared.execute(request, timeout: .minutes(10))
        var lines = response.body.makeAsyncIterator()
        #expect(try await lines.next().map { String(buffer: $0) } == "\n")
        server.signal(SIGTERM)
        // On a busy machine heartbeats arrive in between.
        while let chunk = try await lines.next() { #expect(String(buffer: chunk) == "\n") }
        // That this is reached without an error says that the stream ended in order, not by a broken connection.
        #expect(server.wait() == 0)
    }
}
