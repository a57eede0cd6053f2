// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Synchronization

/// The connection of a device to the server, which injects faults.
final class FaultyTransport: CloudTransport {
    private struct Plan {
        var fault: TestFault
        var count: Int
        var operation: String?
    }

    let base: InProcessTransport
    var needsIdleTimeout: Bool { base.needsIdleTimeout }
    var credential: String? { base.credential }
    private let clock: TestClock
    private let containerIdentifier: String
    private let plans = Mutex<[Plan]>([])

    init(_ base: InProcessTransport, _ clock: TestClock, containerIdentifier: String) {
        self.base = base
        self.clock = clock
        self.containerIdentifier = containerIdentifier
    }

    func add(_ fault: TestFault, count: Int, operation: String?) {
        plans.withLock { $0.append(Plan(fault: fault, count: count, operation: operation)) }
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        guard let fault = nextFault(for: request, where: \.concernsStreams),
            let response = try await injectedResponse(to: request, fault)
        else {
            return try await base.stream(request)
        }
        let body = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield(response.body)
            continuation.finish()
        }
        return TransportStream(status: response.status, headers: response.headers, chunks: body)
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let fault = nextFault(for: request) else { return try await base.send(request) }
        if fault == .halfAnswer {
            var response = try await base.send(request)
            response.body = Array(response.body.prefix(response.body.count / 2))
            return response
        }
        guard let response = try await injectedResponse(to: request, fault) else { return try await base.send(request) }
        return response
    }

    private func nextFault(for request: TransportRequest, where isPossible: (TestFault) -> Bool = { _ in true }) -> TestFault? {
        guard case .service(let path) = request.target else { return nil }
        return plans.withLock { plans in
            let index = plans.firstIndex { plan in isPossible(plan.fault) && plan.operation.map(path.hasSuffix) ?? true }
            guard let index else { return nil }
            let fault = plans[index].fault
            plans[index].count -= 1
            if plans[index].count <= 0 { plans.remove(at: index) }
            return fault
        }
    }

    /// - Returns: The injected response. `nil` sends the request to the server.
    /// - Throws: `CKError` if the request does not reach the server.
    private func injectedResponse(to request: TransportRequest, _ fault: TestFault) async throws -> TransportResponse? {
        let response: TransportResponse
        switch fault {
        case .answerLost: base.loseNextAnswers(); return nil
        case .slow(let duration): try await clock.clientClock.sleep(duration); return nil
        case .conflict: try await touchRecords(of: request); return nil
        case .halfAnswer: return nil
        case .unreachable: base.note(request); throw CKError(.networkUnavailable, "the server cannot be reached")
        case .requestLost: base.note(request); throw CKError(.networkFailure, "the request was lost")
        case .throttled(let seconds): response = refusal(WireError(.throttled, "too many requests", retryAfter: seconds))
        case .unavailable(let seconds): response = refusal(WireError(.tryAgainLater, "the server is busy", retryAfter: seconds))
        case .quotaExceeded: response = refusal(WireError(.quotaExceeded, "the quota is exceeded"))
        case .signedOut: response = refusal(WireError(.authenticationFailed, "the token is not valid"))
        case .tokenExpired:
            guard let refused = try expired(request) else { return nil }
            response = refused
        case .webPage:
            response = TransportResponse(
                status: 200, headers: [HeaderNames.contentType: "text/html"], body: Array("<html><body>Welcome</body></html>".utf8))
        }
        base.note(request)
        return response
    }

    private func refusal(_ error: WireError) -> TransportResponse {
        TransportResponse(
            status: error.code.httpStatus, headers: [HeaderNames.contentType: HeaderNames.json], body: error.encoded())
    }

    /// Writes the records that a request is about to write, so that its change tags are stale.
    private func touchRecords(of request: TransportRequest) async throws {
        guard case .service(let path) = request.target, path.hasSuffix(ServicePath.Operation.modifyRecords.rawValue),
            case .bytes(let body) = request.body, var modify = try? ModifyRecordsRequest(json: body)
        else { return }
        modify.operations = modify.operations.compactMap { operation in
            switch operation.kind {
            case .delete, .forceDelete: return nil
            case .create, .update, .forceUpdate, .replace, .forceReplace:
                let record = Record(recordName: operation.record.recordName, recordType: operation.record.recordType)
                return RecordOperation(.forceUpdate, record)
            }
        }
        guard !modify.operations.isEmpty else { return }
        var touch = TransportRequest(
            method: request.method, target: request.target, body: .bytes(modify.encoded()),
            responseBytesMax: request.responseBytesMax)
        touch.headers.add(HeaderNames.contentType, HeaderNames.json)
        _ = try await base.send(touch)
    }

    private func expired(_ request: TransportRequest) throws -> TransportResponse? {
        guard case .bytes(let body) = request.body else { return nil }
        let error = WireError(.badRequest, "the token is too old", nativeCode: .changeTokenExpired)
        if let zones = try? ZoneChangesRequest(json: body), zones.zones.contains(where: { $0.syncToken != nil }) {
            let results = zones.zones.map { ZoneChangesResult.failure($0.zoneID, error) }
            return TransportResponse(status: 200, body: ZoneChangesResponse(zones: results).encoded())
        }
        if let database = try? DatabaseChangesRequest(json: body), database.syncToken != nil { return refusal(error) }
        return nil
    }
}

extension TestFault {
    /// Whether the fault applies to long-lived connections, which send no requests of their own.
    fileprivate var concernsStreams: Bool {
        switch self {
        case .conflict, .tokenExpired, .halfAnswer, .quotaExceeded: false
        case .unreachable, .requestLost, .answerLost, .slow, .throttled, .unavailable, .signedOut, .webPage: true
        }
    }
}
