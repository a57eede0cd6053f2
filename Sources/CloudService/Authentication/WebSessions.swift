// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Sessions of people that are signed in, and their tokens.
package struct WebSessions: ServiceSubject {
    let core: ServiceCore
    let uses: CredentialUseLog
    let audit: AuditTrail

    func start(of account: Int64, _ subject: String, to place: SignInPlace, network: String) async throws -> String {
        try await audit.append(
            place.action, by: .account(subject), network: network, subject: place.use.summary)
        return try await start(
            WebSession(
                account: account, use: place.use, environment: place.environment, isKept: place.isKept,
                started: surroundings.now()))
    }

    func start(_ session: WebSession) async throws -> String {
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
        let key = try await start(session)
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
}
