// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import TestBasics
import Testing

@testable import CloudServer

/// An overloaded server refuses a request by its head.
@Suite(.timeLimit(.minutes(5))) struct HeadRefusalTests {
    private static func head(_ server: LiveServer, _ token: String, _ method: String, _ path: String, _ headers: String = "") -> String {
        "\(method) \(LiveServer.database)/\(path) HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nAuthorization: Bearer \(token)\r\n\(headers)\r\n"
    }

    private static func list(_ server: LiveServer, _ token: String) -> String { head(server, token, "GET", "zones/list") }

    /// Runs `body` while the queue of a user is full.
    private static func overloading(
        _ name: String, _ body: @Sendable (LiveServer, _ token: String) async throws -> Void
    ) async throws {
        var limits = Limits()
        (limits.concurrentRequests, limits.queueMilliseconds) = (2, 600_000)
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser(name)
            // The server knows a sender by the credential of an earlier request.
            #expect(try await server.send("GET", "\(LiveServer.database)/zones/list", token: token).status == 200)
            let account = try #require(try await server.store.account(named: name))
            let (requester, gate) = ("\(WorkTerms.accountPrefix)\(account)", server.service.admission)
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            let running = Task { try await gate.run(requester) { for await _ in ends { break } } }
            try await until { gate.counts.running != 0 }
            let waiting = (0..<256).map { _ in Task { try await gate.run(requester) {} } }
            try await until { gate.counts.waiting >= 256 }
            try await body(server, token)
            end.yield()
            try await running.value
            for task in waiting { try await task.value }
        }
    }

    @Test func aLongBodyIsNotReadAndItsConnectionCloses() async throws {
        try await Self.overloading("mia") { server, token in
            let raw = try RawConnection(port: server.port)
            await raw.send(Self.head(server, token, "POST", "records/modify", "Content-Length: 1000000\r\n"))
            // None of the body is sent.
            let response = try await raw.readToEnd()
            #expect(response.hasPrefix("HTTP/1.1 503"))
            #expect(response.contains("TRY_AGAIN_LATER"))
            #expect(response.lowercased().contains("retry-after: "))
            #expect(response.lowercased().contains("connection: close"))
            #expect(response.lowercased().contains("x-content-type-options: nosniff"))
        }
    }

    @Test func aConnectionCanBeUsedAgain() async throws {
        try await Self.overloading("mia") { server, token in
            let bob = try await server.addUser("bob")
            let raw = try RawConnection(port: server.port)
            for _ in 0..<3 {
                await raw.send(Self.list(server, token))
                #expect(try await raw.read(until: "}").hasPrefix("HTTP/1.1 503"))
            }
            await raw.send(Self.head(server, token, "POST", "records/modify", "Content-Length: 2\r\n") + "{}")
            #expect(try await raw.read(until: "}").hasPrefix("HTTP/1.1 503"))
            await raw.send(Self.head(server, bob, "GET", "zones/list", "Connection: close\r\n"))
            #expect(try await raw.readToEnd().hasPrefix("HTTP/1.1 200"), "the queue is that of another account")
            let last = try RawConnection(port: server.port)
            await last.send(Self.head(server, token, "GET", "zones/list", "Connection: close\r\n"))
            #expect(try await last.readToEnd().hasPrefix("HTTP/1.1 503"))
        }
    }

    /// A token that was revoked is not looked up.
    @Test func nothingIsAuthenticated() async throws {
        try await Self.overloading("mia") { server, token in
            try await server.store.removeDevice(labelled: "tablet", ofUser: "mia")
            #expect(try await server.send("GET", "\(LiveServer.database)/zones/list", token: token).status == 503)
            let unknown = try await server.send("GET", "\(LiveServer.database)/zones/list", token: "tarn_unknown")
            #expect(unknown.status != 503, "a credential that no request had goes on to be checked")
            let refused = server.service.admission.counts.refused
            #expect(refused == 1)
        }
    }

    /// Clients that send slowly do not count, and a broken connection ends its request.
    @Test func requestsCountOnceTheyHaveArrived() async throws {
        var limits = Limits()
        (limits.concurrentRequests, limits.queueMilliseconds) = (1, 600_000)
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser("mia")
            let admission = server.service.admission
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            let running = Task { try await admission.run("bob") { for await _ in ends { break } } }
            try await until { admission.counts.running != 0 }

            let raw = try RawConnection(port: server.port)
            await raw.send(Self.head(server, token, "POST", "records/modify", "Content-Length: 2\r\n"))
            // A response on another connection of the same loops: the head above was read before.
            for _ in 0..<8 { #expect(try await server.send("GET", "/health", token: nil).status == 200) }
            #expect(admission.inService == 0)
            await raw.send("{}")
            try await until { admission.inService == 1 }

            do {
                let lost = try RawConnection(port: server.port)
                await lost.send(Self.head(server, token, "POST", "records/modify", "Content-Length: 2\r\n") + "{}")
                try await until { admission.inService == 2 }
                // A client that only ends its side may still read the response.
                lost.reset()
            }
            try await until { admission.inService == 1 }
            end.yield()
            #expect(try await raw.read(until: "}").hasPrefix("HTTP/1.1"))
            try await running.value
            try await until { admission.inService == 0 }
        }
    }
}
