// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Synchronization
import TestBasics
import Testing

@testable import TarnCommands

/// A server that gives a new web auth token with each response, and that holds its first response back.
private final class HeldServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let tokenCount = Mutex(0)
    private let firstRequest = AsyncStream<Void>.makeStream()
    private let mayRespond = DispatchSemaphore(value: 0)

    /// The token of the latest response.
    var token: String { "token-\(tokenCount.withLock { $0 })" }

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 8) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        try #require(isListening)
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { self.serve() }
    }

    deinit { close(listener) }

    /// Waits until the first request has arrived.
    func received() async { for await _ in firstRequest.stream { return } }

    func respond() { mayRespond.signal() }

    private func serve() {
        while true {
            let connection = accept(listener, nil, nil)
            if connection < 0 { return }
            var request: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 4096)
            while !String(decoding: request, as: UTF8.self).contains("\r\n\r\n") {
                let count = read(connection, &piece, piece.count)
                if count <= 0 { break }
                request += piece[..<count]
            }
            if tokenCount.withLock({ $0 }) == 0 {
                firstRequest.continuation.yield()
                mayRespond.wait()
            }
            tokenCount.withLock { $0 += 1 }
            let body = #"{"zones":[]}"#
            let response = Array(
                "HTTP/1.1 200 OK\r\nX-Apple-CloudKit-Web-Auth-Token: \(token)\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
                    .utf8)
            _ = write(connection, response, response.count)
            close(connection)
        }
    }
}

/// `tarn icloud`, and signals during a request: its response has the next web auth token.
@Suite(.closesFixtures, .tags(.slow)) struct SessionSignalTests {
    @Test(.timeLimit(.minutes(2)), arguments: [SIGINT, SIGTERM]) func theTokenOfTheResponseIsStored(signal: Int32) async throws {
        let folder = try Folder()
        let apple = try HeldServer()
        let session = URL(fileURLWithPath: folder.path("session"))
        let store = try WebAuthTokenStore(session)
        try store.signIn("token-0")
        await store.close()
        let data = folder.path("tarn")
        let deviceToken = try await Programs.tarn(["user", "add", "mia", "--data", data], in: folder)
        for (name, secret) in [("api-token", "secret"), ("tarn-token", deviceToken)] {
            try Data(secret.utf8).write(to: URL(fileURLWithPath: folder.path(name)))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.path(name))
        }
        let tarn = try ChildProcess(
            "tarn", program: Programs.folder.appendingPathComponent("tarn"),
            arguments: ["serve", "--port", "0", "--data", data, "--exit-with-parent"], log: URL(fileURLWithPath: folder.path("tarn.log"))
        ).stoppedWithTest()
        let server = try await within(.seconds(60), "tarn did not start") { try await tarn.line(after: "tarn: listening on ") }
        let command = try ChildProcess(
            "tarn", program: Programs.folder.appendingPathComponent("tarn"),
            arguments: [
                "icloud", "compare", "--container", "iCloud.org.example.notes", "--icloud", "http://127.0.0.1:\(apple.port)",
                "--api-token-file", folder.path("api-token"), "--session", session.path, "--server", server, "--token-file",
                folder.path("tarn-token"),
            ], log: URL(fileURLWithPath: folder.path("compare.log"))
        ).stoppedWithTest()
        await apple.received()
        kill(command.processID, signal)
        apple.respond()
        _ = try await within(.seconds(60), "the command did not end") { await command.everything() }
        _ = await command.ended()
        let stored = try WebAuthTokenStore(session)
        #expect(stored.session?.token == apple.token)
        #expect(apple.token != "token-0")
    }
}
