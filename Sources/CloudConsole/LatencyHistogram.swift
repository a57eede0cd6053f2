// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Durations in buckets with bounds that grow by the square root of 2, from 0.5 ms to 32 s: a quantile is at most that factor off.
struct LatencyHistogram {
    /// Upper bounds in milliseconds. Longer durations have a bucket of their own.
    private static let bounds: [Double] = {
        var bounds = [0.5]
        while let last = bounds.last, last < 32_000 { bounds.append(last * 1.4142135623730951) }
        return bounds
    }()

    private var counts: [UInt32] = []
    private var count = 0
    private var longest = 0.0

    mutating func add(_ milliseconds: Double) {
        // Minutes without requests have no buckets.
        if counts.isEmpty { counts = [UInt32](repeating: 0, count: Self.bounds.count + 1) }
        counts[Self.bounds.firstIndex { milliseconds <= $0 } ?? Self.bounds.count] += 1
        count += 1
        longest = max(longest, milliseconds)
    }

    /// The duration that a part of the requests didn't exceed, interpolated in its bucket; 0 without requests.
    ///
    /// - Parameter fraction: From 0 to 1; 0.5 is the median.
    func quantile(_ fraction: Double) -> Double {
        let rank = fraction * Double(count)
        var below = 0.0
        for (index, number) in counts.enumerated() where number > 0 {
            let here = Double(number)
            guard below + here >= rank else {
                below += here
                continue
            }
            guard index < Self.bounds.count else { return longest }
            let low = index == 0 ? 0 : Self.bounds[index - 1]
            return min(longest, low + (Self.bounds[index] - low) * (rank - below) / here)
        }
        return longest
    }
}
