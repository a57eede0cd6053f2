// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension CloudService {
    /// The call with which an operation of the shared database reaches another user's zone.
    ///
    /// - Throws: `WireError` with `.zoneNotFound` for a zone without an owner, or of the caller's own.
    func call(_ call: Call, for zoneID: ZoneID?) async throws -> Call {
        guard call.partition.scope == .shared else { return call }
        guard let owner = zoneID?.ownerRecordName, UsersType.isUserRecordName(owner), owner != call.caller.userRecordName else {
            throw WireError(.zoneNotFound, "a zone of the shared database is named with its owner")
        }
        var call = call
        call.partition.scope = .private
        call.partition.owner = owner
        try await checkRestriction(call)
        return call
    }

    /// Changes in zones of several owners, each from its own partition. All zones share the room of one response.
    func sharedZoneChanges(_ request: ZoneChangesRequest, _ shared: Call) async throws -> ZoneChangesResponse {
        var room = try engine.feed.pageRoom(for: request, shared)
        var response = ZoneChangesResponse(zones: [])
        for query in request.zones {
            do {
                let call = try await call(shared, for: query.zoneID)
                let one = ZoneChangesRequest(zones: [query], resultsLimit: request.resultsLimit)
                let engine = engine
                let (page, roomLeft) = try await read(call) { [room] view in
                    var room = room
                    let page = try engine.feed.zoneChanges(one, room: &room, in: view, call)
                    return (page, room)
                }
                response.zones += page.zones
                room = roomLeft
            } catch let error as WireError {
                response.zones.append(.failure(query.zoneID, error))
            }
        }
        return response
    }

    /// The zones of others, each with its token, which its own partition knows.
    func sharedZones(_ shared: Call) async throws -> ZonesResponse {
        let engine = engine
        var response = try await read(shared) { try engine.zones.list(in: $0, shared) }
        for (index, result) in response.zones.enumerated() {
            guard case .zone(var zone) = result else { continue }
            do {
                let call = try await call(shared, for: zone.zoneID)
                zone.syncToken = try await read(call, isBrief: true) { [zone] in
                    try engine.tokens.shared(of: zone.zoneID, in: $0, call)
                }
                response.zones[index] = .zone(zone)
            } catch is WireError {
                // It is about to leave the list: the news of it is on the way.
            }
        }
        return response
    }

    func resolveShares(_ exchange: Exchange) async throws -> ServiceResponse { try await shares(exchange, accepting: false) }

    func acceptShares(_ exchange: Exchange) async throws -> ServiceResponse { try await shares(exchange, accepting: true) }

    private func shares(_ exchange: Exchange, accepting isAccepting: Bool) async throws -> ServiceResponse {
        let (request, profile) = try await shortGUIDs(exchange)
        var response = ShortGUIDsResponse(results: [])
        // Several links, or one that is named several times, may lead to large records.
        var room = engine.limits.responseRecordBytes
        for shortGUID in request.shortGUIDs {
            do {
                guard room > 0 else {
                    throw WireError(.badRequest, "the answer is too large: request fewer links", nativeCode: .limitExceeded)
                }
                let metadata = try await share(shortGUID, accepting: isAccepting, exchange.call, profile)
                room -= RecordSize.bytes(of: metadata.share) + (metadata.rootRecord.map(RecordSize.bytes) ?? 0)
                response.results.append(.share(metadata))
            } catch let error as WireError {
                response.results.append(.failure(shortGUID, error))
            }
        }
        return .json(response.encoded(as: exchange.call.form), endpoint: exchange.operation.rawValue)
    }

    func requestAccess(_ exchange: Exchange) async throws -> ServiceResponse {
        let (request, profile) = try await shortGUIDs(exchange)
        var response = AccessRequestsResponse(results: [])
        for shortGUID in request.shortGUIDs {
            do {
                response.results.append(try await requestAccess(shortGUID, exchange.call, profile))
            } catch let error as WireError {
                response.results.append(AccessRequestResult(shortGUID: shortGUID, error: error))
            }
        }
        return .json(response.encoded(), endpoint: exchange.operation.rawValue)
    }

    private func shortGUIDs(_ exchange: Exchange) async throws -> (ShortGUIDsRequest, AccountProfile?) {
        let request = try ShortGUIDsRequest(json: exchange.body)
        try engine.limits.checkCount(request.shortGUIDs.count, of: "short GUIDs", atMost: engine.limits.recordsPerResponse)
        guard let account = exchange.credentials.account else { return (request, nil) }
        return (request, try await accounts.profile(ofAccount: account))
    }

    private func share(
        _ shortGUID: ShortGUID, accepting isAccepting: Bool, _ call: Call, _ profile: AccountProfile?
    ) async throws -> ShareMetadata {
        let (target, reached) = try await reach(shortGUID, call)
        let engine = engine
        guard isAccepting else {
            return try await read(reached) { try engine.shares.resolve(shortGUID, target, profile, in: $0, reached) }
        }
        let outcome = try await write(reached) {
            try engine.shares.accept(shortGUID, target, profile, in: $0, reached)
        }
        await tell(outcome.notifications, outcome.news, reached)
        return outcome.response
    }

    private func requestAccess(
        _ shortGUID: ShortGUID, _ call: Call, _ profile: AccountProfile?
    ) async throws -> AccessRequestResult {
        let (target, reached) = try await reach(shortGUID, call)
        let engine = engine
        let outcome = try await write(reached) {
            try engine.shares.requestAccess(shortGUID, target, profile, in: $0, reached)
        }
        await tell(outcome.notifications, outcome.news, reached)
        return outcome.response
    }

    /// Where a link leads, and the call there.
    private func reach(_ shortGUID: ShortGUID, _ call: Call) async throws -> (LinkTarget, Call) {
        guard let link = engine.shares.link(inShortGUID: shortGUID.value), let target = try await storage.target(ofLink: link),
            target.partition.containerIdentifier == call.partition.containerIdentifier,
            target.partition.environment == call.partition.environment
        else { throw WireError(.notFound, "nothing is shared at this link") }
        var call = call
        call.partition = target.partition
        try await checkRestriction(call)
        return (target, call)
    }

    /// Fills in the record names of people that a request invites by address, and the owner's name.
    ///
    /// Only people that agreed to be found are named. For others the invitation has the address alone, by which they are found when they
    /// accept: otherwise an invitation would reveal accounts.
    func prepare(_ message: inout ModifyRecordsRequest, _ call: inout Call, _ credentials: Credentials) async throws {
        guard message.operations.contains(where: { $0.record.sharing.details != nil }) else { return }
        if let account = credentials.account, let profile = try await accounts.profile(ofAccount: account) {
            call.callerName = profile.name
        }
        var lookupCount = 0
        for index in message.operations.indices {
            guard var details = message.operations[index].record.sharing.details else { continue }
            // A copy: the property makes a list each time.
            var participants = details.participants
            let unknown = participants.indices.filter {
                participants[$0].identity.userRecordName.isEmpty && participants[$0].identity.lookupInfo != nil
            }
            lookupCount += unknown.count
            guard lookupCount <= Self.participantLookupsMax else {
                throw WireError(
                    .badRequest, "a request invites at most \(Self.participantLookupsMax) people by address", nativeCode: .limitExceeded)
            }
            for place in unknown {
                guard let info = participants[place].identity.lookupInfo,
                    let account = try await accounts.account(
                        matching: info, containerIdentifier: call.partition.containerIdentifier),
                    try await accounts.profile(ofAccount: account)?.isDiscoverable == true
                else { continue }
                participants[place].identity.userRecordName = try await userRecordName(
                    of: account, in: call.partition.containerIdentifier)
            }
            details.participants = participants
            message.operations[index].record.sharing.details = details
        }
    }

    /// People that a request looks up by address at most, since each lookup reads from the storage outside of a unit of work.
    private static let participantLookupsMax = 2000

    // MARK: News

    /// Notifies the listening devices of the owner, and updates the participants' lists of shared zones.
    ///
    /// It runs after the commit. ``deliverPendingNews()`` delivers updates that fail here.
    func tell(_ notifications: [PushNotification], _ news: [ShareNews], _ call: Call) async {
        // Subscriptions of several users can fire for one change.
        let byUser = Dictionary(grouping: notifications) { $0.userRecordName ?? call.caller.userRecordName }
        for (user, notifications) in byUser.sorted(by: { $0.key < $1.key }) {
            var audience = audience(of: call)
            audience.userRecordName = user
            // Devices of different users may have one name.
            push.publish(notifications, to: audience, exceptDevice: user == call.caller.userRecordName ? call.caller.deviceID : "")
        }
        try? await deliver(news, of: call.partition, exceptDevice: call.caller.deviceID)
    }

    private func deliver(_ news: [ShareNews], of partition: Partition, exceptDevice deviceID: String) async throws {
        guard !news.isEmpty else { return }
        let engine = engine
        for item in news {
            var target = partition
            target.scope = .shared
            target.owner = item.user
            let call = call(target, Caller(userRecordName: item.user, deviceID: deviceID), baseURL: "")
            let notifications = try await storage.write(target) {
                try engine.sharedZones.apply(item, ofOwner: partition.owner, in: $0, call)
            }
            if !notifications.isEmpty {
                push.publish(notifications, to: audience(of: call), exceptDevice: deviceID)
            }
        }
        try await storage.write(partition) { try $0.removeNews(news) }
    }

    /// Delivers news that a server left behind that ended too early. To be called at start and now and then.
    package func deliverPendingNews() async throws {
        while true {
            let pending = try await storage.pendingNews(limit: 200)
            guard !pending.isEmpty else { return }
            for item in pending { try await deliver([item.news], of: item.partition, exceptDevice: "") }
        }
    }
}
