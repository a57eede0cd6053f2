// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudConsole
import CloudServer
import CloudService
import CloudWire
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Testing

@testable import TarnCommands

/// Requests to the console's own address.
@Suite struct ConsoleOwnAddressTests {
    private static let stream = "/device/1/iCloud.org.example.notes/development/push/stream"

    private static func console(_ village: Village, _ serviceAddress: String? = nil) -> Console {
        Console(
            service: village.service, storage: village.store, settings: [(name: "console address", value: "http://127.0.0.1:8081")],
            serviceAddress: serviceAddress
        ).serving(.console)
    }

    private static func request(_ path: String, query: String = "") -> ServiceRequest {
        ServiceRequest(method: "GET", path: path, query: query, headers: [:], body: .bytes([]), baseURL: "http://127.0.0.1:8081")
    }

    /// `tarn watch --server` listens and sends an operator's requests to one address.
    @Test func thePushStreamIsServedAndOtherDeviceRequestsAreNot() async throws {
        let console = Self.console(try Village())
        #expect(await console.respond(to: Self.request(Self.stream, query: "database=PUBLIC")) == nil, "the service responds")
        for path in [
            "/device/1/iCloud.org.example.notes/development/tokens/create", "/device/1/x/development/tokens/webAuth", "/device/push/stream",
        ] {
            #expect(await console.respond(to: Self.request(path))?.status == 404, "\(path)")
        }
    }

    @Test func commandsForShellsNameTheServicesAddress() async throws {
        let (village, visitor) = try await ConsoleTests.signedIn()
        let page = "\(ConsoleTests.base)/records/public/_defaultZone/p%3C1%3E"
        #expect(await visitor.get(page).text.contains("/database/1/"))
        let own = ConsoleTests.Visitor(Self.console(village, "https://cloud.example.com"))
        _ = await own.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        let text = await own.get(page).text
        #expect(text.contains("https://cloud.example.com/database/1/"))
    }

    private static func status(_ port: Int, host: String) async throws -> Int {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/console.css")
        request.headers.replaceOrAdd(name: "Host", value: host)
        return Int(try await HTTPClient.shared.execute(request, timeout: .seconds(120)).status.code)
    }

    @Test(arguments: [nil, "https://console.example.com"] as [String?])
    func reboundNamesAreRefused(_ address: String?) async throws {
        let folder = TemporaryFolder()
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let server = try LocalServer(
            data: folder.path, host: "127.0.0.1", port: 0, publicAddress: PublicAddress("https://cloud.example.com") as PublicAddress?,
            consoleAddress: ListenAddress(host: "127.0.0.1", port: 0), consolePublicAddress: address.flatMap { PublicAddress($0) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await server.run(endsOnSignals: false, onConsole: { listening.yield($0) }) { _ in } }
        var iterator = ports.makeAsyncIterator()
        let port = try #require(await iterator.next())
        for host in ["127.0.0.1:\(port)", "localhost:\(port)", "[::1]"] {
            #expect(try await Self.status(port, host: host) == 200, "\(host)")
        }
        for host in ["evil.example", "cloud.example.com", "127.0.0.1.evil.example"] {
            #expect(try await Self.status(port, host: host) == 421, "\(host)")
        }
        #expect(try await Self.status(port, host: "console.example.com") == (address == nil ? 421 : 200))
        running.cancel()
        _ = await running.result
    }
}
