// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudWire
import SystemSupport

/// A person's permission for an operator to read their private and shared database in one container and environment.
///
/// It is a session of the person's account: listed with the account's sessions, with the time of the last look, and ended as they are, by
/// the person, by an operator, or with the account's other sessions by a new password.
package struct Consent: Hashable, Sendable {
    package var account: Int64
    package var accountName: String
    package var containerIdentifier: String
    package var environment: CloudEnvironment
    /// Milliseconds since 1970 UTC.
    package var until: Int64
    /// SHA-256 of the session's identifier.
    let idHash: [UInt8]

    /// The session's identifier in lists and in the audit log.
    package var id: String { Hex.text(idHash.prefix(AccountAccess.sessionIDBytes)) }
}

/// The consents that people give to operators, and the page on which they do.
package struct Consents: ServiceSubject {
    let core: ServiceCore
    let uses: CredentialUseLog
    let audit: AuditTrail
    let sessions: WebSessions
    let throttle: PasswordThrottle

    /// Hours for which a consent can be given.
    package static let hours = [1, 8, 24, 72, 168]

    /// Gives a consent, for a person who is signed in to the page of consents. It ends with the device that began the page's session.
    ///
    /// - Parameters:
    ///   - session: Of the page.
    ///   - hours: One of ``hours``.
    /// - Returns: The token for the operator. It is not stored, and shown once.
    /// - Throws: `WireError` with `.badRequest` for other hours, and for a container in which the account has no data.
    package func give(
        in session: WebSession, containerIdentifier: String, environment: CloudEnvironment, hours: Int, network: String
    ) async throws -> (token: String, until: Int64) {
        guard Self.hours.contains(hours) else {
            throw WireError(.badRequest, "a consent lasts \(Self.hours.map(String.init).joined(separator: ", ")) hours")
        }
        guard try await accounts.containers(ofAccount: session.account).contains(containerIdentifier) else {
            throw WireError(.badRequest, "the account has no data in the container: choose one of the list")
        }
        let now = surroundings.now()
        let until = now + Int64(hours) * 3_600_000
        let use = SessionUse.consent(containerIdentifier: containerIdentifier, until: until)
        try await audit.append(
            "consent.given", by: .account(try await audit.subject(ofAccount: session.account)), network: network,
            subject: "\(containerIdentifier) \(environment.rawValue) \(hours) h")
        // The session ends with its token's time or the consent's, whichever is first.
        let token = try await sessions.start(
            WebSession(
                account: session.account, use: use, environment: environment, isKept: true, started: now, device: session.device))
        return (token, until)
    }

    /// The consent of a token that a person gave an operator.
    ///
    /// - Throws: `WireError` with `.authenticationFailed` for a text that is no consent of this server, and `.authenticationRequired` for
    ///   one that has expired or was ended.
    package func consent(ofToken text: String) async throws -> Consent {
        let (id, session, _) = try await sessions.session(ofToken: text)
        guard case .consent(let container, let until) = session.use else {
            throw WireError(.authenticationFailed, "the token is not a consent")
        }
        guard surroundings.now() < until, let profile = try await accounts.profile(ofAccount: session.account) else {
            throw WireError(.authenticationRequired, "the consent has expired or was ended")
        }
        return Consent(
            account: session.account, accountName: profile.accountName, containerIdentifier: container, environment: session.environment,
            until: until, idHash: accounts.sha256(id))
    }

    /// Notes the time of a look, which the person sees at the page of consents.
    package func noteLook(with consent: Consent, network: String) {
        uses.note(
            .session(idHash: consent.idHash), CredentialUse(time: surroundings.now(), network: network, platform: "console"))
    }

    /// Signs a person in to the page of consents with a device's token, for accounts without a password. The token gives access to all of the
    /// account's data, so that no second factor is asked for.
    ///
    /// - Returns: The token of a session that ends with the device.
    /// - Throws: `WireError` with `.authenticationFailed` for a wrong token, with `.throttled` after too many of them from a network.
    package func signIn(toConsentPageWith token: String, network: String) async throws -> String {
        let now = surroundings.now(), allowed = engine.limits.passwordFailures
        let attempt = try await throttle.begin("device token \(network)", from: network, now: now, allowed: allowed)
        let device: DeviceIdentity?
        do {
            device = try await accounts.device(forToken: token, now: now)
        } catch {
            try? await throttle.end(attempt, isRight: false, now: now, allowed: allowed)
            throw error
        }
        try await throttle.end(attempt, isRight: device != nil, now: now, allowed: allowed)
        guard let device else {
            try await audit.append("consent.sign-in", by: .anonymous, network: network, subject: "unknown device", outcome: .refused)
            throw WireError(.authenticationFailed, "the device token is wrong or was revoked")
        }
        try await audit.append(
            "consent.sign-in", by: .account(try await audit.subject(ofAccount: device.account)), network: network, subject: "consent page")
        return try await sessions.start(
            WebSession(
                account: device.account, use: .consentPage, environment: .production, isKept: false, started: now, device: device.credential
            ))
    }
}
