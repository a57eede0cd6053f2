// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudService
import Foundation
import JWTKit
import SystemSupport

/// A provider of OpenID Connect: authorization code flow with PKCE, as a confidential or a public client.
///
///     browser            this server                    provider
///        │  sign in           │                             │
///        ├───────────────────▶│  discovery, keys (cached) ─▶│
///        │◀── state, nonce, challenge                       │
///        ├──────────── sign-in page ───────────────────────▶│
///        │◀─────────── code, state ─────────────────────────┤
///        ├── code, state ────▶│  code, verifier ───────────▶│
///        │                    │◀── ID token: signature, iss, aud, exp, nonce
///        │◀── web session ────┤
///
/// Nothing of the provider's is trusted before it is bounded and checked. Its documents are fetched again after an hour, and its keys
/// when a token names one that is not there, at most once a minute. A fetch that fails is retried with exponential backoff and jitter;
/// while the discovery document cannot be fetched, the last one is used for a day.
package actor OpenIDProvider: IdentityProvider {
    package struct Settings: Sendable {
        package var issuer: String
        package var clientID: String
        /// Nil for a public client, which has PKCE alone.
        package var clientSecret: String?
        package var name: String

        package init(issuer: String, clientID: String, clientSecret: String?, name: String) {
            self.issuer = issuer
            self.clientID = clientID
            self.clientSecret = clientSecret
            self.name = name
        }
    }

    package typealias Fetch = @Sendable (ProviderRequest) async throws -> ProviderResponse

    private static let documentMilliseconds: Int64 = 3_600_000
    private static let staleMilliseconds: Int64 = 86_400_000
    /// The sign-in page waits for it.
    private static let fetchesMax = 3
    private static let backoff = Backoff(firstSeconds: 0.25, longestSeconds: 1)
    private static let retryMilliseconds: Int64 = 60_000

    package nonisolated let settings: Settings
    private let fetch: Fetch
    private let now: @Sendable () -> Int64
    private let pause: @Sendable (Duration) async throws -> Void
    private let jitter: @Sendable () -> Double
    private var metadata: (value: ProviderMetadata, fetched: Int64)?
    private var keys: (value: ProviderKeys, fetched: Int64)?

    /// - Parameters:
    ///   - now: Milliseconds since 1970 UTC, for the age of documents.
    ///   - pause: Waits before a document is fetched again.
    ///   - jitter: A random number from 0 to 1; see ``Backoff``.
    package init(
        _ settings: Settings, now: @escaping @Sendable () -> Int64,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        jitter: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }, fetch: @escaping Fetch
    ) {
        self.settings = settings
        self.now = now
        self.pause = pause
        self.jitter = jitter
        self.fetch = fetch
    }

    package nonisolated var name: String { settings.name }
    package nonisolated var issuer: String { settings.issuer }

    /// Returns `true` for `https` addresses, and for `http` ones of this machine.
    package static func isAcceptable(_ address: String) -> Bool {
        guard address.utf8.count <= 2048, let url = URL(string: address), let host = url.host, !host.isEmpty, url.user == nil,
            url.fragment == nil
        else { return false }
        return url.scheme == "https" || url.scheme == "http" && ["127.0.0.1", "localhost", "::1", "[::1]"].contains(host)
    }

    // MARK: Sign-in

    package func authorizationAddress(for request: AuthorizationRequest) async throws -> String {
        let endpoint = try await currentMetadata().authorizationEndpoint
        let items = [
            ("response_type", "code"), ("client_id", settings.clientID), ("redirect_uri", request.redirectAddress),
            ("scope", "openid profile"),
            ("state", request.state), ("nonce", request.nonce), ("code_challenge", request.codeChallenge),
            ("code_challenge_method", "S256"),
        ]
        return endpoint + (endpoint.contains("?") ? "&" : "?") + Self.form(items)
    }

    package func person(ofCode code: String, _ request: AuthorizationRequest, now: Int64) async throws -> ProviderPerson {
        let token = try IDToken(try await exchange(code, request))
        let claims = try await claims(of: token)
        try IDToken.check(claims, issuer: settings.issuer, clientID: settings.clientID, nonce: request.nonce, now: now)
        return ProviderPerson(
            identity: Identity(issuer: claims.iss, subject: claims.sub), preferredName: claims.preferred_username)
    }

    /// - Returns: The ID token.
    private func exchange(_ code: String, _ request: AuthorizationRequest) async throws -> String {
        let metadata = try await currentMetadata()
        var items = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", request.redirectAddress),
            ("code_verifier", request.codeVerifier),
        ]
        var headers = ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"]
        let methods = metadata.tokenEndpointMethods ?? ["client_secret_basic"]
        if let secret = settings.clientSecret, methods.contains("client_secret_basic") || !methods.contains("client_secret_post") {
            // Source: RFC 6749, section 2.3.1: both are encoded as in forms first.
            let pair = "\(QueryItems.encode(settings.clientID)):\(QueryItems.encode(secret))"
            headers["Authorization"] = "Basic " + Data(pair.utf8).base64EncodedString()
        } else {
            items.append(("client_id", settings.clientID))
            if let secret = settings.clientSecret { items.append(("client_secret", secret)) }
        }
        let response = try await send(
            ProviderRequest(address: metadata.tokenEndpoint, headers: headers, form: Self.form(items), bytesMax: TokenResponse.bytesMax))
        guard response.status != 400, response.status != 401 else {
            throw IdentityProviderFailure.refused("the provider does not accept the code")
        }
        return try decode(TokenResponse.self, response).idToken
    }

    // MARK: Documents

    private func currentMetadata() async throws -> ProviderMetadata {
        if let metadata, abs(now() - metadata.fetched) < Self.documentMilliseconds { return metadata.value }
        let base = settings.issuer.hasSuffix("/") ? String(settings.issuer.dropLast()) : settings.issuer
        let response: ProviderResponse
        do {
            response = try await get(base + "/.well-known/openid-configuration", bytesMax: ProviderMetadata.bytesMax)
        } catch {
            guard let metadata, abs(now() - metadata.fetched) < Self.staleMilliseconds else { throw error }
            return metadata.value
        }
        let value = try decode(ProviderMetadata.self, response)
        // Source: *OpenID Connect Discovery 1.0*, section 4.3.
        guard value.issuer == settings.issuer else { throw IdentityProviderFailure.unavailable("the document is of another issuer") }
        guard [value.authorizationEndpoint, value.tokenEndpoint, value.keysAddress].allSatisfy(Self.isAcceptable) else {
            throw IdentityProviderFailure.unavailable("an address of the provider does not begin with https://")
        }
        metadata = (value, now())
        return value
    }

    /// A provider may replace a key and give the new one the same ID, or none: its keys are fetched again, at most once a minute.
    private func claims(of token: IDToken) async throws -> IDToken.Claims {
        let key = try await key(of: token)
        do {
            return try await token.claims(signedBy: key)
        } catch {
            guard let keys, abs(now() - keys.fetched) >= Self.retryMilliseconds else { throw error }
            self.keys = nil
            return try await token.claims(signedBy: try await self.key(of: token))
        }
    }

    private func key(of token: IDToken) async throws -> JWK {
        if let keys, abs(now() - keys.fetched) < Self.documentMilliseconds {
            if let key = token.key(in: keys.value) { return key }
            // Tokens with made-up keys do not make this server ask without end.
            guard abs(now() - keys.fetched) >= Self.retryMilliseconds else { throw Self.unknownKey }
        }
        let response = try await get(try await currentMetadata().keysAddress, bytesMax: ProviderKeys.bytesMax)
        let value = try decode(ProviderKeys.self, response)
        keys = (value, now())
        guard let key = token.key(in: value) else { throw Self.unknownKey }
        return key
    }

    private static let unknownKey = IdentityProviderFailure.refused("the ID token is signed with a key that the provider does not have")

    /// Fetches a document, with retries if the provider cannot be reached, is overloaded or fails.
    ///
    /// - Throws: ``IdentityProviderFailure`` with `.unavailable` after the last attempt.
    private func get(_ address: String, bytesMax: Int) async throws -> ProviderResponse {
        let request = ProviderRequest(address: address, headers: ["Accept": "application/json"], form: nil, bytesMax: bytesMax)
        for attempt in 1..<Self.fetchesMax {
            if let response = try? await send(request), !Self.isTransient(response.status) { return response }
            try await pause(Self.backoff.delay(attempt: attempt, jitter: jitter()))
        }
        let response = try await send(request)
        guard !Self.isTransient(response.status) else {
            throw IdentityProviderFailure.unavailable("the response has status \(response.status)")
        }
        return response
    }

    private static func isTransient(_ status: Int) -> Bool { status >= 500 || status == 429 }

    private func send(_ request: ProviderRequest) async throws -> ProviderResponse {
        let response: ProviderResponse
        do {
            response = try await fetch(request)
        } catch {
            throw IdentityProviderFailure.unavailable("the request failed")
        }
        guard response.body.count <= request.bytesMax else { throw IdentityProviderFailure.unavailable("the response is too long") }
        return response
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ response: ProviderResponse) throws -> Value {
        guard response.status == 200, let value = try? JSONDecoder().decode(type, from: Data(response.body)) else {
            throw IdentityProviderFailure.unavailable(
                "the response has status \(response.status), or is not the document that was expected")
        }
        return value
    }

    private static func form(_ items: [(String, String)]) -> String {
        items.map { "\($0)=\(QueryItems.encode($1))" }.joined(separator: "&")
    }
}
