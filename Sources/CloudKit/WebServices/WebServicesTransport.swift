// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation

/// Adds the credentials of CloudKit web services to requests: an API token, and the web auth token of the signed-in user.
///
/// Requests of a user are sent one at a time, each with the token of the response before it: the documents say that a token is good
/// for one round trip. Anonymous requests, and those to the addresses of assets, run concurrently.
///
/// Source: *CloudKit Web Services Reference*, "Accessing CloudKit Using an API Token".
package final class WebServicesTransport: CloudTransport {
    /// Another header that CloudKit JS reads the next token from. Source: public reports.
    static let sessionHeader = "X-Apple-CloudKit-Session"

    private let base: any CloudTransport
    private let apiToken: CKContainer.Configuration.Token
    package let tokens: WebAuthTokenStore

    /// - Parameter base: Sends requests without credentials of its own.
    package init(_ base: any CloudTransport, apiToken: CKContainer.Configuration.Token, tokens: WebAuthTokenStore) {
        self.base = base
        self.apiToken = apiToken
        self.tokens = tokens
    }

    /// Source: public links to shares have this host.
    package var linkBase: String {
        base.linkBase == CKContainer.Configuration.iCloudServer ? "https://www.icloud.com" : base.linkBase
    }
    package var executor: (any TaskExecutor)? { base.executor }
    package var needsIdleTimeout: Bool { base.needsIdleTimeout }
    /// Of the sign-in, since tokens change with each response.
    package var credential: String? { tokens.session.map { CredentialDigest.text(of: $0.id) } }

    package func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard case .service(let path) = request.target else { return try await base.send(request) }
        if try tokens.sessionToSend() == nil { return try await sendAnonymously(request) }
        try await tokens.turn.enterUnlessCancelled()
        // A cancelled caller waits for the response: it has the next token, and without that the user has to sign in again.
        let exchange = Task(executorPreference: executor) { [self] in
            defer { tokens.turn.leave() }
            return try await sendAsUser(request, path)
        }
        return try await exchange.value
    }

    private func sendAsUser(_ request: TransportRequest, _ path: String) async throws -> TransportResponse {
        guard let session = try tokens.sessionToSend() else { return try await sendAnonymously(request) }
        var request = request
        request.target = .service(path: address(path, session.token))
        // If the response is lost, the token may be used up. It is sent again all the same: public reports say that it is still valid.
        let response = try await base.send(request)
        if let next = response.headers[HeaderNames.webAuthToken] ?? response.headers[Self.sessionHeader] {
            tokens.rotate(session, to: next)
        } else if Self.endsSession(response) {
            tokens.end(session)
        }
        return response
    }

    /// Whether the service no longer accepts the web auth token. A proxy sends the status 421 for reasons of its own (RFC 9110, section
    /// 15.5.20), and the status 401 may be about the API token: neither signs the user out.
    private static func endsSession(_ response: TransportResponse) -> Bool {
        guard response.status == WireError.Code.authenticationRequired.httpStatus, let error = try? WireError(json: response.body) else {
            return false
        }
        return error.code == .authenticationRequired || error.code == .authenticationFailed
    }

    /// Sends a request with the API token alone.
    package func sendAnonymously(_ request: TransportRequest) async throws -> TransportResponse {
        guard case .service(let path) = request.target else { return try await base.send(request) }
        var request = request
        request.target = .service(path: address(path, nil))
        return try await base.send(request)
    }

    /// Fetches the address of the sign-in page: the `redirectURL` of a request that needs a user and names none.
    ///
    /// - Throws: ``CKError`` with `.notAuthenticated` for an invalid API token, or if the server could not be reached.
    package func signInURL(container: String, environment: CloudEnvironment) async throws(CKError) -> URL {
        let path = ServicePath(containerIdentifier: container, environment: environment, scope: .public, operation: .caller)
        let response: TransportResponse
        do {
            response = try await sendAnonymously(
                TransportRequest(method: "GET", target: .service(path: path.path), responseBytesMax: Limits.messageBytes))
        } catch {
            throw CKError(transportFailure: error)
        }
        guard response.status == WireError.Code.authenticationRequired.httpStatus,
            let address = (try? WireError(json: response.body))?.redirectURL
        else {
            throw response.status < 400
                ? CKError.unreadable("the server returned a user although none was named", response) : CKError(response)
        }
        guard let url = URL(string: address), ["https", "http"].contains(url.scheme?.lowercased()), url.host != nil else {
            throw CKError.unreadable("the server returned no address of a sign-in page")
        }
        return url
    }

    package func stream(_ request: TransportRequest) async throws -> TransportStream {
        guard case .asset = request.target else {
            throw CKError(.serverRejectedRequest, "CloudKit web services have no streams; notifications are polled for at the web courier")
        }
        return try await base.stream(request)
    }

    private func address(_ path: String, _ token: String?) -> String {
        var items = "ckAPIToken=\(Self.encode(apiToken.text))"
        if let token { items += "&ckWebAuthToken=\(Self.encode(token))" }
        return path + (path.contains("?") ? "&" : "?") + items
    }

    /// Web auth tokens have signs of Base64, which an address encodes.
    private static func encode(_ text: String) -> String { text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? "" }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

extension WebServicesTransport: RedactsSecrets {
    /// Without the tokens.
    package var redactedChildren: KeyValuePairs<String, Any> { ["base": base] }
}
