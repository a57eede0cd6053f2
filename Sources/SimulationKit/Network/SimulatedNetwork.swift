// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Foundation

/// What lies between the devices and the server. Each request, answer and notification is an entry of the agenda, and the
/// seed decides when it comes, how often, and whether at all.
final class SimulatedNetwork: @unchecked Sendable {
    // Unchecked: used on the simulation's thread only.
    let agenda: Agenda
    let executor: SimulationExecutor
    private let say: (String) -> Void
    private let serverDisk: ServerDisk
    private let hasAssets: Bool
    var faults: FaultPlan
    var random: SeededNumbers
    /// Whether the users' storage is full.
    var isFull = false
    private var lastNumber = 0
    /// Keys of requests that reached the server.
    private var arrived: Set<String> = []

    /// Whether what is held is answered in vain after a while, as long as faults last: afterwards nothing happens by itself.
    var endsWaits = true
    /// Whether nobody who waits is told anything.
    var losesNews = false
    /// Told what a device must not do.
    var complain: (String) -> Void = { _ in }

    /// How long a device waits for an answer.
    private static let patience = 60.0

    init(
        _ agenda: Agenda, _ executor: SimulationExecutor, _ faults: FaultPlan, _ random: SeededNumbers, _ serverDisk: ServerDisk,
        hasAssets: Bool, say: @escaping (String) -> Void
    ) {
        self.serverDisk = serverDisk
        self.hasAssets = hasAssets
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
        // Where a stream gets through, nothing is to be held.
        if !transport.polls, Self.operation(of: request) == DevicePath.Operation.createToken.rawValue {
            return refuse(WireError(.notFound, "there is no courier"))
        }
        if fate != .delivered { say("\(label) \(fate)") }
        if Self.operation(of: request) == Self.courier { return hold(request, from: transport, pending, label, fate, there, back) }
        switch fate {
        case .requestLost: give(up: pending, label, Self.patience, request.changesData ? .serverResponseLost : .networkFailure, "the request was lost")
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

    private func begin(_ request: TransportRequest, _ transport: SimulatedTransport) -> String {
        lastNumber += 1
        let label = "\(transport.name) #\(lastNumber) \(Self.operation(of: request))"
        // Change tokens carry a proof that only this server can make, and it draws its key itself.
        // So do receipts for assets.
        let operation = Self.operation(of: request)
        let isRepeatable =
            ![ServicePath.Operation.zoneChanges, .databaseChanges].map(\.rawValue).contains(operation)
            && (!hasAssets || operation != ServicePath.Operation.modifyRecords.rawValue)
        if transport.isPaused, [ServicePath.Operation.zoneChanges, .modifyRecords].map(\.rawValue).contains(operation) {
            complain("\(transport.name) was paused, and asks for \(operation)")
        }
        switch request.body {
        case .bytes(let bytes): say("\(label) sent \(bytes.count)\(isRepeatable ? " " + SeededNumbers.hex(Trace.fnv(bytes)) : "")")
        case .none, .file: say("\(label) sent")
        }
        return label
    }

    private func fate(of request: TransportRequest) -> Fate {
        let fate = Fate.draw(faults, &random)
        let isSave = Self.operation(of: request) == ServicePath.Operation.modifyRecords.rawValue
        // A request that was carried out already is answered as it was then.
        if isFull, isSave, fate == .delivered, request.headers[HeaderNames.idempotencyKey].map({ !arrived.contains($0) }) ?? true { return .full }
        return fate
    }

    private func answer(
        _ request: TransportRequest, from transport: SimulatedTransport, _ label: String, _ there: Double, _ back: Double,
        _ pending: Pending<TransportResponse>, _ change: @escaping @Sendable (TransportResponse) -> TransportResponse
    ) {
        deliver(request, from: transport, label, after: there) { result in
            self.agenda.after(back) { self.finish(pending, result.map(change), transport, label) }
        }
    }

    private func deliver(
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
                // A server that dies of its disk answers nothing any more.
                let hasDied = self.serverDisk.hasFailed
                let lost = CKError(request.changesData ? .serverResponseLost : .networkFailure, "the server died")
                answer(hasDied ? .failure(lost) : result)
            }
        }
    }

    private func finish(
        _ pending: Pending<TransportResponse>, _ result: Result<TransportResponse, any Error>, _ transport: SimulatedTransport, _ label: String
    ) {
        guard pending.isWaiting else { return }
        if transport.isCut { return fail(pending, label, .networkFailure, "the device went offline") }
        switch result {
        case .success(let response): say("\(label) answered \(response.status) \(response.body.count)")
        case .failure: say("\(label) failed")
        }
        pending.resume(with: result)
    }

    private func give<Value>(up pending: Pending<Value>, _ label: String, _ seconds: Double, _ code: CKError.Code, _ reason: String) {
        agenda.after(seconds) { self.fail(pending, label, code, reason) }
    }

    func fail<Value>(_ pending: Pending<Value>, _ label: String, _ code: CKError.Code, _ reason: String) {
        guard pending.isWaiting else { return }
        say("\(label) failed: \(reason)")
        pending.resume(with: .failure(CKError(code, reason)))
    }

    // MARK: Streams

    /// Opens a connection on which the server talks. Pieces arrive in order, each a little later than it was sent.
    func open(_ request: TransportRequest, from transport: SimulatedTransport, _ pending: Pending<TransportStream>) {
        let label = begin(request, transport)
        if transport.isCut { return agenda.after(0.01) { self.fail(pending, label, .networkUnavailable, "the device is offline") } }
        let isAsset = Self.operation(of: request) == Self.asset
        if transport.polls, !isAsset { return give(up: pending, label, 0.05, .networkFailure, "no stream gets through") }
        // How often connections for notifications break is in the plan; a download may go as any request does.
        let fate = isAsset ? fate(of: request) : .delivered
        switch fate {
        case .requestLost, .answerLost, .late:
            say("\(label) \(fate)")
            return give(up: pending, label, Self.patience, .networkFailure, "the download was lost")
        case .throttled, .busy:
            let refusal = TransportStream(status: 503, headers: [:], chunks: AsyncThrowingStream { $0.finish() })
            return agenda.after(0.1) { if pending.isWaiting { pending.resume(with: .success(refusal)) } }
        case .delivered, .doubled, .full, .tokenExpired, .half, .webPage: break
        }
        agenda.after(random.seconds(0.01...0.3)) { [executor, base = transport.base] in
            executor.begin()
            Task(executorPreference: executor) {
                let result: Result<TransportStream, any Error>
                do {
                    let stream = try await base.stream(request)
                    // A file is read from the server's disk, which is waited for; of news nobody knows when they come.
                    result = .success(isAsset ? try await Self.whole(stream) : stream)
                } catch {
                    result = .failure(error)
                }
                executor.end()
                guard pending.isWaiting else { return }
                pending.resume(with: result.map { self.forward($0, to: transport, label, breaks: fate == .half) })
            }
        }
    }

    /// - Parameter breaks: Whether the connection breaks in the middle of the first piece.
    private func forward(_ stream: TransportStream, to transport: SimulatedTransport, _ label: String, breaks: Bool = false) -> TransportStream {
        let (chunks, continuation) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
        transport.hold { continuation.finish(throwing: CKError(.networkFailure, "the connection broke")) }
        let task = Task(executorPreference: executor) {
            var due = 0.0
            do {
                for try await chunk in stream.chunks {
                    if breaks {
                        let half = Array(chunk.prefix(chunk.count / 2))
                        return self.agenda.after(self.latency()) {
                            self.say("\(label) broke after \(half.count)")
                            continuation.yield(half)
                            continuation.finish(throwing: CKError(.networkFailure, "the connection broke"))
                        }
                    }
                    due = max(due, self.agenda.now + self.latency())
                    let isTwice = self.faults.kinds.contains(.doubling) && self.random.percent(20)
                    self.agenda.after(due - self.agenda.now) {
                        if chunk.count > 1 { self.say("\(label) told \(chunk.count)") }
                        continuation.yield(chunk)
                        if isTwice { continuation.yield(chunk) }
                    }
                }
            } catch {}
            self.agenda.after(max(0, due - self.agenda.now)) { continuation.finish() }
        }
        continuation.onTermination = { _ in task.cancel() }
        return TransportStream(status: stream.status, headers: stream.headers, chunks: chunks)
    }

    private static func whole(_ stream: TransportStream) async throws -> TransportStream {
        var chunks: [[UInt8]] = []
        for try await chunk in stream.chunks { chunks.append(chunk) }
        let (all, continuation) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
        for chunk in chunks { continuation.yield(chunk) }
        continuation.finish()
        return TransportStream(status: stream.status, headers: stream.headers, chunks: all)
    }

    private func latency() -> Double {
        let usual = random.seconds(0.01...0.3), long = random.seconds(1...120)
        return faults.kinds.contains(.delay) && random.percent(20) ? long : usual
    }

    // MARK: Waiting

    private static let courier = "courier"
    private static let asset = "asset"

    /// A request whose answer is the next notification. The server is not waited for: it holds it until somebody else writes.
    private func hold(
        _ request: TransportRequest, from transport: SimulatedTransport, _ pending: Pending<TransportResponse>, _ label: String, _ fate: Fate,
        _ there: Double, _ back: Double
    ) {
        let isLost = fate == .requestLost || fate == .late, isAnswerLost = fate == .answerLost
        if isLost || isAnswerLost { give(up: pending, label, Self.patience, .networkFailure, "the wait was in vain") }
        if isLost { return }
        let inVain = random.seconds(45...90)
        if endsWaits {
            agenda.after(inVain) { self.finish(pending, .success(TransportResponse(status: 200, body: [])), transport, label) }
        }
        agenda.after(there) { [executor, base = transport.base] in
            self.say("\(label) arrived")
            Task(executorPreference: executor) {
                let result: Result<TransportResponse, any Error>
                do { result = .success(try await base.send(request)) } catch { result = .failure(error) }
                if isAnswerLost || self.losesNews { return }
                self.agenda.after(back) { self.finish(pending, result, transport, label) }
            }
        }
    }

    // MARK: Answers of its own

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
        return TransportResponse(status: 200, body: ZoneChangesResponse(zones: results).encoded())
    }
}
