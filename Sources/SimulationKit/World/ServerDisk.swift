// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CFaultyDisk
import CloudInProcess

/// The disk of the server's database.
final class ServerDisk: @unchecked Sendable {
    // Unchecked: used on the simulation's thread only.
    private var plan: Int32?
    private var failsAt: Int?

    /// Open files stay on the disk on which they were opened.
    func lay(under cloud: InProcessCloud) throws {
        faulty_disk_install()
        try cloud.stop()
        let plan = faulty_disk_add(cloud.path + "/")
        precondition(plan > 0, "too many servers are simulated concurrently")
        self.plan = plan
        try cloud.start()
    }

    /// Fails all writes from the n-th one on.
    func fail(atWrite number: Int) {
        guard let plan else { return }
        failsAt = number
        faulty_disk_change(plan, Int32(FaultyDiskWrite.rawValue), -Int32(number))
    }

    var hasFailed: Bool {
        guard let plan, let failsAt else { return false }
        return Int(faulty_disk_count_of(plan)) >= failsAt
    }

    func mend() {
        failsAt = nil
        if let plan { faulty_disk_change(plan, 0, 0) }
    }

    func remove() {
        if let plan { faulty_disk_remove(plan) }
        plan = nil
    }
}
