// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation

/// The operations of one database, on wire values: one call is one request, and nothing is tried again.
///
/// Everything here throws ``CKError``: for the request as a whole only. What became of a single record, zone or
/// subscription stands in the answer.
package struct CloudDatabaseClient: Sendable {
    package let containerIdentifier: String
    package let environment: CloudEnvironment
    package let scope: DatabaseScope
    package var transport: any CloudTransport
    package var limits = Limits()
    /// Names this device to the server, where several may share one token. Up to 128 printable ASCII characters.
    package var deviceID: String?
    /// Without these nothing is read: answers of a server that does not offer them are errors, ``CKError/Code/incompatibleVersion``.
    package var required: Set<Capability> = []

    package init(
        containerIdentifier: String, environment: CloudEnvironment, scope: DatabaseScope,
        transport: any CloudTransport
    ) {
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.scope = scope
        self.transport = transport
    }

    // MARK: Records

    /// - Parameter idempotencyKey: A request that is sent again with its key is carried out once.
    package func modifyRecords(
        _ request: ModifyRecordsRequest, idempotencyKey: String
    ) async throws(CKError) -> ModifyRecordsResponse {
        try await modifyRecords(
            encoded: request.encoded(), operationCount: request.operations.count, idempotencyKey: idempotencyKey)
    }

    /// Sends a request that was kept, byte for byte: with its key it counts as the same one.
    ///
    /// - Parameters:
    ///   - groupCount: Operations of all requests of the request's group, if it belongs to one.
    ///   - knownSyncToken: Up to where the zone was read, for ``ModifyRecordsResponse/nextSyncToken``.
    package func modifyRecords(
        encoded body: [UInt8], operationCount: Int, groupCount: Int? = nil, idempotencyKey: String, knownSyncToken: String? = nil
    ) async throws(CKError) -> ModifyRecordsResponse {
        let response = try await post(
            .modifyRecords, body: body, changesData: true, idempotencyKey: idempotencyKey, knownSyncToken: knownSyncToken,
            asking: groupCount == nil ? [] : [.wholeSaves])
        func fits(_ answer: ModifyRecordsResponse) -> Bool {
            switch answer.saveGroup {
            case nil: answer.results.count == operationCount
            case .saved: answer.results.count == groupCount
            case .staged, .missing, .refused: groupCount != nil
            }
        }
        // An atomic request that failed brings its items with either status.
        if response.status >= 400, (try? WireError(json: response.body)) == nil,
            let answer = try? ModifyRecordsResponse(json: response.body), fits(answer)
        {
            return answer
        }
        let answer: ModifyRecordsResponse = try read(response)
        guard fits(answer) else {
            throw CKError.unreadable("the server answered \(answer.results.count) of \(groupCount ?? operationCount) operations")
        }
        return answer
    }

    package func lookupRecords(_ request: LookupRecordsRequest) async throws(CKError) -> LookupRecordsResponse {
        let answer: LookupRecordsResponse = try read(try await post(.lookupRecords, request))
        guard answer.results.count == request.records.count else {
            throw CKError.unreadable("the server answered \(answer.results.count) of \(request.records.count) lookups")
        }
        return answer
    }

    package func queryRecords(_ request: QueryRecordsRequest) async throws(CKError) -> QueryRecordsResponse {
        try read(try await post(.queryRecords, request))
    }

    // MARK: Changes

    package func databaseChanges(_ request: DatabaseChangesRequest) async throws(CKError) -> DatabaseChangesResponse {
        try read(try await post(.databaseChanges, request))
    }

    /// - Parameter capabilities: What is asked for beside what every request asks for.
    package func zoneChanges(
        _ request: ZoneChangesRequest, asking capabilities: Set<Capability> = []
    ) async throws(CKError) -> ZoneChangesResponse {
        try read(try await post(.zoneChanges, request, asking: capabilities))
    }

    // MARK: Zones

    package func modifyZones(
        _ request: ZonesModifyRequest, idempotencyKey: String = UUID().uuidString
    ) async throws(CKError) -> ZonesResponse {
        let answer: ZonesResponse = try read(
            try await post(.modifyZones, request, changesData: true, idempotencyKey: idempotencyKey))
        guard answer.zones.count == request.operations.count else {
            throw CKError.unreadable("the server answered \(answer.zones.count) of \(request.operations.count) operations")
        }
        return answer
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
        let answer: SubscriptionsResponse = try read(
            try await post(.modifySubscriptions, request, changesData: true, idempotencyKey: idempotencyKey))
        guard answer.subscriptions.count == request.operations.count else {
            throw CKError.unreadable(
                "the server answered \(answer.subscriptions.count) of \(request.operations.count) operations")
        }
        return answer
    }

    package func lookupSubscriptions(
        _ request: SubscriptionsLookupRequest
    ) async throws(CKError) -> SubscriptionsResponse {
        let answer: SubscriptionsResponse = try read(try await post(.lookupSubscriptions, request))
        guard answer.subscriptions.count == request.subscriptionIDs.count else {
            throw CKError.unreadable(
                "the server answered \(answer.subscriptions.count) of \(request.subscriptionIDs.count) lookups")
        }
        return answer
    }

    package func listSubscriptions() async throws(CKError) -> SubscriptionsResponse {
        try read(try await get(.listSubscriptions))
    }

    // MARK: Users

    /// Who is signed in, as this container knows them.
    package func callerIdentity() async throws(CKError) -> UserIdentity { try await caller(asking: []).identity }

    /// Who is signed in, with what the capabilities add.
    package func caller(asking capabilities: Set<Capability>) async throws(CKError) -> CallerIdentity {
        var request = request(.caller, body: .none, asking: capabilities)
        request.target = .service(path: path(.caller, in: .public))
        return try read(try checked(try await send(request)))
    }

    /// Who is signed in, and which server says so.
    ///
    /// - Returns: `caller` is a failure where nobody is signed in, among others. `server` is nil for a server without the capability
    ///   `server-identity`.
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

    /// People who agreed to be found, by their addresses.
    package func discoverUsers(_ request: DiscoverUsersRequest) async throws(CKError) -> UserIdentitiesResponse {
        try read(try await post(.discoverUsers, request))
    }

    // MARK: Shares

    /// What links to shares lead to. Only the client of the public database is asked.
    package func resolveShares(_ request: ShortGUIDsRequest) async throws(CKError) -> ShortGUIDsResponse {
        try check(try read(try await post(.resolveRecords, request)), request)
    }

    package func acceptShares(_ request: ShortGUIDsRequest) async throws(CKError) -> ShortGUIDsResponse {
        try check(try read(try await post(.acceptRecords, request, changesData: true)), request)
    }

    package func requestAccess(_ request: ShortGUIDsRequest) async throws(CKError) -> AccessRequestsResponse {
        let answer: AccessRequestsResponse = try read(try await post(.requestAccess, request, changesData: true))
        guard answer.results.count == request.shortGUIDs.count else {
            throw CKError.unreadable("the server answered \(answer.results.count) of \(request.shortGUIDs.count) links")
        }
        return answer
    }

    private func check(
        _ answer: ShortGUIDsResponse, _ request: ShortGUIDsRequest
    ) throws(CKError) -> ShortGUIDsResponse {
        guard answer.results.count == request.shortGUIDs.count else {
            throw CKError.unreadable("the server answered \(answer.results.count) of \(request.shortGUIDs.count) links")
        }
        return answer
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
        // An upload is asked for so that it may go on after a break.
        let asked = operation == .uploadAssets ? capabilities.union([.resumableUpload]) : capabilities
        return TransportRequest(
            method: operation.method, target: .service(path: path(operation, in: scope)), headers: headers(asking: asked), body: body,
            responseBytesMax: Limits.messageBytes)
    }

    /// - Parameter capabilities: What is asked for beside what every request asks for.
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
        let asked = knownSyncToken == nil ? capabilities : capabilities.union([.ownChanges])
        var request = request(operation, body: .bytes(body), asking: asked)
        if let knownSyncToken { request.headers.add(HeaderNames.syncToken, knownSyncToken) }
        request.headers.add(HeaderNames.contentType, HeaderNames.json)
        if let idempotencyKey { request.headers.add(HeaderNames.idempotencyKey, idempotencyKey) }
        request.changesData = changesData
        let response = try await send(request)
        // What was changed was changed; that the server is another one is noticed by the next question.
        return changesData ? response : try checked(response)
    }

    private func get(_ operation: ServicePath.Operation) async throws(CKError) -> TransportResponse {
        try checked(try await send(request(operation, body: .none)))
    }

    private func checked(_ response: TransportResponse) throws(CKError) -> TransportResponse {
        if required.isEmpty || !(200..<300 ~= response.status) { return response }
        // A page that a network shows in the place of answers says nothing about the server.
        guard response.headers[HeaderNames.contentType]?.hasPrefix("application/json") == true else { return response }
        let missing = required.subtracting(response.headers[HeaderNames.capabilities].map { Capability.parse($0) } ?? [])
        if missing.isEmpty { return response }
        throw CKError(
            .incompatibleVersion,
            "the server does not offer \(Capability.headerValue(missing)), which this store needs; nothing is sent until it does")
    }

    func send(_ request: TransportRequest) async throws(CKError) -> TransportResponse {
        do {
            return try await transport.send(request)
        } catch {
            throw CKError(transportFailure: error)
        }
    }

    var headers: TransportHeaders { headers(asking: []) }

    /// - Parameter capabilities: What is asked for beside what every request asks for.
    func headers(asking capabilities: Set<Capability>) -> TransportHeaders {
        let asked = Capability.ofEachRequest.union(capabilities).union(required)
        var headers: TransportHeaders = [HeaderNames.capabilities: Capability.headerValue(asked)]
        if let deviceID { headers.add(HeaderNames.device, deviceID) }
        return headers
    }

    // MARK: Answers

    func read<Message: WireMessage>(_ response: TransportResponse) throws(CKError) -> Message {
        guard 200..<300 ~= response.status else { throw CKError(response) }
        do {
            return try Message(json: response.body)
        } catch {
            throw CKError.unreadable("the answer is not what was asked for (\(error.reason))", response)
        }
    }
}
