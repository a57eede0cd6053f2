// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudIdentity
import CloudService
import Foundation
import NIOCore
import NIOHTTP1

/// Sign-in at an OpenID provider, as set by `oidc-…`.
struct ProviderSettings: Hashable {
    var issuer: String?
    var clientID: String?
    /// From the environment, or a file that only the server's user can read.
    var clientSecret: String?
    var name: String?
    var accounts = IdentitySignIn.Accounts.linked

    private static let secretBytesMax = 4096

    /// - Returns: `false` for a setting of another name.
    mutating func set(_ name: String, to value: String) throws -> Bool {
        switch name {
        case "oidc-issuer":
            guard OpenIDProvider.isAcceptable(value) else {
                throw CommandError("oidc-issuer is the https:// address that the provider calls its issuer; \(value) is not.")
            }
            issuer = value
        case "oidc-client-id": clientID = value
        case "oidc-client-secret-file":
            guard let data = FileManager.default.contents(atPath: value), data.count <= Self.secretBytesMax,
                let text = String(bytes: data, encoding: .utf8)?.trimmingCharacters(in: .whitespacesAndNewlines), !text.isEmpty
            else { throw CommandError("The file \(value) with the client secret cannot be read, or is empty.") }
            clientSecret = text
        case "oidc-client-secret": clientSecret = value
        case "oidc-name":
            guard (1...64).contains(value.count) else { throw CommandError("oidc-name has 1 to 64 characters.") }
            self.name = value
        case "oidc-accounts":
            guard let accounts = IdentitySignIn.Accounts(rawValue: value) else {
                throw CommandError(
                    "oidc-accounts is \(IdentitySignIn.Accounts.allCases.map(\.rawValue).joined(separator: " or ")), not \(value).")
            }
            self.accounts = accounts
        default: return false
        }
        return true
    }

    /// - Parameter hasPublicAddress: Without one, the `Host` of a request would choose where the provider sends browsers.
    /// - Returns: Nil without a provider.
    /// - Throws: `CommandError` for inconsistent settings.
    func signIn(hasPublicAddress: Bool, now: @escaping @Sendable () -> Int64) throws -> IdentitySignIn? {
        guard issuer != nil || clientID != nil else { return nil }
        guard let issuer, let clientID else { throw CommandError("Sign-in at a provider needs both --oidc-issuer and --oidc-client-id.") }
        guard hasPublicAddress else {
            throw CommandError(
                "Sign-in at a provider needs --public-address: the provider sends browsers to its path \(ProviderSignIns.callbackPath)."
            )
        }
        let host = URL(string: issuer)?.host ?? issuer
        let settings = OpenIDProvider.Settings(issuer: issuer, clientID: clientID, clientSecret: clientSecret, name: name ?? host)
        return IdentitySignIn(provider: OpenIDProvider(settings, now: now, fetch: ProviderClient.fetch), accounts: accounts)
    }
}

/// The HTTP client for the documents of a provider.
enum ProviderClient {
    private static let timeout = TimeAmount.seconds(10)

    /// It lives as long as the process.
    private static let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: .outbound(connectTimeout: timeout))

    /// Sends a request. A response that is longer than allowed is not read to its end.
    @Sendable static func fetch(_ request: ProviderRequest) async throws -> ProviderResponse {
        var outgoing = HTTPClientRequest(url: request.address)
        for (name, value) in request.headers { outgoing.headers.replaceOrAdd(name: name, value: value) }
        if let form = request.form {
            outgoing.method = .POST
            outgoing.body = .bytes(ByteBuffer(string: form))
        }
        let response = try await client.execute(outgoing, timeout: timeout)
        let body = try await response.body.collect(upTo: request.bytesMax)
        return ProviderResponse(status: Int(response.status.code), body: Array(body.readableBytesView))
    }
}
