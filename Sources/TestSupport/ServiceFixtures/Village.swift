// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudStorageSupport
package import CloudWire
package import StorageFixtures
package import TestBasics

/// A service with people, without sockets.
package final class Village: Sendable {
    package static let container = "iCloud.org.example.notes"
    package static let garden = "Garden"

    package let place: ServerPlace
    package let store: any OperatedStorage
    package let hub: PushHub
    package let clock = HandClock()
    package let service: CloudService

    /// - Parameters:
    ///   - place: Where the data is; nil for a new folder.
    ///   - hasSnapshots: Whether the service builds snapshots of zones.
    package init(
        limits: Limits = Limits(), profile: ServiceProfile = .tarn, containerRules: ContainerRules = ContainerRules(),
        identitySignIn: IdentitySignIn? = nil, place: ServerPlace? = nil, hasSnapshots: Bool = false
    ) throws {
        self.place = try place ?? ServerPlace()
        store = try self.place.open()
        let (clock, bytes) = (clock, SeededBytes())
        let hub = PushHub(now: { clock.now })
        self.hub = hub
        service = CloudService(
            engine: Engine(limits: profile.limits(limits), sealer: store.sealer), storage: store, accounts: store, assets: store, push: hub,
            surroundings: CloudService.Surroundings(
                now: { clock.now }, randomBytes: { bytes.next($0) }),
            profile: profile, containerRules: containerRules, identitySignIn: identitySignIn,
            snapshots: hasSnapshots ? try SnapshotFolder(data: self.place.folder.path) : nil)
    }

    package var folder: TemporaryFolder { place.folder }

    /// A user with one device.
    package struct Villager: Sendable {
        package let village: Village
        package let account: String
        package let token: String
        package let name: String

        package init(village: Village, account: String, token: String, name: String) {
            self.village = village
            self.account = account
            self.token = token
            self.name = name
        }

        package func send(
            _ scope: DatabaseScope, _ operation: ServicePath.Operation, _ body: [UInt8] = [], key: String? = nil,
            capabilities: Set<Capability> = []
        ) async -> (status: Int, body: [UInt8]) {
            var headers = ["authorization": "Bearer \(token)"]
            if let key { headers["x-tarn-idempotency-key"] = key }
            if !capabilities.isEmpty { headers[HeaderNames.capabilities.lowercased()] = Capability.headerValue(capabilities) }
            let path = ServicePath(
                containerIdentifier: Village.container, environment: .development, scope: scope, operation: operation)
            let answer = await village.service.respond(
                to: ServiceRequest(
                    method: operation.method, path: path.path, headers: RequestHeaders(headers), body: .bytes(body),
                    baseURL: "http://tarn.example"))
            guard case .bytes(let bytes) = answer.body else { return (answer.status, []) }
            return (answer.status, bytes)
        }

        package func ask<Response: WireMessage>(
            _ scope: DatabaseScope, _ operation: ServicePath.Operation, _ message: (any WireMessage)? = nil,
            _ type: Response.Type = Response.self, capabilities: Set<Capability> = []
        ) async throws -> Response {
            let (status, body) = await send(scope, operation, message?.encoded() ?? [], capabilities: capabilities)
            guard status == 200 else { throw try WireError(json: body) }
            return try Response(json: body)
        }

        package func zone(_ owner: Villager? = nil) -> ZoneID {
            ZoneID(zoneName: Village.garden, ownerRecordName: owner?.name)
        }

        @discardableResult
        package func modify(_ operations: [RecordOperation], of owner: Villager? = nil, atomic: Bool = true) async throws -> [RecordResult]
        {
            let request = ModifyRecordsRequest(operations: operations, zoneID: zone(owner), atomic: atomic)
            return try await ask(owner == nil ? .private : .shared, .modifyRecords, request, ModifyRecordsResponse.self).results
        }

        package func lookup(_ names: String..., of owner: Villager? = nil) async throws -> [RecordResult] {
            let request = LookupRecordsRequest(recordNames: names, zoneID: zone(owner))
            return try await ask(owner == nil ? .private : .shared, .lookupRecords, request, LookupRecordsResponse.self).results
        }

        package func changes(of owner: Villager, since token: String? = nil, limit: Int? = nil) async throws -> ZoneChangesResult {
            let query = ZoneChangesQuery(zoneID: zone(owner), syncToken: token, resultsLimit: limit)
            return try await ask(.shared, .zoneChanges, ZoneChangesRequest(zones: [query]), ZoneChangesResponse.self).zones[0]
        }

        package func sharedZones(since token: String? = nil) async throws -> DatabaseChangesResponse {
            try await ask(.shared, .databaseChanges, DatabaseChangesRequest(syncToken: token))
        }

        package func accept(_ guid: String) async throws -> ShortGUIDResult {
            let request = ShortGUIDsRequest(shortGUIDs: [ShortGUID(value: guid, shouldFetchRootRecord: true)])
            return try await ask(.public, .acceptRecords, request, ShortGUIDsResponse.self).results[0]
        }

        package func resolve(_ guid: String) async throws -> ShortGUIDResult {
            let request = ShortGUIDsRequest(shortGUIDs: [ShortGUID(value: guid)])
            return try await ask(.public, .resolveRecords, request, ShortGUIDsResponse.self).results[0]
        }

        /// Changes the share, as its owner does.
        package func change(_ share: String, _ body: (inout ShareDetails) -> Void) async throws {
            guard case .record(var record) = try await lookup(share)[0], var details = record.sharing.details else {
                throw WireError(.notFound, "no share")
            }
            body(&details)
            record.sharing.details = details
            let results = try await modify([RecordOperation(.update, record)])
            if case .failure(_, let error, _) = results[0] { throw error }
        }
    }

    package func villager(_ account: String) async throws -> Villager {
        let token = try await store.addUser(name: account, deviceLabel: "tablet", now: clock.now)
        try await store.updateProfile(ofUser: account) { $0.emailAddress = "\(account)@example.org" }
        let nobody = Villager(village: self, account: account, token: token, name: "")
        let caller = try await nobody.ask(.public, .caller, nil, UserIdentity.self)
        let villager = Villager(village: self, account: account, token: token, name: caller.userRecordName)
        _ = try await villager.ask(
            .private, .modifyZones, ZonesModifyRequest(operations: [.create(villager.zone())]), ZonesResponse.self)
        return villager
    }
}

extension Record {
    package static func plant(_ name: String, under parent: String? = nil, tag: String? = nil) -> Record {
        var record = Record(recordName: name, recordType: "Plant", recordChangeTag: tag, fields: ["name": Field(.string(name))])
        record.sharing.parent = parent
        return record
    }

    package static func share(_ name: String, of root: String?, open: SharePermission = .none, with participants: [ShareParticipant] = [])
        -> Record
    {
        var record = Record(
            recordName: name, recordType: ShareDetails.recordType, fields: ["cloudkit.title": Field(.string("Herbs"))])
        record.sharing.details = ShareDetails(rootRecordName: root, publicPermission: open, participants: participants)
        return record
    }
}

extension ShareParticipant {
    package static func invited(_ account: String, _ permission: SharePermission = .readWrite) -> ShareParticipant {
        ShareParticipant(
            identity: UserIdentity(userRecordName: "", lookupInfo: .emailAddress("\(account)@example.org")), permission: permission)
    }
}

extension RecordResult {
    package var outcome: String {
        switch self {
        case .record(let record): record.isDeleted ? "deleted" : "saved"
        case .failure(_, let error, _): error.code.rawValue
        }
    }

    package var record: Record? { if case .record(let record) = self { record } else { nil } }
}

extension ZoneChangesResult {
    /// `+p1 -p2`: records that are there and records that are gone, by name.
    package var picture: String {
        guard case .changes(let changes) = self else { return "refused" }
        return changes.records.map { ($0.isDeleted ? "-" : "+") + $0.recordName }.sorted().joined(separator: " ")
    }

    package var token: String? { if case .changes(let changes) = self { changes.syncToken } else { nil } }
    package var error: WireError? { if case .failure(_, let error) = self { error } else { nil } }
}
