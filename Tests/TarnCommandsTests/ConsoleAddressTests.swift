// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import AsyncHTTPClient
import CloudConsole
import CloudService
import CloudWire
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import TestBasics
import Testing

@testable import TarnCommands

/// The console on a port of its own.
@Suite struct ConsoleAddressTests {
    private static func status(_ port: Int, _ path: String) async throws -> Int {
        let request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        return Int(try await HTTPClient.shared.execute(request, timeout: .seconds(120)).status.code)
    }

    @Test func eachPortHasItsOwnPagesAndNotTheOthers() async throws {
        let folder = TemporaryFolder()
        let (ports, listening) = AsyncStream.makeStream(of: (isConsole: Bool, port: Int).self)
        let server = try LocalServer(
            data: folder.path, host: "127.0.0.1", port: 0, consoleAddress: ListenAddress(host: "127.0.0.1", port: 0),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task {
            try await server.run(endsOnSignals: false, onConsole: { listening.yield((true, $0)) }) { listening.yield((false, $0)) }
        }
        var iterator = ports.makeAsyncIterator()
        var byKind: [Bool: Int] = [:]
        while byKind.count < 2, let next = await iterator.next() { byKind[next.isConsole] = next.port }
        let (console, service) = (try #require(byKind[true]), try #require(byKind[false]))

        let caller = "/database/1/iCloud.org.example.notes/development/public/users/caller"
        for path in ["/console.css", "/health"] { #expect(try await Self.status(console, path) == 200, "\(path)") }
        for path in ["/", "/console", "/console/users"] { #expect(try await Self.status(console, path) != 404, "\(path)") }
        for path in [caller, "/signin", "/share/x", "/openapi.json", "/courier/1/x"] {
            #expect(try await Self.status(console, path) == 404, "\(path)")
        }
        for path in ["/cloudkit.js", "/health"] { #expect(try await Self.status(service, path) == 200, "\(path)") }
        #expect(try await Self.status(service, caller) == 421)
        for path in ["/", "/console", "/console/users", "/console/api\(caller)"] {
            #expect(try await Self.status(service, path) == 404, "\(path)")
        }
        running.cancel()
        _ = await running.result
    }

    @Test(arguments: [
        ("127.0.0.1:8081", "127.0.0.1:8081"), ("[::1]:8081", "[::1]:8081"), ("localhost:0", "localhost:0"), ("8081", nil), (":8081", nil),
        ("::1:8081", nil), ("host:70000", nil), ("host:x", nil), ("ho st:1", nil),
    ])
    func anAddressHasAHostAndAPort(_ row: (text: String, shown: String?)) throws {
        let address = ListenAddress(row.text)
        #expect(address?.shown(port: address?.port ?? 0) == row.shown)
        if row.shown == nil {
            #expect(throws: CommandError.self) { try ServeCommand.parse(["--console-address", row.text]).settings(environment: [:]) }
        }
    }
}
