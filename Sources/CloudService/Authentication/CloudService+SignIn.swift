// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudWire

extension CloudService {
    /// Signs somebody in with name and password.
    ///
    /// - Parameters:
    ///   - containerIdentifier: Empty for the console.
    ///   - network: Where the attempt comes from.
    /// - Returns: A web auth token.
    /// - Throws: `WireError` with `.authenticationFailed` for a wrong name or password, without saying which; with
    ///   `.throttled` after too many of them.
    package func signIn(
        name: String, password: String, isKept: Bool, containerIdentifier: String, environment: CloudEnvironment, network: String
    ) async throws -> String {
        let now = surroundings.now(), allowed = engine.limits.passwordFailures
        let isName = Self.isName(name)
        // However a name is written, its account is one.
        let known = isName ? try await accounts.account(signingInAs: name) : nil
        let attempt = try throttle.begin(known.map { "#\($0)" } ?? (isName ? name.lowercased() : ""), from: network, now: now, allowed: allowed)
        var account: Int64?
        do {
            // A name that is not there takes as long as one that is.
            if isName, password.utf8.count <= Self.passwordBytesMax { account = try await accounts.account(named: name, password: password) }
        } catch {
            throttle.end(attempt, isRight: false, now: now, allowed: allowed)
            throw error
        }
        throttle.end(attempt, isRight: account != nil, now: now, allowed: allowed)
        guard let account else { throw WireError(.authenticationFailed, "the name or the password is wrong") }
        return try await startSession(
            WebSession(
                account: account, containerIdentifier: containerIdentifier, environment: environment, isKept: isKept,
                started: now))
    }

    private static let passwordBytesMax = 1024
    private static let nameBytesMax = 1024

    /// Names have no control characters: a database may take what comes behind one for no part of the name.
    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= nameBytesMax && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    func startSession(_ session: WebSession) async throws -> String {
        let id = surroundings.randomBytes(WebToken.sessionBytes)
        try await accounts.startSession(session, id: id, now: session.started)
        return WebToken(session: id, session, now: session.started, engine.limits).sealed(by: engine.sealer)
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
        guard !token.isExpired(at: now), let session = try await accounts.session(id: token.session) else {
            throw WireError(.authenticationRequired, "the web auth token has expired: sign in again")
        }
        return (
            token.session, session,
            WebToken(session: token.session, session, now: now, engine.limits).sealed(by: engine.sealer)
        )
    }

    /// Who signs in on the page of an address, or nil if the address was forged or is too old.
    package func signInFlow(_ text: String) -> SignInFlow? {
        SignInFlow(opening: text, now: surroundings.now(), by: engine.sealer)
    }

    package func apiToken(of flow: SignInFlow) async throws -> APIToken? { try await accounts.apiToken(id: flow.apiToken) }

    /// Address of the page on which a caller with an API token signs in.
    func signInAddress(_ request: ServiceRequest, _ apiToken: APIToken) -> String {
        let flow = SignInFlow(
            containerIdentifier: apiToken.containerIdentifier, environment: apiToken.environment, apiToken: apiToken.id,
            origin: request.header("origin") ?? "",
            expires: surroundings.now() / 1000 + Int64(engine.limits.signInSeconds))
        return "\(request.baseURL)/signin?flow=\(flow.sealed(by: engine.sealer))"
    }
}
