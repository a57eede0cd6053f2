// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension CloudService {
    func listZones(_ exchange: Exchange) async throws -> ServiceResponse {
        if exchange.call.partition.scope == .shared {
            let response = try await sharedZones(exchange.call)
            return .json(response.encoded(as: exchange.call.form), endpoint: exchange.operation.rawValue)
        }
        let engine = engine
        return try await read(exchange) { try engine.zones.list(in: $0, $1) }
    }

    func lookupZones(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try ZonesLookupRequest(json: exchange.body)
        let engine = engine
        return try await read(exchange, isBrief: true) { try engine.zones.lookup(message, in: $0, $1) }
    }

    func modifyZones(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try ZonesModifyRequest(json: exchange.body)
        let engine = engine
        let response = try await write(exchange) { try engine.zones.modify(message, in: $0, $1) }
        if message.operations.contains(where: { if case .delete = $0 { true } else { false } }) {
            await removeStaleSnapshots(of: exchange.call.partition)
        }
        return response
    }

    /// Removes the contents of zones that a request deleted, in units that others do not wait for. A failure leaves them to
    /// ``emptyDeletedZones()``.
    func empty(_ zones: [Int64], _ call: Call) async {
        let terms = WorkTerms(requester: call.requester, milliseconds: engine.limits.writeMilliseconds, isBackground: true)
        for zone in zones { try? await storage.empty(ZoneToEmpty(partition: call.partition, key: zone, time: call.now), terms) }
    }

    /// Removes the contents of deleted zones that a server left behind that ended too early. To be called at start and now and then.
    ///
    /// - Throws: The last error, after the other zones were emptied.
    package func emptyDeletedZones() async throws {
        var failure: (any Error)?
        for zone in try await storage.zonesToEmpty(limit: 1000) {
            do { try await storage.empty(zone) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    // MARK: Change feeds

    func databaseChanges(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try DatabaseChangesRequest(json: exchange.body)
        let engine = engine
        return try await read(exchange, isBrief: true) { try engine.feed.databaseChanges(message, in: $0, $1) }
    }

    func zoneChanges(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try ZoneChangesRequest(json: exchange.body)
        try profile.check(message)
        if exchange.call.partition.scope == .shared {
            let response = try await sharedZoneChanges(message, exchange.call)
            return .json(
                response.encoded(numbersAsStrings: message.numbersAsStrings, as: exchange.call.form), endpoint: exchange.operation.rawValue)
        }
        if let offer = await snapshotOffer(message, exchange.call) {
            return .json(offer.encoded(as: exchange.call.form), endpoint: exchange.operation.rawValue)
        }
        let engine = engine
        // Stored texts of deleted records have their types.
        let asTexts = profile.namesTypesOfDeletedRecords
        return try await read(exchange, numbersAsStrings: message.numbersAsStrings, isBrief: true) {
            try engine.feed.zoneChanges(message, asTexts: asTexts, in: $0, $1)
        }
    }

    /// The older form of ``databaseChanges(_:)``.
    func changedZones(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try ChangedZonesRequest(json: exchange.body)
        let engine = engine
        return try await read(exchange) { try engine.olderChanges.changedZones(message, in: $0, $1) }
    }

    /// The older form of ``zoneChanges(_:)``.
    func recordChanges(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try RecordChangesRequest(json: exchange.body)
        let engine = engine
        return try await read(try await route(exchange, toZone: message.zone.zoneID), numbersAsStrings: message.numbersAsStrings) {
            try engine.olderChanges.recordChanges(message, in: $0, $1)
        }
    }
}
