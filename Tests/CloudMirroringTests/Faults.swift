// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Foundation
import Synchronization
import TestBasics

/// What stands between a device and the server: answers of the test's own, and a gate that holds requests up.
final class Faults: CloudTransport {
    /// What happens to one request.
    enum Fault: Sendable {
        /// The server refuses the request as a whole.
        case refuse(status: Int, WireError)
        /// The exchange ends as a transport's does.
        case fail(CKError)
        /// The server carries it out, and its answer is another one.
        case answer(@Sendable ([UInt8]) async throws -> [UInt8])
        /// The server carries it out, and its answer says that it may not have been.
        case giveUp(status: Int, body: String)
        /// Nothing.
        case pass
    }

    private struct State {
        var planned: [(operation: String, fault: Fault)] = []
        var log: [String] = []
        var bodies: [[UInt8]] = []
        var answers: [(operation: String, body: [UInt8])] = []
        var deathAt: (request: Int, isCarriedOut: Bool)?
        var refused: (operation: String, needle: [UInt8], fault: Fault)?
    }

    let transport: InProcessTransport
    var needsIdleTimeout: Bool { transport.needsIdleTimeout }
    var credential: String? { transport.credential }
    private let gate: Gate?
    private let state = Mutex(State())

    /// - Parameter gate: Every request waits for it.
    init(_ transport: InProcessTransport, gate: Gate? = nil) {
        self.transport = transport
        self.gate = gate
    }

    /// The next requests of an operation, such as `records/modify` or `asset`, meet a fault, each one.
    func plan(_ operation: String, _ faults: Fault...) { state.withLock { $0.planned += faults.map { (operation, $0) } } }

    /// Rejects each request of an operation with a text in its body.
    func refuseAll(_ operation: String, containing text: String, status: Int, _ error: WireError) {
        state.withLock { $0.refused = (operation, Array(text.utf8), .refuse(status: status, error)) }
    }

    func stopRefusing() { state.withLock { $0.refused = nil } }

    /// From the request with this number on nothing reaches the server, or comes back from it.
    func die(at request: Int, isCarriedOut: Bool) { state.withLock { $0.deathAt = (request, isCarriedOut) } }

    var isSpent: Bool { state.withLock { $0.planned.isEmpty } }
    var log: [String] { state.withLock { $0.log } }
    /// All that was sent, in order.
    var bodies: [[UInt8]] { state.withLock { $0.bodies } }

    /// Bodies of the answers that came unchanged.
    func answers(_ operation: String) -> [[UInt8]] { state.withLock { $0.answers.filter { $0.operation == operation }.map(\.body) } }

    /// Records that came in answers to queries.
    func records(_ operation: String) -> [Record] {
        answers(operation).compactMap { try? QueryRecordsResponse(json: $0) }.flatMap { answer in
            answer.results.compactMap { if case .record(let record) = $0 { record } else { nil } }
        }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let fault = try await meet(request)
        switch fault {
        case nil, .pass:
            let response = try await transport.send(request)
            state.withLock { $0.answers.append((Self.operation(of: request), response.body)) }
            return response
        case .refuse(let status, let error): return TransportResponse(status: status, headers: TransportHeaders(), body: error.encoded())
        case .fail(let error): throw error
        case .answer(let change):
            var response = try await transport.send(request)
            response.body = try await change(response.body)
            return response
        case .giveUp(let status, let body):
            _ = try await transport.send(request)
            return TransportResponse(status: status, headers: TransportHeaders(), body: Array(body.utf8))
        }
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        switch try await meet(request) {
        case .refuse(let status, let error):
            let body = error.encoded()
            return TransportStream(
                status: status, headers: TransportHeaders(),
                chunks: AsyncThrowingStream<[UInt8], any Error> { continuation in
                    continuation.yield(body)
                    continuation.finish()
                })
        case .fail(let error): throw error
        case nil, .answer, .giveUp, .pass: return try await transport.stream(request)
        }
    }

    private func meet(_ request: TransportRequest) async throws -> Fault? {
        if case .service = request.target { try await gate?.pass() }
        let operation = Self.operation(of: request)
        return state.withLock { state in
            state.log.append(operation)
            if let death = state.deathAt, state.log.count >= death.request {
                let lost = CKError(.networkUnavailable, "the device died")
                return death.isCarriedOut && state.log.count == death.request ? .answer { _ in throw lost } : .fail(lost)
            }
            if case .bytes(let bytes) = request.body { state.bodies.append(bytes) }
            if let refused = state.refused, refused.operation == operation, case .bytes(let bytes) = request.body,
                bytes.firstRange(of: refused.needle) != nil
            {
                return refused.fault
            }
            guard let index = state.planned.firstIndex(where: { $0.operation == operation }) else { return nil }
            return state.planned.remove(at: index).fault
        }
    }

    private static func operation(of request: TransportRequest) -> String {
        switch request.target {
        case .asset: "asset"
        case .service(let path): path.split(separator: "/").suffix(2).joined(separator: "/")
        }
    }
}

/// Holds up some requests until its gate is opened.
final class Holding: CloudTransport {
    let gate = Gate()
    private let transport: InProcessTransport
    var needsIdleTimeout: Bool { transport.needsIdleTimeout }
    var credential: String? { transport.credential }
    private let isHeld: @Sendable (_ path: String, _ body: [UInt8]) -> Bool

    init(_ transport: InProcessTransport, where isHeld: @escaping @Sendable (_ path: String, _ body: [UInt8]) -> Bool) {
        self.transport = transport
        self.isHeld = isHeld
    }

    /// Those that delete records.
    convenience init(deletionsOn transport: InProcessTransport) {
        self.init(transport) { path, body in path.hasSuffix("records/modify") && body.firstRange(of: Array(#"elete""#.utf8)) != nil }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if case .service(let path) = request.target {
            var body: [UInt8] = []
            if case .bytes(let bytes) = request.body { body = bytes }
            if isHeld(path, body) { try await gate.pass() }
        }
        return try await transport.send(request)
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream { try await transport.stream(request) }
}

/// Blocks all callers until it is opened, at the latest at the end of the test.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var held: [CheckedContinuation<Void, Never>] = []
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    init() {
        TestScope.close(self, isFirst: true) {
            self.open()
            return []
        }
    }

    func pass() async throws {
        await withCheckedContinuation { continuation in
            let watchers = state.withLock { state in
                if state.isOpen {
                    continuation.resume()
                } else {
                    state.held.append(continuation)
                }
                defer { state.watchers = [] }
                return state.watchers
            }
            for watcher in watchers { watcher.resume() }
        }
    }

    /// Returns when a caller waits at the gate.
    func reached() async throws {
        await withCheckedContinuation { continuation in
            let isHere = state.withLock { state in
                if state.held.isEmpty { state.watchers.append(continuation) }
                return !state.held.isEmpty
            }
            if isHere { continuation.resume() }
        }
    }

    func open() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }
}
