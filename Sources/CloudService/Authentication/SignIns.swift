// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Sign-in with name and password.
package struct SignIns: ServiceSubject {
    let core: ServiceCore
    let audit: AuditTrail
    let sessions: WebSessions
    let throttle: PasswordThrottle
    let passwordChecks: AdmissionGate

    /// Signs a person in with name and password.
    ///
    /// - Parameters:
    ///   - place: The container, or the console.
    ///   - network: Where the attempt comes from.
    /// - Throws: `WireError` with `.authenticationFailed` for a wrong name or password, without saying which; with
    ///   `.throttled` after too many of them.
    package func signIn(name: String, password: String, to place: SignInPlace, network: String) async throws -> SignInResult {
        let (account, subject) = try await account(named: name, password: password, action: place.action, network: network)
        return try await admit(account, subject, to: place, network: network)
    }

    /// Checks the password of an account that is signed in already, before it changes how it signs in.
    ///
    /// - Throws: `WireError` as ``signIn(name:password:to:network:)``.
    package func confirmPassword(_ password: String, ofUser name: String, network: String) async throws {
        _ = try await account(named: name, password: password, action: "password.confirm", network: network)
    }

    package func hasPassword(accountName: String) async throws -> Bool { try await accounts.account(signingInAs: accountName) != nil }

    /// - Returns: The account, and its name for the audit log.
    private func account(
        named name: String, password: String, action: String, network: String
    ) async throws -> (Int64, subject: String) {
        let now = surroundings.now(), allowed = engine.limits.passwordFailures
        let isName = Self.isName(name)
        // However a name is written, its account is one.
        let known = isName ? try await accounts.account(signingInAs: name) : nil
        // Text typed as a name may be a password: only names of accounts are written down.
        let subject = try await audit.subject(ofAccount: known)
        let attempt: PasswordThrottle.Attempt
        do {
            attempt = try await throttle.begin(
                known.map(AttemptKey.account) ?? (isName ? PasswordThrottle.key(ofName: name) : ""), from: network, now: now,
                allowed: allowed
            )
        } catch let error as WireError {
            try await audit.append(action + ".throttled", by: .anonymous, network: network, subject: subject, outcome: .refused)
            throw error
        }
        var account: Int64?
        var needsCode = false
        do {
            // A name that is not there takes as long as one that is.
            if isName, password.utf8.count <= PasswordRule.bytesMax {
                account = try await passwordChecks.run(Self.site(ofNetwork: network)) { [accounts] in
                    try await accounts.account(named: name, password: password)
                }
            }
            if let account { needsCode = try await accounts.secondFactor(ofAccount: account) != nil }
        } catch {
            // Without a turn, the password was not compared.
            if error is CancellationError || (error as? WireError)?.code == .tryAgainLater {
                try? await throttle.end(halfDone: attempt, now: now, allowed: allowed)
            } else {
                try? await throttle.end(attempt, isRight: false, now: now, allowed: allowed)
            }
            throw error
        }
        if needsCode {
            try await throttle.end(halfDone: attempt, now: now, allowed: allowed)
        } else {
            try await throttle.end(attempt, isRight: account != nil, now: now, allowed: allowed)
        }
        guard let account else {
            try await audit.append(action, by: .anonymous, network: network, subject: subject, outcome: .refused)
            throw WireError(.authenticationFailed, "the name or the password is wrong")
        }
        // After the attempt ended, so that only its owner waits for the new hash. If it cannot be stored, the old one stays.
        try? await accounts.renewPasswordHash(ofAccount: account, password: password)
        return (account, subject)
    }

    /// The first 48 bits of an IPv6 address, since one site may have all of their 65,536 networks; an IPv4 address as it is.
    static func site(ofNetwork network: String) -> String { network.split(separator: ".").prefix(6).joined(separator: ".") }

    /// Starts the session of a proven account, or requires the code of its second factor.
    func admit(_ account: Int64, _ subject: String, to place: SignInPlace, network: String) async throws -> SignInResult {
        if try await accounts.secondFactor(ofAccount: account) != nil {
            let challenge = SignInChallenge(
                account: account, passwordVersion: try await accounts.passwordVersion(ofAccount: account), place: place,
                expires: surroundings.now() / 1000 + SignInChallenge.seconds)
            return .needsCode(challenge: challenge.sealed(by: engine.sealer))
        }
        return .signedIn(token: try await sessions.start(of: account, subject, to: place, network: network))
    }

    private static let nameBytesMax = 1024

    /// Names have no control characters: a database may cut a name at one.
    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= nameBytesMax && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
