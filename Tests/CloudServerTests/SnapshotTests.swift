// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudEngineSQLite
import CloudKit
import CloudService
import CloudWire
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import TestBasics
import Testing

/// Snapshots of zones over sockets, and of processes that are killed.
@Suite struct SnapshotTests {
    private static let headers = [(HeaderNames.capabilities, Capability.headerValue([.snapshots, .largePages]))]

    /// Returns the whole frames at the beginning of bytes, and the digest of the last one.
    private static func frames(_ bytes: [UInt8], after digest: [UInt8]) -> (byteCount: Int, digest: [UInt8]) {
        var rest = bytes[...], digest = digest
        while let head = SnapshotFrame.head(rest), rest.count >= SnapshotFrame.headBytes + head.length {
            let body = Array(rest.dropFirst(SnapshotFrame.headBytes).prefix(head.length))
            digest = Array(SHA256.hash(data: digest + body))
            guard digest == head.digest else { break }
            rest = rest.dropFirst(SnapshotFrame.headBytes + head.length)
        }
        return (bytes.count - rest.count, digest)
    }

    @Test func aClientReadsRangesOfASnapshotOverSockets() async throws {
        var limits = Limits()
        limits.snapshotRecordsMin = 10
        limits.recordsPerLargePage = 50
        try await LiveServer.run(limits: limits, hasSnapshots: true) { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let operations = (0..<180).map { RecordOperation(.create, Record(recordName: "p\($0)", recordType: "Plant")) }
            for operation in operations { _ = try await server.modify(operation, token: token) }
            let transport = HTTPTransport(
                server: try #require(ServerAddress("http://127.0.0.1:\(server.port)")), token: CKContainer.Configuration.Token(token))
            let client = CloudDatabaseClient(
                containerIdentifier: LiveServer.container, environment: .development, scope: .private, transport: transport)
            var offer: SnapshotOffer?
            for _ in 0..<2 {
                let answer = try await client.zoneChanges(
                    ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: LiveServer.garden)]), asking: [.snapshots])
                guard case .changes(let page) = answer.zones[0] else { throw WireError(.internalError, "no page") }
                offer = page.snapshot
                await server.service.snapshots.idle()
            }
            let identifier = try #require(offer?.identifier)
            let whole = try #require(offer?.whole)
            var bytes: [UInt8] = []
            while bytes.count < Int(whole.byteCount) {
                let part = try #require(try await client.snapshotBytes(identifier, from: Int64(bytes.count), atMost: 1000))
                #expect(part.count <= 1000)
                bytes += part
            }
            #expect(bytes.count == Int(whole.byteCount))
            let read = Self.frames(bytes, after: SnapshotFrame.firstDigest)
            #expect(read.byteCount == bytes.count)
            #expect(read.digest == whole.digest)
            #expect(try await client.snapshotBytes(identifier, from: whole.byteCount, atMost: 1000) == nil)
            #expect(try await client.snapshotBytes(String(repeating: "0", count: 32), from: 0, atMost: 1000) == nil)
        }
    }

    // MARK: Processes

    private static func send(
        _ method: HTTPMethod, _ path: String, port: Int, token: String, body: [UInt8] = [], headers: [(String, String)] = headers
    ) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(LiveServer.database)/\(path)")
        request.method = method
        request.headers.add(name: "Authorization", value: "Bearer \(token)")
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if method == .POST { request.body = .bytes(ByteBuffer(bytes: body)) }
        return try await HTTPClient.shared.execute(request, timeout: .seconds(60))
    }

    private static func offer(port: Int, token: String) async throws -> SnapshotOffer? {
        let request = ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: LiveServer.garden)])
        let response = try await send(.POST, "changes/zone", port: port, token: token, body: request.encoded())
        let body = Array(try await response.body.collect(upTo: 10_000_000).readableBytesView)
        guard case .changes(let page) = try ZoneChangesResponse(json: body).zones[0] else { return nil }
        return page.snapshot
    }

    /// The offer of a complete snapshot.
    private static func wholeOffer(port: Int, token: String) async throws -> (identifier: String, whole: SnapshotOffer.Whole) {
        var found: (String, SnapshotOffer.Whole)?
        try await until {
            let offer = try await offer(port: port, token: token)
            found = offer?.whole.map { (offer?.identifier ?? "", $0) }
            return found != nil
        }
        return try #require(found)
    }

    private static func files(_ folder: TemporaryFolder) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/snapshots/0")) ?? []).filter { $0 != "lock" }
    }

    /// Kills a server while it builds, and the next one while a client reads. The third has the rest of the snapshot.
    @Test func killedServersLeaveWholeSnapshotsAndAReaderContinues() async throws {
        let folder = TemporaryFolder()
        let store = try SQLiteServerStore(path: folder.path, use: .command, passwordRounds: 16)
        let token = try await store.addUser(name: "mia", deviceLabel: "tablet", now: 1)
        try store.close()
        let options = ["--limit", "snapshotRecordsMin=10", "--limit", "recordsPerLargePage=20"]
        let first = try ServerProcessTests.ServerProcess(data: folder.path, arguments: options)
        try #require(first.port > 0)
        _ = try await Self.send(
            .POST, "zones/modify", port: first.port, token: token,
            body: ZonesModifyRequest(operations: [.create(LiveServer.garden)]).encoded())
        for start in stride(from: 0, to: 4000, by: 400) {
            let text = Field(.string(String(repeating: "x", count: 400)))
            let operations = (start..<start + 400).map {
                RecordOperation(.create, Record(recordName: "p\($0)", recordType: "Plant", fields: ["text": text]))
            }
            let request = ModifyRecordsRequest(operations: operations, zoneID: LiveServer.garden)
            let response = try await Self.send(.POST, "records/modify", port: first.port, token: token, body: request.encoded())
            #expect(response.status.code == 200)
        }
        let building = Task { try await Self.offer(port: first.port, token: token) }
        try await until { !Self.files(folder).isEmpty }
        first.signal(SIGKILL)
        _ = first.wait()
        _ = try? await building.value

        let second = try ServerProcessTests.ServerProcess(data: folder.path, arguments: options)
        #expect(Self.files(folder).allSatisfy { $0.hasSuffix(".snapshot") })
        let offer = try await Self.wholeOffer(port: second.port, token: token)
        #expect(offer.whole.recordCount == 4000)
        let whole = try await Self.send(.GET, "changes/snapshot?id=\(offer.identifier)", port: second.port, token: token)
        var bytes: [UInt8] = []
        do {
            for try await piece in whole.body {
                bytes += Array(piece.readableBytesView)
                if bytes.count > 100_000 { second.signal(SIGKILL) }
            }
        } catch {}
        _ = second.wait()
        let read = Self.frames(bytes, after: SnapshotFrame.firstDigest)
        #expect(read.byteCount > 0)

        let third = try ServerProcessTests.ServerProcess(data: folder.path, arguments: options)
        #expect(try await Self.offer(port: third.port, token: token)?.identifier == offer.identifier)
        let rest = try await Self.send(
            .GET, "changes/snapshot?id=\(offer.identifier)", port: third.port, token: token,
            headers: Self.headers + [(HeaderNames.range, "bytes=\(read.byteCount)-")])
        #expect(rest.status.code == (read.byteCount < Int(offer.whole.byteCount) ? 206 : 416))
        if rest.status.code == 206 {
            let end = Self.frames(Array(try await rest.body.collect(upTo: 10_000_000).readableBytesView), after: read.digest)
            #expect(end.digest == offer.whole.digest)
            #expect(read.byteCount + end.byteCount == Int(offer.whole.byteCount))
        }
        third.signal(SIGTERM)
        #expect(third.wait() == 0)
    }
}
