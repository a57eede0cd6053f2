// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import CoreData
import Foundation
import Synchronization
import TarnMirror

/// Rejects requests of one operation with a text in their body, instead of the server.
final class Refusals: Sendable {
    private let refused = Mutex<(operation: String, text: Data, response: MirrorResponse)?>(nil)
    private let gateway = Mutex<(operation: String, response: MirrorResponse)?>(nil)
    private let assetStatuses = Mutex<[Int]>([])
    private let repeated = Mutex<(operation: String, body: Data, count: Int)?>(nil)

    /// Requests of the operation that were answered with the same body.
    var repeatedCount: Int { repeated.withLock { $0?.count ?? 0 } }

    /// Answers each request of an operation with the same body.
    func answerAll(_ operation: String, _ body: [UInt8]) { repeated.withLock { $0 = (operation, Data(body), 0) } }

    private func repeatedAnswer(to path: String) -> MirrorResponse? {
        repeated.withLock { repeated in
            guard let (operation, body, count) = repeated, path.hasSuffix(operation) else { return nil }
            repeated?.count = count + 1
            return MirrorResponse(status: 200, headers: [:], body: body)
        }
    }

    func refuse(_ operation: String, containing text: String, status: Int, _ error: WireError) {
        let response = MirrorResponse(status: status, headers: [:], body: Data(error.encoded()))
        refused.withLock { $0 = (operation, Data(text.utf8), response) }
    }

    /// The server executes the next request of an operation, and its answer says that it may not have been executed.
    func giveUpOnce(_ operation: String, status: Int, body: String) {
        let response = MirrorResponse(status: status, headers: [:], body: Data(body.utf8))
        gateway.withLock { $0 = (operation, response) }
    }

    /// The next downloads of assets fail with these statuses.
    func refuseAssets(_ statuses: Int...) { assetStatuses.withLock { $0 += statuses } }

    func assetRefusal(of request: MirrorRequest) -> MirrorResponse? {
        guard case .asset = request.target, request.method == "GET" else { return nil }
        return assetStatuses.withLock { statuses in
            statuses.isEmpty ? nil : MirrorResponse(status: statuses.removeFirst(), headers: [:], body: Data())
        }
    }

    func gatewayResponse(to request: MirrorRequest) -> MirrorResponse? {
        guard case .service(let path) = request.target else { return nil }
        return gateway.withLock { gateway in
            guard let (operation, response) = gateway, path.hasSuffix(operation) else { return nil }
            gateway = nil
            return response
        }
    }

    func refusal(of request: MirrorRequest) -> MirrorResponse? {
        guard case .service(let path) = request.target else { return nil }
        if let answer = repeatedAnswer(to: path) { return answer }
        return refused.withLock { refused in
            guard let refused, path.hasSuffix(refused.operation), request.body?.range(of: refused.text) != nil else { return nil }
            return refused.response
        }
    }
}

/// Saves once, at a step of an import.
final class Saver: Sendable {
    private struct State {
        var save: (@Sendable () throws -> Void)?
        var count = 0
    }

    private let step: MirrorEnvironment.Step
    private let state = Mutex(State())

    init(at step: MirrorEnvironment.Step) { self.step = step }

    var count: Int { state.withLock { $0.count } }

    func saveNext(on device: MirrorDevice, _ edit: @escaping @Sendable (NSManagedObjectContext) throws -> Void) {
        state.withLock { $0.save = { [weak device] in try device?.edit(edit) } }
    }

    func reached(_ step: MirrorEnvironment.Step) throws {
        guard step == self.step else { return }
        let save = state.withLock { state in
            defer { state.save = nil }
            if state.save != nil { state.count += 1 }
            return state.save
        }
        try save?()
    }
}

/// Ends the operation of a mirror at a step, once, as the end of the process would.
final class Killer: Sendable {
    struct Killed: Error {}

    private struct State {
        var step: MirrorEnvironment.Step?
        var kills = 0
        var isDead = false
    }

    /// Whether all later steps fail as well, until ``revive()``.
    private let staysDead: Bool
    private let state = Mutex(State())

    init(staysDead: Bool = false) { self.staysDead = staysDead }

    var kills: Int { state.withLock { $0.kills } }
    var isDead: Bool { state.withLock { $0.isDead } }

    func kill(at step: MirrorEnvironment.Step) { state.withLock { $0.step = step } }

    func revive() { state.withLock { ($0.step, $0.isDead) = (nil, false) } }

    func reached(_ step: MirrorEnvironment.Step) throws {
        let isKilled = state.withLock { state in
            if state.isDead { return true }
            guard state.step == step else { return false }
            state.step = nil
            state.kills += 1
            state.isDead = staysDead
            return true
        }
        if isKilled { throw Killed() }
    }
}
