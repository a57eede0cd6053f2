// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import Foundation
import JWTKit

/// The provider's signed statement about a person.
///
/// Source: *OpenID Connect Core 1.0*, sections 2 and 3.1.3.7.
struct IDToken: Sendable {
    static let bytesMax = 16_000
    /// Seconds by which the provider's clock may differ.
    private static let leeway = 60.0
    /// Signatures with a key pair. `none` and signatures with a shared secret are not in it.
    private static let algorithms: Set<String> = [
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    ]

    private struct Header: Decodable {
        var alg: String
        var kid: String?
        /// Extensions that must be understood, and none is.
        var crit: [String]?
    }

    struct Claims: JWTPayload {
        var iss: String
        var sub: String
        var aud: Audience
        /// Seconds since 1970 UTC.
        var exp: Double
        var iat: Double
        var nonce: String?
        var azp: String?
        var preferred_username: String?

        /// The library checks the signature; ``IDToken`` checks the claims, with the server's clock.
        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }

    /// One audience or several.
    struct Audience: Codable, Sendable {
        var all: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let one = try? container.decode(String.self) { all = [one] } else { all = try container.decode([String].self) }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(all)
        }
    }

    private let text: String
    private let header: Header

    /// - Throws: ``IdentityProviderFailure`` for a text that isn't an ID token, or with an algorithm that is not accepted.
    init(_ text: String) throws {
        guard text.utf8.count <= Self.bytesMax else { throw IdentityProviderFailure.refused("the ID token is too long") }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Self.bytes(ofBase64URL: parts[0]),
            let header = try? JSONDecoder().decode(Header.self, from: bytes)
        else {
            throw IdentityProviderFailure.refused("the ID token is not a signed JSON Web Token")
        }
        guard Self.algorithms.contains(header.alg), header.crit == nil else {
            throw IdentityProviderFailure.refused("the ID token is signed with an algorithm that is not accepted")
        }
        self.text = text
        self.header = header
    }

    private static func bytes(ofBase64URL text: Substring) -> Data? {
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4))
    }

    /// The key that the token names; nil if the set does not have it, as after a rotation.
    func key(in keys: ProviderKeys) -> JWK? {
        if let kid = header.kid { return keys.keys[kid] }
        // Source: *OpenID Connect Core 1.0*, section 10.1: only a set with one key needs no identifier.
        return keys.keys.count == 1 ? keys.keys.values.first : nil
    }

    /// - Throws: ``IdentityProviderFailure`` for a wrong signature.
    func claims(signedBy key: JWK) async throws -> Claims {
        // A key that is meant for another algorithm, such as one for encryption, signs nothing.
        guard key.algorithm == nil || key.algorithm?.rawValue == header.alg else {
            throw IdentityProviderFailure.refused("the ID token is signed with a key for another algorithm")
        }
        var key = key
        key.keyIdentifier = JWKIdentifier(string: header.kid ?? ProviderKeys.unnamed)
        // Another one for each token: a collection remembers the algorithm of the first.
        let collection = JWTKeyCollection()
        do {
            try await collection.add(jwk: key)
            return try await collection.verify(text, as: Claims.self)
        } catch {
            throw IdentityProviderFailure.refused("the signature of the ID token is not the provider's")
        }
    }

    /// Checks that the token is the provider's, for this server and this sign-in, and of now.
    ///
    /// - Throws: ``IdentityProviderFailure`` that names the claim.
    static func check(_ claims: Claims, issuer: String, clientID: String, nonce: String, now: Int64) throws {
        func refuse(_ reason: String) -> IdentityProviderFailure { .refused("the ID token \(reason)") }
        let seconds = Double(now) / 1000
        guard claims.iss == issuer else { throw refuse("is of another issuer") }
        guard claims.aud.all.contains(clientID) else { throw refuse("is for another client") }
        guard claims.aud.all.count == 1 || claims.azp != nil, claims.azp == nil || claims.azp == clientID else {
            throw refuse("was made for another client")
        }
        guard claims.exp + leeway > seconds else { throw refuse("has expired") }
        guard claims.iat - leeway < seconds else { throw refuse("is from the future") }
        guard claims.nonce == nonce else { throw refuse("is of another sign-in") }
    }
}
