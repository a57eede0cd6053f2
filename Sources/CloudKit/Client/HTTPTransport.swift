// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudWire
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization
import SystemSupport

/// The transport over HTTP. All containers of the process share its connection pool.
package struct HTTPTransport: CloudTransport {
    /// Timeouts of a request.
    package struct Timeouts: Hashable, Sendable {
        package var connect: Duration = .seconds(5)
        /// Until the whole response has arrived, or the head of a stream. During an upload, until the next piece is
        /// accepted.
        package var request: Duration = .seconds(30)
        /// Minimum throughput. A slower request times out.
        package var bytesPerSecond: Int64 = 32_768

        package init() {}

        func whole(_ request: TransportRequest) -> Duration {
            (request.timeout ?? self.request) + .seconds(request.body.byteCount / max(bytesPerSecond, 1))
        }

        func silence(_ request: TransportRequest) -> Duration { request.timeout ?? self.request }
    }

    package let server: ServerAddress
    package var linkBase: String { server.root }
    package var credential: String? { token.map { CredentialDigest.text(of: $0.text) } }
    private let token: CKContainer.Configuration.Token?
    private let timeouts: Timeouts
    private let client: HTTPClient

    /// - Parameter token: `nil` for an anonymous client, which reads public data only.
    package init(
        server: ServerAddress, token: CKContainer.Configuration.Token?, timeouts: Timeouts = Timeouts(),
        trust: ServerTrust = .system
    ) {
        self.server = server
        self.token = token
        self.timeouts = timeouts
        client = trust.client
        if token != nil, server.isUnencryptedRemote { Self.warnOnce(of: server) }
    }

    private static let warned = Mutex<Set<ServerAddress>>([])

    private static func warnOnce(of server: ServerAddress) {
        guard warned.withLock({ $0.insert(server).inserted }) else { return }
        Logger(label: "CloudKit").warning(
            "the token is sent without encryption: the configured server's address begins with http://; use https:// outside of a trusted network"
        )
    }

    package func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await translatingErrors(of: request) {
            guard case .file = request.body else {
                let outgoing = try httpRequest(request)
                return try await withDeadline(timeouts.whole(request)) {
                    // The server may have closed pooled connections just now. Retrying is safe: requests that write have an idempotency
                    // key, and a service without them rejects a second creation.
                    for _ in 0..<Self.pooledConnectionAttempts {
                        do {
                            return try await exchange(outgoing, request)
                        } catch  where HTTPFailure.isOfAConnection(error) {
                            continue
                        }
                    }
                    return try await exchange(outgoing, request)
                }
            }
            return try await withIdleTimeout(
                within: timeouts.silence(request), by: ContinuousClock(), orThrow: HTTPFailure.DeadlineExceeded()
            ) { heard in
                try await exchange(try httpRequest(request, heard), request)
            }
        }
    }

    private static let pooledConnectionAttempts = 2

    private func exchange(_ outgoing: HTTPClientRequest, _ request: TransportRequest) async throws -> TransportResponse {
        let response = try await client.execute(outgoing, deadline: .distantFuture)
        let body = try await response.body.collect(upTo: request.responseBytesMax)
        return TransportResponse(
            status: Int(response.status.code), headers: TransportHeaders(response.headers),
            body: Array(body.readableBytesView))
    }

    package func stream(_ request: TransportRequest) async throws -> TransportStream {
        let outgoing = try httpRequest(request)
        return try await translatingErrors(of: request) {
            let response = try await withDeadline(timeouts.whole(request)) {
                try await client.execute(outgoing, deadline: .distantFuture)
            }
            return TransportStream(
                status: Int(response.status.code), headers: TransportHeaders(response.headers),
                chunks: HTTPChunks(body: response.body))
        }
    }

    // MARK: Requests

    private static let userAgent = "Tarn/\(TarnVersion.current)"

    /// - Parameter heard: Called whenever a piece of a file was accepted.
    private func httpRequest(
        _ request: TransportRequest, _ heard: @escaping @Sendable () -> Void = {}
    ) throws -> HTTPClientRequest {
        var outgoing: HTTPClientRequest
        switch request.target {
        case .service(let path):
            outgoing = HTTPClientRequest(url: server.url(path: path))
            if let token { outgoing.headers.add(name: HeaderNames.authorization, value: HeaderNames.bearer(token.text)) }
        case .asset(let address):
            guard let url = server.resolve(address) else {
                throw CKError.unreadable("the server returned an invalid asset address")
            }
            outgoing = HTTPClientRequest(url: url)
        }
        outgoing.method = HTTPMethod(rawValue: request.method)
        for header in request.headers.all { outgoing.headers.add(name: header.name, value: header.value) }
        // Operators see it in lists of devices.
        outgoing.headers.replaceOrAdd(name: "User-Agent", value: Self.userAgent)
        switch request.body {
        case .none: break
        case .bytes(let bytes): outgoing.body = .bytes(ByteBuffer(bytes: bytes))
        case .file(let url, let byteCount, let start):
            outgoing.body = .stream(
                FileChunks(url: url, start: start, byteCount: byteCount, sent: request.sent, heard: heard),
                length: .known(byteCount))
        }
        return outgoing
    }

    private func translatingErrors<Value: Sendable>(
        of request: TransportRequest, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch {
            let failure = HTTPFailure.translate(error)
            guard request.changesData, !HTTPFailure.isOfAHandshake(error), let failure = failure as? CKError,
                failure.code == .networkFailure
            else { throw failure }
            throw CKError(
                .serverResponseLost,
                failure.localizedDescription + "; the server may have saved the change: fetch it, or send it again", cause: failure)
        }
    }
}

/// Maps the HTTP client's errors to those of an app.
enum HTTPFailure {
    struct DeadlineExceeded: Error {}

    static func translate(_ error: any Error) -> any Error {
        switch error {
        case is CKError, is CancellationError: return error
        case is DeadlineExceeded:
            return CKError(.networkFailure, "the request timed out", cause: error)
        case is NIOTooManyBytesError:
            return CKError(
                .networkFailure, "the server's response is too large", cause: error,
                userInfo: [CKError.responseTooLargeKey: NSNumber(value: true)])
        case let error as HTTPClientError where error == .cancelled: return CancellationError()
        case let error as HTTPClientError where error == .connectTimeout || error == .tlsHandshakeTimeout:
            return unreachable(error)
        case let error as IOError where neverConnected.contains(error.errnoCode): return unreachable(error)
        case let error as ChannelError where isClosed(error):
            return CKError(.networkFailure, "the connection to the server broke off", cause: error)
        case is HTTPClientError, is IOError:
            return CKError(.networkFailure, "the connection to the server broke off", cause: error)
        case is HTTPParserError:
            return CKError(.networkFailure, "the server's response is incomplete or isn't HTTP", cause: error)
        case _ where isAboutTLS(error):
            return CKError(
                .networkFailure,
                "no protected connection to the server: its certificate is not trusted, not for this host or not valid now, "
                    + "or it does not speak TLS", cause: error)
        default:
            // All other errors come from resolving the host or connecting.
            return unreachable(error)
        }
    }

    /// Whether the TLS handshake failed, so that nothing was sent.
    static func isOfAHandshake(_ error: any Error) -> Bool {
        switch error {
        case let error as NIOSSLError: if case .handshakeFailed = error { true } else { false }
        case is NIOSSLExtraError: true
        default: false
        }
    }

    /// The TLS library has errors of many types.
    private static func isAboutTLS(_ error: any Error) -> Bool { String(reflecting: type(of: error)).hasPrefix("NIOSSL.") }

    /// Whether the connection broke, as pooled connections do when the server closes them.
    static func isOfAConnection(_ error: any Error) -> Bool {
        switch error {
        case let error as HTTPClientError: error == .remoteConnectionClosed
        case let error as IOError: error.errnoCode == ECONNRESET || error.errnoCode == EPIPE
        case let error as HTTPParserError: error == .invalidEOFState
        case let error as ChannelError: isClosed(error)
        default: false
        }
    }

    private static func isClosed(_ error: ChannelError) -> Bool {
        switch error {
        case .ioOnClosedChannel, .alreadyClosed, .outputClosed, .inputClosed, .eof: true
        default: false
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

/// Runs an operation with a timeout.
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

/// The body of a response, with this module's errors.
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

/// The content of a file, read in pieces as it is sent.
private struct FileChunks: AsyncSequence, Sendable {
    static let chunkBytes: Int64 = 1 << 18

    let url: URL
    let start: Int64
    let byteCount: Int64
    let sent: (any UploadObserver)?
    let heard: @Sendable () -> Void

    struct AsyncIterator: AsyncIteratorProtocol {
        let chunks: FileChunks
        var handle: FileHandle?
        var remainingBytes: Int64

        mutating func next() async throws -> ByteBuffer? {
            chunks.heard()
            let piece: ByteBuffer
            do {
                if handle == nil {
                    handle = try FileHandle(forReadingFrom: chunks.url)
                    try handle?.seek(toOffset: UInt64(Swift.max(0, chunks.start)))
                    await chunks.sent?.begin(at: chunks.start)
                }
                guard remainingBytes > 0, let handle else {
                    // The request's head states the length.
                    guard remainingBytes == 0 else { throw FileChunks.changed }
                    return nil
                }
                piece = try FileChunks.read(handle.fileDescriptor, atMost: Int(Swift.min(remainingBytes, FileChunks.chunkBytes)))
                guard piece.readableBytes > 0 else { throw FileChunks.changed }
            } catch let error as CKError {
                throw error
            } catch {
                throw CKError(.assetFileNotFound, "the file of an asset is missing or not readable", cause: error)
            }
            remainingBytes -= Int64(piece.readableBytes)
            if let sent = chunks.sent {
                piece.withUnsafeReadableBytes(sent.see)
                await sent.moved(piece.readableBytes)
            }
            return piece
        }
    }

    /// Not through `FileHandle`, since its `Data` would have to be copied.
    private static func read(_ descriptor: Int32, atMost count: Int) throws -> ByteBuffer {
        var piece = ByteBuffer()
        try piece.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { buffer in
            var got = Foundation.read(descriptor, buffer.baseAddress, count)
            while got < 0, errno == EINTR { got = Foundation.read(descriptor, buffer.baseAddress, count) }
            guard got >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            return got
        }
        return piece
    }

    static let changed = CKError(
        .assetFileModified, "the file of an asset changed during the upload; save the record again")

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: self, handle: nil, remainingBytes: byteCount) }
}
