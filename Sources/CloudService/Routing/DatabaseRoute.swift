// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Requests for operations of a database, from their head to the operation's handler.
struct DatabaseRoute: ServiceSubject {
    let core: ServiceCore
    let containerRules: ContainerRules
    let requestCredentials: RequestCredentials
    let signInFlows: SignInFlows
    let restrictions: Restrictions
    let requestBudgets: RequestBudgets
    let memory: RequestMemory
    let bodies: RequestBodies
    let admission: AdmissionGate
    let headRefusals: HeadRefusals
    let errors: ErrorResponses
    let operations: OperationTable

    func respond(to request: ServiceRequest) async throws -> ServiceResponse {
        let path = try ServicePath(parsing: request.path)
        guard path.operation.accepts(method: request.method) else {
            throw WireError(.notFound, "could not find handler for endpoint")
        }
        try profile.check(path.operation)
        try profile.checkAuthorization(request.header(HeaderNames.authorization))
        let signed = try SignedRequest(request)
        var signedBody: [UInt8]?, signedLease: RequestMemory.Lease?
        defer { signedLease?.end() }
        if let signed {
            let key = try await requestCredentials.knownKey(signed, path.containerIdentifier, path.environment).key
            let lease = memory.lease(for: .account("key \(key.id)"))
            signedLease = lease
            // The signature is of the body.
            signedBody = try await bodies.collect(request, atMost: path.operation.bodyBytes(engine.limits, isAnonymous: false), lease)
        }
        let credentials = try await requestCredentials.read(
            of: request, signed, body: signedBody, containerIdentifier: path.containerIdentifier,
            environment: path.environment, repetition: path.operation.repetition)
        let sender = credentials.sender(from: request.network)
        let lease = signedLease ?? memory.lease(for: sender)
        defer { lease.end() }
        return try await requestCredentials.rotating(credentials, request) {
            let response = try await respond(to: request, path, credentials, signedBody: signedBody, lease)
            return leased(response, to: sender, path.operation, request)
        }
    }

    /// Returns a response that counts as memory of its sender until it is sent: a client that reads slowly, or does not read, holds it.
    ///
    /// - Returns: Without memory, an error in place of data that the client can request again.
    private func leased(
        _ response: ServiceResponse, to sender: RequestBudgets.Sender, _ operation: ServicePath.Operation, _ request: ServiceRequest
    ) -> ServiceResponse {
        guard case .bytes(let bytes) = response.body, bytes.count > RequestMemory.unleasedBytesMax else { return response }
        let lease = memory.lease(for: sender)
        var response = response
        do {
            try lease.take(bytes.count)
        } catch {
            guard operation.repetition != .harmless else { return errors.response(to: error, uuid: request.requestUUID) }
            // The change is made: its response has about the size of its request.
            lease.takeBeyondTheLimit(bytes.count)
        }
        response.lease = lease
        return response
    }

    private func respond(
        to request: ServiceRequest, _ path: ServicePath, _ credentials: Credentials, signedBody: [UInt8]?, _ lease: RequestMemory.Lease
    ) async throws -> ServiceResponse {
        var budget: RequestBudget?
        var response: ServiceResponse
        do {
            // First: the first request to a container stores the account's name there.
            budget = requestBudgets.take(of: credentials.sender(from: request.network), now: surroundings.now())
            if let wait = budget?.wait { throw WireError(.throttled, "too many requests", retryAfter: wait) }
            try await containerRules.check(path.containerIdentifier, path.environment, credentials, accounts)
            var call = try await requestCredentials.call(
                request, credentials, containerIdentifier: path.containerIdentifier, environment: path.environment,
                scope: path.scope)
            try DatabaseRules.check(path.operation, in: path.scope, call.caller, capabilities: call.capabilities)
            if !path.operation.changesRestrictions { try await restrictions.check(call) }
            call.wantsSyncToken = QueryItems(request.query)["getCurrentSyncToken"] == "true"
            if call.capabilities.contains(.ownChanges) { call.knownSyncToken = request.header(HeaderNames.syncToken) }
            headRefusals.rememberSender(of: request, call.requester)
            if path.scope == .public, path.operation.isAboutSubscriptions { call.partition.owner = call.caller.userRecordName }
            try admission.checkRoom(for: call.requester)
            let bytesMax = path.operation.bodyBytes(engine.limits, isAnonymous: !call.caller.isSignedIn)
            let body = if let signedBody { signedBody } else { try await bodies.collect(request, atMost: bytesMax, lease) }
            var exchange = Exchange(
                operation: path.operation, method: request.method, call: call, body: RequestText.withoutMark(body),
                key: try profile.acceptsIdempotencyKeys ? RequestText.idempotencyKey(request) : nil, credentials: credentials)
            if path.operation == .zoneSnapshot {
                (exchange.query, exchange.range) = (QueryItems(request.query), request.header(HeaderNames.range))
            }
            let asked = exchange
            response = try await admission.run(call.requester) { try await operations.respond(to: asked) }
        } catch let error as WireError {
            response = errors.response(to: signInFlows.withSignIn(error, request, credentials.apiToken), uuid: request.requestUUID)
        } catch let failure as StorageFailure where failure.code == .busy && path.operation == .modifyRecords {
            let error = WireError(.tryAgainLater, "the server is busy", retryAfter: 1, nativeCode: .zoneBusy)
            response = errors.response(to: error, uuid: request.requestUUID)
        }
        // Also of a request that was refused.
        if let budget { response.publish(budget) }
        return response
    }
}
