// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Handlers of the operations on assets.
struct AssetService: ServiceSubject {
    let core: ServiceCore
    let units: UnitsOfWork
    let sharedZones: SharedZones

    func upload(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try AssetUploadRequest(json: exchange.body)
        let engine = engine
        return try await units.write(try await sharedZones.route(exchange, toZone: message.zoneID)) {
            try engine.assets.requestUploads(message, in: $0, $1)
        }
    }

    func rereference(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try RereferenceAssetsRequest(json: exchange.body)
        let engine = engine
        return try await units.write(try await sharedZones.route(exchange, toZone: message.zoneID)) {
            try engine.assets.rereference(message, in: $0, $1)
        }
    }
}
