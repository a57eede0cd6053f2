// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension CloudService {
    /// Reads the partition of a call, for its sender.
    func read<Value: Sendable>(
        _ call: Call, isBrief: Bool = false, _ body: @escaping @Sendable (any PartitionReader) throws -> Value
    ) async throws -> Value {
        let terms = WorkTerms(requester: call.requester, milliseconds: engine.limits.readMilliseconds)
        return isBrief ? try await storage.readBriefly(call.partition, terms, body) : try await storage.read(call.partition, terms, body)
    }

    /// Writes to the partition of a call, for its sender.
    ///
    /// - Parameter parts: Requests that are executed together.
    func write<Value: Sendable>(
        _ call: Call, parts: Int = 1, _ body: @escaping @Sendable (any PartitionWriter) throws -> Value
    ) async throws -> Value {
        let terms = WorkTerms(requester: call.requester, milliseconds: engine.limits.writeMilliseconds(ofParts: parts))
        return try await storage.write(call.partition, terms, body)
    }

    func read<Response: WireMessage>(
        _ exchange: Exchange, numbersAsStrings: Bool = false, isBrief: Bool = false,
        _ body: @escaping @Sendable (any PartitionReader, Call) throws -> Response
    ) async throws -> ServiceResponse {
        let call = exchange.call
        let response = try await read(call, isBrief: isBrief) { try body($0, call) }
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
            let earlier = try await write(exchange.call) { [engine] unit -> StoredAnswer? in
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
        let (stored, outcome) = try await write(call, parts: parts) { [engine] unit -> ([UInt8]?, Outcome<Response>?) in
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
            let fired = await evaluate(outcome.rounds)
            await tell(outcome.notifications + fired, outcome.news, call)
            if outcome.changesPublicDatabase { tellEverybody(call) }
            await empty(outcome.zonesToEmpty, call)
        }
        guard let answer = stored ?? outcome.map({ encode($0.response) }) else {
            preconditionFailure("a request has an outcome or a stored response")
        }
        return .json(answer, endpoint: exchange.operation.rawValue)
    }

    /// Processor time of the query subscriptions of one request, in addition to the limit of their work.
    private static let evaluationMilliseconds = 1000

    /// Evaluates query subscriptions on a reader, never on the writer, and accounts in turn. A failure costs notifications: the request has been carried out.
    func evaluate(_ rounds: [SubscriptionRound]) async -> [PushNotification] {
        var notifications: [PushNotification] = []
        let engine = engine
        for round in rounds {
            let partition = round.call.partition
            let terms = WorkTerms(
                requester: round.call.requester, milliseconds: min(Self.evaluationMilliseconds, engine.limits.readMilliseconds),
                isBackground: true)
            guard let fired = try? await storage.read(partition, terms, { try engine.firing.evaluate(round, in: $0) }) else { continue }
            notifications += fired.notifications
            guard !fired.retired.isEmpty else { continue }
            try? await write(round.call) { try engine.firing.retire(fired.retired, in: $0, partition) }
        }
        return notifications
    }
}
