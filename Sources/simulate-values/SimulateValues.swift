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

    @Option(help: "Runs one seed, and prints its events.") var seed: UInt64?
    @Option(
        help: """
            Features instead of those that the seed decides: none, or some of \
            \(ValueFeature.allCases.map(\.rawValue).joined(separator: ",")).
            """)
    var features: String?

    private struct Tally {
        var next: UInt64
        var failed = 0
    }

    private struct Run: Sendable {
        var features: Set<ValueFeature>?
        var canary: ValueCanary?

        /// Without features and canary, a seed runs all worlds.
        func violations(seed: UInt64) -> [String] {
            if let canary { return FeatureWorld.violations(seed: seed, features: features ?? canary.features, canary: canary) }
            if let features { return FeatureWorld.violations(seed: seed, features: features) }
            return FeatureWorld.violations(seed: seed) + DeviceWorld.violations(seed: seed) + UniqueWorld.violations(seed: seed)
        }
    }

    func run() throws {
        let run = Run(features: try features.map(Self.parsed), canary: try canary.map { try Self.parsed($0, "canary") })
        if let seed {
            let violations = FeatureWorld.violations(
                seed: seed, features: run.features ?? run.canary?.features, canary: run.canary, output: Self.say)
            for violation in violations { Self.say("seed \(seed): \(violation)") }
            throw ExitCode(violations.isEmpty ? 0 : 1)
        }
        try runAll(run)
    }

    private static func parsed(_ names: String) throws -> Set<ValueFeature> {
        names == "none" ? [] : Set(try names.split(separator: ",").map { try parsed(String($0), "feature") })
    }

    private static func parsed<Value: RawRepresentable<String> & CaseIterable>(_ name: String, _ kind: String) throws -> Value {
        guard let value = Value(rawValue: name) else {
            throw ValidationError("Unknown \(kind) '\(name)'. Choose one of \(Value.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        return value
    }

    private func runAll(_ run: Run) throws {
        let tally = Mutex(Tally(next: first))
        let end = first + seeds
        let start = ContinuousClock.now
        DispatchQueue.concurrentPerform(iterations: max(1, jobs)) { _ in
            while let seed = tally.withLock({ tally -> UInt64? in
                guard tally.next < end else { return nil }
                defer { tally.next += 1 }
                return tally.next
            }) {
                guard let violation = run.violations(seed: seed).first else { continue }
                tally.withLock { tally in
                    tally.failed += 1
                    if tally.failed <= 20 { Self.say("seed \(seed): \(violation)") }
                }
            }
        }
        let failed = tally.withLock { $0.failed }
        let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
        Self.say("seeds run: \(seeds), failed: \(failed), \(Int(Double(seeds) / max(seconds, 0.001) * 60)) seeds a minute")
        throw ExitCode(failed == 0 ? 0 : 1)
    }

    /// Writes a line without a buffer, so that a run that is killed has printed its findings.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
