// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Glibc

/// The limit of open file descriptors.
package enum OpenFiles {
    /// Raises the soft limit to the hard limit. Each listening device has a connection, and the usual soft limit is 1,024.
    package static func allowAll() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        // On failure, the server runs with the present limit.
        _ = setrlimit(resource, &limit)
    }
}
