// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import SystemSupport

/// Reads the credentials of requests, and makes their calls.
package struct RequestCredentials: ServiceSubject {
    let core: ServiceCore
    let uses: CredentialUseLog
    let sessions: WebSessions
    let flows: SignInFlows
    let errors: ErrorResponses

    /// Reads the credentials of a request: a device token, an API token with or without a web auth token, or the
    /// signature of a server-to-server key. Without any the client is anonymous, and may read public records.
    ///
    /// - Parameters:
    ///   - body: The whole body, where there is a signature over it.
    ///   - repetition: What becomes of the request if it was signed and sent before.
    /// - Throws: `WireError` with `.authenticationFailed` for credentials that are wrong or do not go together.
    ///
    /// Source: *CloudKit Web Services Reference*, "Accessing CloudKit".
    func read(
        of request: ServiceRequest, _ signed: SignedRequest?, body: [UInt8]?, containerIdentifier: String,
        environment: CloudEnvironment, repetition: Repetition = .refused
    ) async throws -> Credentials {
        let query = QueryItems(request.query)
        let apiToken = query["ckAPIToken"]
        let ways = [request.header(HeaderNames.authorization) != nil, apiToken != nil, signed != nil].count { $0 }
        guard ways <= 1 else {
            throw WireError(.authenticationFailed, "a request has one kind of credentials, not several")
        }
        if request.header(HeaderNames.authorization) != nil {
            return Credentials(proof: .device(try await authenticate(request)))
        }
        if let signed, let body {
            let (key, isRepeated) = try await verify(
                signed, of: request, body: body, containerIdentifier: containerIdentifier, environment: environment,
                repetition: repetition)
            return Credentials(proof: .serverKey(key), isRepeated: isRepeated)
        }
        // The documents say `ckWebAuthToken`; some clients send it as `ckSession`, a name in which responses carry it, too.
        let webToken = query["ckWebAuthToken"] ?? query["ckSession"]
        guard let apiToken else {
            guard webToken == nil else {
                throw WireError(.authenticationFailed, "a web auth token goes with an API token: ckAPIToken")
            }
            return Credentials()
        }
        let token = try await checkedAPIToken(apiToken, request, containerIdentifier, environment)
        var credentials = Credentials(apiToken: token)
        if let text = webToken {
            do {
                let (id, session, next) = try await sessions.session(ofToken: text)
                try await useOnce(text)
                guard session.use == .container(containerIdentifier), session.environment == environment else {
                    throw WireError(.authenticationFailed, "the web auth token is of another container or environment")
                }
                credentials.proof = .session(session, id: id)
                uses.note(.session(idHash: accounts.sha256(id)), CredentialUse(of: request, time: surroundings.now()))
                credentials.nextWebToken = next
            } catch let error as WireError {
                throw flows.withSignIn(error, request, token)
            }
        }
        return credentials
    }

    /// - Throws: `WireError` with `.authenticationRequired` without a token, `.authenticationFailed` for an unknown one.
    private func authenticate(_ request: ServiceRequest) async throws -> DeviceIdentity {
        guard let header = request.header(HeaderNames.authorization) else {
            throw WireError(.authenticationRequired, "the request needs a device token: Authorization: Bearer TOKEN")
        }
        guard let token = HeaderNames.token(inAuthorization: header),
            var device = try await accounts.device(forToken: token, now: surroundings.now())
        else {
            throw WireError(
                .authenticationFailed, "the device token is not known to this server, or has expired; make one there with 'tarn user token'"
            )
        }
        uses.note(device.credential, CredentialUse(of: request, time: surroundings.now()))
        if let name = request.header(HeaderNames.device), RequestText.isShortText(name) { device.deviceID = name }
        return device
    }

    /// Invalidates a web auth token if the profile rotates tokens.
    ///
    /// - Throws: `WireError` with `.authenticationRequired` for a token that was used before.
    private func useOnce(_ text: String) async throws {
        guard profile.usesWebTokensOnce, let token = WebToken(opening: text, by: engine.sealer) else { return }
        // The mark is of the token's content: its text has two forms. It is remembered for as long as the token would be accepted.
        let mark = accounts.sha256(Array("web auth token ".utf8) + token.content)
        guard try await accounts.isFirstUse(of: mark, until: token.expires + 1) else { throw ServiceProfile.usedToken }
    }

    private func checkedAPIToken(
        _ text: String, _ request: ServiceRequest, _ containerIdentifier: String, _ environment: CloudEnvironment
    ) async throws -> APIToken {
        guard let token = try await accounts.apiToken(text), token.containerIdentifier == containerIdentifier,
            token.environment == environment
        else {
            throw WireError(.authenticationFailed, "the API token is not one of this container and environment")
        }
        guard !Credentials.isExpired(token.expires, at: surroundings.now()) else { throw Self.expiredAPIToken }
        guard token.allows(origin: request.header("origin")) else {
            throw WireError(.accessDenied, "the API token may not be used by pages of this origin")
        }
        return token
    }

    static let expiredAPIToken = WireError(
        .authenticationFailed, "the API token has expired; an operator makes another with 'tarn token rotate'")

    /// Milliseconds by which the date of a signed request may differ from the clock.
    private var signatureWindow: Int64 { Int64(engine.limits.signatureDateSeconds) * 1000 }

    /// Checks the headers of a signed request, before its body is read.
    ///
    /// - Returns: The key, and the date in milliseconds since 1970 UTC.
    /// - Throws: `WireError` with `.authenticationFailed` for a key that is not known, or a date that is wrong.
    func knownKey(
        _ signed: SignedRequest, _ containerIdentifier: String, _ environment: CloudEnvironment
    ) async throws -> (key: ServerKey, date: Int64) {
        guard let key = try await accounts.serverKey(id: signed.keyID), key.containerIdentifier == containerIdentifier,
            key.environment == environment
        else { throw WireError(.authenticationFailed, "no server-to-server key of this container and environment has the key ID") }
        guard !Credentials.isExpired(key.expires, at: surroundings.now()) else {
            throw WireError(
                .authenticationFailed, "the server-to-server key has expired; an operator registers another with 'tarn token rotate-key'")
        }
        guard let date = signed.milliseconds else {
            throw WireError(.authenticationFailed, "the date of the signed request is not written as 2030-01-02T03:04:05Z is")
        }
        guard abs(surroundings.now() - date) <= signatureWindow else {
            throw WireError(.authenticationFailed, "the date of the signed request is too far from the server's clock")
        }
        return (key, date)
    }

    private func verify(
        _ signed: SignedRequest, of request: ServiceRequest, body: [UInt8], containerIdentifier: String,
        environment: CloudEnvironment, repetition: Repetition
    ) async throws -> (ServerKey, isRepeated: Bool) {
        let (key, date) = try await knownKey(signed, containerIdentifier, environment)
        let window = signatureWindow
        let paths = request.query.isEmpty ? [request.path] : [request.path, "\(request.path)?\(request.query)"]
        let messages = paths.flatMap { signed.messages(path: $0, body: body, hash: accounts.sha256) }
        guard let mark = messages.lazy.compactMap({ accounts.verify(signature: signed.signature, of: $0, by: key) }).first
        else {
            let path = paths.joined(separator: " or ")
            throw WireError(
                .authenticationFailed,
                "the signature does not fit the request: it is of another private key, body, date or path. "
                    + "Sign DATE:HASH:PATH with the date of the header, the base64 SHA-256 of the body and \(path).")
        }
        // Signers that draw no random numbers (RFC 6979) sign the same request twice in a second alike. Reading twice changes nothing,
        // and an attacker that can replay a read has seen its response already, or is rejected once the date is too old.
        if repetition == .harmless { return (key, false) }
        // The mark is remembered as long as the date would be accepted.
        let isFirst = try await accounts.isFirstUse(of: accounts.sha256(Array(key.id.utf8) + mark), until: date + window + 1)
        let mayBeAnswered = repetition == .answeredAsBefore && request.header(HeaderNames.idempotencyKey) != nil
        guard isFirst || mayBeAnswered else { throw Self.sentBefore }
        return (key, !isFirst)
    }

    static let sentBefore = WireError(.authenticationFailed, "the signed request was sent before")

    /// The call of a request for a partition of the path.
    func call(
        _ request: ServiceRequest, _ credentials: Credentials, containerIdentifier: String,
        environment: CloudEnvironment, scope: DatabaseScope
    ) async throws -> Call {
        let caller: Caller
        switch credentials.proof {
        case .none:
            caller = .anonymous
        case .device(let device):
            let name = try await core.userRecordName(of: device.account, in: containerIdentifier)
            caller = Caller(userRecordName: name, deviceID: device.deviceID)
        case .session(let session, let id):
            let name = try await core.userRecordName(of: session.account, in: containerIdentifier)
            let named = profile.acceptsDeviceNames ? request.header(HeaderNames.device) ?? QueryItems(request.query)["clientId"] : nil
            caller = Caller(
                userRecordName: name,
                deviceID: named.flatMap { RequestText.isShortText($0) ? $0 : nil } ?? "web-" + Hex.text(accounts.sha256(id).prefix(8)))
        case .serverKey(let key):
            caller = Caller(userRecordName: key.userRecordName, deviceID: "", kind: .serverKey)
        }
        var call = core.call(
            Partition(
                containerIdentifier: containerIdentifier, environment: environment, scope: scope,
                owner: scope == .public ? Partition.publicOwner : caller.userRecordName),
            caller, baseURL: request.baseURL)
        call.requester = credentials.requester(from: request.network)
        call.capabilities = core.capabilities(askedBy: request)
        call.requestUUID = request.requestUUID
        call.form = AnswerForm(
            hasLiveKeys: core.hasLiveKeys(request), requestUUID: request.requestUUID)
        call.form.isDocumentedOnly = profile.hasDocumentedMembersOnly
        return call
    }

    /// Adds the sender for the log and the next web auth token to the response, also to that of an error: the request used its token up, and
    /// without the next one the user would be signed out.
    func rotating(
        _ credentials: Credentials, _ request: ServiceRequest, _ respond: () async throws -> ServiceResponse
    ) async throws -> ServiceResponse {
        var response: ServiceResponse
        do {
            response = try await respond()
        } catch let error as WireError where error.code == .authenticationFailed && credentials.nextWebToken == nil {
            // The caller counts failures of a network.
            throw error
        } catch {
            response = errors.response(to: error, uuid: request.requestUUID)
        }
        if let next = credentials.nextWebToken { response.headers.append((HeaderNames.webAuthToken, next)) }
        response.sender = credentials.requestSender
        response.access = credentials.reference(hash: accounts.sha256)?.accessID
        return response
    }

    /// Stores the uses of credentials noted since the last call.
    package func storeUses() async throws {
        let noted = uses.removeAll()
        if !noted.isEmpty { try await accounts.store(noted) }
    }
}
