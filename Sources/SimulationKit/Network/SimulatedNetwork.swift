// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Foundation
import SystemSupport

/// The network between devices and server. Each request, response and notification is an event of the agenda. The seed
/// decides when it arrives, how often, and if at all.
final class SimulatedNetwork: @unchecked Sendable {
    // Unchecked: used on the simulation's thread only.
    let agenda: Agenda
    let executor: SimulationExecutor
    let say: (String) -> Void
    private let serverDisk: ServerDisk
    var faults: FaultPlan
    var random: SeededNumbers
    /// Whether the users' quota is exceeded.
    var isFull = false
    private var lastNumber = 0
    /// Keys of the requests that reached the server.
    private var arrived: Set<String> = []

    /// Whether long polls end empty after a while. Only during the faults, since afterwards no event may arise by
    /// itself.
    var endsWaits = true
    /// Whether long polls deliver nothing.
    var losesNews = false
    /// Whether each change page claims to be the last one.
    var endsPagesEarly = false
    /// Reports a violation by a device.
    var complain: (String) -> Void = { _ in }

    /// Timeout of a device's requests.
    static let patience = 60.0

    init(
        _ agenda: Agenda, _ executor: SimulationExecutor, _ faults: FaultPlan, _ random: SeededNumbers, _ serverDisk: ServerDisk,
        say: @escaping (String) -> Void
    ) {
        self.serverDisk = serverDisk
        self.agenda = agenda
        self.executor = executor
        self.faults = faults
        self.random = random
        self.say = say
    }

    // MARK: Exchanges

    func carry(_ request: TransportRequest, from transport: SimulatedTransport, _ pending: Pending<TransportResponse>) {
        let label = begin(request, transport)
        let fate = fate(of: request)
        let there = random.seconds(0.01...0.3), back = random.seconds(0.01...0.3), late = random.seconds(61...900)
        if transport.isCut { return give(up: pending, label, 0.01, .networkUnavailable, "the device is offline") }
        // A device with a push stream must not poll.
        if !transport.polls, Self.operation(of: request) == DevicePath.Operation.createToken.rawValue {
            return refuse(WireError(.notFound, "the network has no courier"))
        }
        if fate != .delivered { say("\(label) \(fate)") }
        if Self.operation(of: request) == Self.courier { return hold(request, from: transport, pending, label, fate, there, back) }
        switch fate {
        case .requestLost:
            give(up: pending, label, Self.patience, request.changesData ? .serverResponseLost : .networkFailure, "the request was lost")
        case .late:
            deliver(request, from: transport, label, after: late) { _ in }
            give(up: pending, label, Self.patience, request.changesData ? .serverResponseLost : .networkFailure, "the request timed out")
        case .answerLost:
            deliver(request, from: transport, label, after: there) { _ in }
            give(up: pending, label, Self.patience, request.changesData ? .serverResponseLost : .networkFailure, "the answer was lost")
        case .doubled:
            answer(request, from: transport, label, there, back, pending) { $0 }
            deliver(request, from: transport, label + " again", after: there + back * 4) { _ in }
        case .delivered: answer(request, from: transport, label, there, back, pending) { $0 }
        case .half:
            answer(request, from: transport, label, there, back, pending) { response in
                var response = response
                response.body = Array(response.body.prefix(response.body.count / 2))
                return response
            }
        case .webPage:
            let page = TransportResponse(
                status: 200, headers: [HeaderNames.contentType: "text/html"], body: Array("<html><body>Welcome</body></html>".utf8))
            agenda.after(there) { self.finish(pending, .success(page), transport, label) }
        case .throttled(let seconds): refuse(WireError(.throttled, "too many requests", retryAfter: seconds))
        case .busy: refuse(WireError(.tryAgainLater, "the server is busy", retryAfter: nil))
        case .full: refuse(WireError(.quotaExceeded, "the storage is full", retryAfter: 600))
        case .tokenExpired:
            guard let response = Self.expired(request) else {
                return answer(request, from: transport, label, there, back, pending) { $0 }
            }
            agenda.after(there) { self.finish(pending, .success(response), transport, label) }
        }
        func refuse(_ error: WireError) {
            let response = Self.response(error)
            agenda.after(there) { self.finish(pending, .success(response), transport, label) }
        }
    }

    func begin(_ request: TransportRequest, _ transport: SimulatedTransport) -> String {
        lastNumber += 1
        let label = "\(transport.name) #\(lastNumber) \(Self.operation(of: request))"
        let operation = Self.operation(of: request)
        if transport.isPaused, [ServicePath.Operation.zoneChanges, .modifyRecords].map(\.rawValue).contains(operation) {
            complain("\(transport.name) was paused, and asks for \(operation)")
        }
        switch request.body {
        case .bytes(let bytes): say("\(label) sent \(bytes.count) \(Hex.text(Fingerprint(bytes).value, .upper))")
        case .none, .file: say("\(label) sent")
        }
        return label
    }

    func fate(of request: TransportRequest) -> Fate {
        let fate = Fate.draw(faults, &random)
        let isSave = Self.operation(of: request) == ServicePath.Operation.modifyRecords.rawValue
        // A repeated request gets the response of the first execution.
        if isFull, isSave, fate == .delivered, request.headers[HeaderNames.idempotencyKey].map({ !arrived.contains($0) }) ?? true {
            return .full
        }
        return fate
    }

    private func answer(
        _ request: TransportRequest, from transport: SimulatedTransport, _ label: String, _ there: Double, _ back: Double,
        _ pending: Pending<TransportResponse>, _ change: @escaping @Sendable (TransportResponse) -> TransportResponse
    ) {
        let endsPage = endsPagesEarly && Self.operation(of: request) == ServicePath.Operation.zoneChanges.rawValue
        deliver(request, from: transport, label, after: there) { result in
            let answer = result.map { endsPage ? Self.lastPage(change($0)) : change($0) }
            self.agenda.after(back) { self.finish(pending, answer, transport, label) }
        }
    }

    private static func lastPage(_ response: TransportResponse) -> TransportResponse {
        var response = response
        response.body = Array(
            String(decoding: response.body, as: UTF8.self).replacing(#""moreComing":true"#, with: #""moreComing":false"#).utf8)
        return response
    }

    func deliver(
        _ request: TransportRequest, from transport: SimulatedTransport, _ label: String, after seconds: Double,
        _ answer: @escaping @Sendable (Result<TransportResponse, any Error>) -> Void
    ) {
        agenda.after(seconds) { [executor, base = transport.base] in
            self.say("\(label) arrived")
            if let key = request.headers[HeaderNames.idempotencyKey] { self.arrived.insert(key) }
            executor.begin()
            Task(executorPreference: executor) {
                let result: Result<TransportResponse, any Error>
                do { result = .success(try await base.send(request)) } catch { result = .failure(error) }
                executor.end()
                // A server with a failed disk does not respond.
                let hasDied = self.serverDisk.hasFailed
                let lost = CKError(request.changesData ? .serverResponseLost : .networkFailure, "the server died")
                answer(hasDied ? .failure(lost) : result)
            }
        }
    }

    func finish(
        _ pending: Pending<TransportResponse>, _ result: Result<TransportResponse, any Error>, _ transport: SimulatedTransport,
        _ label: String
    ) {
        guard pending.isWaiting else { return }
        if transport.isCut { return fail(pending, label, .networkFailure, "the device went offline") }
        switch result {
        case .success(let response): say("\(label) answered \(response.status) \(response.body.count)")
        case .failure: say("\(label) failed")
        }
        pending.resume(with: result)
    }

    func give<Value>(up pending: Pending<Value>, _ label: String, _ seconds: Double, _ code: CKError.Code, _ reason: String) {
        agenda.after(seconds) { self.fail(pending, label, code, reason) }
    }

    func fail<Value>(_ pending: Pending<Value>, _ label: String, _ code: CKError.Code, _ reason: String) {
        guard pending.isWaiting else { return }
        say("\(label) failed: \(reason)")
        pending.resume(with: .failure(CKError(code, reason)))
    }

    // MARK: Answers of its own

    static let courier = "courier"
    static let asset = "asset"

    static func operation(of request: TransportRequest) -> String {
        switch request.target {
        case .asset(let address): address.contains("/courier/") ? courier : asset
        case .service(let path): path.split(separator: "/").suffix(2).joined(separator: "/")
        }
    }

    private static func response(_ error: WireError) -> TransportResponse {
        TransportResponse(status: error.code.httpStatus, headers: [HeaderNames.contentType: HeaderNames.json], body: error.encoded())
    }

    private static func expired(_ request: TransportRequest) -> TransportResponse? {
        guard case .bytes(let body) = request.body, let query = try? ZoneChangesRequest(json: body),
            query.zones.contains(where: { $0.syncToken != nil })
        else { return nil }
        let error = WireError(.badRequest, "the token is too old", nativeCode: .changeTokenExpired)
        let results = query.zones.map { ZoneChangesResult.failure($0.zoneID, error) }
        // The server offers the requested capabilities, as in any response.
        var headers: TransportHeaders = [HeaderNames.contentType: HeaderNames.json]
        if let asked = request.headers[HeaderNames.capabilities] { headers.add(HeaderNames.capabilities, asked) }
        return TransportResponse(status: 200, headers: headers, body: ZoneChangesResponse(zones: results).encoded())
    }
}
