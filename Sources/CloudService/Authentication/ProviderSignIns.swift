// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import SystemSupport

/// Sign-in at an identity provider.
package struct ProviderSignIns: ServiceSubject {
    let core: ServiceCore
    /// Nil if people sign in with passwords of this server only.
    let identitySignIn: IdentitySignIn?
    let audit: AuditTrail
    let signIns: SignIns
    let flows: SignInFlows
    let throttle: PasswordThrottle

    /// The provider's name on the sign-in page; nil if the server has none.
    package var providerName: String? { identitySignIn?.provider.name }

    /// Where providers send browsers, below the server's address.
    package static let callbackPath = "/signin/callback"

    /// Begins a sign-in at the provider.
    ///
    /// - Parameters:
    ///   - flow: The text of the web app's sign-in page; empty for the console.
    /// - Returns: The provider's page, and a secret that the browser keeps in a cookie until it is back.
    /// - Throws: `WireError` with `.notFound` without a provider, `.tryAgainLater` if it cannot be reached, `.throttled` after many
    ///   sign-ins of the network that failed.
    package func begin(flow: String, baseURL: String, network: String) async throws -> (
        address: String, browserSecret: String
    ) {
        guard let provider = identitySignIn?.provider else { throw Self.noProvider }
        let now = surroundings.now(), allowed = engine.limits.passwordFailures
        let attempt = try await throttle.begin(Self.providerThrottleKey(network), from: network, now: now, allowed: allowed)
        let secret = Hex.text(surroundings.randomBytes(ProviderState.browserSecretBytes))
        let state = ProviderState(
            flow: flow, browserHash: Hex.text(accounts.sha256(Array(secret.utf8))),
            expires: surroundings.now() / 1000 + ProviderState.seconds)
        let request = state.request(redirectAddress: baseURL + Self.callbackPath, by: engine.sealer, sha256: accounts.sha256)
        let address: String
        do {
            address = try await provider.authorizationAddress(for: request)
        } catch {
            try? await throttle.end(halfDone: attempt, now: now, allowed: allowed)
            guard let failure = error as? IdentityProviderFailure else { throw error }
            throw Self.wireError(for: failure)
        }
        try await throttle.end(halfDone: attempt, now: now, allowed: allowed)
        return (address, secret)
    }

    /// Ends a sign-in with the query that the provider sent the browser back with.
    ///
    /// - Parameters:
    ///   - browserSecret: The cookie's value.
    /// - Returns: The result, with the flow of ``begin(flow:baseURL:network:)``.
    /// - Throws: `WireError` with `.authenticationRequired` for another browser's, an expired or a repeated state;
    ///   with `.authenticationFailed` if the provider refused or its ID token is not valid; with `.accessDenied` for a person without an
    ///   account.
    package func finish(
        _ query: QueryItems, browserSecret: String?, baseURL: String, network: String
    ) async throws -> (result: SignInResult, flow: String) {
        guard let signIn = identitySignIn else { throw Self.noProvider }
        let now = surroundings.now(), allowed = engine.limits.passwordFailures
        guard let state = ProviderState(opening: query["state"] ?? "", now: now, by: engine.sealer), let browserSecret,
            ConstantTime.areEqual(Hex.text(accounts.sha256(Array(browserSecret.utf8))), state.browserHash)
        else { throw Self.endedSignIn }
        // Not a password, but as many wrong ones: each makes the server ask the provider.
        let attempt = try await throttle.begin(Self.providerThrottleKey(network), from: network, now: now, allowed: allowed)
        let person: ProviderPerson
        do {
            person = try await self.person(query, state, signIn.provider, baseURL: baseURL)
        } catch {
            try? await throttle.end(attempt, isRight: false, now: now, allowed: allowed)
            try await audit.append("provider.sign-in", by: .anonymous, network: network, subject: signIn.provider.issuer, outcome: .refused)
            guard let failure = error as? IdentityProviderFailure else { throw error }
            throw Self.wireError(for: failure)
        }
        try await throttle.end(attempt, isRight: true, now: now, allowed: allowed)
        let account = try await account(of: person, signIn, network: network)
        return (
            try await signIns.admit(account, try await audit.subject(ofAccount: account), to: try place(of: state), network: network),
            state.flow
        )
    }

    private func person(
        _ query: QueryItems, _ state: ProviderState, _ provider: any IdentityProvider, baseURL: String
    ) async throws -> ProviderPerson {
        let now = surroundings.now()
        let request = state.request(redirectAddress: baseURL + Self.callbackPath, by: engine.sealer, sha256: accounts.sha256)
        guard try await accounts.isFirstUse(of: accounts.sha256(Array(request.state.utf8)), until: (state.expires + 1) * 1000) else {
            throw Self.endedSignIn
        }
        // Source: RFC 9207. A code of another provider is not sent to this one.
        if let issuer = query["iss"], issuer != provider.issuer {
            throw IdentityProviderFailure.refused("the response is of another issuer")
        }
        guard let code = query["code"], query["error"] == nil else {
            throw IdentityProviderFailure.refused("the provider did not sign the person in")
        }
        let person = try await provider.person(ofCode: code, request, now: now)
        guard person.identity.issuer == provider.issuer, (1...Self.subjectBytesMax).contains(person.identity.subject.utf8.count) else {
            throw IdentityProviderFailure.refused("the ID token names no person")
        }
        return person
    }

    /// Source: *OpenID Connect Core 1.0*, section 2.
    private static let subjectBytesMax = 255

    private func account(of person: ProviderPerson, _ signIn: IdentitySignIn, network: String) async throws -> Int64 {
        if let account = try await accounts.account(ofIdentity: person.identity) { return account }
        let identity = person.identity
        guard signIn.accounts == .created else {
            try await audit.append(
                "provider.sign-in.no-account", by: .anonymous, network: network, subject: identity.subject, outcome: .refused)
            throw WireError(
                .accessDenied,
                "No account of this server is linked to your identity. Ask an operator to link the subject \(identity.subject) with 'tarn user identities'."
            )
        }
        let digest = Hex.text(accounts.sha256(Array("\(identity.issuer) \(identity.subject)".utf8)).prefix(8))
        let names = [person.preferredName].compactMap { $0 }.filter(AccountName.isValidProposal) + ["person-\(digest)"]
        let account = try await accounts.addAccount(ofIdentity: identity, names: names, now: surroundings.now())
        try await audit.append(
            "provider.account-made", by: .account(try await audit.subject(ofAccount: account)), network: network, subject: identity.subject)
        return account
    }

    private func place(of state: ProviderState) throws(WireError) -> SignInPlace {
        guard !state.flow.isEmpty else { return .console(isKept: false) }
        guard state.flow != Self.consentFlow else { return .consentPage }
        guard let flow = flows.flow(state.flow) else { throw Self.endedSignIn }
        return SignInPlace(containerIdentifier: flow.containerIdentifier, environment: flow.environment, isKept: false)
    }

    /// In place of a flow, for a sign-in to the page of consents. No flow's text, which is hexadecimal, is equal to it.
    package static let consentFlow = "consents"

    /// One key per network: failures of one network don't delay the others.
    private static func providerThrottleKey(_ network: String) -> String { "provider \(network)" }

    private static let noProvider = WireError(.notFound, "this server has no identity provider")
    private static let endedSignIn = WireError(
        .authenticationRequired, "the sign-in has expired, or began in another browser: sign in again")

    private static func wireError(for failure: IdentityProviderFailure) -> WireError {
        switch failure {
        case .unavailable: WireError(.tryAgainLater, "the identity provider cannot be reached: try again later", retryAfter: 10)
        case .refused(let reason): WireError(.authenticationFailed, "the identity provider's response is not valid: \(reason)")
        }
    }
}
