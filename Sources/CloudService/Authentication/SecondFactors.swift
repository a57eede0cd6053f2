// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudWire
import SystemSupport

/// Codes of second factors. Wrong ones count as wrong passwords do, with the same throttle.
package struct SecondFactors: ServiceSubject {
    let core: ServiceCore
    let audit: AuditTrail
    let sessions: WebSessions
    let throttle: PasswordThrottle

    /// The second half of a sign-in.
    ///
    /// - Parameters:
    ///   - containerIdentifier: Empty for the console.
    ///   - challenge: From ``SignInResult/needsCode(challenge:)``.
    ///   - code: The code of an authenticator app, or a recovery code.
    /// - Returns: A web auth token, and the target of the sign-in.
    /// - Throws: `WireError` with `.authenticationRequired` for a challenge that has expired or is of another container; with `.authenticationFailed` for a wrong or
    ///   used code; with `.throttled` after too many of them.
    package func signIn(
        challenge text: String, code: String, containerIdentifier: String, environment: CloudEnvironment, network: String
    ) async throws -> (token: String, place: SignInPlace) {
        guard let challenge = SignInChallenge(opening: text, now: surroundings.now(), by: engine.sealer),
            challenge.place.containerIdentifier == containerIdentifier, challenge.place.environment == environment,
            try await accounts.passwordVersion(ofAccount: challenge.account) == challenge.passwordVersion
        else {
            throw WireError(.authenticationRequired, "the sign-in took too long, or the password was changed: sign in again")
        }
        let (account, place) = (challenge.account, challenge.place)
        let subject = try await audit.subject(ofAccount: account)
        try await check(code, ofAccount: account, subject, action: place.action + ".second-factor", network: network)
        return (try await sessions.start(of: account, subject, to: place, network: network), place)
    }

    package func state(ofAccount account: Int64) async throws -> SecondFactorState? {
        try await accounts.secondFactor(ofAccount: account)
    }

    /// Makes a secret for an authenticator app. The account needs no code until it is confirmed.
    ///
    /// - Throws: `StorageFailure` with `.nameTaken` if the account has a second factor.
    package func begin(ofAccount account: Int64) async throws -> [UInt8] {
        try await accounts.beginSecondFactor(ofAccount: account, now: surroundings.now())
    }

    /// Turns the second factor on with the first code of the app.
    ///
    /// - Returns: Recovery codes, shown once.
    /// - Throws: `WireError` with `.authenticationFailed` for a wrong code; with `.throttled` after too many of them.
    package func confirm(ofAccount account: Int64, code: String, network: String) async throws -> [String] {
        let subject = try await audit.subject(ofAccount: account)
        let codes = try await counted(ofAccount: account, subject, action: "second-factor.on", network: network) {
            try await accounts.confirmSecondFactor(ofAccount: account, code: code, now: surroundings.now())
        }
        try await audit.append("second-factor.on", by: .account(subject), network: network, subject: subject)
        return codes
    }

    /// Turns the second factor off, with a code of it.
    ///
    /// - Throws: `WireError` as ``confirm(ofAccount:code:network:)``.
    package func remove(ofAccount account: Int64, code: String, network: String) async throws {
        let subject = try await audit.subject(ofAccount: account)
        try await check(code, ofAccount: account, subject, action: "second-factor.off", network: network)
        try await accounts.removeSecondFactor(ofUser: subject)
        try await audit.append("second-factor.off", by: .account(subject), network: network, subject: subject)
    }

    /// Checks a code of an account that is signed in already.
    ///
    /// - Throws: `WireError` as ``confirm(ofAccount:code:network:)``.
    package func confirmCode(_ code: String, ofAccount account: Int64, network: String) async throws {
        try await check(code, ofAccount: account, try await audit.subject(ofAccount: account), action: "code.confirm", network: network)
    }

    private func check(_ code: String, ofAccount account: Int64, _ subject: String, action: String, network: String) async throws {
        try await counted(ofAccount: account, subject, action: action, network: network) {
            try await accounts.useSecondFactor(code, ofAccount: account, now: surroundings.now()) ? () : nil
        }
    }

    /// Runs a check that counts as an attempt from its beginning, so that concurrent ones count.
    ///
    /// - Parameter check: Returns nil for a wrong code.
    private func counted<Value>(
        ofAccount account: Int64, _ subject: String, action: String, network: String, _ check: () async throws -> Value?
    ) async throws -> Value {
        let now = surroundings.now(), allowed = engine.limits.passwordFailures
        let attempt: PasswordThrottle.Attempt
        do {
            attempt = try await throttle.begin(AttemptKey.account(account), from: network, now: now, allowed: allowed)
        } catch let error as WireError {
            try await audit.append(action + ".throttled", by: .anonymous, network: network, subject: subject, outcome: .refused)
            throw error
        }
        let value: Value?
        do {
            value = try await check()
        } catch {
            try? await throttle.end(attempt, isRight: false, now: now, allowed: allowed)
            throw error
        }
        try await throttle.end(attempt, isRight: value != nil, now: now, allowed: allowed)
        guard let value else {
            try await audit.append(action, by: .anonymous, network: network, subject: subject, outcome: .refused)
            throw WireError(.authenticationFailed, "the code is wrong, or it was used before")
        }
        return value
    }
}

/// The secret of a second factor, as authenticator apps take it.
package struct SecondFactorSetup: Hashable, Sendable {
    /// In groups of four letters, for typing.
    package var text: String
    /// Source: the format of Google Authenticator, *Key Uri Format*.
    package var address: String

    /// - Parameter issuer: What apps show above the account.
    package init(secret: [UInt8], accountName: String, issuer: String) {
        let encoded = Base32.text(secret)
        text = stride(from: 0, to: encoded.count, by: 4).map { String(encoded.dropFirst($0).prefix(4)) }.joined(separator: " ")
        let label = QueryItems.encode("\(issuer):\(accountName)")
        address = "otpauth://totp/\(label)?secret=\(encoded)&issuer=\(QueryItems.encode(issuer))&algorithm=SHA1&digits=6&period=30"
    }
}
