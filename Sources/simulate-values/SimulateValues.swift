// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Dispatch
import Foundation
import Synchronization
import ValueSimulation

/// Runs simulations of sync on values. The last line of the output has the numbers of seeds that ran and failed.
@main
struct SimulateValues: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate-values", abstract: "Runs the decisions of sync on devices and a server that are values.")

    @Option(help: "The number of seeds.") var seeds: UInt64 = 1000
    @Option(help: "The first seed.") var first: UInt64 = 1
    @Option(help: "The number of threads.") var jobs = max(1, ProcessInfo.processInfo.activeProcessorCount)
    @Option(help: "A planted defect: \(ValueCanary.allCases.map(\.rawValue).joined(separator: ", ")).") var canary: String?

    private struct Tally {
        var next: UInt64
        var failed = 0
        var error: (any Error)?
    }

    func run() throws {
        let canary = try canary.map { name in
            guard let canary = ValueCanary(rawValue: name) else {
                throw ValidationError("Unknown canary '\(name)'. Choose one of those in --help.")
            }
            return canary
        }
        let tally = Mutex(Tally(next: first))
        let end = first + seeds
        let start = ContinuousClock.now
        DispatchQueue.concurrentPerform(iterations: max(1, jobs)) { _ in
            while let seed = tally.withLock({ tally -> UInt64? in
                guard tally.next < end, tally.error == nil else { return nil }
                defer { tally.next += 1 }
                return tally.next
            }) {
                do {
                    guard let violation = try Self.violations(seed: seed, canary).first else { continue }
                    tally.withLock { tally in
                        tally.failed += 1
                        if tally.failed <= 20 { say("seed \(seed): \(violation)") }
                    }
                } catch {
                    tally.withLock { $0.error = error }
                }
            }
        }
        let result = tally.withLock { $0 }
        if let error = result.error { throw error }
        let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
        say("seeds run: \(seeds), failed: \(result.failed), \(Int(Double(seeds) / max(seconds, 0.001) * 60)) seeds a minute")
        throw ExitCode(result.failed == 0 ? 0 : 1)
    }

    private static func violations(seed: UInt64, _ canary: ValueCanary?) throws -> [String] {
        if let canary { return FeatureWorld.violations(seed: seed, features: canary.features, canary: canary) }
        return try FeatureWorld.violations(seed: seed) + DeviceWorld.violations(seed: seed) + UniqueWorld.violations(seed: seed)
    }

    /// Writes a line without a buffer, so that a run that is killed has printed its findings.
    private func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
