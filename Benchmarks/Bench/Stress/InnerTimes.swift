// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The server's own histogram of response times, of `/metrics`. The difference to a client's times is spent in sockets and in
/// the client.
struct InnerTimes {
    /// Requests so far by the upper bound of their bucket in seconds, cumulative.
    private var counts: [Double: Int] = [:]

    /// Reads the times of the endpoints of a load. The server needs `--operations-access local`.
    init(port: Int) {
        let request = HTTPLoad.request("GET", "/metrics", headers: [], body: [])
        guard let response = StressConnection(port: port).exchange(request), response.status == 200 else { return }
        for line in String(decoding: response.body, as: UTF8.self).split(separator: "\n") {
            guard line.hasPrefix("tarn_request_seconds_bucket{"), line.contains("records/modify") || line.contains("changes/zone"),
                let bound = line.components(separatedBy: "le=\"").last?.components(separatedBy: "\"").first,
                let count = line.split(separator: " ").last.flatMap({ Int($0) })
            else { continue }
            counts[Double(bound) ?? .infinity, default: 0] += count
        }
    }

    /// The least bound, in milliseconds, that all but `count` of the requests since `earlier` fit.
    func milliseconds(ofAllBut count: Int, since earlier: InnerTimes) -> Double {
        let all = counts[.infinity, default: 0] - earlier.counts[.infinity, default: 0]
        let bounds = counts.keys.sorted()
        return (bounds.first { all - (counts[$0, default: 0] - earlier.counts[$0, default: 0]) <= count } ?? .infinity) * 1000
    }
}
