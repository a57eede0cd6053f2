// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudWire
import Foundation
import NIOCore
import NIOHTTP1

/// The transport over HTTP, with connections that are kept and shared by all containers of the process.
package struct HTTPTransport: CloudTransport {
    /// How long is waited, and for what.
    package struct Timeouts: Hashable, Sendable {
        package var connect: Duration = .seconds(5)
        /// Until the whole answer is there; a stream only until its head is.
        package var request: Duration = .seconds(30)
        /// Slower than this and an upload is given up.
        package var uploadBytesPerSecond: Int64 = 32_768

        package init() {}

        func whole(_ request: TransportRequest) -> Duration {
            (request.timeout ?? self.request) + .seconds(request.body.byteCount / max(uploadBytesPerSecond, 1))
        }
    }

    package let server: ServerAddress
    package var linkBase: String { server.root }
    private let token: CKContainer.Configuration.Token?
    private let timeouts: Timeouts

    /// - Parameter token: nil for somebody who is not signed in, and may read what everybody may.
    package init(server: ServerAddress, token: CKContainer.Configuration.Token?, timeouts: Timeouts = Timeouts()) {
        self.server = server
        self.token = token
        self.timeouts = timeouts
    }

    package func send(_ request: TransportRequest) async throws -> TransportResponse {
        let outgoing = try httpRequest(request)
        return try await translatingErrors {
            try await withDeadline(timeouts.whole(request)) {
                let answer = try await Self.client.execute(outgoing, deadline: .distantFuture)
                let body = try await answer.body.collect(upTo: request.responseBytesMax)
                return TransportResponse(
                    status: Int(answer.status.code), headers: TransportHeaders(answer.headers),
                    body: Array(body.readableBytesView))
            }
        }
    }

    package func stream(_ request: TransportRequest) async throws -> TransportStream {
        let outgoing = try httpRequest(request)
        return try await translatingErrors {
            let answer = try await withDeadline(timeouts.whole(request)) {
                try await Self.client.execute(outgoing, deadline: .distantFuture)
            }
            return TransportStream(
                status: Int(answer.status.code), headers: TransportHeaders(answer.headers),
                chunks: HTTPChunks(body: answer.body))
        }
    }

    // MARK: Requests

    private func httpRequest(_ request: TransportRequest) throws -> HTTPClientRequest {
        var outgoing: HTTPClientRequest
        switch request.target {
        case .service(let path):
            outgoing = HTTPClientRequest(url: server.url(path: path))
            if let token { outgoing.headers.add(name: HeaderNames.authorization, value: HeaderNames.bearer(token.text)) }
        case .asset(let address):
            guard let url = server.resolve(address) else {
                throw CKError.unreadable("the server gave an address for an asset that is none")
            }
            outgoing = HTTPClientRequest(url: url)
        }
        outgoing.method = HTTPMethod(rawValue: request.method)
        for header in request.headers.all { outgoing.headers.add(name: header.name, value: header.value) }
        switch request.body {
        case .none: break
        case .bytes(let bytes): outgoing.body = .bytes(ByteBuffer(bytes: bytes))
        case .file(let url, let byteCount):
            outgoing.body = .stream(FileChunks(url: url), length: .known(byteCount))
        }
        return outgoing
    }

    // MARK: Client

    /// Lives as long as the process; connections that nobody uses close by themselves.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = .seconds(5)
        // Trying again is decided above, where it is known what was sent.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
    }()

    private func translatingErrors<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw HTTPFailure.translate(error)
        }
    }
}

/// What the HTTP client's errors are for an app.
enum HTTPFailure {
    struct DeadlineExceeded: Error {}

    static func translate(_ error: any Error) -> any Error {
        switch error {
        case is CKError, is CancellationError: return error
        case is DeadlineExceeded:
            return CKError(.networkFailure, "the server did not answer in time", cause: error)
        case is NIOTooManyBytesError:
            return CKError(.networkFailure, "the server's answer is too large", cause: error)
        case let error as HTTPClientError where error == .cancelled: return CancellationError()
        case let error as HTTPClientError where error == .connectTimeout || error == .tlsHandshakeTimeout:
            return unreachable(error)
        case let error as IOError where neverConnected.contains(error.errnoCode): return unreachable(error)
        case is HTTPClientError, is IOError:
            return CKError(.networkFailure, "the connection to the server broke off", cause: error)
        case is HTTPParserError:
            return CKError(.networkFailure, "the server's answer broke off, or is no HTTP", cause: error)
        default:
            // Whatever else there is comes from finding the host and making a connection.
            return unreachable(error)
        }
    }

    private static let neverConnected: Set<CInt> = [
        ECONNREFUSED, EHOSTUNREACH, EHOSTDOWN, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, ETIMEDOUT,
    ]

    private static func unreachable(_ error: any Error) -> CKError {
        CKError(
            .networkUnavailable, "the server cannot be reached; is it running at the configured address?", cause: error)
    }
}

/// Runs something that is given up after a while.
private func withDeadline<Value: Sendable>(
    _ duration: Duration, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: duration)
            throw HTTPFailure.DeadlineExceeded()
        }
        defer { group.cancelAll() }
        guard let value = try await group.next() else { throw CancellationError() }
        return value
    }
}

extension TransportHeaders {
    init(_ headers: HTTPHeaders) {
        self.init()
        for (name, value) in headers { add(name, value) }
    }
}

/// The body of an answer, with this module's errors.
private struct HTTPChunks: AsyncSequence, Sendable {
    let body: HTTPClientResponse.Body

    struct AsyncIterator: AsyncIteratorProtocol {
        var iterator: HTTPClientResponse.Body.AsyncIterator

        mutating func next() async throws -> [UInt8]? {
            do {
                return try await iterator.next().map { Array($0.readableBytesView) }
            } catch {
                throw HTTPFailure.translate(error)
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(iterator: body.makeAsyncIterator()) }
}

/// The content of a file, read piece by piece as it is sent.
private struct FileChunks: AsyncSequence, Sendable {
    static let chunkBytes = 65_536

    let url: URL

    struct AsyncIterator: AsyncIteratorProtocol {
        let url: URL
        var handle: FileHandle?

        mutating func next() async throws -> ByteBuffer? {
            let handle: FileHandle
            do {
                handle = try self.handle ?? FileHandle(forReadingFrom: url)
                self.handle = handle
                guard let data = try handle.read(upToCount: FileChunks.chunkBytes), !data.isEmpty else { return nil }
                return ByteBuffer(bytes: data)
            } catch {
                throw CKError(.assetFileNotFound, "the file of an asset is not there or not readable", cause: error)
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(url: url, handle: nil) }
}
