// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Saves that are sent as several requests.
struct SaveGroupService: ServiceSubject {
    let core: ServiceCore
    let units: UnitsOfWork

    /// Stages a request of a group, or executes the group with its last one.
    ///
    ///     part 0 ─▶ staged ─┐
    ///     part 1 ─▶ staged ─┼─▶ one transaction: all parts, and the answer under the key of the last one
    ///     part 2 ───────────┘
    ///
    /// The response to the last request covers the group. If it is lost, a retry gets the same response.
    func modify(_ message: ModifyRecordsRequest, _ group: SaveGroup, _ exchange: Exchange) async throws -> ServiceResponse {
        let engine = engine
        guard let key = exchange.storedKey else { throw WireError(.badRequest, "a request of a group needs an idempotency key") }
        guard group.isLast else {
            let response = try await core.write(exchange.call) { [body = exchange.body, call = exchange.call] in
                try engine.saveGroups.stage(message, group, body: body, in: $0, call)
            }
            return .json(response.encoded(), endpoint: exchange.operation.rawValue)
        }
        do {
            return try await units.write(exchange, numbersAsStrings: message.numbersAsStrings, parts: group.parts) {
                try engine.saveGroups.execute(message, group, in: $0, $1)
            }
        } catch let refused as SaveGroupRefused {
            // Nothing of the transaction is left, so that the answer is stored by another one.
            let body = refused.response.encoded(numbersAsStrings: message.numbersAsStrings, as: exchange.call.form)
            let answer = try await core.write(exchange.call) { [call = exchange.call, fingerprint = exchange.fingerprint] unit in
                if let earlier = try unit.answer(toKey: key) { return earlier.body }
                try unit.remember(StoredAnswer(fingerprint: fingerprint, body: body), forKey: key, at: call.now)
                try unit.removeStaged(call.key(of: group))
                try engine.quotas.trimAnswers(exceptKey: key, of: call.partition, in: unit)
                return body
            }
            return .json(answer, endpoint: exchange.operation.rawValue)
        }
    }
}
