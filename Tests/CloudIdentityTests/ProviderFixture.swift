// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudIdentity
import CloudService
import Crypto
import CryptoExtras
import Foundation
import Synchronization
import TestBasics

/// An OpenID provider without sockets. It signs with keys of its own, not with the library that checks.
final class ProviderFixture: Sendable {
    static let issuer = "https://id.example.com"

    enum Key: Sendable {
        case p256(P256.Signing.PrivateKey)
        case rsa(_RSA.Signing.PrivateKey)

        var algorithm: String {
            switch self {
            case .p256: "ES256"
            case .rsa: "RS256"
            }
        }

        func sign(_ message: Data) throws -> Data {
            switch self {
            case .p256(let key): try key.signature(for: message).rawRepresentation
            case .rsa(let key): try key.signature(for: message, padding: .insecurePKCS1v1_5).rawRepresentation
            }
        }

        func document(_ id: String) throws -> [String: String] {
            switch self {
            case .p256(let key):
                let point = key.publicKey.rawRepresentation
                return [
                    "kty": "EC", "crv": "P-256", "kid": id, "alg": "ES256", "use": "sig", "x": ProviderFixture.base64(point.prefix(32)),
                    "y": ProviderFixture.base64(point.suffix(32)),
                ]
            case .rsa(let key):
                let numbers = try key.publicKey.getKeyPrimitives()
                // As a provider that names no algorithm.
                return [
                    "kty": "RSA", "kid": id, "n": ProviderFixture.base64(numbers.modulus),
                    "e": ProviderFixture.base64(numbers.publicExponent),
                ]
            }
        }
    }

    struct State {
        var keys: [(id: String, key: Key)] = [("key-1", .p256(P256.Signing.PrivateKey()))]
        var subject = "subject-1"
        var preferredName: String? = "nadia"
        /// The challenge and nonce of the browser's last visit, by code.
        var codes: [String: (challenge: String, nonce: String)] = [:]
        var requests: [ProviderRequest] = []
        /// Changes claims before they are signed; a claim is removed by nil.
        var change: @Sendable (inout [String: Any]) -> Void = { _ in }
        var changeHeader: @Sendable (inout [String: Any]) -> Void = { _ in }
        var changeMetadata: @Sendable (inout [String: Any]) -> Void = { _ in }
        /// Takes the place of all responses.
        var response: ProviderResponse?
        /// Requests that fail from now on.
        var failures = 0
        /// Between attempts to fetch a document.
        var pauses: [Duration] = []
    }

    let state = Mutex(State())
    let clock: HandClock

    init(_ clock: HandClock = HandClock()) { self.clock = clock }

    static func base64(_ bytes: some DataProtocol) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The server's side.
    func signIn(_ accounts: IdentitySignIn.Accounts = .linked) -> IdentitySignIn {
        let settings = OpenIDProvider.Settings(issuer: Self.issuer, clientID: "tarn", clientSecret: "s3cret", name: "Example ID")
        return IdentitySignIn(
            provider: OpenIDProvider(
                settings, now: { [clock] in clock.now }, pause: { [self] delay in state.withLock { $0.pauses.append(delay) } },
                jitter: { 1 },
                fetch: { [self] in try fetch($0) }), accounts: accounts)
    }

    /// The browser's part at the provider: the user signs in.
    ///
    /// - Returns: The query with which the provider sends it back.
    func visit(_ address: String) throws -> String {
        let query = QueryItems(String(address.split(separator: "?", maxSplits: 1)[1]))
        guard query["client_id"] == "tarn", query["code_challenge_method"] == "S256", query["response_type"] == "code",
            query["redirect_uri"] == "http://tarn.example/signin/callback", let state = query["state"], let nonce = query["nonce"],
            let challenge = query["code_challenge"]
        else { throw Refused() }
        let code = "code-\(self.state.withLock { $0.codes.count })"
        self.state.withLock { $0.codes[code] = (challenge, nonce) }
        return "code=\(code)&state=\(QueryItems.encode(state))&iss=\(QueryItems.encode(Self.issuer))"
    }

    struct Refused: Error {}

    private func fetch(_ request: ProviderRequest) throws -> ProviderResponse {
        try state.withLock { state in
            state.requests.append(request)
            if state.failures > 0 {
                state.failures -= 1
                throw Refused()
            }
            if let response = state.response { return response }
            switch request.address {
            case Self.issuer + "/.well-known/openid-configuration":
                var metadata: [String: Any] = [
                    "issuer": Self.issuer, "authorization_endpoint": Self.issuer + "/authorize", "token_endpoint": Self.issuer + "/token",
                    "jwks_uri": Self.issuer + "/keys",
                ]
                state.changeMetadata(&metadata)
                return try Self.json(metadata)
            case Self.issuer + "/keys":
                var keys = try state.keys.map { try $0.key.document($0.id) }
                keys += [
                    ["kty": "XYZ", "kid": "new"], ["kty": "oct", "kid": "shared", "k": "c2VjcmV0"], ["kty": "RSA", "kid": "broken"],
                ]
                return try Self.json(["keys": keys])
            case Self.issuer + "/token": return try token(request, &state)
            default: return ProviderResponse(status: 404, body: [])
            }
        }
    }

    private func token(_ request: ProviderRequest, _ state: inout State) throws -> ProviderResponse {
        let form = try QueryItems(form: Array((request.form ?? "").utf8))
        guard request.headers["Authorization"] == "Basic " + Data("tarn:s3cret".utf8).base64EncodedString(),
            let code = form["code"], let issued = state.codes.removeValue(forKey: code), let verifier = form["code_verifier"],
            (43...128).contains(verifier.utf8.count), Self.base64(Data(SHA256.hash(data: Data(verifier.utf8)))) == issued.challenge
        else { return ProviderResponse(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8)) }
        var claims: [String: Any] = [
            "iss": Self.issuer, "sub": state.subject, "aud": "tarn", "exp": clock.now / 1000 + 300, "iat": clock.now / 1000,
            "nonce": issued.nonce,
        ]
        claims["preferred_username"] = state.preferredName
        state.change(&claims)
        let (id, key) = state.keys[0]
        var header: [String: Any] = ["alg": key.algorithm, "kid": id, "typ": "JWT"]
        state.changeHeader(&header)
        let text = try [header, claims].map { Self.base64(try JSONSerialization.data(withJSONObject: $0)) }.joined(separator: ".")
        let signature = try key.sign(Data(text.utf8))
        return try Self.json(["access_token": "a", "token_type": "Bearer", "id_token": "\(text).\(Self.base64(signature))"])
    }

    private static func json(_ object: [String: Any]) throws -> ProviderResponse {
        ProviderResponse(status: 200, body: [UInt8](try JSONSerialization.data(withJSONObject: object)))
    }
}
