// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CDispatch
import Foundation
import Glibc

/// Clients on one thread that send requests at a rate, whether or not the server keeps up with it (open loop), or each one after its
/// last response (closed loop).
final class OverloadLoad {
    struct Outcome {
        /// Milliseconds from a request to its response.
        var accepted: [Double] = []
        /// The same for responses with status 503 or 429.
        var refused: [Double] = []
        /// Responses with another error status, and broken connections.
        var failed = 0
        /// Requests that had no free connection.
        var unsent = 0
        /// Milliseconds by which the most delayed request was sent late.
        var lateness = 0.0
        var seconds = 0.0
        /// Processor time of this client, in seconds. On a small machine it is missing to the server.
        var clientSeconds = 0.0

        var rate: Double { Double(accepted.count) / seconds }
    }

    private struct Client {
        let connection: StressConnection
        var sent: ContinuousClock.Instant?
    }

    private let port: Int
    private let requests: [[UInt8]]
    private var next = 0

    /// - Parameter requests: Sent in turn.
    init(port: Int, requests: [[UInt8]]) {
        self.port = port
        self.requests = requests
    }

    /// - Parameters:
    ///   - rate: Requests per second; nil sends each client's next request after its response.
    ///   - clients: Connections, each with one request at a time.
    func run(rate: Double?, clients count: Int, seconds: Double) throws -> Outcome {
        var clients = (0..<count).map { _ in Client(connection: StressConnection(port: port)) }
        for client in clients where !client.connection.open() { throw Program.Failure(description: "no connection to port \(port)") }
        var waiting = clients.map { pollfd(fd: $0.connection.descriptor, events: Int16(POLLIN), revents: 0) }
        var free = Array(clients.indices)
        var outcome = Outcome()
        let start = ContinuousClock.now, startTime = Self.threadSeconds
        var due = 0
        var isOver = false
        while !isOver || free.count < count {
            let elapsed = Self.milliseconds(since: start)
            isOver = isOver || elapsed >= seconds * 1000
            // A server that does not answer any more ends the run.
            guard elapsed < seconds * 1000 + 30_000 else { break }
            if !isOver {
                let all = rate.map { Int(elapsed / 1000 * $0) } ?? due + free.count
                while due < all {
                    if let rate { outcome.lateness = max(outcome.lateness, elapsed - Double(due) / rate * 1000) }
                    due += 1
                    guard let index = free.popLast() else {
                        outcome.unsent += 1
                        continue
                    }
                    clients[index].sent = .now
                    if !clients[index].connection.write(requests[next % requests.count]) { outcome.failed += 1 }
                    next += 1
                }
            }
            guard poll(&waiting, nfds_t(waiting.count), rate == nil ? 100 : 1) > 0 else { continue }
            for index in clients.indices where waiting[index].revents != 0 {
                guard let sent = clients[index].sent else { continue }
                let response = clients[index].connection.read()
                let took = Self.milliseconds(since: sent)
                switch response?.status {
                case 200?: outcome.accepted.append(took)
                case 429?, 503?: outcome.refused.append(took)
                default: outcome.failed += 1
                }
                if response == nil {
                    clients[index].connection.end()
                    _ = clients[index].connection.open()
                }
                // A server may close a connection after its response.
                if !clients[index].connection.isOpen { _ = clients[index].connection.open() }
                waiting[index].fd = clients[index].connection.descriptor
                clients[index].sent = nil
                free.append(index)
            }
        }
        outcome.seconds = Self.milliseconds(since: start) / 1000
        outcome.clientSeconds = Self.threadSeconds - startTime
        return outcome
    }

    private static var threadSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func milliseconds(since start: ContinuousClock.Instant) -> Double { (ContinuousClock.now - start).nanoseconds / 1e6 }
}
