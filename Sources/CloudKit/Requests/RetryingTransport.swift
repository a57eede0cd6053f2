// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import SystemSupport

/// The transport of one operation. It applies the operation's timeouts, and retries transient failures with exponential
/// backoff if the quality of service allows it.
///
/// A retry sends the same request with the same idempotency key, so that the server executes it once.
struct RetryingTransport: CloudTransport {
    /// Delays between attempts, unless the server asks for more.
    static let backoff = Backoff(firstSeconds: 1, longestSeconds: 300)
    /// A request that must end earlier gets a timeout of its own.
    private static let maximumDelay: Duration = .seconds(300)

    private let base: any CloudTransport
    var linkBase: String { base.linkBase }
    var credential: String? { base.credential }
    var executor: (any TaskExecutor)? { base.executor }
    var needsIdleTimeout: Bool { base.needsIdleTimeout }
    private let clock: ClientClock
    private let retries: Bool
    private let timeout: Duration?
    private let deadline: Duration

    init(_ base: any CloudTransport, _ settings: OperationSettings, _ clock: ClientClock) {
        self.base = base
        self.clock = clock
        retries = settings.isDiscretionary
        timeout = settings.timeoutForRequest.map { .clamped(seconds: $0) }
        deadline = clock.now() + .clamped(seconds: settings.timeoutForResource ?? OperationSettings.resourceSeconds)
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

    private func attempt<Response: Sendable>(
        _ request: TransportRequest, _ send: (TransportRequest) async throws -> (Response, CKError?)
    ) async throws -> Response {
        var request = request
        let timeout = request.timeout ?? timeout
        var failures = 0
        while true {
            let remainingTime = deadline - clock.now()
            guard remainingTime > .zero else {
                throw CKError(.networkFailure, "the operation took longer than its timeoutIntervalForResource allows")
            }
            request.timeout = timeout.map { min($0, remainingTime) } ?? (remainingTime < Self.maximumDelay ? remainingTime : nil)
            let failure: CKError
            do {
                let (response, rejection) = try await send(request)
                guard let rejection, let delay = delay(after: rejection, failures) else { return response }
                failures += 1
                try await clock.sleep(delay)
                continue
            } catch {
                failure = CKError(transportFailure: error)
            }
            guard let delay = delay(after: failure, failures) else { throw failure }
            failures += 1
            try await clock.sleep(delay)
        }
    }

    /// The delay before the next attempt. `nil` ends the attempts.
    private func delay(after error: CKError, _ failures: Int) -> Duration? {
        guard retries, error.mayPass, !Task.isCancelled else { return nil }
        let backoff = Self.backoff.delay(attempt: failures + 1, jitter: clock.jitter())
        let delay = max(error.retryAfterSeconds.map { .clamped(seconds: $0) } ?? .zero, backoff)
        return clock.now() + delay < deadline ? delay : nil
    }
}

extension CKError {
    /// Whether the failure is transient: the same request may succeed later, without any action of the user.
    package var mayPass: Bool {
        switch code {
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy, .serverResponseLost: true
        default: false
        }
    }
}
