// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension CloudService {
    func respondToDatabase(_ request: ServiceRequest) async throws -> ServiceResponse {
        let path = try ServicePath(parsing: request.path)
        guard path.operation.accepts(method: request.method) else {
            throw WireError(.notFound, "could not find handler for endpoint")
        }
        let signed = try SignedRequest(request)
        if let signed { _ = try await knownKey(signed, path.containerIdentifier, path.environment) }
        // Who sent a token is one sender wherever the request came from; a token that is not known is refused before the body is read.
        let lease = memory.lease(for: request.header(HeaderNames.authorization) ?? request.network)
        defer { lease.end() }
        let signedBody: [UInt8]? =
            signed == nil ? nil : try await collect(request, atMost: path.operation.bodyBytes(engine.limits, isAnonymous: false), lease)
        let credentials = try await credentials(
            of: request, signed, body: signedBody, containerIdentifier: path.containerIdentifier,
            environment: path.environment, repetition: path.operation.repetition)
        var budget: RequestBudget?
        var response: ServiceResponse
        do {
            var call = try await call(
                request, credentials, containerIdentifier: path.containerIdentifier, environment: path.environment,
                scope: path.scope)
            budget = budgets.take(call, from: request.network)
            if let wait = budget?.wait { throw WireError(.throttled, "too many requests", retryAfter: wait) }
            try DatabaseRules.check(path.operation, in: path.scope, call.caller, capabilities: call.capabilities)
            if !path.operation.changesRestrictions { try await checkRestriction(call) }
            call.wantsSyncToken = QueryItems(request.query)["getCurrentSyncToken"] == "true"
            if call.capabilities.contains(.ownChanges) { call.knownSyncToken = request.header(HeaderNames.syncToken) }
            if path.scope == .public, path.operation.isAboutSubscriptions { call.partition.owner = call.caller.userRecordName }
            let bytesMax = path.operation.bodyBytes(engine.limits, isAnonymous: !call.caller.isSignedIn)
            let body = if let signedBody { signedBody } else { try await collect(request, atMost: bytesMax, lease) }
            response = try await respond(request, path, call, credentials, body: Self.withoutMark(body))
        } catch let error as WireError {
            response = Self.response(to: withSignIn(error, request, credentials.apiToken), uuid: request.requestUUID)
        } catch let failure as StorageFailure where failure.code == .busy && path.operation == .modifyRecords {
            let error = WireError(.tryAgainLater, "the server is busy", retryAfter: 1, nativeCode: .zoneBusy)
            response = Self.response(to: error, uuid: request.requestUUID)
        }
        // Also of a request that was refused.
        if let budget { response.publish(budget) }
        if let next = credentials.nextWebToken { response.headers.append((HeaderNames.webAuthToken, next)) }
        return response
    }

    private func respond(
        _ request: ServiceRequest, _ path: ServicePath, _ call: Call, _ credentials: Credentials, body: [UInt8]
    ) async throws -> ServiceResponse {
        if let response = try await respondAboutUsers(
            path.operation, call, credentials, body: body, method: request.method)
        {
            return response
        }
        if let response = try await respondAboutRestrictions(path.operation, call) { return response }
        if let response = try await respondAboutShares(path.operation, call, credentials, body: body) { return response }
        return try await respond(
            Exchange(
                operation: path.operation, call: call, body: body, key: try idempotencyKey(request), credentials: credentials))
    }

    /// A decoded request line with its body.
    struct Exchange: Sendable {
        var operation: ServicePath.Operation
        var call: Call
        var body: [UInt8]
        var key: String?
        var credentials: Credentials

        /// The key as it is stored: in the partition of somebody else it is the caller's own all the same.
        var storedKey: String? { call.isParticipant ? key.map { "\(call.caller.userRecordName) \($0)" } : key }

        /// Tells requests apart that carry the same key: FNV-1a over the operation and the body.
        var fingerprint: UInt64 {
            var hash: UInt64 = 0xcbf2_9ce4_8422_2325
            for byte in operation.rawValue.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            for byte in body { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            return hash
        }
    }

    func respond(_ exchange: Exchange) async throws -> ServiceResponse {
        let engine = engine
        switch exchange.operation {
        case .modifyRecords:
            var message = try ModifyRecordsRequest(json: exchange.body)
            var exchange = try await self.exchange(exchange, for: message.zoneID)
            exchange.call.isFollowed = push.isFollowed(audience(of: exchange.call), exceptDevice: exchange.call.caller.deviceID)
            try await prepare(&message, &exchange.call, exchange.credentials)
            if let group = message.saveGroup, exchange.call.capabilities.contains(.wholeSaves) {
                return try await modifyRecords(message, group, exchange)
            }
            return try await write(exchange, numbersAsStrings: message.numbersAsStrings) { [message] in
                try engine.modifyRecords(message, in: $0, $1)
            }
        case .lookupRecords:
            let message = try LookupRecordsRequest(json: exchange.body)
            let exchange = try await self.exchange(exchange, for: message.zoneID)
            return try await read(exchange, numbersAsStrings: message.numbersAsStrings, isBrief: true) {
                try engine.lookupRecords(message, in: $0, $1)
            }
        case .queryRecords:
            let message = try QueryRecordsRequest(json: exchange.body)
            guard !message.zoneWide || message.zoneID != nil || exchange.call.partition.scope != .shared else {
                // Its zones are in as many places as there are owners.
                throw WireError(.badRequest, "the shared database does not support zone wide queries: name a zone with its owner")
            }
            return try await query(try await self.exchange(exchange, for: message.zoneID), message)
        case .uploadAssets:
            let message = try AssetUploadRequest(json: exchange.body)
            let exchange = try await self.exchange(exchange, for: message.zoneID)
            return try await write(exchange) { try engine.requestUploads(message, in: $0, $1) }
        case .rereferenceAssets:
            let message = try RereferenceAssetsRequest(json: exchange.body)
            let exchange = try await self.exchange(exchange, for: message.zoneID)
            return try await write(exchange) { try engine.rereferenceAssets(message, in: $0, $1) }
        case .recordChanges:
            let message = try RecordChangesRequest(json: exchange.body)
            let exchange = try await self.exchange(exchange, for: message.zone.zoneID)
            return try await read(exchange, numbersAsStrings: message.numbersAsStrings) {
                try engine.recordChanges(message, in: $0, $1)
            }
        case .changedZones:
            let message = try ChangedZonesRequest(json: exchange.body)
            return try await read(exchange) { try engine.changedZones(message, in: $0, $1) }
        case .listZones:
            if exchange.call.partition.scope == .shared {
                let response = try await sharedZones(exchange.call)
                return .json(response.encoded(as: exchange.call.form), endpoint: exchange.operation.rawValue)
            }
            return try await read(exchange) { try engine.listZones(in: $0, $1) }
        case .lookupZones:
            let message = try ZonesLookupRequest(json: exchange.body)
            return try await read(exchange, isBrief: true) { try engine.lookupZones(message, in: $0, $1) }
        case .modifyZones:
            let message = try ZonesModifyRequest(json: exchange.body)
            return try await write(exchange) { try engine.modifyZones(message, in: $0, $1) }
        case .databaseChanges:
            let message = try DatabaseChangesRequest(json: exchange.body)
            return try await read(exchange, isBrief: true) { try engine.databaseChanges(message, in: $0, $1) }
        case .zoneChanges:
            let message = try ZoneChangesRequest(json: exchange.body)
            if exchange.call.partition.scope == .shared {
                let response = try await sharedZoneChanges(message, exchange.call)
                return .json(
                    response.encoded(numbersAsStrings: message.numbersAsStrings, as: exchange.call.form),
                    endpoint: exchange.operation.rawValue)
            }
            return try await read(exchange, numbersAsStrings: message.numbersAsStrings, isBrief: true) {
                try engine.zoneChanges(message, asTexts: true, in: $0, $1)
            }
        case .listSubscriptions:
            return try await read(exchange, isBrief: true) { try engine.listSubscriptions(in: $0, $1) }
        case .lookupSubscriptions:
            let message = try SubscriptionsLookupRequest(json: exchange.body)
            return try await read(exchange, isBrief: true) { try engine.lookupSubscriptions(message, in: $0, $1) }
        case .modifySubscriptions:
            let message = try SubscriptionsModifyRequest(json: exchange.body)
            return try await write(exchange) { try engine.modifySubscriptions(message, in: $0, $1) }
        case .caller, .resolveRecords, .acceptRecords, .requestAccess, .currentUser, .discoverUsers, .lookupUsersByEmail,
            .lookupUsersByID, .lookupUsersByContacts, .restrictUser, .unrestrictUser:
            preconditionFailure("questions about users and links are answered before")
        }
    }

    /// The exchange as it reaches the partition of a zone.
    private func exchange(_ exchange: Exchange, for zoneID: ZoneID?) async throws -> Exchange {
        var exchange = exchange
        exchange.call = try await call(exchange.call, for: zoneID)
        return exchange
    }

    /// Indexes that the query is the first to need are built before, in slices between which others may write.
    private func query(_ exchange: Exchange, _ message: QueryRecordsRequest) async throws -> ServiceResponse {
        let engine = engine
        while true {
            do {
                return try await read(exchange, numbersAsStrings: message.numbersAsStrings) {
                    try engine.queryRecords(message, in: $0, $1)
                }
            } catch let missing as IndexesMissing {
                var isDone = false
                while !isDone {
                    try Task.checkCancellation()
                    isDone = try await storage.write(exchange.call.partition) { try engine.buildIndexes(missing.indexes, in: $0) }
                }
            }
        }
    }

    private func read<Response: WireMessage>(
        _ exchange: Exchange, numbersAsStrings: Bool = false, isBrief: Bool = false,
        _ body: @escaping @Sendable (any PartitionReader, Call) throws -> Response
    ) async throws -> ServiceResponse {
        let call = exchange.call
        let response =
            isBrief
            ? try await storage.readBriefly(call.partition) { try body($0, call) } : try await storage.read(call.partition) { try body($0, call) }
        return .json(response.encoded(numbersAsStrings: numbersAsStrings, as: call.form), endpoint: exchange.operation.rawValue)
    }

    /// Carries a request out once, however often it arrives with the same key, or not at all if it was refused for the lack of its zone.
    ///
    /// The answer is stored with the key in the transaction that writes. Notifications go out after the commit; if
    /// the server ends in between, devices catch up by their tokens when they listen again.
    func write<Response: WireMessage>(
        _ exchange: Exchange, numbersAsStrings: Bool = false, _ body: @escaping @Sendable (any PartitionWriter, Call) throws -> Outcome<Response>
    ) async throws -> ServiceResponse {
        do {
            return try await writeOnce(exchange, numbersAsStrings: numbersAsStrings, body)
        } catch let error as WireError where error.code == .zoneNotFound {
            // Its user may make the zone again, and the same request come late: whoever sent it has given it up by then. In databases of
            // others nothing is written down for who names a zone that is not there.
            guard let key = exchange.storedKey, !exchange.call.isParticipant else { throw error }
            let earlier = try await storage.write(exchange.call.partition) { unit -> StoredAnswer? in
                if let stored = try unit.answer(toKey: key) { return stored }
                try unit.remember(StoredAnswer(fingerprint: exchange.fingerprint, refusing: error), forKey: key, at: exchange.call.now)
                return nil
            }
            guard let earlier, earlier.fingerprint == exchange.fingerprint, try earlier.refusal() == nil else { throw error }
            return .json(earlier.body, endpoint: exchange.operation.rawValue)
        }
    }

    private func writeOnce<Response: WireMessage>(
        _ exchange: Exchange, numbersAsStrings: Bool, _ body: @escaping @Sendable (any PartitionWriter, Call) throws -> Outcome<Response>
    ) async throws -> ServiceResponse {
        let call = exchange.call
        let encode = { @Sendable (response: Response) in response.encoded(numbersAsStrings: numbersAsStrings, as: call.form) }
        let (stored, outcome) = try await storage.write(call.partition) { unit -> ([UInt8]?, Outcome<Response>?) in
            // What need not be stored is encoded while others write.
            guard let key = exchange.storedKey else { return (nil, try body(unit, call)) }
            let fingerprint = exchange.fingerprint
            if let stored = try unit.answer(toKey: key) {
                guard stored.fingerprint == fingerprint else {
                    throw WireError(.badRequest, "the idempotency key was used for another request")
                }
                if let refusal = try stored.refusal() { throw refusal }
                return (stored.body, nil)
            }
            // The key is no part of what was signed: a repeated request with a key of its own would write again.
            if exchange.credentials.isRepeated { throw Self.sentBefore }
            let outcome = try body(unit, call)
            let answer = encode(outcome.response)
            // What is sent again once something has come before it is not answered as it was.
            if let incomplete = outcome.response as? ModifyRecordsResponse, case .missing? = incomplete.saveGroup { return (answer, nil) }
            try unit.remember(StoredAnswer(fingerprint: fingerprint, body: answer), forKey: key, at: call.now)
            return (answer, outcome)
        }
        if let outcome {
            await tell(outcome.notifications, outcome.news, call)
            if outcome.changesPublicDatabase { tellEverybody(call) }
        }
        guard let answer = stored ?? outcome.map({ encode($0.response) }) else {
            preconditionFailure("a request is answered by what it did or by what is stored")
        }
        return .json(answer, endpoint: exchange.operation.rawValue)
    }
}
