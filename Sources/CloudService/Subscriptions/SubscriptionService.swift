// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Handlers of the operations on subscriptions.
struct SubscriptionService: ServiceSubject {
    let core: ServiceCore
    let units: UnitsOfWork

    func list(_ exchange: Exchange) async throws -> ServiceResponse {
        let engine = engine
        return try await units.read(exchange, isBrief: true) { try engine.subscriptions.list(in: $0, $1) }
    }

    func lookup(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try SubscriptionsLookupRequest(json: exchange.body)
        let engine = engine
        return try await units.read(exchange, isBrief: true) { try engine.subscriptions.lookup(message, in: $0, $1) }
    }

    func modify(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try SubscriptionsModifyRequest(json: exchange.body)
        for operation in message.operations { try profile.check(operation) }
        let engine = engine
        return try await units.write(exchange) { try engine.subscriptions.modify(message, in: $0, $1) }
    }
}
