// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Synchronization

/// A device's way to the server, on which things go wrong when that is asked for.
final class FaultyTransport: CloudTransport {
    private struct Plan {
        var fault: TestFault
        var count: Int
        var operation: String?
    }

    let base: InProcessTransport
    var fallsSilent: Bool { base.fallsSilent }
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
        if let fault = take(for: request) { try refuse(fault) }
        return try await base.stream(request)
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let fault = take(for: request) else { return try await base.send(request) }
        switch fault {
        case .unreachable, .requestLost: try refuse(fault)
        case .answerLost: base.loseNextAnswers()
        case .slow(let duration): try await clock.pace.sleep(duration)
        case .throttled(let seconds): return answer(WireError(.throttled, "too many requests", retryAfter: seconds))
        case .unavailable(let seconds): return answer(WireError(.tryAgainLater, "the server is busy", retryAfter: seconds))
        case .quotaExceeded: return answer(WireError(.quotaExceeded, "the storage is full"))
        case .signedOut: return answer(WireError(.authenticationFailed, "the token is not valid"))
        case .conflict: try await touchRecords(of: request)
        case .tokenExpired: if let answer = try expired(request) { return answer }
        case .webPage:
            return TransportResponse(
                status: 200, headers: [HeaderNames.contentType: "text/html"], body: Array("<html><body>Welcome</body></html>".utf8))
        case .halfAnswer:
            var response = try await base.send(request)
            response.body = Array(response.body.prefix(response.body.count / 2))
            return response
        }
        return try await base.send(request)
    }

    private func take(for request: TransportRequest) -> TestFault? {
        guard case .service(let path) = request.target else { return nil }
        return plans.withLock { plans in
            guard let index = plans.firstIndex(where: { plan in plan.operation.map(path.hasSuffix) ?? true }) else { return nil }
            let fault = plans[index].fault
            plans[index].count -= 1
            if plans[index].count <= 0 { plans.remove(at: index) }
            return fault
        }
    }

    private func refuse(_ fault: TestFault) throws {
        switch fault {
        case .unreachable: throw CKError(.networkUnavailable, "the server cannot be reached")
        case .requestLost: throw CKError(.networkFailure, "the request was lost")
        default: break
        }
    }

    private func answer(_ error: WireError) -> TransportResponse {
        TransportResponse(
            status: error.code.httpStatus, headers: [HeaderNames.contentType: HeaderNames.json], body: error.encoded())
    }

    /// Writes the records that a request is about to write, so that the tags it carries are old.
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
        if let database = try? DatabaseChangesRequest(json: body), database.syncToken != nil { return answer(error) }
        return nil
    }
}
