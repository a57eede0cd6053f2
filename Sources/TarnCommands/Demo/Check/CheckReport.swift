// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The result of a check, in a stable form for programs.
struct CheckReport: Equatable, Sendable {
    var converged = false
    /// Objects on each device at the end.
    var objects = 0
    /// Posts that each device saved to measure latency.
    var rounds = 0
    /// Save-to-visible: from the save's return on one device to the post's place in the other's fetched results.
    var latencies: [Duration] = []

    var json: String {
        let p50 = Self.text(percentile(50), none: "null")
        let p99 = Self.text(percentile(99), none: "null")
        return "{\"converged\":\(converged),\"objects\":\(objects),\"rounds\":\(rounds),"
            + "\"latencyMillisecondsP50\":\(p50),\"latencyMillisecondsP99\":\(p99)}"
    }

    var summary: String {
        "Both devices have the same \(objects) objects. Save to visible over \(latencies.count) saves: "
            + "\(Self.text(percentile(50), none: "-")) ms at the median, \(Self.text(percentile(99), none: "-")) ms at the 99th percentile."
    }

    /// The nearest-rank percentile: a measured latency, not an interpolated one.
    func percentile(_ percent: Int) -> Duration? {
        let sorted = latencies.sorted()
        guard !sorted.isEmpty else { return nil }
        let rank = (sorted.count * percent + 99) / 100
        return sorted[max(1, rank) - 1]
    }

    /// Milliseconds with three decimals.
    private static func text(_ duration: Duration?, none: String) -> String {
        guard let duration else { return none }
        let microseconds = Int((duration / .microseconds(1)).rounded())
        let decimals = String(microseconds % 1000)
        return "\(microseconds / 1000)." + String(repeating: "0", count: 3 - decimals.count) + decimals
    }
}
