// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The zones that others share with the caller, each in its owner's partition.
struct SharedZones: ServiceSubject {
    let core: ServiceCore
    let restrictions: Restrictions

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
        try await restrictions.check(call)
        return call
    }

    /// Changes in zones of several owners, each from its own partition. All zones share the room of one response.
    func changes(_ request: ZoneChangesRequest, _ shared: Call) async throws -> ZoneChangesResponse {
        var room = try engine.feed.pageRoom(for: request, shared)
        var response = ZoneChangesResponse(zones: [])
        for query in request.zones {
            do {
                let call = try await call(shared, for: query.zoneID)
                let one = ZoneChangesRequest(zones: [query], resultsLimit: request.resultsLimit)
                let engine = engine
                let (page, roomLeft) = try await core.read(call) { [room] view in
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
    func list(_ shared: Call) async throws -> ZonesResponse {
        let engine = engine
        var response = try await core.read(shared) { try engine.zones.list(in: $0, shared) }
        for (index, result) in response.zones.enumerated() {
            guard case .zone(var zone) = result else { continue }
            do {
                let call = try await call(shared, for: zone.zoneID)
                zone.syncToken = try await core.read(call, isBrief: true) { [zone] in
                    try engine.tokens.shared(of: zone.zoneID, in: $0, call)
                }
                response.zones[index] = .zone(zone)
            } catch is WireError {
                // It is about to leave the list: the news of it is on the way.
            }
        }
        return response
    }

    /// The exchange as it reaches the partition of a zone.
    func route(_ exchange: Exchange, toZone zoneID: ZoneID?) async throws -> Exchange {
        var exchange = exchange
        exchange.call = try await call(exchange.call, for: zoneID)
        return exchange
    }
}
