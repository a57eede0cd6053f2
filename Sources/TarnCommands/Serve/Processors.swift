// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Glibc
import NIOCore

/// The processors that this process may use.
enum Processors {
    /// At most as many as `taskset`, a cpuset or a quota of the control group allows.
    static var count: Int {
        var set = cpu_set_t()
        guard sched_getaffinity(0, MemoryLayout<cpu_set_t>.size, &set) == 0 else { return max(1, System.coreCount) }
        let allowed = withUnsafeBytes(of: set) { $0.reduce(0) { $0 + $1.nonzeroBitCount } }
        return max(1, min(allowed, System.coreCount))
    }
}
