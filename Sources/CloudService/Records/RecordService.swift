// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Handlers of the operations on records.
struct RecordService: ServiceSubject {
    let core: ServiceCore
    let units: UnitsOfWork
    let sharedZones: SharedZones
    let invitations: Invitations
    let saveGroups: SaveGroupService
    let indexBuilding: IndexBuilding

    func modify(_ exchange: Exchange) async throws -> ServiceResponse {
        var message = try ModifyRecordsRequest(json: exchange.body)
        try profile.check(message)
        var exchange = try await sharedZones.route(exchange, toZone: message.zoneID)
        exchange.call.isFollowed = push.isFollowed(
            PushAudience(of: exchange.call), exceptDevice: exchange.call.isParticipant ? "" : exchange.call.caller.deviceID)
        try await invitations.prepare(&message, &exchange.call, exchange.credentials)
        if let group = message.saveGroup, exchange.call.capabilities.contains(.wholeSaves) {
            return try await saveGroups.modify(message, group, exchange)
        }
        let engine = engine
        return try await units.write(exchange, numbersAsStrings: message.numbersAsStrings) { [message] in
            try engine.records.modify(message, in: $0, $1)
        }
    }

    func lookup(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try LookupRecordsRequest(json: exchange.body)
        let engine = engine
        return try await units.read(
            try await sharedZones.route(exchange, toZone: message.zoneID), numbersAsStrings: message.numbersAsStrings, isBrief: true
        ) {
            try engine.records.lookup(message, in: $0, $1)
        }
    }

    /// Runs a query. Indexes that it is the first to need are built before, as far as ``Limits/recordsIndexedPerQuery`` allows.
    ///
    /// - Throws: `WireError` `.tryAgainLater` if the build takes longer; it continues after the answer.
    func query(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try QueryRecordsRequest(json: exchange.body)
        guard !message.zoneWide || message.zoneID != nil || exchange.call.partition.scope != .shared else {
            // The zones of the shared database are in as many partitions as there are owners.
            throw WireError(.badRequest, "the shared database does not support zone wide queries: name a zone with its owner")
        }
        let exchange = try await sharedZones.route(exchange, toZone: message.zoneID)
        let engine = engine
        while true {
            do {
                return try await units.read(exchange, numbersAsStrings: message.numbersAsStrings) { [profile] in
                    var response = try engine.queries.page(message, in: $0, $1)
                    guard profile.hasLaggingIndexes else { return response }
                    let now = $1.now
                    response.results.removeAll { if case .record(let record) = $0 { !profile.shows(record, at: now) } else { false } }
                    return response
                }
            } catch let missing as IndexesMissing {
                try await indexBuilding.build(missing.indexes, for: exchange.call)
            }
        }
    }
}
