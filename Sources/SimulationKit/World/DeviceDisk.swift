// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CFaultyDisk
import Foundation

/// The disk of a device, which fails from the moment of the device's death on.
final class DeviceDisk: @unchecked Sendable {
    // Unchecked: used on the simulation's thread only.
    /// A moment in the life of an app.
    private enum Moment {
        /// The n-th write from the planning on.
        case write(Int)
        /// A step between two writes of a mirror; see `MirrorEnvironment.Step`.
        case step(remaining: Int)
    }

    /// The end of an operation at a step.
    private struct Killed: Error {}

    private static let writes = Int32(FaultyDiskWrite.rawValue)
    private static let everything = Int32(
        FaultyDiskWrite.rawValue | FaultyDiskSync.rawValue | FaultyDiskGrowth.rawValue | FaultyDiskTruncate.rawValue
            | FaultyDiskDelete.rawValue)

    private let plan: Int32
    private var death: Moment?

    init(under folder: URL) {
        faulty_disk_install()
        plan = faulty_disk_add(folder.path + "/")
        precondition(plan > 0, "too many devices are simulated concurrently")
    }

    /// - Returns: The moment, for people.
    func planDeath(atWrite number: Int) -> String {
        death = .write(number)
        faulty_disk_change(plan, Self.writes, -Int32(number))
        return "write \(number)"
    }

    /// - Returns: The moment, for people.
    func planDeath(atStep number: Int) -> String {
        death = .step(remaining: number)
        return "step \(number)"
    }

    /// Whether a death is planned.
    var isDoomed: Bool { death != nil }

    /// Whether the moment of the planned death has come.
    var hasDied: Bool {
        switch death {
        case .write(let number): Int(faulty_disk_count_of(plan)) >= number
        case .step(let remaining): remaining == 0
        case nil: false
        }
    }

    /// Counts a step.
    ///
    /// - Throws: If it is the moment of the planned death, or a later one.
    func reachStep() throws {
        guard case .step(let remaining) = death else { return }
        death = .step(remaining: max(0, remaining - 1))
        guard remaining <= 1 else { return }
        fail()
        throw Killed()
    }

    /// Fails all writes, as a power failure does.
    func fail() { faulty_disk_change(plan, Self.everything, -1) }

    func mend() {
        death = nil
        faulty_disk_change(plan, 0, 0)
    }

    func remove() { faulty_disk_remove(plan) }
}
