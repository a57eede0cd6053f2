// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Handlers of the operations on subscriptions.
struct SubscriptionRequests: ServiceSubject {
    let core: ServiceCore
    let units: UnitsOfWork

    func list(_ exchange: Exchange) async throws -> ServiceResponse {
        let engine = engine
        return try await units.read(exchange, isBrief: true) { try engine.listSubscriptions(in: $0, $1) }
    }

    func lookup(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try SubscriptionsLookupRequest(json: exchange.body)
        let engine = engine
        return try await units.read(exchange, isBrief: true) { try engine.lookupSubscriptions(message, in: $0, $1) }
    }

    func modify(_ exchange: Exchange) async throws -> ServiceResponse {
        let message = try SubscriptionsModifyRequest(json: exchange.body)
        for operation in message.operations { try profile.check(operation) }
        let engine = engine
        return try await units.write(exchange) { try engine.modifySubscriptions(message, in: $0, $1) }
    }
}
