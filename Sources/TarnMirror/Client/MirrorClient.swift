// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SystemSupport

/// The operations of a user's private database, on wire values. One call is one request or a few, without retries.
///
/// All methods throw ``CloudFailure`` if the request failed as a whole.
struct MirrorClient: Sendable {
    let containerIdentifier: String
    let environment: CloudEnvironment
    let transport: any MirrorTransport
    var limits = Limits()
    var deviceID: String?

    /// The only zone that a mirror reads and writes.
    static let home = ZoneID(zoneName: MirrorNames.zone)
    /// Records of one change page.
    static let pageRecordsMax = 1000

    // MARK: Account and zone

    /// Returns the record name of the signed-in user, and the identity of the server if it has one.
    func introduction() async throws -> StoreOwner {
        var request = request(.caller, asking: [.serverIdentity])
        request.target = .service(path: path(.caller, in: .public))
        let response = try await transport.send(request)
        let caller: CallerIdentity = try read(response)
        let server = response[header: HeaderNames.serverIdentity].flatMap { Self.isIdentity($0) ? $0 : nil }
        return StoreOwner(user: caller.identity.userRecordName, server: server)
    }

    private static func isIdentity(_ text: String) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    /// Creates the zone; an existing one isn't an error.
    func createZone() async throws {
        try check(
            read(try await post(.modifyZones, ZonesModifyRequest(operations: [.create(Self.home)]), idempotencyKey: UUID().uuidString)))
    }

    /// - Throws: `.zoneNotFound` for a missing zone.
    func requireZone() async throws { try check(read(try await post(.lookupZones, ZonesLookupRequest(zones: [Self.home])))) }

    private func check(_ response: ZonesResponse) throws {
        guard let result = response.zones.first else { throw CloudFailure.unreadable("the server said nothing about the zone") }
        if case .failure(_, let error) = result { throw Self.failure(ofZone: error) }
    }

    private static func failure(ofZone error: WireError) -> CloudFailure {
        error.code == .notFound ? CloudFailure(.zoneNotFound, error.reason) : CloudFailure(error)
    }

    // MARK: Changes

    func databaseChanges(after token: String?) async throws -> DatabaseChangesResponse {
        try read(try await post(.databaseChanges, DatabaseChangesRequest(syncToken: token)))
    }

    /// Returns the next page of the zone's changes.
    ///
    /// - Parameters:
    ///   - saved: The token of a later save of this device, which a history without it lacks.
    ///   - recordsMax: Records and deletions of the page.
    func changes(after token: String?, saved: String?, recordsMax: Int) async throws -> ZoneChanges {
        var query = ZoneChangesQuery(zoneID: Self.home, syncToken: token, resultsLimit: recordsMax)
        query.savedSyncToken = saved
        let response: ZoneChangesResponse = try read(
            try await post(.zoneChanges, ZoneChangesRequest(zones: [query]), asking: [.largePages, .lostHistory, .remainingCount]))
        switch response.zones.first {
        case .changes(let changes): return changes
        case .failure(_, let error): throw Self.failure(ofZone: error)
        case nil: throw CloudFailure.unreadable("the server said nothing about the zone")
        }
    }

    /// Returns the present records of names. Missing and deleted ones are left out.
    func lookUp(_ names: [String]) async throws -> [Record] {
        var parts = LookUpParts(names, limits)
        var records: [Record] = []
        while let part = try await lookUp(&parts) { records += part }
        return records
    }

    /// Requests the next records of a look-up.
    ///
    /// - Returns: The present ones; nil after the last records.
    func lookUp(_ parts: inout LookUpParts) async throws -> [Record]? {
        while let names = parts.next() {
            do {
                let response: LookupRecordsResponse = try read(
                    try await post(.lookupRecords, LookupRecordsRequest(recordNames: names, zoneID: Self.home)))
                var records: [Record] = []
                for case .record(let record) in parts.take(response.results) where !record.isDeleted { records.append(record) }
                return records
            } catch let failure as CloudFailure where failure.code == .limitExceeded {
                guard parts.halve() else { throw failure }
            }
        }
        return nil
    }

    // MARK: Saves

    /// Sends an encoded request, byte for byte: a retry with the same key is the same request, which the server executes once.
    ///
    /// - Parameters:
    ///   - count: The operations of the request.
    ///   - token: The change token of the zone that the device holds, for ``ModifyRecordsResponse/nextSyncToken``.
    func modifyRecords(encoded body: [UInt8], count: Int, idempotencyKey: String, knownSyncToken token: String?) async throws
        -> ModifyRecordsResponse
    {
        guard body.count <= limits.requestBodyBytes else {
            throw CloudFailure(.limitExceeded, "the request is larger than \(limits.requestBodyBytes) bytes")
        }
        var request = request(.modifyRecords, asking: token == nil ? [.lostHistory] : [.lostHistory, .ownChanges])
        request.headers[HeaderNames.contentType] = HeaderNames.json
        request.headers[HeaderNames.idempotencyKey] = idempotencyKey
        if let token { request.headers[HeaderNames.syncToken] = token }
        request.body = Data(body)
        let response: MirrorResponse
        do {
            response = try await transport.send(request)
        } catch let failure as CloudFailure where failure.code == .networkFailure {
            throw CloudFailure(.serverResponseLost, failure.reason + "; the server may have saved the change")
        }
        let bytes = [UInt8](response.body)
        let hasReason = (try? WireError(json: bytes)) != nil
        if !hasReason, HTTPStatus.isOfGateway(response.status) {
            let failure = CloudFailure(response)
            throw CloudFailure(
                .serverResponseLost, failure.reason + "; the server may have saved the change", retryAfter: failure.retryAfter)
        }
        // A failed atomic request has the results of its items, with either status.
        if response.status >= 400, !hasReason, let decoded = try? ModifyRecordsResponse(json: bytes),
            decoded.results.count == count
        {
            return decoded
        }
        let decoded: ModifyRecordsResponse
        do {
            decoded = try read(response)
        } catch let failure as CloudFailure where failure.code == .networkFailure {
            // A response that cannot be read says nothing about the save either.
            throw CloudFailure(.serverResponseLost, failure.reason)
        }
        guard decoded.results.count == count else {
            throw CloudFailure(.serverResponseLost, "the server returned \(decoded.results.count) results for \(count) operations")
        }
        return decoded
    }

    // MARK: Requests

    private func path(_ operation: ServicePath.Operation, in scope: DatabaseScope = .private) -> String {
        ServicePath(containerIdentifier: containerIdentifier, environment: environment, scope: scope, operation: operation).path
    }

    private func request(_ operation: ServicePath.Operation, asking capabilities: Set<Capability> = []) -> MirrorRequest {
        MirrorRequest(
            method: operation.method, target: .service(path: path(operation)), headers: headers(asking: capabilities), body: nil)
    }

    func headers(asking capabilities: Set<Capability> = []) -> [String: String] {
        var headers = [HeaderNames.capabilities: Capability.headerValue(Self.requested.union(capabilities))]
        headers[HeaderNames.device] = deviceID
        headers["User-Agent"] = "TarnMirror/\(TarnVersion.current)"
        return headers
    }

    /// The capabilities of each request: the mirror has no push stream and no shares.
    private static let requested: Set<Capability> = [.idempotencyKey, .budget]

    func post(
        _ operation: ServicePath.Operation, _ message: some WireMessage, asking capabilities: Set<Capability> = [],
        idempotencyKey: String? = nil
    ) async throws -> MirrorResponse {
        var request = request(operation, asking: capabilities)
        request.headers[HeaderNames.contentType] = HeaderNames.json
        request.headers[HeaderNames.idempotencyKey] = idempotencyKey
        request.body = Data(message.encoded())
        return try await transport.send(request)
    }

    func read<Message: WireMessage>(_ response: MirrorResponse) throws -> Message {
        guard 200..<300 ~= response.status else { throw CloudFailure(response) }
        do {
            return try Message(json: [UInt8](response.body))
        } catch {
            let isWebPage = response[header: HeaderNames.contentType]?.lowercased().hasPrefix("text/html") == true
            throw CloudFailure.unreadable(
                isWebPage
                    ? "the response is a web page; is the configured address that of a Tarn server?"
                    : "the server's response cannot be decoded (\(error.reason))")
        }
    }
}
