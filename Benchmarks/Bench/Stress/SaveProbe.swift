// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// A user that saves one record after another while others attack, and measures each save up to its acknowledgement. A refused
/// save is retried, and its time counts from the first attempt.
final class SaveProbe: Sendable {
    struct Sample: Sendable {
        var milliseconds: Double
        var attempts: Int
    }

    private struct State {
        var isEnded = false
        var samples: [Sample] = []
        /// Start of the save that is not acknowledged yet.
        var pending: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let port: Int
    private let token: String

    init(port: Int, token: String) {
        self.port = port
        self.token = token
    }

    func start() {
        Thread.detachNewThread { [self] in
            let connection = StressConnection(port: port, timeout: 10)
            var number = 0
            while !state.withLock({ $0.isEnded }) {
                number += 1
                let record =
                    #"{"recordName":"probe-\#(number % 500)","recordType":"Probe","fields":{"n":{"value":\#(number),"type":"INT64"}}}"#
                let body = #"{"operations":[{"operationType":"forceUpdate","record":\#(record)}]}"#
                let request = StressServer.request("records/modify", body, token: token)
                let begun = ContinuousClock.now
                state.withLock { $0.pending = begun }
                var attempts = 0
                while !state.withLock({ $0.isEnded }) {
                    attempts += 1
                    if connection.exchange(request)?.status == 200 { break }
                    usleep(5000)
                }
                let sample = Sample(milliseconds: Self.milliseconds(since: begun), attempts: attempts)
                state.withLock { state in
                    state.pending = nil
                    if !state.isEnded { state.samples.append(sample) }
                }
                usleep(2000)
            }
        }
    }

    func end() { state.withLock { $0.isEnded = true } }

    /// The samples since the last call. A save that is in flight counts with the time that it has waited.
    func takeSamples() -> [Sample] {
        state.withLock { state in
            var samples = state.samples
            if let pending = state.pending { samples.append(Sample(milliseconds: Self.milliseconds(since: pending), attempts: 1)) }
            state.samples = []
            return samples
        }
    }

    private static func milliseconds(since start: ContinuousClock.Instant) -> Double { (ContinuousClock.now - start).nanoseconds / 1e6 }

    static func percentile(_ share: Double, of samples: [Sample]) -> Double { percentile(share, of: samples.map(\.milliseconds)) }

    static func percentile(_ share: Double, of times: [Double]) -> Double {
        let times = times.sorted()
        guard !times.isEmpty else { return .infinity }
        return times[min(times.count - 1, Int((Double(times.count) * share).rounded(.down)))]
    }
}
