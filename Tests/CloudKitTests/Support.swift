// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Synchronization
import Testing

/// A transport that records the requests and responds from a list.
final class RecordingTransport: CloudTransport {
    enum Answer: Sendable {
        case response(TransportResponse)
        case failure(any Error)
        /// Pieces of a body; `endless` ones are followed by nothing until the reader gives up.
        case pieces(status: Int, [[UInt8]], endless: Bool)
    }

    private struct State {
        var requests: [TransportRequest] = []
        var answers: [Answer] = []
    }

    private let state = Mutex(State())

    init(_ answers: Answer...) {
        state.withLock { $0.answers = answers }
    }

    var requests: [TransportRequest] { state.withLock { $0.requests } }

    /// Paths of all requests, each with its method.
    var calls: [String] {
        requests.map { request in
            switch request.target {
            case .service(let path): "\(request.method) \(path)"
            case .asset(let address): "\(request.method) asset \(address)"
            }
        }
    }

    /// Body of the request at a position.
    func body<Message: WireMessage>(_ position: Int, as type: Message.Type = Message.self) throws -> Message {
        guard requests.indices.contains(position), case .bytes(let bytes) = requests[position].body else {
            throw CKError(.internalError, "request \(position) has no body")
        }
        return try Message(json: bytes)
    }

    private func answer(to request: TransportRequest) throws -> Answer {
        try state.withLock { state in
            state.requests.append(request)
            guard !state.answers.isEmpty else { throw CKError(.internalError, "more requests than answers") }
            return state.answers.removeFirst()
        }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if case .file(let url, let count, let start) = request.body, let sent = request.sent {
            await sent.begin(at: start)
            let bytes = Array(try Data(contentsOf: url).dropFirst(Int(start)).prefix(Int(count)))
            bytes.withUnsafeBytes(sent.see)
            await sent.moved(bytes.count)
        }
        switch try answer(to: request) {
        case .response(let response): return response
        case .failure(let error): throw error
        case .pieces(let status, let pieces, _): return TransportResponse(status: status, body: Array(pieces.joined()))
        }
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        switch try answer(to: request) {
        case .response(let response):
            return TransportStream(status: response.status, headers: response.headers, chunks: pieces([response.body]))
        case .failure(let error): throw error
        case .pieces(let status, let list, let endless):
            return TransportStream(status: status, chunks: pieces(list, endless: endless))
        }
    }

    private func pieces(_ list: [[UInt8]], endless: Bool = false) -> AsyncThrowingStream<[UInt8], any Error> {
        AsyncThrowingStream { continuation in
            for piece in list { continuation.yield(piece) }
            if !endless { continuation.finish() }
        }
    }
}

extension RecordingTransport.Answer {
    static func ok(_ message: some WireMessage) -> Self { .response(TransportResponse(status: 200, body: message.encoded())) }
    static func ok(_ json: String) -> Self { .response(TransportResponse(status: 200, body: Array(json.utf8))) }
    static func refused(_ error: WireError) -> Self {
        .response(TransportResponse(status: error.code.httpStatus, body: error.encoded()))
    }
}

extension CloudDatabaseClient {
    init(_ transport: RecordingTransport, scope: DatabaseScope = .private) {
        self.init(containerIdentifier: "iCloud.n", environment: .development, scope: scope, transport: transport)
    }
}

/// A container of its own for each test, connected to a transport.
func container(_ transport: RecordingTransport) -> CKContainer {
    let identifier = "iCloud.test." + UUID().uuidString
    CKContainer.connect(Connection(environment: .development, transport: transport), for: identifier)
    return CKContainer(identifier: identifier)
}

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// Runs an operation that must fail with a CKError.
func failure<Value>(_ body: () async throws -> Value) async -> CKError? {
    do {
        _ = try await body()
        Issue.record("no error was thrown")
        return nil
    } catch {
        guard let error = error as? CKError else {
            Issue.record("not a CKError: \(error)")
            return nil
        }
        return error
    }
}

/// A folder that is removed with the test.
final class TemporaryFolder {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-tests-" + UUID().uuidString)

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }
}
