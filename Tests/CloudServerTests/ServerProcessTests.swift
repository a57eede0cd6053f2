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
import Testing

/// A server in a process of its own, as it is run.
@Suite struct ServerProcessTests {
    private final class ServerProcess: Sendable {
        let process: Mutex<Process>
        let port: Int

        /// Starts `tarn serve` and waits for the line that says it listens.
        init(data: String) throws {
            let tarn = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent().appending(path: "tarn")
            let process = Process()
            process.executableURL = tarn
            process.arguments = ["serve", "--data", data, "--port", "0", "--log-level", "error"]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            var line = ""
            while !line.hasSuffix("\n") {
                guard let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty else { break }
                line += String(decoding: byte, as: UTF8.self)
            }
            port = line.split(separator: ":").last.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? 0
            self.process = Mutex(process)
        }

        func signal(_ number: Int32) { process.withLock { _ = kill($0.processIdentifier, number) } }

        func wait() -> Int32 {
            process.withLock { process in
                process.waitUntilExit()
                return process.terminationStatus
            }
        }
    }

    /// What the server said it had.
    private final class Answered: Sendable {
        private let state = Mutex<Set<String>>([])

        var names: Set<String> { state.withLock { $0 } }

        func add(_ names: [String]) -> Int {
            state.withLock { state in
                state.formUnion(names)
                return state.count
            }
        }
    }

    private func post(_ port: Int, _ operation: ServicePath.Operation, _ body: [UInt8], token: String) async throws -> [UInt8] {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(LiveServer.database)/\(operation.rawValue)")
        request.method = .POST
        request.headers.add(name: "Authorization", value: "Bearer \(token)")
        request.body = .bytes(ByteBuffer(bytes: body))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
        guard response.status.code == 200 else { throw WireError(.internalError, "status \(response.status.code)") }
        return Array(try await response.body.collect(upTo: 10_000_000).readableBytesView)
    }

    private func user(_ folder: TemporaryFolder) async throws -> String {
        let store = try SQLiteServerStore(path: folder.path, use: .command, passwordRounds: 16)
        let token = try await store.addUser(name: "mia", deviceLabel: "tablet", now: 1)
        try store.close()
        return token
    }

    @Test func whatWasAnsweredIsThereAfterTheServerWasKilledAmongItsCommits() async throws {
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
                            operations: names.map { RecordOperation(.create, Record(recordName: $0, recordType: "Plant")) }, zoneID: LiveServer.garden)
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
        #expect(known.count >= 120 && known.count < 2 * total)

        let again = try ServerProcess(data: folder.path)
        var seen: Set<String> = []
        var page = ZoneChangesQuery(zoneID: LiveServer.garden)
        var moreComing = true
        while moreComing {
            let body = try await post(again.port, .zoneChanges, ZoneChangesRequest(zones: [page]).encoded(), token: token)
            guard case .changes(let changes) = try ZoneChangesResponse(json: body).zones[0] else { throw WireError(.internalError, "refused") }
            seen.formUnion(changes.records.map(\.recordName))
            (page.syncToken, moreComing) = (changes.syncToken, changes.moreComing)
        }
        #expect(seen.isSuperset(of: known))
        for name in seen { #expect(seen.contains(String(name.dropLast()) + (name.hasSuffix("a") ? "b" : "a")), "a request is whole or not there") }
        again.signal(SIGTERM)
        #expect(again.wait() == 0)
    }

    @Test func aServerThatIsToldToStopEndsHeldStreamsAndAnswersWhatIsUnderWay() async throws {
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
        // On a busy machine heartbeats come meanwhile.
        while let chunk = try await lines.next() { #expect(String(buffer: chunk) == "\n") }
        // That this is reached without an error says that the stream ended in order, not by a broken connection.
        #expect(server.wait() == 0)
    }
}
