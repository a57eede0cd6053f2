// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire

// Long-lived connections: push streams, downloads and long polls.

extension SimulatedNetwork {
    // MARK: Streams

    /// Opens a connection on which the server sends. Pieces arrive in order, each a little later than it was sent.
    func open(_ request: TransportRequest, from transport: SimulatedTransport, _ pending: Pending<TransportStream>) {
        let label = begin(request, transport)
        if transport.isCut { return agenda.after(0.01) { self.fail(pending, label, .networkUnavailable, "the device is offline") } }
        let isAsset = Self.operation(of: request) == Self.asset
        if transport.polls, !isAsset { return give(up: pending, label, 0.05, .networkFailure, "no stream gets through") }
        // The plan decides how often push streams break. A download has the faults of any request.
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
                    // A download waits for the server's disk. The time of notifications is unknown.
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
    private func forward(_ stream: TransportStream, to transport: SimulatedTransport, _ label: String, breaks: Bool = false)
        -> TransportStream
    {
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

    /// A request for the next notification. The simulation does not wait for the server, which holds it
    /// until another device writes.
    func hold(
        _ request: TransportRequest, from transport: SimulatedTransport, _ pending: Pending<TransportResponse>, _ label: String,
        _ fate: Fate,
        _ there: Double, _ back: Double
    ) {
        let isLost = fate == .requestLost || fate == .late, isAnswerLost = fate == .answerLost
        if isLost || isAnswerLost { give(up: pending, label, Self.patience, .networkFailure, "the wait was in vain") }
        if isLost { return }
        let inVain = random.seconds(45...90)
        /// `nil` before the request arrived, and after it was answered.
        let waiting = Box<Task<Void, Never>?>(nil)
        // A poll without its response, or with the response in transit, does not end as an empty one. Notifications
        // after an empty poll stay queued on the server for the next one.
        if endsWaits, !isAnswerLost {
            agenda.after(inVain) {
                guard let task = waiting.value else { return }
                waiting.value = nil
                task.cancel()
                self.finish(pending, .success(TransportResponse(status: 200, body: [])), transport, label)
            }
        }
        agenda.after(there) { [executor, base = transport.base] in
            self.say("\(label) arrived")
            waiting.value = Task(executorPreference: executor) {
                let result: Result<TransportResponse, any Error>
                do { result = .success(try await base.send(request)) } catch { result = .failure(error) }
                if isAnswerLost || self.losesNews || Task.isCancelled { return }
                waiting.value = nil
                self.agenda.after(back) { self.finish(pending, result, transport, label) }
            }
        }
    }
}
