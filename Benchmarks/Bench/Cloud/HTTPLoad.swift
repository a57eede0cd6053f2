// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Glibc

/// Clients over kept-alive connections, each with one request at a time, all on one thread: its cost next to the
/// server is small, and the same for every server.
struct HTTPLoad {
    struct Result {
        /// From the first request to the last answer.
        var time: Duration
        /// From each request to its answer.
        var samples: [Duration]
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let port: Int
    let clients: Int

    /// Sends `count` requests.
    ///
    /// - Parameters:
    ///   - request: Bytes of the request with that number, head and body.
    /// - answered: Called with the body of each successful response.
    func run(_ count: Int, _ request: (Int) -> [UInt8], answered: ([UInt8]) throws -> Void = { _ in }) throws -> Result {
        var connections = try (0..<min(clients, count)).map { _ in try HTTPConnection(port: port) }
        defer { for connection in connections { connection.end() } }
        var waiting = connections.map { pollfd(fd: $0.socket, events: Int16(POLLIN), revents: 0) }
        let clock = ContinuousClock()
        var samples: [Duration] = []
        samples.reserveCapacity(count)
        var next = 0
        let start = clock.now
        for index in connections.indices {
            try connections[index].send(request(next), at: clock.now)
            next += 1
        }
        while samples.count < count {
            let ready = poll(&waiting, nfds_t(waiting.count), 60_000)
            guard ready > 0 else {
                if ready < 0, errno == EINTR { continue }
                throw Failure(description: "no answer for a minute")
            }
            for index in waiting.indices where waiting[index].revents != 0 {
                guard let answer = try connections[index].receive() else { continue }
                let now = clock.now
                samples.append(now - connections[index].sent)
                try answered(answer)
                if next < count {
                    try connections[index].send(request(next), at: clock.now)
                    next += 1
                }
            }
        }
        return Result(time: clock.now - start, samples: samples)
    }

    /// A request as bytes.
    static func request(_ method: String, _ path: String, headers: [String] = [], body: [UInt8] = []) -> [UInt8] {
        let head =
            ["\(method) \(path) HTTP/1.1", "Host: 127.0.0.1", "Content-Length: \(body.count)", "Content-Type: application/json"] + headers
        return Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
    }
}

/// One connection of ``HTTPLoad``.
struct HTTPConnection {
    let socket: Int32
    private(set) var sent = ContinuousClock.now
    private var request: [UInt8] = []
    private var tries = 0
    private var received: [UInt8] = []
    private struct Expected {
        /// Bytes of the head, and of head and body.
        var head: Int
        var whole: Int
        /// Kinto's response to two clients at the same moment.
        var mustRepeat: Bool
    }
    /// Of the answer that is coming, once its head is there.
    private var expected: Expected?
    private var buffer = [UInt8](repeating: 0, count: 1 << 18)

    init(port: Int) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 }
        }
        guard isConnected else { throw HTTPLoad.Failure(description: "no connection to port \(port)") }
        var one: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    func end() { close(socket) }

    mutating func send(_ request: [UInt8], at time: ContinuousClock.Instant) throws {
        sent = time
        self.request = request
        tries = 1
        try write(request)
    }

    private func write(_ request: [UInt8]) throws {
        var offset = 0
        while offset < request.count {
            let count = request.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress! + offset, request.count - offset, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw HTTPLoad.Failure(description: "a server hung up") }
            offset += count
        }
    }

    /// - Returns: The body, once all of it is there.
    mutating func receive() throws -> [UInt8]? {
        let count = recv(socket, &buffer, buffer.count, 0)
        if count < 0, errno == EINTR { return nil }
        guard count > 0 else { throw HTTPLoad.Failure(description: "a server hung up") }
        buffer.withUnsafeBufferPointer { received.append(contentsOf: UnsafeBufferPointer(rebasing: $0[..<count])) }
        if expected == nil { expected = try readHead() }
        guard let expected, received.count >= expected.whole else { return nil }
        let body = received.withUnsafeBufferPointer { Array(UnsafeBufferPointer(rebasing: $0[expected.head..<expected.whole])) }
        received.removeSubrange(..<expected.whole)
        self.expected = nil
        guard expected.mustRepeat else { return body }
        guard tries < 20 else { throw HTTPLoad.Failure(description: "a server asks to try again for ever") }
        tries += 1
        try write(request)
        return nil
    }

    private func readHead() throws -> Expected? {
        guard let head = ResponseHead(received) else { return nil }
        guard (200..<300).contains(head.status) || head.status == 409 else {
            throw HTTPLoad.Failure(
                description:
                    "a server answered \(head.status): \(String(decoding: received.dropFirst(head.bytes).prefix(300), as: UTF8.self))")
        }
        guard let bodyBytes = head.bodyBytes else { throw HTTPLoad.Failure(description: "an answer without its length") }
        return Expected(head: head.bytes, whole: head.bytes + bodyBytes, mustRepeat: head.status == 409)
    }
}
