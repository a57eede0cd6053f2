// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Requests of a device or a page that are of no database.
struct DeviceRoute: ServiceSubject {
    let core: ServiceCore
    let containerRules: ContainerRules
    let requestCredentials: RequestCredentials
    let signInFlows: SignInFlows
    let sessions: WebSessions
    let revocations: Revocations
    let restrictions: Restrictions
    let couriers: Couriers
    let budgets: SenderBudgets
    let memory: RequestMemory
    let bodies: RequestBodies
    /// Of anonymous listeners, by network.
    let streams: OpenCounts
    let accountStreams: OpenCounts

    /// What belongs to a device or a page and no database: the held connection on which it hears of changes that others
    /// made, and the tokens of the web.
    func respond(to request: ServiceRequest, _ path: DevicePath) async throws -> ServiceResponse {
        guard request.method == path.operation.method else {
            throw WireError(.notFound, "could not find handler for endpoint")
        }
        try profile.check(path.operation)
        try profile.checkAuthorization(request.header(HeaderNames.authorization))
        let credentials = try await requestCredentials.read(
            of: request, nil, body: nil, containerIdentifier: path.containerIdentifier, environment: path.environment)
        return try await requestCredentials.rotating(credentials, request) { try await respond(to: request, path, credentials) }
    }

    private func respond(to request: ServiceRequest, _ path: DevicePath, _ credentials: Credentials) async throws -> ServiceResponse {
        try await containerRules.check(path.containerIdentifier, path.environment, credentials, accounts)
        try budgets.take(of: credentials.sender(from: request.network))
        var call = try await requestCredentials.call(
            request, credentials, containerIdentifier: path.containerIdentifier, environment: path.environment,
            scope: .private)
        let listensPublicly =
            path.operation == .pushStream && call.capabilities.contains(.publicChanges)
            && QueryItems(request.query)["database"] == DatabaseScope.public.rawValue
        guard call.caller.isSignedIn || listensPublicly else {
            throw signInFlows.withSignIn(
                WireError(.authenticationRequired, "request needs authorization"), request, credentials.apiToken)
        }
        try await restrictions.check(call)
        switch path.operation {
        case .pushStream:
            if call.caller.deviceID.isEmpty, let name = request.header(HeaderNames.device), RequestText.isShortText(name) {
                call.caller.deviceID = name
            }
            let everybody = PushAudience.public(
                containerIdentifier: path.containerIdentifier, environment: path.environment)
            let isDevice = if case .device = credentials.proof { true } else { false }
            let wantsChanges = isDevice && call.capabilities.contains(.pushedChanges)
            let audiences = (call.caller.isSignedIn ? [PushAudience(of: call)] : []) + (listensPublicly ? [everybody] : [])
            let credential = credentials.reference(hash: accounts.sha256)
            let place = call.caller.isSignedIn ? try accountPlace(call) : try await anonymousPlace(request, call)
            var listener = push.listen(audiences, deviceID: call.caller.deviceID, credential: credential, wantsChanges: wantsChanges)
            // Revocations end the stream within a second; nothing is sent in between.
            if let credential, let audience = audiences.first {
                listener = listener.guarded { await revocations.mayListen(audience, credential) }
            }
            if let place { listener = listener.holding(place) }
            return ServiceResponse(
                headers: [(HeaderNames.contentType, HeaderNames.jsonLines), ("Cache-Control", "no-store")],
                body: .events(listener), endpoint: path.operation.rawValue)
        case .createToken, .registerToken:
            let message = try PushTokenRequest(json: RequestText.withoutMark(try await tokenRequest(request, credentials)))
            guard path.operation == .createToken || message.apnsToken?.isEmpty == false else {
                throw WireError(.badRequest, "the request has no apnsToken to register: tokens/create makes one")
            }
            let courier = try couriers.courier(for: message, call, credentials)
            let hasMembers = profile.repeatsRegisteredToken || path.operation == .createToken
            return .json(hasMembers ? courier.encoded() : Array("{}".utf8), endpoint: path.operation.rawValue)
        case .webAuthToken:
            guard case .device(let device) = credentials.proof else {
                throw WireError(.accessDenied, "a web auth token is given for a device token")
            }
            let message = try WebAuthTokenRequest(json: RequestText.withoutMark(try await tokenRequest(request, credentials)))
            return .json(
                try await webAuthToken(for: message, device, path).encoded(), endpoint: path.operation.rawValue)
        }
    }

    /// - Throws: `WireError` with `.throttled` if the account has as many streams as it may.
    private func accountPlace(_ call: Call) throws(WireError) -> OpenCounts.Place {
        guard let place = accountStreams.place(for: call.requester) else {
            throw WireError(.throttled, "too many push streams of one account", retryAfter: 60)
        }
        return place
    }

    /// - Parameter network: The prefix of an address, its bytes with dots between them.
    private static func isOfThisMachine(_ network: String) -> Bool { network.hasPrefix("127.") || network == "0.0.0.0.0.0.0.0" }

    /// - Returns: Nil for a listener on this machine, which may be a gateway, to a public database that was ever written to.
    /// - Throws: `WireError` with `.throttled` if the network has as many streams as it may.
    private func anonymousPlace(_ request: ServiceRequest, _ call: Call) async throws -> OpenCounts.Place? {
        if Self.isOfThisMachine(request.network) {
            var call = call
            call.partition.scope = .public
            call.partition.owner = Partition.publicOwner
            if try await core.read(call, isBrief: true, { try $0.state().counter > 0 }) { return nil }
        }
        guard let place = streams.place(for: request.network) else {
            throw WireError(.throttled, "too many push streams of one network", retryAfter: 60)
        }
        return place
    }

    private func tokenRequest(_ request: ServiceRequest, _ credentials: Credentials) async throws -> [UInt8] {
        let lease = memory.lease(for: credentials.sender(from: request.network))
        defer { lease.end() }
        return try await bodies.collect(request, atMost: Self.tokenRequestBytesMax, lease)
    }

    /// Bytes of a request for a token at most.
    private static let tokenRequestBytesMax = 64_000

    private func webAuthToken(
        for message: WebAuthTokenRequest, _ device: DeviceIdentity, _ path: DevicePath
    ) async throws -> WebAuthTokenResponse {
        guard let token = try await accounts.apiToken(message.apiToken),
            token.containerIdentifier == path.containerIdentifier, token.environment == path.environment
        else {
            throw WireError(.authenticationFailed, "the API token is not one of this container and environment")
        }
        guard !Credentials.isExpired(token.expires, at: surroundings.now()) else { throw RequestCredentials.expiredAPIToken }
        let session = WebSession(
            account: device.account, use: .container(path.containerIdentifier), environment: path.environment,
            isKept: false, started: surroundings.now(), device: device.credential)
        return WebAuthTokenResponse(webAuthToken: try await sessions.start(session))
    }
}
