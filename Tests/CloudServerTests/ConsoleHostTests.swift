// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudServer
import CloudService
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import TestBasics
import Testing

@testable import TarnCommands

/// The `Host` header at the console's own address.
@Suite struct ConsoleHostTests {
    private static func status(_ port: Int, host: String) async throws -> Int {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/console.css")
        request.headers.replaceOrAdd(name: "Host", value: host)
        return Int(try await HTTPClient.shared.execute(request, timeout: .seconds(120)).status.code)
    }

    @Test(arguments: [nil, "https://console.example.com"] as [String?])
    func theConsoleRejectsForeignHostNames(_ address: String?) async throws {
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
