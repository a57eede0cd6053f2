// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudStorageSupport
import CloudWire
import Crypto
import Foundation
import StorageFixtures
import Synchronization
import TestBasics

/// A service with an attacked owner: zones with every kind of share, and participants in every state.
final class MatrixWorld: Sendable {
    /// A defect that a canary plants. The matrix has to find each.
    enum Planted: Sendable {
        /// Participants with `READ_ONLY` are given `READ_WRITE`.
        case readOnlyWrites
        /// Any client reads the public record type that only creators may read.
        case publicTypeIsOpen
        /// The other record of the zone with the shared hierarchy is below the shared record.
        case hiddenIsShared
    }

    static let container = "iCloud.org.example.matrix"
    static let otherContainer = "iCloud.org.example.other"
    static let baseURL = "http://tarn.example"
    static let ownerAddress = "owner@matrix.example"
    static let now: Int64 = 1_900_000_000_000
    /// ``now`` in ISO 8601, and a time beyond the window of signatures.
    static let date = "2030-03-17T17:46:40Z"
    static let oldDate = "2030-03-17T16:46:40Z"

    let storage: RehearsalStorage
    let service: CloudService
    private let place: ServerPlace
    private let data = Mutex(Prepared())

    private struct Prepared {
        var names: [Matrix.Role: String] = [:]
        var links: [Matrix.ZoneKind: String] = [:]
        var credentials: [Matrix.Sender: String] = [:]
        var apiToken = ""
        var snapshots: [Matrix.ZoneKind: String] = [:]
    }

    private struct Key: Sendable {
        var id: String
        var key: P256.Signing.PrivateKey
    }

    private let keys = Mutex<[Matrix.CredentialState: Key]>([:])

    /// Record names of the users.
    var names: [Matrix.Role: String] { data.withLock { $0.names } }
    /// Short GUIDs of the owner's shares, ended ones included.
    var links: [Matrix.ZoneKind: String] { data.withLock { $0.links } }
    var ownerName: String { names[.owner] ?? "" }

    /// A value that is in one place only, so that a response with it discloses that place.
    static func secret(_ place: String) -> String { "secret-of-\(place)" }

    init(planted: Planted? = nil) async throws {
        place = try ServerPlace(folder: TemporaryFolder(isInMemory: true))
        let store = try place.open()
        storage = RehearsalStorage(store)
        let (clock, bytes) = (ClockReference(), SeededBytes())
        var limits = Limits()
        limits.requestsPerMinute = 0
        limits.snapshotRecordsMin = 1
        limits.snapshotStreamsPerUser = limits.snapshotStreams
        service = CloudService(
            engine: Engine(limits: limits, sealer: store.sealer), storage: storage, accounts: store, assets: store, push: PushHub(),
            surroundings: CloudService.Surroundings(
                now: { clock.now }, randomBytes: { bytes.next($0) }), snapshots: try SnapshotFolder(data: place.folder.path))
        try await addUsers()
        try await addRecords(planted)
        try await addCredentials(clock)
        try await buildIndexes()
        storage.beginRehearsal()
    }

    private final class ClockReference: Sendable {
        private let time = Mutex(MatrixWorld.now)
        var now: Int64 { time.withLock { $0 } }
        func set(_ milliseconds: Int64) { time.withLock { $0 = milliseconds } }
    }

    // MARK: Requests

    struct Answer: Sendable {
        var status: Int
        /// Headers and body.
        var bytes: [UInt8]
        /// `OK`, or the wire code of the response or of its first item.
        var code: String

        /// Whether a text is in the response.
        func shows(_ text: String) -> Bool { Self.end(of: text, in: bytes) != nil }

        /// The index behind the first occurrence.
        static func end(of text: String, in bytes: [UInt8]) -> Int? {
            Data(bytes).range(of: Data(text.utf8))?.upperBound
        }
    }

    func send(_ cell: Matrix.Cell) async throws -> Answer {
        let path = ServicePath(
            containerIdentifier: Self.container, environment: .development, scope: cell.scope, operation: cell.operation
        ).path
        let body = cell.operation.method == "GET" ? [] : Matrix.body(cell, self)
        var request = ServiceRequest(method: cell.operation.method, path: path, body: .bytes(body), baseURL: Self.baseURL)
        try authorize(&request, body, cell.sender)
        if cell.operation == .zoneSnapshot {
            let item = "id=" + data.withLock { $0.snapshots[cell.zone] ?? String(repeating: "0", count: 32) }
            request.query = request.query.isEmpty ? item : "\(request.query)&\(item)"
        }
        return await answer(to: request)
    }

    func send(_ operation: DevicePath.Operation, _ sender: Matrix.Sender) async throws -> Answer {
        let path = DevicePath(containerIdentifier: Self.container, environment: .development, operation: operation).path
        let token = data.withLock { $0.apiToken }
        let body: [UInt8] =
            switch operation {
            case .pushStream: []
            case .createToken: PushTokenRequest(apnsEnvironment: .development).encoded()
            case .registerToken: PushTokenRequest(apnsEnvironment: .development, apnsToken: "token").encoded()
            case .webAuthToken: WebAuthTokenRequest(apiToken: token).encoded()
            }
        var request = ServiceRequest(method: operation.method, path: path, body: .bytes(body), baseURL: Self.baseURL)
        try authorize(&request, body, sender)
        return await answer(to: request)
    }

    /// Sends a body to the owner's private database, with every capability and an idempotency key.
    func sendAsOwner(_ operation: ServicePath.Operation, _ body: String, key: String) async throws -> Answer {
        let path = ServicePath(
            containerIdentifier: Self.container, environment: .development, scope: .private, operation: operation
        ).path
        var request = ServiceRequest(method: operation.method, path: path, body: .bytes(Array(body.utf8)), baseURL: Self.baseURL)
        try authorize(&request, [], Matrix.Sender(role: .owner, kind: .deviceToken))
        request.headers[HeaderNames.capabilities.lowercased()] = Capability.headerValue(Set(Capability.allCases))
        request.headers[HeaderNames.idempotencyKey.lowercased()] = key
        return await answer(to: request)
    }

    /// Resumes the processing of a user's data that a cell has paused.
    ///
    /// - Returns: Whether it was paused.
    func resumeProcessing(of role: Matrix.Role) async throws -> Bool {
        guard let name = names[role] else { return false }
        let store = storage.store
        let isPaused = try await store.isRestricted(user: name, containerIdentifier: Self.container, environment: .development)
        if isPaused {
            try await store.setRestricted(
                false, user: name, containerIdentifier: Self.container, environment: .development, now: Self.now)
        }
        return isPaused
    }

    private func answer(to request: ServiceRequest) async -> Answer {
        let response = await service.respond(to: request)
        var body: [UInt8] = []
        switch response.body {
        case .bytes(let bytes): body = bytes
        case .file(let file, let range): body = (try? await file.read(at: range.lowerBound, count: range.count)) ?? []
        case .events: break
        }
        let code = Answer.end(of: #""serverErrorCode":""#, in: body).map {
            String(decoding: body[$0...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        }
        let headers = response.headers.map { "\($0.name): \($0.value)\n" }.joined()
        return Answer(
            status: response.status, bytes: Array(headers.utf8) + body,
            code: code ?? (response.status == 200 ? "OK" : "\(response.status)"))
    }

    private func authorize(_ request: inout ServiceRequest, _ body: [UInt8], _ sender: Matrix.Sender) throws {
        let (credential, apiToken) = data.withLock { ($0.credentials[sender] ?? "", $0.apiToken) }
        switch sender.kind {
        case .none: break
        case .deviceToken: request.headers["authorization"] = "Bearer \(credential)"
        case .apiToken: request.query = "ckAPIToken=\(credential)"
        case .webSession: request.query = "ckAPIToken=\(apiToken)&ckWebAuthToken=\(credential)"
        case .serverKey:
            // The key of one request cannot be told from another's by a signature that is only malformed.
            let state: Matrix.CredentialState = sender.state == .expired || sender.state == .malformed ? .valid : sender.state
            guard let key = keys.withLock({ $0[state] }) else { return }
            let date = sender.state == .expired ? Self.oldDate : Self.date
            let hash = Data(SHA256.hash(data: body)).base64EncodedString()
            var signed = "\(date):\(hash):\(request.path)"
            if sender.state == .malformed { signed += "/other" }
            let signature = try key.key.signature(for: Data(signed.utf8)).derRepresentation.base64EncodedString()
            request.headers[HeaderNames.requestKeyID.lowercased()] = key.id
            request.headers[HeaderNames.requestDate.lowercased()] = date
            request.headers[HeaderNames.requestSignature.lowercased()] = signature
        }
    }

    // MARK: Preparation

    private func post<Response: WireMessage>(
        _ role: Matrix.Role, _ scope: DatabaseScope, _ operation: ServicePath.Operation, _ message: (any WireMessage)? = nil,
        as type: Response.Type = Response.self
    ) async throws -> Response {
        let token = data.withLock { $0.credentials[Matrix.Sender(role: role, kind: .deviceToken)] ?? "" }
        let path = ServicePath(containerIdentifier: Self.container, environment: .development, scope: scope, operation: operation).path
        let response = await service.respond(
            to: ServiceRequest(
                method: operation.method, path: path, headers: ["authorization": "Bearer \(token)"],
                body: .bytes(message?.encoded() ?? []), baseURL: Self.baseURL))
        guard case .bytes(let body) = response.body else { throw WireError(.internalError, "no body") }
        guard response.status == 200 else { throw try WireError(json: body) }
        return try Response(json: body)
    }

    @discardableResult
    private func modify(
        _ role: Matrix.Role, _ operations: [RecordOperation], in zone: Matrix.ZoneKind, _ scope: DatabaseScope = .private
    ) async throws -> [Record?] {
        let zoneID = ZoneID(zoneName: zone.name, ownerRecordName: scope == .shared ? ownerName : nil)
        let request = ModifyRecordsRequest(operations: operations, zoneID: zoneID, atomic: false)
        return try await post(role, scope, .modifyRecords, request, as: ModifyRecordsResponse.self).results.map { result in
            switch result {
            case .record(let record): record
            case .failure(_, let error, _): throw error
            }
        }
    }

    private func addUsers() async throws {
        for role in Matrix.Role.allCases where role.isUser {
            let token = try await storage.store.addUser(name: role.account, deviceLabel: "valid", now: Self.now)
            try await storage.store.updateProfile(ofUser: role.account) { profile in
                profile.emailAddress = "\(role.account)@matrix.example"
                profile.isOperator = role == .operator
            }
            data.withLock { $0.credentials[Matrix.Sender(role: role, kind: .deviceToken)] = token }
            let name = try await post(role, .public, .caller, as: UserIdentity.self).userRecordName
            data.withLock { $0.names[role] = name }
        }
    }

    private func addRecords(_ planted: Planted?) async throws {
        let zones = Matrix.ZoneKind.allCases.filter { $0 != .missing }
        let custom = zones.filter { $0 != .defaultZone }.map { ZoneOperation.create(ZoneID(zoneName: $0.name)) }
        _ = try await post(.owner, .private, .modifyZones, ZonesModifyRequest(operations: custom), as: ZonesResponse.self)
        for zone in zones {
            try await addRecords(
                to: zone, .private, hiddenParent: planted == .hiddenIsShared && zone == .hierarchy ? Matrix.Names.visible : nil)
            if zone != .defaultZone { try await buildSnapshot(of: zone) }
            if zone.hasShare || zone == .stopped { try await share(zone, planted) }
        }
        let subscription = Subscription(
            subscriptionID: Matrix.Names.subscription, kind: .zone(ZoneID(zoneName: Matrix.ZoneKind.unshared.name)), notification: .silent)
        _ = try await post(
            .owner, .private, .modifySubscriptions, SubscriptionsModifyRequest(operations: [.create(subscription)]),
            as: SubscriptionsResponse.self)
        try await addRecords(to: .defaultZone, .public, hiddenParent: nil)
        let grants = SecurityGrants(
            byRole: planted == .publicTypeIsOpen
                ? ["_world": .read, SecurityGrants.signedIn: .create, SecurityGrants.creator: [.read, .write]]
                : [SecurityGrants.signedIn: .create, SecurityGrants.creator: [.read, .write]])
        let partition = Partition(
            containerIdentifier: Self.container, environment: .development, scope: .public, owner: Partition.publicOwner)
        let call = service.call(partition, Caller(userRecordName: "", deviceID: "", kind: .operator), baseURL: "")
        try await storage.write(partition) { [engine = service.engine] unit in
            try engine.roles.setGrants(grants, ofType: Matrix.Names.recordType, in: unit, call)
        }
    }

    private func addRecords(to zone: Matrix.ZoneKind, _ scope: DatabaseScope, hiddenParent: String?) async throws {
        func record(_ name: String, _ place: String, under parent: String? = nil) -> Record {
            var record = Record(
                recordName: name, recordType: Matrix.Names.recordType,
                fields: [
                    Matrix.Names.field: Field(.string(Self.secret(place))), Matrix.Names.kind: Field(.string(Matrix.Names.kind)),
                ])
            record.sharing.parent = parent
            return record
        }
        let place = scope == .public ? "public" : zone.rawValue
        var visible = record(Matrix.Names.visible, place)
        visible.fields[Matrix.Names.assetField] = Field(.asset(try await upload(to: zone, scope)))
        try await modify(.owner, [RecordOperation(.create, visible)], in: zone, scope)
        let isPublic = scope == .public || zone == .defaultZone
        try await modify(
            .owner, [RecordOperation(.create, record(Matrix.Names.leaf, place, under: isPublic ? nil : Matrix.Names.visible))], in: zone,
            scope)
        guard zone == .hierarchy else { return }
        try await modify(.owner, [RecordOperation(.create, record(Matrix.Names.hidden, "hidden", under: hiddenParent))], in: zone, scope)
    }

    private func buildSnapshot(of zone: Matrix.ZoneKind) async throws {
        let request = ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: ZoneID(zoneName: zone.name))])
        let answer = try await sendAsOwner(.zoneChanges, String(decoding: request.encoded(), as: UTF8.self), key: zone.name)
        guard let start = Answer.end(of: "\n{", in: answer.bytes).map({ $0 - 1 }),
            case .changes(let page)? = try ZoneChangesResponse(json: Array(answer.bytes[start...])).zones.first,
            let snapshot = page.snapshot
        else { throw WireError(.internalError, "no snapshot of \(zone.name) is offered") }
        await service.snapshots.idle()
        data.withLock { $0.snapshots[zone] = snapshot.identifier }
    }

    private func upload(to zone: Matrix.ZoneKind, _ scope: DatabaseScope) async throws -> AssetValue {
        let item = AssetUploadRequest.Item(
            recordType: Matrix.Names.recordType, recordName: Matrix.Names.visible, fieldName: Matrix.Names.assetField)
        let request = AssetUploadRequest(items: [item], zoneID: ZoneID(zoneName: zone.name))
        let result = try await post(.owner, scope, .uploadAssets, request, as: AssetUploadResponse.self).results[0]
        guard case .address(let address) = result else { throw WireError(.internalError, "no upload address") }
        let response = await service.respond(
            to: ServiceRequest(
                method: "POST", path: String(address.url.dropFirst(Self.baseURL.count)), body: .bytes(Array("photo of \(zone.name)".utf8)),
                baseURL: Self.baseURL))
        guard case .bytes(let body) = response.body, response.status == 200 else { throw WireError(.internalError, "no receipt") }
        return try AssetUploadReceipt(json: body).asset
    }

    private func share(_ zone: Matrix.ZoneKind, _ planted: Planted?) async throws {
        var share = Record(
            recordName: zone == .zoneWide ? ShareDetails.zoneShareName : Matrix.Names.share, recordType: ShareDetails.recordType)
        let participants = Matrix.Role.participants.compactMap { role -> ShareParticipant? in
            guard case .participant(let permission, _) = role else { return nil }
            let isWrong = planted == .readOnlyWrites && permission == .readOnly
            return ShareParticipant(
                identity: UserIdentity(userRecordName: names[role] ?? ""), permission: isWrong ? .readWrite : permission.shared)
        }
        share.sharing.details = ShareDetails(
            rootRecordName: zone == .zoneWide ? nil : Matrix.Names.visible, participants: participants)
        let saved = try await modify(.owner, [RecordOperation(.create, share)], in: zone)
        guard let guid = saved[0]?.sharing.shortGUID else { throw WireError(.internalError, "the share has no link") }
        data.withLock { $0.links[zone] = guid }
        for role in Matrix.Role.participants {
            guard case .participant(_, let membership) = role, membership != .invited else { continue }
            let request = ShortGUIDsRequest(shortGUIDs: [ShortGUID(value: guid)])
            guard case .share = try await post(role, .public, .acceptRecords, request, as: ShortGUIDsResponse.self).results[0] else {
                throw WireError(.internalError, "\(role) cannot accept")
            }
            if membership == .left {
                try await modify(role, [RecordOperation(.forceDelete, Record(recordName: share.recordName))], in: zone, .shared)
            }
        }
        let removed = Set(
            Matrix.Role.participants.compactMap { role in
                if case .participant(_, .removed) = role { names[role] } else { nil }
            })
        let lookup = LookupRecordsRequest(recordNames: [share.recordName], zoneID: ZoneID(zoneName: zone.name))
        let found = try await post(.owner, .private, .lookupRecords, lookup, as: LookupRecordsResponse.self).results[0]
        guard case .record(var current) = found, var details = current.sharing.details else { throw WireError(.internalError, "no share") }
        details.participants.removeAll { removed.contains($0.identity.userRecordName) }
        current.sharing.details = details
        try await modify(.owner, [RecordOperation(.update, current)], in: zone)
        if zone == .stopped { try await modify(.owner, [RecordOperation(.forceDelete, Record(recordName: share.recordName))], in: zone) }
    }

    /// The first query builds its index, which a rehearsal would begin again and again.
    private func buildIndexes() async throws {
        for scope in [DatabaseScope.public, .private] {
            let cell = Matrix.Cell(
                operation: .queryRecords, scope: scope, probe: .read, zone: .defaultZone,
                sender: Matrix.Sender(role: .owner, kind: .deviceToken))
            let answer = try await send(cell)
            guard answer.code == "OK" else { throw WireError(.internalError, "the query is refused: \(answer.code)") }
        }
    }

    // MARK: Credentials

    private func addCredentials(_ clock: ClockReference) async throws {
        let store = storage.store
        func set(_ role: Matrix.Role, _ kind: Matrix.CredentialKind, _ state: Matrix.CredentialState, _ text: String) {
            data.withLock { $0.credentials[Matrix.Sender(role: role, kind: kind, state: state)] = text }
        }
        func apiToken(_ container: String, _ environment: CloudEnvironment) async throws -> String {
            try await store.addAPIToken(
                APIToken(containerIdentifier: container, environment: environment, label: "\(container) \(environment)"), now: Self.now)
        }
        let valid = data.withLock { $0.credentials[Matrix.Sender(role: .owner, kind: .deviceToken)] ?? "" }
        set(
            .owner, .deviceToken, .expired,
            try await store.addToken(userName: "owner", deviceLabel: "expired", now: Self.now, expires: Self.now - 1))
        set(
            .owner, .deviceToken, .revoked, try await store.addToken(userName: "owner", deviceLabel: "revoked", now: Self.now, expires: nil)
        )
        try await store.removeDevice(labelled: "revoked", ofUser: "owner")
        set(.owner, .deviceToken, .malformed, Self.changed(valid))

        let api = try await apiToken(Self.container, .development)
        data.withLock { $0.apiToken = api }
        set(.anonymous, .apiToken, .valid, api)
        set(.anonymous, .apiToken, .malformed, Self.changed(api))
        let otherContainer = try await apiToken(Self.otherContainer, .development)
        let otherEnvironment = try await apiToken(Self.container, .production)
        set(.anonymous, .apiToken, .otherContainer, otherContainer)
        set(.anonymous, .apiToken, .otherEnvironment, otherEnvironment)
        set(.anonymous, .apiToken, .revoked, try await apiToken("iCloud.revoked", .development))
        let revokedID = try await store.apiTokens().first { $0.containerIdentifier == "iCloud.revoked" }?.id
        try await store.removeAPIToken(id: revokedID ?? 0)

        for role in Matrix.Role.allCases where role.isUser { set(role, .webSession, .valid, try await webToken(role, api)) }
        let webToken = data.withLock { $0.credentials[Matrix.Sender(role: .owner, kind: .webSession)] ?? "" }
        set(.owner, .webSession, .malformed, Self.changed(webToken))
        set(.owner, .webSession, .otherContainer, try await self.webToken(.owner, otherContainer, Self.otherContainer))
        set(.owner, .webSession, .otherEnvironment, try await self.webToken(.owner, otherEnvironment, Self.container, .production))
        let revoked = try await self.webToken(.owner, api)
        try await service.sessions.signOut(token: revoked)
        set(.owner, .webSession, .revoked, revoked)
        clock.set(Self.now - 7_200_000)
        set(.owner, .webSession, .expired, try await self.webToken(.owner, api))
        clock.set(Self.now)

        try await addKey(.valid, Self.container, .development)
        try await addKey(.otherContainer, Self.otherContainer, .development)
        try await addKey(.otherEnvironment, Self.container, .production)
        let id = try await addKey(.revoked, Self.container, .development)
        try await store.removeServerKey(id: id)
    }

    @discardableResult
    private func addKey(_ state: Matrix.CredentialState, _ container: String, _ environment: CloudEnvironment) async throws -> String {
        let key = P256.Signing.PrivateKey()
        let id = try await storage.store.addServerKey(
            pem: key.publicKey.pemRepresentation, containerIdentifier: container, environment: environment, label: state.rawValue,
            now: Self.now)
        keys.withLock { $0[state] = Key(id: id, key: key) }
        return id
    }

    private func webToken(
        _ role: Matrix.Role, _ apiToken: String, _ container: String = container, _ environment: CloudEnvironment = .development
    ) async throws -> String {
        let token = data.withLock { $0.credentials[Matrix.Sender(role: role, kind: .deviceToken)] ?? "" }
        let path = DevicePath(containerIdentifier: container, environment: environment, operation: .webAuthToken).path
        let response = await service.respond(
            to: ServiceRequest(
                method: "POST", path: path, headers: ["authorization": "Bearer \(token)"],
                body: .bytes(WebAuthTokenRequest(apiToken: apiToken).encoded()), baseURL: Self.baseURL))
        guard case .bytes(let body) = response.body, response.status == 200 else { throw WireError(.internalError, "no web auth token") }
        return try WebAuthTokenResponse(json: body).webAuthToken
    }

    /// A token of the same form that this server did not make.
    private static func changed(_ token: String) -> String { token.dropLast() + (token.hasSuffix("0") ? "1" : "0") }
}
