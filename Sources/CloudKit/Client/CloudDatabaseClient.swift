// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation

/// The operations of one database, on wire values. One call is one request, without retries.
///
/// All methods throw ``CKError`` if the request failed as a whole. The response has the result of each record, zone or
/// subscription.
package struct CloudDatabaseClient: Sendable {
    package let containerIdentifier: String
    package let environment: CloudEnvironment
    package let scope: DatabaseScope
    package var transport: any CloudTransport
    package let dialect: ServiceDialect
    package var limits: Limits
    /// Identifies this device to the server, where several devices may share one token. Up to 128 printable ASCII
    /// characters.
    package var deviceID: String?
    /// Capabilities that the server must offer. The response of a server without them is an error,
    /// ``CKError/Code/incompatibleVersion``.
    package var required: Set<Capability> = []
    /// Whether a record that cannot be decoded is an error in place of this record. Otherwise it is the error of the whole response: a
    /// store must not miss a record of a page that it has read.
    package var isolatesUnreadableRecords = false

    package init(
        containerIdentifier: String, environment: CloudEnvironment, scope: DatabaseScope,
        transport: any CloudTransport, dialect: ServiceDialect = .tarn
    ) {
        self.dialect = dialect
        limits = dialect.limits()
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.scope = scope
        self.transport = transport
    }

    // MARK: Records

    /// - Parameter idempotencyKey: The server executes a request once per key, however often it arrives.
    package func modifyRecords(
        _ request: ModifyRecordsRequest, idempotencyKey: String
    ) async throws(CKError) -> ModifyRecordsResponse {
        try await modifyRecords(
            encoded: dialect.request(request).encoded(), operationCount: request.operations.count, idempotencyKey: idempotencyKey)
    }

    /// Sends an encoded request, byte for byte. A retry with the same idempotency key is the same request.
    ///
    /// - Parameters:
    ///   - groupCount: Number of operations of all requests in the request's save group, if it has one.
    ///   - knownSyncToken: The change token of the zone that the client holds, for
    ///     ``ModifyRecordsResponse/nextSyncToken``.
    ///   - capabilities: What the response may use: with ``Capability/lostHistory`` it has the zone's token.
    package func modifyRecords(
        encoded body: [UInt8], operationCount: Int, groupCount: Int? = nil, idempotencyKey: String, knownSyncToken: String? = nil,
        asking capabilities: Set<Capability> = []
    ) async throws(CKError) -> ModifyRecordsResponse {
        let response = try await post(
            .modifyRecords, body: body, changesData: true, idempotencyKey: idempotencyKey, knownSyncToken: knownSyncToken,
            asking: groupCount == nil ? capabilities : capabilities.union([.wholeSaves]))
        func fits(_ decoded: ModifyRecordsResponse) -> Bool {
            switch decoded.saveGroup {
            case nil: decoded.results.count == operationCount
            case .saved: decoded.results.count == groupCount
            case .staged, .missing, .refused: groupCount != nil
            }
        }
        // A failed atomic request has the results of its items, with either status.
        if response.status >= 400, (try? WireError(json: response.body)) == nil,
            let decoded = try? ModifyRecordsResponse(json: response.body), fits(decoded)
        {
            return decoded
        }
        let decoded: ModifyRecordsResponse = try read(response)
        guard fits(decoded) else {
            throw CKError.unreadable("the server returned \(decoded.results.count) results for \(groupCount ?? operationCount) operations")
        }
        return decoded
    }

    package func lookupRecords(_ request: LookupRecordsRequest) async throws(CKError) -> LookupRecordsResponse {
        let decoded: LookupRecordsResponse = try read(try await post(.lookupRecords, request))
        guard decoded.results.count == request.records.count else {
            throw CKError.unreadable("the server returned \(decoded.results.count) results for \(request.records.count) lookups")
        }
        return decoded
    }

    /// Requests the next records of a look-up. A failure leaves the parts as they are, for a retry.
    ///
    /// - Returns: nil after the last records; an empty list if the records have to be requested again.
    package func lookUp(
        _ parts: inout LookUpParts, in zoneID: ZoneID, desiredKeys: [String]? = nil
    ) async throws(CKError) -> [RecordResult]? {
        var remaining = parts
        while let names = remaining.next() {
            do throws(CKError) {
                let request = LookupRecordsRequest(recordNames: names, zoneID: zoneID, desiredKeys: desiredKeys)
                let results = remaining.take(try await lookupRecords(request).results)
                parts = remaining
                return results
            } catch {
                guard error.code == .limitExceeded, remaining.halve() else { throw error }
            }
        }
        return nil
    }

    package func queryRecords(_ request: QueryRecordsRequest) async throws(CKError) -> QueryRecordsResponse {
        try read(try await post(.queryRecords, dialect.request(request)))
    }

    // MARK: Changes

    package func databaseChanges(
        _ request: DatabaseChangesRequest, asking capabilities: Set<Capability> = []
    ) async throws(CKError) -> DatabaseChangesResponse {
        let response = try await post(.databaseChanges, request, asking: capabilities)
        try checkChanges(response, hasToken: request.syncToken != nil)
        return try read(response)
    }

    /// - Parameter capabilities: Capabilities to request in addition to those of each request.
    package func zoneChanges(
        _ request: ZoneChangesRequest, asking capabilities: Set<Capability> = []
    ) async throws(CKError) -> ZoneChangesResponse {
        let response = try await post(.zoneChanges, dialect.request(request), asking: capabilities)
        try checkChanges(response, hasToken: request.zones.contains { $0.syncToken != nil })
        var decoded: ZoneChangesResponse = try read(response)
        for (index, query) in request.zones.enumerated() where index < decoded.zones.count {
            guard case .failure(let zoneID, let error) = decoded.zones[index] else { continue }
            decoded.zones[index] = .failure(zoneID, dialect.changesError(error, hasToken: query.syncToken != nil))
        }
        return decoded
    }

    /// - Throws: `.changeTokenExpired` for a rejected request for changes, if its token may be the reason.
    private func checkChanges(_ response: TransportResponse, hasToken: Bool) throws(CKError) {
        guard response.status == WireError.Code.badRequest.httpStatus, let error = try? WireError(json: response.body) else { return }
        let changed = dialect.changesError(error, hasToken: hasToken)
        if changed != error { throw CKError(changed) }
    }

    // MARK: Zones

    package func modifyZones(
        _ request: ZonesModifyRequest, idempotencyKey: String = UUID().uuidString
    ) async throws(CKError) -> ZonesResponse {
        let decoded: ZonesResponse = try read(
            try await post(.modifyZones, request, changesData: true, idempotencyKey: idempotencyKey))
        guard decoded.zones.count == request.operations.count else {
            throw CKError.unreadable("the server returned \(decoded.zones.count) results for \(request.operations.count) operations")
        }
        return decoded
    }

    package func lookupZones(_ request: ZonesLookupRequest) async throws(CKError) -> ZonesResponse {
        try read(try await post(.lookupZones, request))
    }

    package func listZones() async throws(CKError) -> ZonesResponse {
        try read(try await get(.listZones))
    }

    // MARK: Subscriptions

    package func modifySubscriptions(
        _ request: SubscriptionsModifyRequest, idempotencyKey: String = UUID().uuidString
    ) async throws(CKError) -> SubscriptionsResponse {
        let decoded: SubscriptionsResponse = try read(
            try await post(.modifySubscriptions, request, changesData: true, idempotencyKey: idempotencyKey))
        guard decoded.subscriptions.count == request.operations.count else {
            throw CKError.unreadable(
                "the server returned \(decoded.subscriptions.count) results for \(request.operations.count) operations")
        }
        return decoded
    }

    package func lookupSubscriptions(
        _ request: SubscriptionsLookupRequest
    ) async throws(CKError) -> SubscriptionsResponse {
        let decoded: SubscriptionsResponse = try read(try await post(.lookupSubscriptions, request))
        guard decoded.subscriptions.count == request.subscriptionIDs.count else {
            throw CKError.unreadable(
                "the server returned \(decoded.subscriptions.count) results for \(request.subscriptionIDs.count) lookups")
        }
        return decoded
    }

    package func listSubscriptions() async throws(CKError) -> SubscriptionsResponse {
        try read(try await get(.listSubscriptions))
    }

    // MARK: Users

    /// Fetches the identity of the signed-in user in this container.
    package func callerIdentity() async throws(CKError) -> UserIdentity { try await caller(asking: []).identity }

    /// Fetches the identity of the signed-in user, with the fields that the capabilities add.
    package func caller(asking capabilities: Set<Capability>) async throws(CKError) -> CallerIdentity {
        var request = request(.caller, body: .none, asking: capabilities)
        request.target = .service(path: path(.caller, in: .public))
        return try read(try checked(try await send(request)))
    }

    /// Fetches the identities of the signed-in user and of the server.
    ///
    /// - Returns: `caller` is a failure if no user is signed in, among other reasons. `server` is `nil` for a server
    ///   without the capability `server-identity`.
    package func introduction(
        asking capabilities: Set<Capability>
    ) async throws(CKError) -> (caller: Result<CallerIdentity, CKError>, server: String?) {
        var request = request(.caller, body: .none, asking: capabilities.union([.serverIdentity]))
        request.target = .service(path: path(.caller, in: .public))
        let response = try await send(request)
        let caller = Result { () throws(CKError) -> CallerIdentity in try read(try checked(response)) }
        return (caller, response.headers[HeaderNames.serverIdentity].flatMap { Self.isIdentity($0) ? $0 : nil })
    }

    private static func isIdentity(_ text: String) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    /// Finds users by their addresses, if they allow it.
    package func discoverUsers(_ request: DiscoverUsersRequest) async throws(CKError) -> UserIdentitiesResponse {
        try read(try await post(.discoverUsers, request))
    }

    // MARK: Shares

    /// Resolves links to shares. Needs the client of the public database.
    package func resolveShares(_ request: ShortGUIDsRequest) async throws(CKError) -> ShortGUIDsResponse {
        try check(try read(try await post(.resolveRecords, request)), request)
    }

    package func acceptShares(_ request: ShortGUIDsRequest) async throws(CKError) -> ShortGUIDsResponse {
        try check(try read(try await post(.acceptRecords, request, changesData: true)), request)
    }

    package func requestAccess(_ request: ShortGUIDsRequest) async throws(CKError) -> AccessRequestsResponse {
        let decoded: AccessRequestsResponse = try read(try await post(.requestAccess, request, changesData: true))
        guard decoded.results.count == request.shortGUIDs.count else {
            throw CKError.unreadable("the server returned \(decoded.results.count) results for \(request.shortGUIDs.count) links")
        }
        return decoded
    }

    private func check(
        _ decoded: ShortGUIDsResponse, _ request: ShortGUIDsRequest
    ) throws(CKError) -> ShortGUIDsResponse {
        guard decoded.results.count == request.shortGUIDs.count else {
            throw CKError.unreadable("the server returned \(decoded.results.count) results for \(request.shortGUIDs.count) links")
        }
        return decoded
    }

    // MARK: Tokens

    package func webAuthToken(_ message: WebAuthTokenRequest) async throws(CKError) -> WebAuthTokenResponse {
        let path = DevicePath(containerIdentifier: containerIdentifier, environment: environment, operation: .webAuthToken)
        var request = TransportRequest(
            method: "POST", target: .service(path: path.path), headers: headers, body: .bytes(message.encoded()),
            responseBytesMax: Limits.messageBytes)
        request.headers.add(HeaderNames.contentType, HeaderNames.json)
        return try read(try await send(request))
    }

    // MARK: Requests

    func path(_ operation: ServicePath.Operation, in scope: DatabaseScope) -> String {
        ServicePath(
            containerIdentifier: containerIdentifier, environment: environment, scope: scope, operation: operation
        ).path
    }

    private func request(
        _ operation: ServicePath.Operation, body: TransportRequest.Body, asking capabilities: Set<Capability> = []
    ) -> TransportRequest {
        // Uploads are resumable after a broken connection.
        let requestedCapabilities = operation == .uploadAssets ? capabilities.union([.resumableUpload]) : capabilities
        return TransportRequest(
            method: operation.method, target: .service(path: path(operation, in: scope)),
            headers: headers(asking: requestedCapabilities), body: body,
            responseBytesMax: Limits.messageBytes)
    }

    /// - Parameter capabilities: Capabilities to request in addition to those of each request.
    func post(
        _ operation: ServicePath.Operation, _ message: some WireMessage, changesData: Bool = false,
        idempotencyKey: String? = nil, asking capabilities: Set<Capability> = []
    ) async throws(CKError) -> TransportResponse {
        try await post(
            operation, body: message.encoded(), changesData: changesData, idempotencyKey: idempotencyKey, asking: capabilities)
    }

    private func post(
        _ operation: ServicePath.Operation, body: [UInt8], changesData: Bool, idempotencyKey: String?, knownSyncToken: String? = nil,
        asking capabilities: Set<Capability> = []
    ) async throws(CKError) -> TransportResponse {
        guard body.count <= limits.requestBodyBytes else {
            throw CKError(.limitExceeded, "the request is larger than \(limits.requestBodyBytes) bytes; send fewer records")
        }
        let requestedCapabilities = knownSyncToken == nil ? capabilities : capabilities.union([.ownChanges])
        var request = request(operation, body: .bytes(body), asking: requestedCapabilities)
        request.headers.add(HeaderNames.contentType, HeaderNames.json)
        if dialect.hasTarnHeaders {
            if let knownSyncToken { request.headers.add(HeaderNames.syncToken, knownSyncToken) }
            if let idempotencyKey { request.headers.add(HeaderNames.idempotencyKey, idempotencyKey) }
        }
        request.changesData = changesData
        let response = try await send(request)
        guard changesData else { return try checked(response) }
        if response.isOfGateway { throw CKError(ofGateway: response) }
        // The change is stored, so its response counts. The next read notices that the server is another one.
        return response
    }

    private func get(_ operation: ServicePath.Operation) async throws(CKError) -> TransportResponse {
        try checked(try await send(request(operation, body: .none)))
    }

    private func checked(_ response: TransportResponse) throws(CKError) -> TransportResponse {
        if required.isEmpty || !(200..<300 ~= response.status) { return response }
        // A captive portal's page says nothing about the server.
        guard response.headers[HeaderNames.contentType]?.hasPrefix("application/json") == true else { return response }
        let missing = required.subtracting(response.headers[HeaderNames.capabilities].map { Capability.parse($0) } ?? [])
        if missing.isEmpty { return response }
        throw CKError(
            .incompatibleVersion,
            "the server does not offer \(Capability.headerValue(missing)), which this store needs; no records are sent until it does")
    }

    func send(_ request: TransportRequest) async throws(CKError) -> TransportResponse {
        do {
            return try await transport.send(request)
        } catch {
            throw CKError(transportFailure: error)
        }
    }

    var headers: TransportHeaders { headers(asking: []) }

    /// - Parameter capabilities: Capabilities to request in addition to those of each request.
    func headers(asking capabilities: Set<Capability>) -> TransportHeaders {
        guard dialect.hasTarnHeaders else { return TransportHeaders() }
        let requestedCapabilities = Capability.ofEachRequest.union(capabilities).union(required)
        var headers: TransportHeaders = [HeaderNames.capabilities: Capability.headerValue(requestedCapabilities)]
        if let deviceID { headers.add(HeaderNames.device, deviceID) }
        return headers
    }

    // MARK: Answers

    func read<Message: WireMessage>(_ response: TransportResponse) throws(CKError) -> Message {
        guard 200..<300 ~= response.status else { throw CKError(response) }
        do {
            return try Message(response: response.body)
        } catch {
            if isolatesUnreadableRecords, let body = UnreadableRecords.replaced(in: response.body),
                let message = try? Message(response: body)
            {
                return message
            }
            throw CKError.unreadable("the server's response cannot be decoded (\(error.reason))", response)
        }
    }
}
