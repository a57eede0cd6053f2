// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension CloudService {
    func read<Response: WireMessage>(
        _ exchange: Exchange, numbersAsStrings: Bool = false, isBrief: Bool = false,
        _ body: @escaping @Sendable (any PartitionReader, Call) throws -> Response
    ) async throws -> ServiceResponse {
        let call = exchange.call
        let response =
            isBrief
            ? try await storage.readBriefly(call.partition) { try body($0, call) } : try await storage.read(call.partition) { try body($0, call) }
        return .json(response.encoded(numbersAsStrings: numbersAsStrings, as: call.form), endpoint: exchange.operation.rawValue)
    }

    /// Carries a request out once, however often it arrives with the same key, or not at all if it was refused for the lack of its zone.
    ///
    /// The answer is stored with the key in the transaction that writes. Notifications go out after the commit; if
    /// the server ends in between, devices catch up by their tokens when they listen again.
    func write<Response: WireMessage>(
        _ exchange: Exchange, numbersAsStrings: Bool = false, _ body: @escaping @Sendable (any PartitionWriter, Call) throws -> Outcome<Response>
    ) async throws -> ServiceResponse {
        do {
            return try await writeOnce(exchange, numbersAsStrings: numbersAsStrings, body)
        } catch let error as WireError where error.code == .zoneNotFound {
            // Its user may make the zone again, and the same request come late: whoever sent it has given it up by then. In databases of
            // others nothing is written down for who names a zone that is not there.
            guard let key = exchange.storedKey, !exchange.call.isParticipant else { throw error }
            let earlier = try await storage.write(exchange.call.partition) { unit -> StoredAnswer? in
                if let stored = try unit.answer(toKey: key) { return stored }
                try unit.remember(StoredAnswer(fingerprint: exchange.fingerprint, refusing: error), forKey: key, at: exchange.call.now)
                return nil
            }
            guard let earlier, earlier.fingerprint == exchange.fingerprint, try earlier.refusal() == nil else { throw error }
            return .json(earlier.body, endpoint: exchange.operation.rawValue)
        }
    }

    private func writeOnce<Response: WireMessage>(
        _ exchange: Exchange, numbersAsStrings: Bool, _ body: @escaping @Sendable (any PartitionWriter, Call) throws -> Outcome<Response>
    ) async throws -> ServiceResponse {
        let call = exchange.call
        let encode = { @Sendable (response: Response) in response.encoded(numbersAsStrings: numbersAsStrings, as: call.form) }
        let (stored, outcome) = try await storage.write(call.partition) { unit -> ([UInt8]?, Outcome<Response>?) in
            // What need not be stored is encoded while others write.
            guard let key = exchange.storedKey else { return (nil, try body(unit, call)) }
            let fingerprint = exchange.fingerprint
            if let stored = try unit.answer(toKey: key) {
                guard stored.fingerprint == fingerprint else {
                    throw WireError(.badRequest, "the idempotency key was used for another request")
                }
                if let refusal = try stored.refusal() { throw refusal }
                return (stored.body, nil)
            }
            // The key is no part of what was signed: a repeated request with a key of its own would write again.
            if exchange.credentials.isRepeated { throw Self.sentBefore }
            let outcome = try body(unit, call)
            let answer = encode(outcome.response)
            // What is sent again once something has come before it is not answered as it was.
            if let incomplete = outcome.response as? ModifyRecordsResponse, case .missing? = incomplete.saveGroup { return (answer, nil) }
            try unit.remember(StoredAnswer(fingerprint: fingerprint, body: answer), forKey: key, at: call.now)
            return (answer, outcome)
        }
        if let outcome {
            await tell(outcome.notifications, outcome.news, call)
            if outcome.changesPublicDatabase { tellEverybody(call) }
        }
        guard let answer = stored ?? outcome.map({ encode($0.response) }) else {
            preconditionFailure("a request is answered by what it did or by what is stored")
        }
        return .json(answer, endpoint: exchange.operation.rawValue)
    }
}
