// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import MirroringCore
import Synchronization

#if canImport(FoundationNetworking)
    // URLSession is a module of its own outside of Apple's platforms.
    import FoundationNetworking
#endif

/// The transport over URLSession: without cookies, cache and redirects; responses are bounded in bytes while they arrive, and in time.
final class URLSessionTransport: MirrorTransport {
    private let root: ServerRoot
    private let token: String
    private let session: URLSession
    private let exchanges: Exchanges

    /// - Throws: ``TarnMirror/Failure`` with `.invalidOptions`.
    init(_ options: TarnMirror.Options) throws {
        root = try ServerRoot(options.server)
        guard !options.token.isEmpty, options.token.utf8.allSatisfy({ 0x21...0x7e ~= $0 }) else {
            throw TarnMirror.Failure(.invalidOptions, "the token is empty or has characters that no token has; create one with tarn")
        }
        token = options.token
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = options.idleTimeout / .seconds(1)
        configuration.timeoutIntervalForResource = options.requestTimeout / .seconds(1)
        exchanges = Exchanges()
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit { session.invalidateAndCancel() }

    package func send(_ request: MirrorRequest) async throws -> MirrorResponse {
        let task = session.dataTask(with: try outgoing(request))
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchanges.begin(task.taskIdentifier, bytesMax: request.responseBytesMax, continuation)
                task.resume()
                // The cancellation handler may have run before the exchange began: a task that was cancelled before its start may
                // report no end.
                if Task.isCancelled { exchanges.cancel(task) }
            }
        } onCancel: {
            task.cancel()
        }
    }

    private func outgoing(_ request: MirrorRequest) throws -> URLRequest {
        let url: URL
        switch request.target {
        case .service(let path):
            guard let address = root.url(path: path) else {
                throw CloudFailure(.badContainer, "the container identifier and the server's address form no valid URL; check the options")
            }
            url = address
        case .asset(let address):
            guard let address = root.resolve(address) else { throw CloudFailure.unreadable("the server returned an invalid asset address") }
            url = address
        }
        var outgoing = URLRequest(url: url)
        outgoing.httpMethod = request.method
        outgoing.httpBody = request.body
        for (name, value) in request.headers { outgoing.setValue(value, forHTTPHeaderField: name) }
        if case .service = request.target {
            outgoing.setValue(HeaderNames.bearer(token), forHTTPHeaderField: HeaderNames.authorization)
        }
        return outgoing
    }
}

/// The requests in flight, by task: collects their responses.
private final class Exchanges: NSObject, URLSessionDataDelegate, Sendable {
    private struct Exchange {
        let bytesMax: Int
        let continuation: CheckedContinuation<MirrorResponse, any Error>
        var status = 0
        var headers: [String: String] = [:]
        var body = Data()
    }

    private let exchanges = Mutex<[Int: Exchange]>([:])

    func begin(_ task: Int, bytesMax: Int, _ continuation: CheckedContinuation<MirrorResponse, any Error>) {
        exchanges.withLock { $0[task] = Exchange(bytesMax: bytesMax, continuation: continuation) }
    }

    func cancel(_ task: URLSessionTask) {
        task.cancel()
        end(task) { _ in .failure(CancellationError()) }
    }

    private func end(_ task: URLSessionTask, _ result: (Exchange) -> Result<MirrorResponse, any Error>) {
        guard let exchange = exchanges.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        exchange.continuation.resume(with: result(exchange))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // The token is for the configured server alone.
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        guard let response = response as? HTTPURLResponse else { return completionHandler(.cancel) }
        let isTooLarge = exchanges.withLock { exchanges in
            guard var exchange = exchanges[dataTask.taskIdentifier] else { return false }
            exchange.status = response.statusCode
            for (name, value) in response.allHeaderFields {
                if let name = name as? String, let value = value as? String { exchange.headers[name] = value }
            }
            exchanges[dataTask.taskIdentifier] = exchange
            return response.expectedContentLength > Int64(exchange.bytesMax)
        }
        if isTooLarge { end(dataTask) { _ in .failure(Self.tooLarge) } }
        completionHandler(isTooLarge ? .cancel : .allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLarge = exchanges.withLock { exchanges in
            guard let count = exchanges[dataTask.taskIdentifier]?.body.count, let max = exchanges[dataTask.taskIdentifier]?.bytesMax else {
                return false
            }
            if data.count > max - count { return true }
            exchanges[dataTask.taskIdentifier]?.body.append(data)
            return false
        }
        guard isTooLarge else { return }
        end(dataTask) { _ in .failure(Self.tooLarge) }
        dataTask.cancel()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end(task) { exchange in
            if let error { return .failure(Self.failure(error)) }
            return .success(MirrorResponse(status: exchange.status, headers: exchange.headers, body: exchange.body))
        }
    }

    private static var tooLarge: CloudFailure { CloudFailure(.networkFailure, "the server's response is too large") }

    private static func failure(_ error: any Error) -> any Error {
        guard let error = error as? URLError else { return CloudFailure(.networkFailure, "the connection to the server failed") }
        switch error.code {
        case .cancelled: return CancellationError()
        case .timedOut: return CloudFailure(.networkFailure, "the request timed out")
        case .notConnectedToInternet, .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed:
            return CloudFailure(.networkUnavailable, "the server cannot be reached; is it running at the configured address?")
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
            .serverCertificateNotYetValid:
            return CloudFailure(
                .networkFailure, "no protected connection to the server: its certificate is not trusted, not for this host or not valid now"
            )
        default: return CloudFailure(.networkFailure, "the connection to the server broke off")
        }
    }
}
