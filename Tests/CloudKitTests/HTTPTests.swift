// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Testing

private func transport(_ address: String, request: Duration = .seconds(600)) throws -> HTTPTransport {
    var timeouts = HTTPTransport.Timeouts()
    timeouts.request = request
    return HTTPTransport(server: try #require(ServerAddress(address)), token: "s3cr3t", timeouts: timeouts)
}

private let request = TransportRequest(
    method: "POST", target: .service(path: "/x/y"), headers: ["X-A": "b"], body: .bytes(Array("body".utf8)),
    responseBytesMax: 1000)

private func answer(_ body: String, length: Int? = nil, headers: String = "") -> String {
    "HTTP/1.1 200 OK\r\nContent-Length: \(length ?? body.utf8.count)\r\n\(headers)\r\n\(body)"
}

@Suite struct HTTPTests {
    @Test func aRequestArrivesWithTheTokenAndItsAnswerReturns() async throws {
        let server = try CannedServer(answer("{}", headers: "X-Apple-Request-UUID: u1\r\n"))
        let response = try await transport(server.address + "/prefix/").send(request)
        #expect(response.status == 200)
        #expect(text(response.body) == "{}")
        #expect(response.headers["x-apple-request-uuid"] == "u1")
        let received = try #require(server.requests.first)
        #expect(received.hasPrefix("POST /prefix/x/y HTTP/1.1\r\n"))
        #expect(received.lowercased().contains("authorization: bearer s3cr3t\r\n"))
        #expect(received.lowercased().contains("x-a: b\r\n"))
        #expect(received.hasSuffix("\r\n\r\nbody"))
    }

    @Test func anAssetIsSentFromItsFileAndWithoutTheToken() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("asset")
        try Data(String(repeating: "0123456789", count: 20_000).utf8).write(to: file)
        let server = try CannedServer(answer("{}"))
        var upload = request
        upload.target = .asset(address: "/u/1?sig=2")
        upload.body = .file(file, byteCount: 200_000)
        _ = try await transport(server.address).send(upload)
        let received = try #require(server.requests.first)
        #expect(received.hasPrefix("POST /u/1?sig=2 HTTP/1.1\r\n"))
        #expect(!received.contains("s3cr3t"))
        #expect(received.components(separatedBy: "\r\n\r\n").last?.utf8.count == 200_000)
    }

    @Test func aMissingServerIsAnUnavailableNetworkImmediately() async throws {
        let closed = try CannedServer(nil)
        let refused = await failure { try await transport(closed.address).send(request) }
        #expect(refused?.code == .networkUnavailable)
        #expect(refused?.localizedDescription == "the server cannot be reached; is it running at the configured address?")
        let unknown = await failure { try await transport("http://does-not-exist.invalid").send(request) }
        #expect(unknown?.code == .networkUnavailable)
    }

    @Test(arguments: ["", answer("{}", length: 100), "HTTP/1.1 200 OK\r\nContent-Le", "not http at all\r\n\r\n"])
    func anIncompleteResponseIsANetworkFailure(_ bytes: String) async throws {
        let server = try CannedServer(bytes)
        let error = await failure { try await transport(server.address).send(request) }
        #expect(error?.code == .networkFailure)
    }

    @Test func aTooLargeResponseIsNotRead() async throws {
        let server = try CannedServer(answer(String(repeating: "x", count: 1001)))
        let error = await failure { try await transport(server.address).send(request) }
        #expect(error?.localizedDescription == "the server's response is too large")
        #expect(error?.isResponseTooLarge == true)
    }

    /// The connection is closed long before there is much in memory.
    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "4000\r\n" + String(repeating: "x", count: 0x4000) + "\r\n"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9000000000000\r\n\r\n", "xxxxxxxx"),
        ("HTTP/1.1 200 OK\r\n\r\n", "until you hang up "), ("HTTP/1.1 200 OK\r\nX-Long: ", "xxxxxxxx"),
        ("HTTP/1.1 200 OK\r\n", "X-Again: yes\r\n"),
    ])
    func anEndlessResponseIsBounded(_ head: String, _ piece: String) async throws {
        let server = try EndlessServer(head, then: piece)
        let error = await failure { try await transport(server.address).send(request) }
        #expect(error?.code == .networkFailure)
        // What lies in the buffers of sockets counts, too, and a broken exchange is tried three times.
        #expect(server.sent < server.connections * (24 << 20), "\(server.sent) bytes were taken")
    }

    @Test(arguments: [("", "HTTP/1.1 100 Continue\r\n\r\n"), ("HTTP/1.1 200 ", "OK")])
    func anEndlessResponseHeadTimesOut(_ head: String, _ piece: String) async throws {
        let server = try EndlessServer(head, then: piece)
        let error = await failure { try await transport(server.address, request: .milliseconds(300)).send(request) }
        #expect(error?.code == .networkFailure)
    }

    @Test func redirectsAreNotFollowed() async throws {
        let elsewhere = try CannedServer(answer("{}"))
        for status in [301, 302, 303, 307, 308] {
            let server = try CannedServer(
                "HTTP/1.1 \(status) Moved\r\nLocation: \(elsewhere.address)/\r\nContent-Length: 0\r\n\r\n")
            let response = try await transport(server.address).send(request)
            #expect(response.status == status)
            #expect(server.requests.count == 1)
        }
        #expect(elsewhere.requests.isEmpty, "the token is for one server only")
    }

    @Test func aServerWithoutResponseTimesOut() async throws {
        let server = try CannedServer("", then: .stayOpen)
        let error = await failure { try await transport(server.address, request: .milliseconds(50)).send(request) }
        #expect(error?.code == .networkFailure)
        #expect(error?.localizedDescription == "the request timed out")
    }

    @Test func aStreamIsReadWhileItIsOpen() async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
        let server = try CannedServer(head, then: .stayOpen)
        let stream = try await transport(server.address).stream(request)
        #expect(stream.status == 200)
        var received: [UInt8] = []
        for try await chunk in stream.chunks {
            received += chunk
            if received.count == 5 { break }
        }
        #expect(text(received) == "hello")
    }

    @Test func addressesOfAssetsAreResolvedAgainstTheServer() async throws {
        let server = try #require(ServerAddress("HTTPS://Cloud.example:8443/tarn/"))
        #expect(server.root == "https://Cloud.example:8443/tarn")
        for address in ["//evil.example/x", "file:///etc/passwd", "x", ""] {
            var bad = request
            bad.target = .asset(address: address)
            let transport = HTTPTransport(server: server, token: "t")
            let error = await failure { try await transport.send(bad) }
            #expect(error?.localizedDescription == "the server returned an invalid asset address")
        }
    }
}
