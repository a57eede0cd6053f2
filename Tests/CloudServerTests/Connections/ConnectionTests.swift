// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudEngine
import CloudService
import CloudWire
import Foundation
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import TestBasics
import Testing

@testable import CloudServer

/// Connections on which something else happens than requests and answers.
@Suite struct ConnectionTests {
    private static let list = "GET \(LiveServer.database)/zones/list HTTP/1.1\r\nHost: x\r\n"

    private static func head(_ server: LiveServer, _ path: String, _ token: String, _ headers: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nAuthorization: Bearer \(token)\r\n\(headers)\r\n\r\n"
    }

    private func stillAnswers(_ server: LiveServer, _ token: String) async throws {
        #expect(try await server.send("GET", "\(LiveServer.database)/zones/list", token: token).status == 200)
    }

    private func uploadPath(_ server: LiveServer, _ token: String) async throws -> (path: String, id: String) {
        let item = AssetUploadRequest.Item(recordType: "Plant", recordName: "p1", fieldName: "photo")
        let message = AssetUploadRequest(items: [item], zoneID: LiveServer.garden)
        let response = try AssetUploadResponse(json: try await server.post(.uploadAssets, message, token: token).body)
        guard case .address(let address) = response.results.first else { throw WireError(.internalError, "no address") }
        let path = try #require(URL(string: address.url)?.path)
        return (path, String(path.split(separator: "/")[7]))
    }

    @Test func endlessHeadersAreRejected() async throws {
        var limits = Limits()
        limits.idleSeconds = 3600
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser("mia")
            let raw = try RawConnection(port: server.port)
            await raw.send(Self.list + "X-Long: ")
            let start = ContinuousClock.now
            let megabyte = Array(repeating: UInt8(ascii: "a"), count: 1_000_000)
            var isTaken = true
            for _ in 0..<1000 where isTaken { isTaken = await raw.send(megabyte) }
            _ = try await raw.readToEnd()
            #expect(!isTaken, "a header of a gigabyte was taken")
            // A sending client does not wait until the connection counts as idle.
            #expect(ContinuousClock.now - start < .seconds(200))
            let many = try RawConnection(port: server.port)
            await many.send(Self.list + (0..<5000).map { "X-\($0): y\r\n" }.joined() + "\r\n")
            #expect(try await many.readToEnd().hasPrefix("HTTP/1.1 200") == false)
            try await stillAnswers(server, token)
        }
    }

    @Test func aSlowBodyIsRejectedAndItsConnectionClosed() async throws {
        var limits = Limits()
        // Any pace is too slow.
        (limits.bodyGraceSeconds, limits.bodyBytesPerSecond) = (0, 1_000_000_000)
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser("mia")
            let raw = try RawConnection(port: server.port)
            await raw.send(Self.head(server, "\(LiveServer.database)/zones/modify", token, "Content-Length: 1000") + "{")
            let answer = try await raw.readToEnd()
            #expect(answer.hasPrefix("HTTP/1.1 400"))
            #expect(answer.contains("the body arrives too slowly"))
            try await stillAnswers(server, token)
        }
    }

    @Test(arguments: [(0, 29, false), (0, 31, true), (999, 31, true), (1001, 31, false), (1_000_000, 1000, false), (1_000_000, 3600, true)])
    func theBodyRateIsEnforcedAfterTheGracePeriod(_ bytes: Int, _ seconds: Int, _ isTooSlow: Bool) {
        var limits = Limits()
        (limits.bodyGraceSeconds, limits.bodyBytesPerSecond) = (30, 1000)
        #expect((BodyPace(limits).verdict(bytes: bytes, in: .seconds(seconds), isFirst: true) == .tooSlow) == isTooSlow)
        limits.bodyBytesPerSecond = 0
        #expect(BodyPace(limits).verdict(bytes: bytes, in: .seconds(seconds), isFirst: true) != .tooSlow)
    }

    /// A client that sends most of a body immediately and then single bytes slowly.
    @Test func theBodyRateIsMeasuredAnewInEachInterval() {
        var limits = Limits()
        (limits.bodyGraceSeconds, limits.bodyBytesPerSecond) = (30, 1000)
        let pace = BodyPace(limits)
        #expect(pace.verdict(bytes: 16_000_000, in: .seconds(59), isFirst: true) == .fastEnough)
        #expect(pace.verdict(bytes: 16_000_000, in: .seconds(60), isFirst: true) == .beginsAnew)
        #expect(pace.verdict(bytes: 1, in: .seconds(29), isFirst: false) == .fastEnough)
        #expect(pace.verdict(bytes: 29_999, in: .seconds(30), isFirst: false) == .tooSlow)
        #expect(pace.verdict(bytes: 30_000, in: .seconds(30), isFirst: false) == .beginsAnew)
        #expect(pace.verdict(bytes: 30_000, in: .seconds(31), isFirst: false) == .tooSlow)
    }

    @Test func idleConnectionsAreClosedButPushStreamsStayOpen() async throws {
        var limits = Limits()
        // Longer than a busy machine takes between two requests over one connection.
        limits.idleSeconds = 5
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let all = SubscriptionsModifyRequest(operations: [.create(Subscription(subscriptionID: "all", kind: .database))])
            _ = try await server.post(.modifySubscriptions, all, token: token)
            let stream = try RawConnection(port: server.port)
            await stream.send(
                "GET /device/1/\(LiveServer.container)/development/push/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\nX-Tarn-Device: other\r\n\r\n"
            )
            _ = try await stream.read(until: "\r\n\r\n")
            // One that never ends its head, one that sent a request, and one that stopped in its body.
            let (unfinished, kept, stalled) = (
                try RawConnection(port: server.port), try RawConnection(port: server.port), try RawConnection(port: server.port)
            )
            await unfinished.send("GET /health HT")
            await kept.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            await stalled.send(Self.head(server, "\(LiveServer.database)/zones/modify", token, "Content-Length: 1000") + "{")
            #expect(try await unfinished.readToEnd() == "")
            #expect(try await kept.readToEnd().contains(#"{"status":"ok"}"#))
            #expect(try await !stalled.readToEnd().hasPrefix("HTTP/1.1 200"))
            // The client's own connection was closed, too.
            _ = try? await server.modify(.init(.create, Record(recordName: "p", recordType: "Plant")), token: token)
            _ = try await server.modify(.init(.forceUpdate, Record(recordName: "p", recordType: "Plant")), token: token)
            #expect(try await stream.read(until: "}}}\n").contains(#""sid":"all""#))
        }
    }

    @Test func aHalfClosedConnectionGetsItsResponse() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            let raw = try RawConnection(port: server.port)
            await raw.send(Self.list + "Authorization: Bearer \(token)\r\n\r\n")
            raw.finishSending()
            #expect(try await raw.readToEnd().hasPrefix("HTTP/1.1 200"))
            let broken = try RawConnection(port: server.port)
            let body = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Half"}}}]}"#
            await broken.send(
                Self.head(server, "\(LiveServer.database)/zones/modify", token, "Content-Length: \(body.utf8.count + 1)") + body)
            broken.finishSending()
            let answer = try await broken.readToEnd()
            #expect(answer.hasPrefix("HTTP/1.1 400"), "\(answer)")
            #expect(answer.contains(#""serverErrorCode":"BAD_REQUEST""#), "\(answer)")
            #expect(!(try await server.send("GET", "\(LiveServer.database)/zones/list", token: token).text.contains("Half")))
        }
    }

    @Test func aMalformedRequestIsABadRequest() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            var answer = ""
            // The connection is closed soon, which may be too soon for the answer on a busy machine.
            for _ in 0..<10 where answer.isEmpty {
                let raw = try RawConnection(port: server.port)
                await raw.send(
                    Self.head(server, "\(LiveServer.database)/zones/modify", token, "Transfer-Encoding: chunked") + "zz\r\n{}\r\n")
                answer = try await raw.readToEnd()
            }
            #expect(answer.hasPrefix("HTTP/1.1 400"), "\(answer)")
            #expect(answer.contains("the body is truncated or isn't valid HTTP"), "\(answer)")
            try await stillAnswers(server, token)
        }
    }

    /// A program that reads the answer only once it has sent its whole request.
    @Test(arguments: ["Connection: close\r\n", ""])
    func anOversizedBodyIsReadAndRejected(_ header: String) async throws {
        var limits = Limits()
        (limits.requestBodyBytes, limits.idleSeconds) = (1000, 10)
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser("mia")
            let raw = try RawConnection(port: server.port)
            let bytes = 30_000_000
            await raw.send(Self.head(server, "\(LiveServer.database)/zones/modify", token, header + "Content-Length: \(bytes)"))
            let isSent = await raw.send(Array(repeating: 0x20, count: bytes))
            #expect(isSent)
            #expect(try await raw.read(until: "\"nativeErrorCode\":27}").hasPrefix("HTTP/1.1 413"))
            try await stillAnswers(server, token)
        }
    }

    @Test(arguments: [true, false])
    func anInterruptedUploadStoresNoAsset(_ endsInOrder: Bool) async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let (path, id) = try await uploadPath(server, token)
            do {
                let raw = try RawConnection(port: server.port)
                await raw.send(Self.head(server, path, token, "Transfer-Encoding: chunked") + "5\r\nhello\r\n")
                if endsInOrder {
                    raw.finishSending()
                    #expect(try await raw.readToEnd().hasPrefix("HTTP/1.1 200") == false)
                }
            }
            let asset = AssetValue(fileChecksum: "x", size: 5, receipt: id)
            let saved = try await server.modify(
                .init(.create, Record(recordName: "p1", recordType: "Plant", fields: ["photo": Field(.asset(asset))])), token: token)
            #expect(try ModifyRecordsResponse(json: saved.body).results.first.flatMap { if case .failure = $0 { $0 } else { nil } } != nil)
        }
    }

    @Test func pathsOutsideTheAssetFolderAreNotFound() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            let (path, _) = try await {
                try await server.makeGarden(token: token)
                return try await uploadPath(server, token)
            }()
            let secret = server.folder.path + "/secret"
            try Data("secret".utf8).write(to: URL(fileURLWithPath: secret))
            for wrong in ["../../secret", "..%2F..%2Fsecret", "%2e%2e/%2e%2e/secret", "/etc/passwd"] {
                var parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
                parts[8] = wrong
                parts[7] = "download"
                let answer = try await server.send("GET", parts.joined(separator: "/"), token: token)
                #expect([400, 403, 404].contains(answer.status), "\(wrong)")
                #expect(!answer.text.contains("secret"), "\(wrong)")
            }
            // A name that a client chooses is never part of a path.
            for name in ["../../x", "a/b", "..", "\u{0}"] {
                let message = AssetUploadRequest(
                    items: [.init(recordType: "Plant", recordName: name, fieldName: "photo")], zoneID: LiveServer.garden)
                let response = try AssetUploadResponse(json: try await server.post(.uploadAssets, message, token: token).body)
                if case .address(let address) = response.results[0] { #expect(!address.url.contains("..")) }
            }
        }
    }

    /// A connection that is accepted while the server stops, and that no task owns. Without the guard the process ends.
    @Test func anAcceptedConnectionWithoutATaskIsClosed() async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let judge = HeadRefusalHandler.Judge(verdict: { _, _ in .admitted(isCounted: false) }, requestArrived: {}, requestEnded: {})
        let guarded = GuardedChannel(
            idleSeconds: 60, pace: BodyPace(Limits()), judge: judge, counts: OpenCounts(atMost: 0), isUncounted: { _ in false },
            responder: { _, _, _ in })
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                // Dropped once the channel is active, as one is that comes after the last that was taken.
                guarded.setup(channel: channel, logger: logger).map { connection in
                    channel.eventLoop.execute { withExtendedLifetime(connection) {} }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let raw = try RawConnection(port: try #require(server.localAddress?.port))
        #expect(try await raw.readToEnd() == "")
        try await server.close()
    }

    @Test(arguments: [("127.0.0.1", true), ("127.8.0.1", true), ("::1", true), ("192.0.2.7", false), ("2001:db8::1", false)])
    func loopbackAddressesAreOfThisMachine(_ text: String, _ isLoopback: Bool) { #expect(NetworkAddress(text)?.isLoopback == isLoopback) }

    @Test func aConnectionBeyondTheLimitOfItsNetworkIsClosed() async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let judge = HeadRefusalHandler.Judge(verdict: { _, _ in .admitted(isCounted: false) }, requestArrived: {}, requestEnded: {})
        let counts = OpenCounts(atMost: 1)
        let guarded = GuardedChannel(
            idleSeconds: 60, pace: BodyPace(Limits()), judge: judge, counts: counts, isUncounted: { _ in false }, responder: { _, _, _ in })
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                guarded.setup(channel: channel, logger: logger).map { connection in
                    channel.closeFuture.whenComplete { _ in withExtendedLifetime(connection) {} }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        var first: RawConnection? = try RawConnection(port: port)
        while counts.count == 0 { await Task.yield() }
        #expect(try await RawConnection(port: port).readToEnd() == "", "a second connection")
        first?.reset()
        first = nil
        while counts.count > 0 { await Task.yield() }
        let third = try RawConnection(port: port)
        while counts.count == 0 { await Task.yield() }
        withExtendedLifetime(third) {}
        try await server.close()
    }
}
