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
        let account = sender(of: exchange)
        let routed = try await sharedZones.route(exchange, toZone: message.zoneID)
        return try await units.write(routed) { [budgets] unit, call -> Outcome<RereferenceAssetsResponse> in
            let outcome = try engine.assets.rereference(message, in: unit, call)
            // A field may have a list of thousands of assets.
            budgets.deduct(Self.receiptCount(outcome.response) - message.assets.count, from: account, now: call.now)
            return outcome
        }
    }

    private static func receiptCount(_ response: RereferenceAssetsResponse) -> Int {
        response.assets.reduce(0) { sum, result in
            switch result {
            case .asset: sum + 1
            case .list(let assets): sum + Set(assets.compactMap { $0.receipt }).count
            case .failure: sum
            }
        }
    }

    /// Takes uploads out of the budget of their account, all or none. Each is a row that is stored for a day and has no room in a quota.
    ///
    /// - Throws: `WireError` with `.throttled` for more than ``Limits/openUploads`` in a minute, `.badRequest` for too many in one request.
    private func takeUploads(_ count: Int, of exchange: Exchange) throws(WireError) {
        try engine.limits.checkCount(count, of: "asset tokens", atMost: engine.limits.assetTokensPerRequest)
        guard count > 0 else { return }
        if let wait = budgets.take(count, of: sender(of: exchange), now: surroundings.now())?.wait {
            throw WireError(.throttled, "too many uploads are requested in a minute", retryAfter: wait)
        }
    }

    /// Operators in the console share a budget. Anonymous clients upload nothing.
    private func sender(of exchange: Exchange) -> RequestBudgets.Sender { exchange.credentials.sender(from: "") }
}
