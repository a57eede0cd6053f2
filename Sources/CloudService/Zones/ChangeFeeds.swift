// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Handlers of the operations on changes.
struct ChangeFeeds: ServiceSubject {
    let core: ServiceCore
    let units: UnitsOfWork
    let sharedZones: SharedZones
    let snapshots: SnapshotService

    func databaseChanges(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try DatabaseChangesRequest(json: exchange.body)
        let engine = engine
        return try await units.read(exchange, isBrief: true) { try engine.feed.databaseChanges(message, in: $0, $1) }
    }

    func zoneChanges(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try ZoneChangesRequest(json: exchange.body)
        try profile.check(message)
        if exchange.call.partition.scope == .shared {
            let response = try await sharedZones.changes(message, exchange.call)
            return .json(
                response.encoded(numbersAsStrings: message.numbersAsStrings, as: exchange.call.form), endpoint: exchange.operation.rawValue)
        }
        if let offer = await snapshots.offer(for: message, exchange.call) {
            return .json(offer.encoded(as: exchange.call.form), endpoint: exchange.operation.rawValue)
        }
        let engine = engine
        // Stored texts of deleted records have their types.
        let asTexts = profile.namesTypesOfDeletedRecords
        return try await units.read(exchange, numbersAsStrings: message.numbersAsStrings, isBrief: true) {
            try engine.feed.zoneChanges(message, asTexts: asTexts, in: $0, $1)
        }
    }

    /// The older form of ``databaseChanges(_:)``.
    func changedZones(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try ChangedZonesRequest(json: exchange.body)
        let engine = engine
        return try await units.read(exchange) { try engine.olderChanges.changedZones(message, in: $0, $1) }
    }

    /// The older form of ``zoneChanges(_:)``.
    func recordChanges(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try RecordChangesRequest(json: exchange.body)
        let engine = engine
        return try await units.read(
            try await sharedZones.route(exchange, toZone: message.zone.zoneID), numbersAsStrings: message.numbersAsStrings
        ) {
            try engine.olderChanges.recordChanges(message, in: $0, $1)
        }
    }
}
