// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Handlers of the operations on assets.
struct AssetService: ServiceSubject {
    let core: ServiceCore
    let units: UnitsOfWork
    let sharedZones: SharedZones
    /// Uploads and receipts of an account that no limit of a private database counts.
    let budgets: RequestBudgets

    func upload(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try AssetUploadRequest(json: exchange.body)
        // The owner of a private database may have so many open uploads.
        if exchange.call.partition.scope != .private { try takeUploads(message.items.count, of: exchange) }
        let engine = engine
        return try await units.write(try await sharedZones.route(exchange, toZone: message.zoneID)) {
            try engine.assets.requestUploads(message, in: $0, $1)
        }
    }

    func rereference(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try RereferenceAssetsRequest(json: exchange.body)
        try takeUploads(message.assets.count, of: exchange)
        let engine = engine
        return try await units.write(try await sharedZones.route(exchange, toZone: message.zoneID)) {
            try engine.assets.rereference(message, in: $0, $1)
        }
    }

    /// Takes uploads out of the budget of their account. Each is a row that is stored for a day and has no room in a quota.
    ///
    /// - Throws: `WireError` with `.throttled` for more than ``Limits/openUploads`` in a minute, `.badRequest` for too many in one request.
    private func takeUploads(_ count: Int, of exchange: Exchange) throws(WireError) {
        try engine.limits.checkCount(count, of: "asset tokens", atMost: engine.limits.assetTokensPerRequest)
        // Anonymous clients upload nothing.
        let sender = exchange.credentials.sender(from: "")
        for _ in 0..<count {
            if let wait = budgets.take(sender, now: surroundings.now())?.wait {
                throw WireError(.throttled, "too many uploads are requested in a minute", retryAfter: wait)
            }
        }
    }
}
