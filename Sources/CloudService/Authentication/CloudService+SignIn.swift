// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension CloudService {
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
                known.map(Self.throttleKey) ?? (isName ? PasswordThrottle.key(ofName: name) : ""), from: network, now: now, allowed: allowed
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

    static func throttleKey(ofAccount account: Int64) -> String { AttemptKey.account(account) }

    /// Starts the session of a proven account, or requires the code of its second factor.
    func admit(_ account: Int64, _ subject: String, to place: SignInPlace, network: String) async throws -> SignInResult {
        if try await accounts.secondFactor(ofAccount: account) != nil {
            let challenge = SignInChallenge(
                account: account, passwordVersion: try await accounts.passwordVersion(ofAccount: account), place: place,
                expires: surroundings.now() / 1000 + SignInChallenge.seconds)
            return .needsCode(challenge: challenge.sealed(by: engine.sealer))
        }
        return .signedIn(token: try await startSession(of: account, subject, to: place, network: network))
    }

    func startSession(of account: Int64, _ subject: String, to place: SignInPlace, network: String) async throws -> String {
        try await audit.append(
            place.action, by: .account(subject), network: network, subject: place.use.summary)
        return try await startSession(
            WebSession(
                account: account, use: place.use, environment: place.environment, isKept: place.isKept,
                started: surroundings.now()))
    }

    private static let nameBytesMax = 1024

    /// Names have no control characters: a database may cut a name at one.
    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= nameBytesMax && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Source: RFC 6454, section 6.2: scheme, host and port, without a path.
    private static func isOrigin(_ text: String) -> Bool {
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "https" || parts[0] == "http", (1...255).contains(parts[1].utf8.count) else { return false }
        return parts[1].utf8.allSatisfy { byte in
            (0x30...0x3A).contains(byte) || (0x41...0x5B).contains(byte) || (0x61...0x7A).contains(byte)
                || [0x2D, 0x2E, 0x5D, 0x5F].contains(byte)
        }
    }

    func startSession(_ session: WebSession) async throws -> String {
        let id = surroundings.randomBytes(WebToken.sessionBytes)
        try await accounts.startSession(session, id: id, now: session.started)
        return makeToken(id, session, now: session.started).sealed(by: engine.sealer)
    }

    /// Tokens for one request differ from each other, also those of one millisecond. The console's cookies are no such tokens.
    private func makeToken(_ id: [UInt8], _ session: WebSession, now: Int64) -> WebToken {
        var token = WebToken(session: id, session, now: now, engine.limits)
        if profile.usesWebTokensOnce, case .container = session.use {
            token.nonce = surroundings.randomBytes(WebToken.nonceBytes)
        }
        return token
    }

    /// Begins a session without a password, for a caller that has the data folder. Its token opens no page of the console, and is not
    /// renewed.
    ///
    /// - Returns: The token, and its expiry in milliseconds since 1970 UTC.
    package func operatorKey(ofAccount account: Int64) async throws -> (key: String, expires: Int64) {
        let session = WebSession(
            account: account, use: .operatorKey, environment: .production, isKept: true,
            started: surroundings.now())
        let key = try await startSession(session)
        return (key, WebToken(opening: key, by: engine.sealer)?.expires ?? session.started)
    }

    /// Ends the session of a token, and with it all of its tokens.
    package func signOut(token: String) async throws {
        guard let token = WebToken(opening: token, by: engine.sealer) else { return }
        try await accounts.endSession(id: token.session)
    }

    /// The session of a token and the token that follows it.
    ///
    /// - Throws: `WireError` with `.authenticationFailed` for a forged token, `.authenticationRequired` where signing in
    ///   again helps: the time of the token is over, or the session was ended.
    package func session(ofToken text: String) async throws -> (id: [UInt8], session: WebSession, next: String) {
        guard let token = WebToken(opening: text, by: engine.sealer) else {
            throw WireError(.authenticationFailed, "the web auth token is not one of this server")
        }
        let now = surroundings.now()
        guard !token.isExpired(at: now), let session = try await accounts.session(id: token.session, now: now) else {
            throw WireError(.authenticationRequired, "the web auth token has expired: sign in again")
        }
        return (
            token.session, session,
            makeToken(token.session, session, now: now).sealed(by: engine.sealer)
        )
    }

    /// Notes the time, the network and the browser of a request of a session, for the lists of the account's sessions.
    ///
    /// - Parameter id: Of the session.
    package func noteUse(ofSession id: [UInt8], by request: ServiceRequest) {
        uses.note(.session(idHash: accounts.sha256(id)), CredentialUse(of: request, time: surroundings.now()))
    }

    /// The flow of a sign-in page's address, or nil if the address was forged or has expired.
    package func signInFlow(_ text: String) -> SignInFlow? {
        SignInFlow(opening: text, now: surroundings.now(), by: engine.sealer)
    }

    /// The API token of a flow; nil if there was none.
    ///
    /// - Throws: `WireError` with `.accessDenied` if it was removed or has expired.
    package func apiToken(of flow: SignInFlow) async throws -> APIToken? {
        guard flow.apiToken != 0 else { return nil }
        guard let token = try await accounts.apiToken(id: flow.apiToken), !Self.isExpired(token.expires, at: surroundings.now()) else {
            throw WireError(.accessDenied, "The API token of the app was removed or has expired. Ask the app's developer for a new one.")
        }
        return token
    }

    /// Address of the page on which a caller with an API token signs in.
    ///
    /// - Returns: Nil for a request with an `Origin` that isn't a web page's, such as `null` or `*`: any page could get its token.
    func signInAddress(_ request: ServiceRequest, _ apiToken: APIToken) -> String? {
        let origin = request.header("origin") ?? ""
        guard origin.isEmpty || Self.isOrigin(origin) else { return nil }
        let flow = SignInFlow(
            containerIdentifier: apiToken.containerIdentifier, environment: apiToken.environment, apiToken: apiToken.id,
            origin: origin,
            expires: surroundings.now() / 1000 + Int64(engine.limits.signInSeconds))
        return "\(request.baseURL)/signin?flow=\(flow.sealed(by: engine.sealer))"
    }
}
