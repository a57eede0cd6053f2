// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudKit
import CloudService
import CloudWire
import Foundation
import Synchronization

/// The connection of one device to a server in the same process. It can be cut, and requests and responses can be lost.
package final class InProcessTransport: CloudTransport {
    private struct State {
        var isOffline = false
        var requestsToLose = 0
        var answersToLose = 0
        var log: [String] = []
        /// Closes the open connections when the device goes offline.
        var held: [Int: @Sendable () -> Void] = [:]
        var nextHeld = 0
    }

    package let deviceID: String
    package let executor: (any TaskExecutor)?
    private let cloud: InProcessCloud
    private let token: String?
    private let state = Mutex(State())
    package var credential: String? { token.map(CredentialDigest.text) }

    /// - Parameter token: `nil` if no user is signed in.
    init(cloud: InProcessCloud, token: String?, deviceID: String, executor: (any TaskExecutor)? = nil) {
        self.executor = executor
        self.cloud = cloud
        self.token = token
        self.deviceID = deviceID
    }

    // MARK: Faults

    /// Disconnects the device: requests fail with `.networkUnavailable`, and open connections break.
    package func goOffline() {
        let held = state.withLock { state in
            state.isOffline = true
            defer { state.held = [:] }
            return state.held
        }
        for end in held.values { end() }
    }

    package func goOnline() { state.withLock { $0.isOffline = false } }

    package var isOffline: Bool { state.withLock { $0.isOffline } }

    /// The number of open push streams of the device.
    package var openStreams: Int { state.withLock { $0.held.count } }

    /// Loses the next requests before they reach the server.
    package func loseNextRequests(_ count: Int = 1) { state.withLock { $0.requestsToLose += count } }

    /// Loses the responses of the next requests, after the server has committed them.
    package func loseNextAnswers(_ count: Int = 1) { state.withLock { $0.answersToLose += count } }

    /// The requested operations, failed ones included, in order: `records/modify`, `asset`, `push/stream`.
    package var log: [String] { state.withLock { $0.log } }

    /// Logs a request that is answered before it reaches this transport.
    package func note(_ request: TransportRequest) {
        let path =
            switch request.target {
            case .service(let path): path
            case .asset(let address): String(address.dropFirst(InProcessCloud.baseURL.count))
            }
        let end = path.firstIndex(of: "?") ?? path.endIndex
        state.withLock { $0.log.append(Self.operation(of: String(path[..<end]))) }
    }

    // MARK: CloudTransport

    /// Connections in a process always report their end, however long the process is suspended.
    package var needsIdleTimeout: Bool { false }

    package func send(_ request: TransportRequest) async throws -> TransportResponse {
        let response = try await exchange(request)
        var body: [UInt8] = []
        for try await piece in pieces(of: response) {
            guard body.count + piece.count <= request.responseBytesMax else {
                throw CKError(.networkFailure, "the server's response is too large")
            }
            body += piece
        }
        return TransportResponse(status: response.status, headers: headers(of: response), body: body)
    }

    package func stream(_ request: TransportRequest) async throws -> TransportStream {
        let response = try await exchange(request)
        return TransportStream(status: response.status, headers: headers(of: response), chunks: pieces(of: response))
    }

    private func exchange(_ request: TransportRequest) async throws -> ServiceResponse {
        let outgoing = try await serviceRequest(request)
        try state.withLock { state in
            state.log.append(Self.operation(of: outgoing.path))
            if state.isOffline { throw CKError(.networkUnavailable, "the device is offline") }
            if state.requestsToLose > 0 {
                state.requestsToLose -= 1
                throw CKError(.networkFailure, "the request was lost")
            }
        }
        guard let service = cloud.service else { throw CKError(.networkUnavailable, "the server is stopped") }
        let response = await service.respond(to: outgoing)
        let isLost = state.withLock { state in
            if state.isOffline { return true }
            guard state.answersToLose > 0 else { return false }
            state.answersToLose -= 1
            return true
        }
        guard !isLost else {
            if case .events(let listener) = response.body { listener.close() }
            throw CKError(request.changesData ? .serverResponseLost : .networkFailure, "the response was lost")
        }
        return response
    }

    private func serviceRequest(_ request: TransportRequest) async throws -> ServiceRequest {
        var headers: [String: String] = [:]
        for header in request.headers.all { headers[header.name.lowercased()] = header.value }
        let path: String
        switch request.target {
        case .service(let service):
            path = service
            if let token { headers[HeaderNames.authorization.lowercased()] = HeaderNames.bearer(token) }
            headers[HeaderNames.device.lowercased()] = headers[HeaderNames.device.lowercased()] ?? deviceID
        case .asset(let address):
            guard address.hasPrefix(InProcessCloud.baseURL) else {
                throw CKError(.networkUnavailable, "the address of the asset is on another server")
            }
            path = String(address.dropFirst(InProcessCloud.baseURL.count))
        }
        let body: [UInt8] =
            switch request.body {
            case .none: []
            case .bytes(let bytes): bytes
            case .file(let url, let byteCount, let start): try await content(of: url, start, byteCount, request.sent)
            }
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return ServiceRequest(
            method: request.method, path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "",
            headers: RequestHeaders(headers),
            body: .bytes(body), baseURL: InProcessCloud.baseURL)
    }

    /// Reads the file, and reports its pieces as if they were sent.
    private func content(of url: URL, _ start: Int64, _ count: Int64, _ sent: (any UploadObserver)?) async throws -> [UInt8] {
        let bytes = [UInt8](try Data(contentsOf: url).dropFirst(Int(start)).prefix(Int(count)))
        await sent?.begin(at: start)
        var remaining = bytes[...]
        while !remaining.isEmpty {
            let piece = remaining.prefix(Self.pieceBytes)
            piece.withUnsafeBytes { sent?.see($0) }
            await sent?.moved(piece.count)
            remaining = remaining.dropFirst(Self.pieceBytes)
        }
        return bytes
    }

    private static func operation(of path: String) -> String {
        let parts = path.split(separator: "/")
        return parts.first == "asset" ? "asset" : parts.suffix(2).joined(separator: "/")
    }

    private func headers(of response: ServiceResponse) -> TransportHeaders {
        var headers = TransportHeaders()
        for (name, value) in response.headers { headers.add(name, value) }
        return headers
    }

    // MARK: Bodies

    private func pieces(of response: ServiceResponse) -> any AsyncSequence<[UInt8], any Error> & Sendable {
        switch response.body {
        case .bytes(let bytes):
            AsyncThrowingStream { continuation in
                if !bytes.isEmpty { continuation.yield(bytes) }
                continuation.finish()
            }
        case .file(let reader, let range):
            AsyncThrowingStream { continuation in
                let task = Task(executorPreference: executor) {
                    do {
                        var offset = range.lowerBound
                        while offset < range.upperBound {
                            let count = min(Self.pieceBytes, Int(range.upperBound - offset))
                            let piece = try await reader.read(at: offset, count: count)
                            guard !piece.isEmpty else { throw CKError(.networkFailure, "the file became shorter") }
                            continuation.yield(piece)
                            offset += Int64(piece.count)
                        }
                        continuation.finish()
                    } catch {
                        continuation.finish(throwing: error)
                    }
                }
                continuation.onTermination = { _ in task.cancel() }
            }
        case .events(let listener):
            lines(of: listener)
        }
    }

    private static let pieceBytes = 1 << 16

    /// One notification per line; an empty line is a heartbeat.
    private func lines(of listener: PushListener) -> AsyncThrowingStream<[UInt8], any Error> {
        AsyncThrowingStream { continuation in
            let broken = CKError(.networkFailure, "the device went offline")
            let number = state.withLock { state -> Int? in
                guard !state.isOffline else { return nil }
                state.nextHeld += 1
                state.held[state.nextHeld] = {
                    continuation.finish(throwing: broken)
                    listener.close()
                }
                return state.nextHeld
            }
            guard let number else {
                listener.close()
                return continuation.finish(throwing: broken)
            }
            let task = Task(executorPreference: executor) {
                for await event in listener.events {
                    var line: [UInt8] = []
                    if case .notification(let notification) = event { line = notification.encoded() }
                    continuation.yield(line + [UInt8(ascii: "\n")])
                }
                continuation.finish()
            }
            continuation.onTermination = { [weak self] _ in
                task.cancel()
                listener.close()
                self?.state.withLock { $0.held[number] = nil }
            }
        }
    }
}

extension InProcessTransport: CustomReflectable {
    /// Without the token.
    package var customMirror: Mirror { Mirror(self, children: ["deviceID": deviceID]) }
}
