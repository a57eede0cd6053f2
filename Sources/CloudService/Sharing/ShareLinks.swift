// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Links to shares: resolving and accepting them, and requests for access.
struct ShareLinks: ServiceSubject {
    let core: ServiceCore
    let restrictions: Restrictions
    let announcements: Announcements

    func resolve(_ exchange: Exchange) async throws -> ServiceResponse { try await shares(exchange, accepting: false) }

    func accept(_ exchange: Exchange) async throws -> ServiceResponse { try await shares(exchange, accepting: true) }

    private func shares(_ exchange: Exchange, accepting isAccepting: Bool) async throws -> ServiceResponse {
        let (request, profile) = try await shortGUIDs(exchange)
        var response = ShortGUIDsResponse(results: [])
        // Several links, or one that is named several times, may lead to large records.
        var room = engine.limits.responseRecordBytes
        for shortGUID in request.shortGUIDs {
            do {
                guard room > 0 else {
                    throw WireError(.badRequest, "the answer is too large: request fewer links", nativeCode: .limitExceeded)
                }
                let metadata = try await share(shortGUID, accepting: isAccepting, exchange.call, profile)
                room -= RecordSize.bytes(of: metadata.share) + (metadata.rootRecord.map(RecordSize.bytes) ?? 0)
                response.results.append(.share(metadata))
            } catch let error as WireError {
                response.results.append(.failure(shortGUID, error))
            }
        }
        return .json(response.encoded(as: exchange.call.form), endpoint: exchange.operation.rawValue)
    }

    func requestAccess(_ exchange: Exchange) async throws -> ServiceResponse {
        let (request, profile) = try await shortGUIDs(exchange)
        var response = AccessRequestsResponse(results: [])
        for shortGUID in request.shortGUIDs {
            do {
                response.results.append(try await requestAccess(shortGUID, exchange.call, profile))
            } catch let error as WireError {
                response.results.append(AccessRequestResult(shortGUID: shortGUID, error: error))
            }
        }
        return .json(response.encoded(), endpoint: exchange.operation.rawValue)
    }

    private func shortGUIDs(_ exchange: Exchange) async throws -> (ShortGUIDsRequest, AccountProfile?) {
        let request = try ShortGUIDsRequest(json: exchange.body)
        try engine.limits.checkCount(request.shortGUIDs.count, of: "short GUIDs", atMost: engine.limits.recordsPerResponse)
        guard let account = exchange.credentials.account else { return (request, nil) }
        return (request, try await accounts.profile(ofAccount: account))
    }

    private func share(
        _ shortGUID: ShortGUID, accepting isAccepting: Bool, _ call: Call, _ profile: AccountProfile?
    ) async throws -> ShareMetadata {
        let (target, reached) = try await reach(shortGUID, call)
        let engine = engine
        guard isAccepting else {
            return try await core.read(reached) { try engine.shares.resolve(shortGUID, target, profile, in: $0, reached) }
        }
        let outcome = try await core.write(reached) {
            try engine.shares.accept(shortGUID, target, profile, in: $0, reached)
        }
        await announcements.tell(outcome.notifications, outcome.news, reached)
        return outcome.response
    }

    private func requestAccess(
        _ shortGUID: ShortGUID, _ call: Call, _ profile: AccountProfile?
    ) async throws -> AccessRequestResult {
        let (target, reached) = try await reach(shortGUID, call)
        let engine = engine
        let outcome = try await core.write(reached) {
            try engine.shares.requestAccess(shortGUID, target, profile, in: $0, reached)
        }
        await announcements.tell(outcome.notifications, outcome.news, reached)
        return outcome.response
    }

    /// Where a link leads, and the call there.
    private func reach(_ shortGUID: ShortGUID, _ call: Call) async throws -> (LinkTarget, Call) {
        guard let link = engine.shares.link(inShortGUID: shortGUID.value), let target = try await storage.target(ofLink: link),
            target.partition.containerIdentifier == call.partition.containerIdentifier,
            target.partition.environment == call.partition.environment
        else { throw WireError(.notFound, "nothing is shared at this link") }
        var call = call
        call.partition = target.partition
        try await restrictions.check(call)
        return (target, call)
    }
}
