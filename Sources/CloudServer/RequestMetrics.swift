// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// Counts and durations of requests in Prometheus's text format. Labels are endpoints, statuses and error codes, never names or
/// identifiers.
package final class RequestMetrics: Sendable {
    private struct Answered: Hashable {
        var endpoint: String
        var status: Int
    }

    private struct Times {
        /// Requests by bucket, not cumulative: each counts in the smallest bucket that its duration fits.
        var buckets = [Int](repeating: 0, count: RequestMetrics.seconds.count)
        var count = 0
        var sum = 0.0

        mutating func add(_ seconds: Double) {
            count += 1
            sum += seconds
            if let bucket = RequestMetrics.seconds.firstIndex(where: { seconds <= $0 }) { buckets[bucket] += 1 }
        }
    }

    private struct State {
        var answered: [Answered: Int] = [:]
        var times: [String: Times] = [:]
    }

    private static let seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    private let state = Mutex(State())
    private let gauges: @Sendable () async -> [(name: String, help: String, value: Int)]

    /// - Parameter gauges: Measures the gauges for each scrape.
    package init(gauges: @escaping @Sendable () async -> [(name: String, help: String, value: Int)] = { [] }) {
        self.gauges = gauges
    }

    func count(endpoint: String, status: Int, took duration: Duration) {
        let took = duration / .seconds(1)
        state.withLock { state in
            state.answered[Answered(endpoint: endpoint, status: status), default: 0] += 1
            // In place: a copy would copy the buckets.
            state.times[endpoint, default: Times()].add(took)
        }
    }

    /// The metrics in Prometheus's text format.
    ///
    /// Source: Prometheus, *Exposition formats*, text format 0.0.4.
    func text() async -> String {
        let (answered, times) = state.withLock { ($0.answered, $0.times) }
        var lines = ["# HELP tarn_requests_total Requests answered.", "# TYPE tarn_requests_total counter"]
        for (key, count) in answered.sorted(by: { ($0.key.endpoint, $0.key.status) < ($1.key.endpoint, $1.key.status) }) {
            lines.append("tarn_requests_total{endpoint=\"\(key.endpoint)\",status=\"\(key.status)\"} \(count)")
        }
        let name = "tarn_request_seconds"
        lines += ["# HELP \(name) Time until the answer began.", "# TYPE \(name) histogram"]
        for (endpoint, times) in times.sorted(by: { $0.key < $1.key }) {
            var count = 0
            for (bound, bucket) in zip(Self.seconds, times.buckets) {
                count += bucket
                lines.append("\(name)_bucket{endpoint=\"\(endpoint)\",le=\"\(bound)\"} \(count)")
            }
            lines.append("\(name)_bucket{endpoint=\"\(endpoint)\",le=\"+Inf\"} \(times.count)")
            lines.append("\(name)_sum{endpoint=\"\(endpoint)\"} \(times.sum)")
            lines.append("\(name)_count{endpoint=\"\(endpoint)\"} \(times.count)")
        }
        for gauge in await gauges() {
            lines += ["# HELP \(gauge.name) \(gauge.help)", "# TYPE \(gauge.name) gauge", "\(gauge.name) \(gauge.value)"]
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
