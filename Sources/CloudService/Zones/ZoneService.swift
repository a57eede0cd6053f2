// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Handlers of the operations on zones.
struct ZoneService: ServiceSubject {
    let core: ServiceCore
    let units: UnitsOfWork
    let sharedZones: SharedZones
    let snapshots: SnapshotService

    func list(_ exchange: Exchange) async throws -> ServiceResponse {
        if exchange.call.partition.scope == .shared {
            let response = try await sharedZones.list(exchange.call)
            return .json(response.encoded(as: exchange.call.form), endpoint: exchange.operation.rawValue)
        }
        let engine = engine
        return try await units.read(exchange) { try engine.zones.list(in: $0, $1) }
    }

    func lookup(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try ZonesLookupRequest(json: exchange.body)
        let engine = engine
        return try await units.read(exchange, isBrief: true) { try engine.zones.lookup(message, in: $0, $1) }
    }

    func modify(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try ZonesModifyRequest(json: exchange.body)
        let engine = engine
        let response = try await units.write(exchange) { try engine.zones.modify(message, in: $0, $1) }
        if message.operations.contains(where: { if case .delete = $0 { true } else { false } }) {
            await snapshots.removeStale(of: exchange.call.partition)
        }
        return response
    }
}
