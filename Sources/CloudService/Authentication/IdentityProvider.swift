// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A program at which people sign in to this server, besides its own passwords.
package protocol IdentityProvider: Sendable {
    /// Name on the sign-in page.
    var name: String { get }
    var issuer: String { get }

    /// The address of the provider's page to which the browser goes.
    ///
    /// - Throws: ``IdentityProviderFailure``.
    func authorizationAddress(for request: AuthorizationRequest) async throws -> String

    /// The person with the code that the browser brought back.
    ///
    /// - Throws: ``IdentityProviderFailure``.
    func person(ofCode code: String, _ request: AuthorizationRequest, now: Int64) async throws -> ProviderPerson
}

/// One sign-in at a provider.
///
/// Source: *OpenID Connect Core 1.0*, section 3.1; RFC 7636 for the code verifier.
package struct AuthorizationRequest: Hashable, Sendable {
    package var state: String
    package var nonce: String
    /// 43 to 128 letters and digits, known to this server alone.
    package var codeVerifier: String
    /// SHA-256 of the verifier, in Base64 for addresses.
    package var codeChallenge: String
    /// Where the provider sends the browser; the provider knows the address.
    package var redirectAddress: String

    package init(state: String, nonce: String, codeVerifier: String, codeChallenge: String, redirectAddress: String) {
        self.state = state
        self.nonce = nonce
        self.codeVerifier = codeVerifier
        self.codeChallenge = codeChallenge
        self.redirectAddress = redirectAddress
    }
}

package struct ProviderPerson: Hashable, Sendable {
    package var identity: Identity
    /// A name for a new account; not unique, and not to be trusted.
    package var preferredName: String?

    package init(identity: Identity, preferredName: String?) {
        self.identity = identity
        self.preferredName = preferredName
    }
}

package enum IdentityProviderFailure: Error, Hashable {
    /// The provider could not be reached, or its responses are not those of an OpenID provider.
    case unavailable(String)
    /// The provider did not accept the code, or its ID token is not valid.
    case refused(String)
}

/// The provider of a server, and what becomes of people without an account.
package struct IdentitySignIn: Sendable {
    package enum Accounts: String, Sendable, CaseIterable {
        /// Operators link identities to accounts.
        case linked
        /// The first sign-in of an identity makes an account.
        case created
    }

    package var provider: any IdentityProvider
    package var accounts: Accounts

    package init(provider: any IdentityProvider, accounts: Accounts) {
        self.provider = provider
        self.accounts = accounts
    }
}
