// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import SystemSupport

/// The transport of one operation: keeps to its time limits, and tries again where its quality of service says so.
///
/// A request is sent again as it was, with its idempotency key, so that nothing is saved twice.
struct PatientTransport: CloudTransport {
    /// Delays between attempts that the server did not ask for.
    static let backoff = Backoff(firstSeconds: 1, longestSeconds: 300)
    /// Requests that must end earlier than this get a time limit of their own.
    private static let longestWait: Duration = .seconds(300)

    private let base: any CloudTransport
    var linkBase: String { base.linkBase }
    var credential: String? { base.credential }
    var executor: (any TaskExecutor)? { base.executor }
    var fallsSilent: Bool { base.fallsSilent }
    private let pace: Pace
    private let isPatient: Bool
    private let timeout: Duration?
    private let deadline: Duration

    init(_ base: any CloudTransport, _ settings: OperationSettings, _ pace: Pace) {
        self.base = base
        self.pace = pace
        isPatient = settings.isDiscretionary
        timeout = settings.timeoutForRequest.map { .clamped(seconds: $0) }
        deadline = pace.now() + .clamped(seconds: settings.timeoutForResource ?? OperationSettings.resourceSeconds)
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await attempt(request) { request in
            let response = try await base.send(request)
            return (response, response.status >= 400 ? CKError(response) : nil)
        }
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        try await attempt(request) { (try await base.stream($0), nil) }
    }

    private func attempt<Answer: Sendable>(
        _ request: TransportRequest, _ send: (TransportRequest) async throws -> (Answer, CKError?)
    ) async throws -> Answer {
        var request = request
        let timeout = request.timeout ?? timeout
        var failures = 0
        while true {
            let left = deadline - pace.now()
            guard left > .zero else {
                throw CKError(.networkFailure, "the operation took longer than its timeoutIntervalForResource allows")
            }
            request.timeout = timeout.map { min($0, left) } ?? (left < Self.longestWait ? left : nil)
            let failure: CKError
            do {
                let (answer, refusal) = try await send(request)
                guard let refusal, let wait = wait(after: refusal, failures) else { return answer }
                failures += 1
                try await pace.sleep(wait)
                continue
            } catch {
                failure = CKError(transportFailure: error)
            }
            guard let wait = wait(after: failure, failures) else { throw failure }
            failures += 1
            try await pace.sleep(wait)
        }
    }

    /// How long to wait before the next attempt; nil if there is to be none.
    private func wait(after error: CKError, _ failures: Int) -> Duration? {
        guard isPatient, error.mayPass, !Task.isCancelled else { return nil }
        let backOff = Self.backoff.delay(attempt: failures + 1, jitter: pace.jitter())
        let wait = max(error.retryAfterSeconds.map { .clamped(seconds: $0) } ?? .zero, backOff)
        return pace.now() + wait < deadline ? wait : nil
    }
}

extension CKError {
    /// Whether the same request may succeed later, without anybody doing anything.
    package var mayPass: Bool {
        switch code {
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy, .serverResponseLost: true
        default: false
        }
    }
}
