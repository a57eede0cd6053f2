// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import NIOCore

/// The processors that this process may use.
enum Processors {
    /// At most as many as `taskset`, a cpuset or a quota of the control group allows.
    static var count: Int {
        let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        return max(1, min(status.flatMap(allowed) ?? .max, System.coreCount))
    }

    /// Counts the processors in the mask of a process's status.
    ///
    /// Source: proc(5), `Cpus_allowed`: hexadecimal digits in groups, separated by commas.
    static func allowed(in status: String) -> Int? {
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Cpus_allowed:") }) else { return nil }
        let digits = line.dropFirst("Cpus_allowed:".count).compactMap(\.hexDigitValue)
        return digits.isEmpty ? nil : digits.reduce(0) { $0 + $1.nonzeroBitCount }
    }
}
