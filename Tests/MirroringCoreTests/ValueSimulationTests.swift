// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// Seeds from the environment; none runs unless it names a number.
private enum RequestedSeeds {
    private static let environment = ProcessInfo.processInfo.environment
    static let count = environment["SIM_VALUE_SEEDS"].flatMap { UInt64($0) } ?? 0
    static let first = environment["SIM_VALUE_FIRST"].flatMap { UInt64($0) } ?? 1
}

/// The simulations of devices and server as values, over many seeds: `make simulate-values SEEDS=n FIRST=m`.
@Suite(.enabled(if: RequestedSeeds.count > 0)) struct ValueSimulationTests {
    /// The last line of the output has the number of seeds that ran, and of those that failed.
    @Test func everySeedConverges() async throws {
        let failed = try await withThrowingTaskGroup(of: [UInt64].self) { group in
            let width = UInt64(ProcessInfo.processInfo.activeProcessorCount)
            for lane in 0..<width { group.addTask { try Self.failures(stride(from: RequestedSeeds.first + lane, to: RequestedSeeds.first + RequestedSeeds.count, by: Int(width))) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        print("seeds run: \(RequestedSeeds.count), failed: \(failed.count)")
        #expect(failed.sorted().prefix(20) == [])
    }

    private static func failures(_ seeds: some Sequence<UInt64>) throws -> [UInt64] {
        try seeds.filter { seed in
            let violations = DeviceWorld.violations(seed: seed) + (try UniqueWorld.violations(seed: seed))
            if let violation = violations.first { print("seed \(seed): \(violation)") }
            return !violations.isEmpty
        }
    }
}
