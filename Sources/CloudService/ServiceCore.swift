// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// What all subjects of the service use: the engine, the storages, and units of work for the sender of a call.
///
/// It is a class, so that a subject that has it costs one reference.
final class ServiceCore: Sendable {
    let engine: Engine
    let storage: any EngineStorage
    let accounts: any AccountStorage
    let push: any PushBus
    let surroundings: CloudService.Surroundings
    /// Offered extensions of the documented protocol.
    let offered: Set<Capability>
    /// The protocol that is offered.
    let profile: ServiceProfile

    init(
        engine: Engine, storage: any EngineStorage, accounts: any AccountStorage, push: any PushBus,
        surroundings: CloudService.Surroundings, offered: Set<Capability>, profile: ServiceProfile
    ) {
        self.engine = engine
        self.storage = storage
        self.accounts = accounts
        self.push = push
        self.surroundings = surroundings
        self.offered = offered
        self.profile = profile
    }

    // MARK: Requests

    /// Extensions of the documented protocol that a request asks for. Unknown names are skipped.
    func capabilities(askedBy request: ServiceRequest) -> Set<Capability> {
        request.header(HeaderNames.capabilities).map { Capability.parse($0).intersection(offered) } ?? []
    }

    /// Whether the response is for a program that may be written for the live service.
    func hasLiveKeys(_ request: ServiceRequest) -> Bool { profile.alwaysHasLiveKeys || request.header(HeaderNames.capabilities) == nil }

    // MARK: Calls

    func call(_ partition: Partition, _ caller: Caller, baseURL: String) -> Call {
        let surroundings = surroundings
        return Call(
            partition: partition, caller: caller, now: surroundings.now(), baseURL: baseURL,
            makeIdentifier: { surroundings.makeIdentifier() })
    }

    func userRecordName(of account: Int64, in containerIdentifier: String) async throws -> String {
        try await accounts.userRecordName(
            account: account, containerIdentifier: containerIdentifier,
            proposal: engine.sealer.userRecordName(ofAccount: account, in: containerIdentifier))
    }

    // MARK: Units of work

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
}

extension Limits {
    /// Requests of a group for which its time grows by that of one request.
    private static let partsPerBudget = 8
    /// Times of one request that a group has at most, since all other saves wait for it. A group of 128 requests with 200 records takes 1 to
    /// 3 s in release, of 10 s by default.
    private static let budgetsPerUnitMax = 2

    /// Milliseconds of processor time of one unit of work.
    ///
    /// - Parameter parts: Requests that the unit executes.
    func writeMilliseconds(ofParts parts: Int) -> Int {
        writeMilliseconds * min(1 + max(1, parts) / Self.partsPerBudget, Self.budgetsPerUnitMax)
    }
}

/// A subject of the service: handlers of operations, or work of the server, that have one reason to change.
///
/// It has the core, and of the pieces and subjects of the service those that it uses.
protocol ServiceSubject: Sendable {
    var core: ServiceCore { get }
}

extension ServiceSubject {
    var engine: Engine { core.engine }
    var storage: any EngineStorage { core.storage }
    var accounts: any AccountStorage { core.accounts }
    var push: any PushBus { core.push }
    var surroundings: CloudService.Surroundings { core.surroundings }
    var profile: ServiceProfile { core.profile }
}
