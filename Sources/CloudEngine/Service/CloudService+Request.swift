// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension CloudService {
    /// - Throws: `WireError` with `.authenticationRequired` without a token, `.authenticationFailed` for an unknown one.
    func authenticate(_ request: ServiceRequest) async throws -> DeviceIdentity {
        guard let header = request.header(HeaderNames.authorization) else {
            throw WireError(.authenticationRequired, "the request needs a device token: Authorization: Bearer TOKEN")
        }
        guard let token = HeaderNames.token(inAuthorization: header),
            let device = try await accounts.device(forToken: token)
        else {
            throw WireError(.authenticationFailed, "the device token is not known to this server; make one there with 'tarn user token'")
        }
        guard let name = request.header(HeaderNames.device), Self.isShortText(name) else { return device }
        return DeviceIdentity(account: device.account, deviceID: name)
    }

    /// Who asks, and for which partition. Without a token it is nobody, who may still read what the world may.
    func call(_ request: ServiceRequest, _ path: ServicePath) async throws -> Call {
        if request.header(HeaderNames.authorization) != nil {
            var call = try await call(
                request, try await authenticate(request), path.containerIdentifier, path.environment, scope: path.scope)
            if path.scope == .public, path.operation.isAboutSubscriptions { call.partition.owner = call.caller.userRecordName }
            return call
        }
        let surroundings = surroundings
        return Call(
            partition: Partition(
                containerIdentifier: path.containerIdentifier, environment: path.environment, scope: path.scope,
                owner: path.scope == .public ? Partition.publicOwner : ""),
            caller: .anonymous, now: surroundings.now(), baseURL: request.baseURL,
            makeIdentifier: { CloudService.makeIdentifier(surroundings) })
    }

    func call(
        _ request: ServiceRequest, _ device: DeviceIdentity, _ containerIdentifier: String,
        _ environment: CloudEnvironment, scope: DatabaseScope
    ) async throws -> Call {
        let owner = try await accounts.userRecordName(
            account: device.account, containerIdentifier: containerIdentifier,
            proposal: "_" + Hex.text(surroundings.randomBytes(16)))
        let surroundings = surroundings
        return Call(
            partition: Partition(
                containerIdentifier: containerIdentifier, environment: environment, scope: scope,
                owner: scope == .public ? Partition.publicOwner : owner),
            caller: Caller(userRecordName: owner, deviceID: device.deviceID), now: surroundings.now(),
            baseURL: request.baseURL, makeIdentifier: { CloudService.makeIdentifier(surroundings) })
    }

    func audience(of call: Call) -> PushAudience {
        PushAudience(
            containerIdentifier: call.partition.containerIdentifier, environment: call.partition.environment,
            userRecordName: call.caller.userRecordName)
    }

    /// The whole body, at most `Limits.requestBodyBytes`.
    func collect(_ request: ServiceRequest) async throws -> [UInt8] {
        let limit = engine.limits.requestBodyBytes
        let tooLarge = WireError(.quotaExceeded, "a request has at most \(limit) bytes", nativeCode: .limitExceeded)
        if let length = request.header("content-length").flatMap(Int.init), length > limit { throw tooLarge }
        switch request.body {
        case .bytes(let bytes):
            guard bytes.count <= limit else { throw tooLarge }
            return bytes
        case .stream(let pieces):
            var bytes: [UInt8] = []
            for try await piece in pieces {
                guard bytes.count + piece.count <= limit else { throw tooLarge }
                bytes.append(contentsOf: piece)
            }
            return bytes
        }
    }

    func idempotencyKey(_ request: ServiceRequest) throws(WireError) -> String? {
        guard let key = request.header(HeaderNames.idempotencyKey) else { return nil }
        guard Self.isShortText(key) else {
            throw WireError(.badRequest, "an idempotency key has 1 to \(Self.shortTextBytes) printable ASCII characters")
        }
        return key
    }

    private static let shortTextBytes = 128

    private static func isShortText(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= shortTextBytes && text.utf8.allSatisfy { (33...126).contains($0) }
    }

    /// The held connection on which a device hears of changes that other devices made.
    func respondToDevice(_ request: ServiceRequest) async throws -> ServiceResponse {
        let path = try DevicePath(parsing: request.path)
        guard request.method == "GET" else { throw WireError(.notFound, "could not find handler for endpoint") }
        let device = try await authenticate(request)
        let call = try await call(request, device, path.containerIdentifier, path.environment, scope: .private)
        switch path.operation {
        case .pushStream:
            let listener = push.listen(audience(of: call), deviceID: device.deviceID)
            return ServiceResponse(
                headers: [(HeaderNames.contentType, HeaderNames.jsonLines), ("Cache-Control", "no-store")],
                body: .events(listener), endpoint: path.operation.rawValue)
        }
    }
}

extension ServicePath.Operation {
    /// Subscriptions to the public database are each user's own: they are in a partition of the user's.
    var isAboutSubscriptions: Bool {
        self == .listSubscriptions || self == .lookupSubscriptions || self == .modifySubscriptions
    }
}
