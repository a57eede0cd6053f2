// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import JWTKit

/// A request to the provider, for the caller's HTTP client: it follows no redirects, and stops at the bytes given.
package struct ProviderRequest: Hashable, Sendable {
    package var address: String
    package var headers: [String: String]
    /// The body of a POST; nil for a GET.
    package var form: String?
    package var bytesMax: Int

    package init(address: String, headers: [String: String], form: String?, bytesMax: Int) {
        self.address = address
        self.headers = headers
        self.form = form
        self.bytesMax = bytesMax
    }
}

package struct ProviderResponse: Hashable, Sendable {
    package var status: Int
    package var body: [UInt8]

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// The provider's metadata document.
///
/// Source: *OpenID Connect Discovery 1.0*, section 3.
struct ProviderMetadata: Decodable, Sendable {
    static let bytesMax = 64_000

    var issuer: String
    var authorizationEndpoint: String
    var tokenEndpoint: String
    var keysAddress: String
    var tokenEndpointMethods: [String]?

    private enum CodingKeys: String, CodingKey {
        case issuer
        case authorizationEndpoint = "authorization_endpoint"
        case tokenEndpoint = "token_endpoint"
        case keysAddress = "jwks_uri"
        case tokenEndpointMethods = "token_endpoint_auth_methods_supported"
    }
}

/// The public keys of a provider that this server can use, by identifier.
///
/// Source: RFC 7517, section 5: keys of other types, and with missing or invalid members, are skipped.
struct ProviderKeys: Decodable, Sendable {
    static let bytesMax = 256_000
    private static let countMax = 64

    /// Of a key without one; such a set has one key.
    static let unnamed = ""

    private(set) var keys: [String: JWK] = [:]

    private struct Key: Decodable {
        var jwk: JWK?
        var use: String?

        private enum CodingKeys: String, CodingKey { case use }

        init(from decoder: any Decoder) throws {
            jwk = try? JWK(from: decoder)
            use = try? decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(String.self, forKey: .use)
        }
    }

    private enum CodingKeys: String, CodingKey { case keys }

    init(from decoder: any Decoder) throws {
        let all = try decoder.container(keyedBy: CodingKeys.self).decode([Key].self, forKey: .keys)
        for key in all.prefix(Self.countMax) where key.use == nil || key.use == "sig" {
            guard let jwk = key.jwk else { continue }
            keys[jwk.keyIdentifier?.string ?? Self.unnamed] = jwk
        }
    }
}

/// Source: RFC 6749, section 5.1.
struct TokenResponse: Decodable, Sendable {
    static let bytesMax = 64_000

    var idToken: String

    private enum CodingKeys: String, CodingKey { case idToken = "id_token" }
}
