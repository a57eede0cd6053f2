// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import MirroringCore
import TestBasics
import Testing

@testable import TarnMirror

/// The transport on a socket that answers as no server should.
@Suite(.timeLimit(.minutes(2))) struct URLSessionTransportTests {
    private func transport(_ port: Int, idle: Duration = .seconds(30)) throws -> URLSessionTransport {
        var options = TarnMirror.Options(containerIdentifier: "iCloud.a", server: "http://127.0.0.1:\(port)/tarn/", token: "secret")
        options.idleTimeout = idle
        return try URLSessionTransport(options)
    }

    private func get(_ path: String, max: Int = 1000) -> MirrorRequest {
        MirrorRequest(method: "GET", target: .service(path: path), headers: ["X-Test": "yes"], body: nil, responseBytesMax: max)
    }

    private func code(_ body: () async throws -> Void) async -> AppErrorCode? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CloudFailure)?.code
        }
    }

    @Test func aResponseHasStatusHeadersAndBody() async throws {
        let server = try CannedServer(.bytes("HTTP/1.1 409 Conflict\r\nX-Answer: a\r\nContent-Length: 4\r\n\r\nbody"))
        defer { server.stop() }
        let response = try await transport(server.port).send(get("/database"))
        #expect(response.status == 409)
        #expect(response.headers["x-answer"] == "a")
        #expect(String(decoding: response.body, as: UTF8.self) == "body")
        let request = try #require(server.requests.first)
        #expect(request.hasPrefix("GET /tarn/database HTTP/1.1\r\n"))
        #expect(request.contains("Authorization: Bearer secret\r\n"))
        #expect(request.contains("X-Test: yes\r\n"))
    }

    @Test func anAddressOfAnAssetGetsNoToken() async throws {
        let server = try CannedServer(.bytes("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        defer { server.stop() }
        var request = get("")
        request.target = .asset(address: "/asset/1")
        _ = try await transport(server.port).send(request)
        #expect(try #require(server.requests.first).hasPrefix("GET /asset/1 "))
        #expect(server.requests.allSatisfy { !$0.contains("secret") })
        for address in ["//other.example/asset", "http://other.example/asset", "file:///etc/passwd", "asset"] {
            request.target = .asset(address: address)
            let sent = request
            #expect(await code { _ = try await transport(server.port).send(sent) } == .networkFailure, "\(address)")
        }
    }

    @Test func aRedirectIsReturnedAndNotFollowed() async throws {
        let other = try CannedServer(.bytes("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        let server = try CannedServer(
            .bytes("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(other.port)/\r\nContent-Length: 0\r\n\r\n"))
        defer {
            server.stop()
            other.stop()
        }
        #expect(try await transport(server.port).send(get("/a")).status == 302)
        #expect(other.requests.isEmpty)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + String(repeating: "a", count: 1001),
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + String(repeating: "a", count: 1001),
    ])
    func aResponseAboveItsLimitIsCut(_ bytes: String) async throws {
        let server = try CannedServer(.bytes(bytes))
        defer { server.stop() }
        #expect(await code { _ = try await transport(server.port).send(get("/a")) } == .networkFailure)
        #expect(try await transport(server.port).send(get("/a", max: 1001)).body.count == 1001)
    }

    @Test func aSilentServerTimesOut() async throws {
        let server = try CannedServer(.silence(after: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"))
        defer { server.stop() }
        #expect(await code { _ = try await transport(server.port, idle: .seconds(1)).send(get("/a")) } == .networkFailure)
    }

    @Test func aClosedPortIsUnreachable() async throws {
        let server = try CannedServer(.bytes(""))
        server.stop()
        #expect(await code { _ = try await transport(server.port).send(get("/a")) } == .networkUnavailable)
    }

    /// The limit of an asset's size is not that of a response without the asset.
    @Test func aFailedDownloadHasTheReasonOfTheServer() async throws {
        let body = #"{"serverErrorCode":"TRY_AGAIN_LATER","reason":"busy","uuid":"1"}"#
        let server = try CannedServer(.bytes("HTTP/1.1 503 Busy\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"))
        defer { server.stop() }
        let client = MirrorClient(containerIdentifier: "iCloud.a", environment: .development, transport: try transport(server.port))
        let asset = AssetValue(fileChecksum: "00", size: 1, downloadURL: "/asset/1")
        #expect(await code { _ = try await client.download(asset) } == .serviceUnavailable)
    }

    @Test func aRequestThatIsCancelledBeforeItBeginsEnds() async throws {
        let server = try CannedServer(.silence(after: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"))
        defer { server.stop() }
        let transport = try transport(server.port), request = get("/a")
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await transport.send(request)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func aCancelledRequestEnds() async throws {
        let server = try CannedServer(.silence(after: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"))
        defer { server.stop() }
        let transport = try transport(server.port), request = get("/a")
        let task = Task { try await transport.send(request) }
        try await until { !server.requests.isEmpty }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
