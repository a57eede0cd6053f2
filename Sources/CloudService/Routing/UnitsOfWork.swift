// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Units of work that answer an exchange.
struct UnitsOfWork: ServiceSubject {
    let core: ServiceCore
    let announcements: Announcements
    let deletedZones: DeletedZones

    func read<Response: WireMessage>(
        _ exchange: Exchange, numbersAsStrings: Bool = false, isBrief: Bool = false,
        _ body: @escaping @Sendable (any PartitionReader, Call) throws -> Response
    ) async throws -> ServiceResponse {
        let call = exchange.call
        let response = try await core.read(call, isBrief: isBrief) { try body($0, call) }
        return .json(response.encoded(numbersAsStrings: numbersAsStrings, as: call.form), endpoint: exchange.operation.rawValue)
    }

    /// Carries a request out once, however often it arrives with the same key, or not at all if it was refused for the lack of its zone.
    ///
    /// The answer is stored with the key in the transaction that writes. Notifications go out after the commit; if
    /// the server ends in between, devices catch up by their tokens when they listen again.
    func write<Response: WireMessage>(
        _ exchange: Exchange, numbersAsStrings: Bool = false, parts: Int = 1,
        _ body: @escaping @Sendable (any PartitionWriter, Call) throws -> Outcome<Response>
    ) async throws -> ServiceResponse {
        do {
            return try await writeOnce(exchange, numbersAsStrings: numbersAsStrings, parts: parts, body)
        } catch let error as WireError where error.code == .zoneNotFound {
            // The user may create the zone again, and the same request arrive late: its client has given it up by then. In databases of
            // others nothing is stored for a missing zone.
            guard let key = exchange.storedKey, !exchange.call.isParticipant else { throw error }
            let earlier = try await core.write(exchange.call) { [engine] unit -> StoredAnswer? in
                if let stored = try unit.answer(toKey: key) { return stored }
                try unit.remember(StoredAnswer(fingerprint: exchange.fingerprint, refusing: error), forKey: key, at: exchange.call.now)
                try engine.quotas.trimAnswers(exceptKey: key, of: exchange.call.partition, in: unit)
                return nil
            }
            guard let earlier, earlier.fingerprint == exchange.fingerprint, try earlier.refusal() == nil else { throw error }
            return .json(earlier.body, endpoint: exchange.operation.rawValue)
        }
    }

    private func writeOnce<Response: WireMessage>(
        _ exchange: Exchange, numbersAsStrings: Bool, parts: Int,
        _ body: @escaping @Sendable (any PartitionWriter, Call) throws -> Outcome<Response>
    ) async throws -> ServiceResponse {
        let call = exchange.call
        let encode = { @Sendable (response: Response) in response.encoded(numbersAsStrings: numbersAsStrings, as: call.form) }
        // Computed while others write.
        let fingerprint = exchange.storedKey == nil ? 0 : exchange.fingerprint
        let (stored, outcome) = try await core.write(call, parts: parts) { [engine] unit -> ([UInt8]?, Outcome<Response>?) in
            // What need not be stored is encoded while others write.
            guard let key = exchange.storedKey else {
                let outcome = try body(unit, call)
                try engine.quotas.trimAnswers(exceptKey: nil, of: call.partition, in: unit)
                return (nil, outcome)
            }
            if let stored = try unit.answer(toKey: key) {
                guard stored.fingerprint == fingerprint else {
                    throw WireError(.badRequest, "the idempotency key was used for another request")
                }
                if let refusal = try stored.refusal() { throw refusal }
                return (stored.body, nil)
            }
            // The key is not signed: a repeated request with another key would write again.
            if exchange.credentials.isRepeated { throw RequestCredentials.sentBefore }
            let outcome = try body(unit, call)
            let answer = encode(outcome.response)
            // A request that is repeated once its missing parts have arrived gets another response.
            if let incomplete = outcome.response as? ModifyRecordsResponse, case .missing? = incomplete.saveGroup { return (answer, nil) }
            try unit.remember(StoredAnswer(fingerprint: fingerprint, body: answer), forKey: key, at: call.now)
            try engine.quotas.trimAnswers(exceptKey: key, of: call.partition, in: unit)
            return (answer, outcome)
        }
        if let outcome {
            let fired = await announcements.evaluate(outcome.rounds)
            await announcements.tell(outcome.notifications + fired, outcome.news, call)
            if outcome.changesPublicDatabase { announcements.tellEverybody(call) }
            await deletedZones.empty(outcome.zonesToEmpty, call)
        }
        guard let answer = stored ?? outcome.map({ encode($0.response) }) else {
            preconditionFailure("a request has an outcome or a stored response")
        }
        return .json(answer, endpoint: exchange.operation.rawValue)
    }
}
