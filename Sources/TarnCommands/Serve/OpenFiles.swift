// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Glibc

/// How many files and connections this process may have open.
package enum OpenFiles {
    /// Takes as many as the system grants. Each device that listens holds a connection, and many systems begin with 1,024.
    package static func allowAll() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        // Where it is refused, the server runs with what it has.
        _ = setrlimit(resource, &limit)
    }
}
