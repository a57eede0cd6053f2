// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Synchronization

/// Runs requests as an ``AdmissionController`` decides.
///
/// A request waits once its body has arrived, so that a slow client holds no slot, and before its body is decoded.
package final class AdmissionGate: Sendable {
    private struct State {
        var controller: AdmissionController
        var waiters: [AdmissionController.Ticket: CheckedContinuation<Outcome, Never>] = [:]
        /// Decisions on requests without a stored continuation.
        var early: [AdmissionController.Ticket: Outcome] = [:]
        var hasTimer = false
        /// Requesters by a hash of the credential that they sent before. The hash has a seed of the process.
        var requesters: [Int: String] = [:]
    }

    /// Credentials with known requesters.
    private static let requestersMax = 10_000

    private enum Outcome { case run, refused, cancelled }

    private let state: Mutex<State>
    private let inServiceCount = Atomic(0)
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant

    package init(_ rules: AdmissionController.Rules) {
        state = Mutex(State(controller: AdmissionController(rules)))
        start = clock.now
    }

    private var now: Duration { clock.now - start }

    package var counts: (running: Int, waiting: Int, refused: Int) {
        state.withLock { ($0.controller.runningCount, $0.controller.waitingCount, $0.controller.refusedCount) }
    }

    /// `false` if no request is refused by its head now.
    package var isPressed: Bool { state.withLock { $0.controller.isPressed(at: now) } }

    /// Requests that have arrived and have no response yet.
    package var inService: Int { inServiceCount.load(ordering: .relaxed) }

    /// Counts a request that has arrived, until ``leave()``.
    package func enter() { inServiceCount.add(1, ordering: .relaxed) }

    /// Counts the end of a request that entered: its response was written, or its connection closed.
    package func leave() { inServiceCount.subtract(1, ordering: .relaxed) }

    /// - Throws: `WireError` with `.tryAgainLater` if the requester's request would be refused. Called before a body is read.
    func checkRoom(for requester: String) throws(WireError) {
        if state.withLock({ $0.controller.refusesEarly(requester, at: now) }) { throw Self.overloaded(0) }
    }

    /// Stores the requester of a credential, for ``refusal(ofCredentialHash:)``.
    func remember(_ requester: String, credentialHash hash: Int) {
        state.withLock { state in
            if state.requesters.count >= Self.requestersMax { state.requesters = [:] }
            state.requesters[hash] = requester
        }
    }

    /// The refusal of a request before anything but its head was looked at.
    ///
    /// - Parameter hash: ``RequestHead/credentialHash``. The credential was not checked: it decides only about its own request.
    /// - Returns: Nil for a request that may be admitted, and for a credential that no recent request had.
    func refusal(ofCredentialHash hash: Int) -> WireError? {
        let inServiceCount = inServiceCount.load(ordering: .relaxed)
        let ticket = state.withLock { state -> Int? in
            guard let requester = state.requesters[hash],
                state.controller.refusesEarly(requester, inServiceCount: inServiceCount, at: now)
            else { return nil }
            return state.controller.refusedCount
        }
        return ticket.map(Self.overloaded)
    }

    /// Runs a request once it is its turn.
    ///
    /// - Throws: `WireError` with `.tryAgainLater` if it is refused; `CancellationError` if its task is cancelled while it waits; what
    ///   `body` throws.
    package func run<Value: Sendable>(_ requester: String, _ body: () async throws -> Value) async throws -> Value {
        let (ticket, verdict, others) = state.withLock { $0.controller.arrive(requester, at: now) }
        resume(others)
        switch verdict {
        case .run: break
        case .refuse: throw Self.overloaded(ticket)
        case .wait:
            switch await outcome(of: ticket, requester) {
            case .run: break
            case .refused: throw Self.overloaded(ticket)
            case .cancelled: throw CancellationError()
            }
        }
        defer { resume(state.withLock { $0.controller.finish(requester, at: now) }) }
        return try await body()
    }

    /// Runs an operator's request once it is the turn of the account, as a request to a database.
    ///
    /// - Throws: `WireError` with `.tryAgainLater` if the server is overloaded.
    package func run<Value: Sendable>(account: Int64, _ body: () async throws -> Value) async throws -> Value {
        try await run("\(WorkTerms.accountPrefix)\(account)", body)
    }

    /// The delays of refused requests differ, so that their clients do not come back together.
    private static func overloaded(_ ticket: AdmissionController.Ticket) -> WireError {
        WireError(.tryAgainLater, "the server is overloaded", retryAfter: 1 + Double(ticket % 8) / 4)
    }

    private func outcome(of ticket: AdmissionController.Ticket, _ requester: String) async -> Outcome {
        startTimer()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state -> Outcome? in
                    if let early = state.early.removeValue(forKey: ticket) { return early }
                    if Task.isCancelled, state.controller.cancel(ticket, of: requester, at: now) { return .cancelled }
                    state.waiters[ticket] = continuation
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
                // Before the continuation is stored, the task notices the cancellation itself.
                guard let waiter = state.waiters[ticket], state.controller.cancel(ticket, of: requester, at: now) else { return nil }
                state.waiters[ticket] = nil
                return waiter
            }
            waiter?.resume(returning: .cancelled)
        }
    }

    private func resume(_ decisions: AdmissionController.Decisions) {
        guard !decisions.isEmpty else { return }
        let outcomes = decisions.run.map { ($0, Outcome.run) } + decisions.refuse.map { ($0, Outcome.refused) }
        let waiters = state.withLock { state in
            outcomes.compactMap { ticket, outcome in
                guard let waiter = state.waiters.removeValue(forKey: ticket) else {
                    state.early[ticket] = outcome
                    return nil as (CheckedContinuation<Outcome, Never>, Outcome)?
                }
                return (waiter, outcome)
            }
        }
        for (waiter, outcome) in waiters { waiter.resume(returning: outcome) }
    }

    /// One timer refuses requests at their deadlines while any waits.
    private func startTimer() {
        let starts = state.withLock { state in
            defer { state.hasTimer = true }
            return !state.hasTimer
        }
        guard starts else { return }
        Task {
            while let deadline = nextDeadline() {
                try? await clock.sleep(until: start + deadline, tolerance: .milliseconds(1))
                resume(state.withLock { $0.controller.expire(at: now) })
            }
        }
    }

    private func nextDeadline() -> Duration? {
        state.withLock { state in
            let deadline = state.controller.waitingCount > 0 ? state.controller.deadline : nil
            if deadline == nil { state.hasTimer = false }
            return deadline
        }
    }
}
