// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Dispatch
import Foundation
import Synchronization
import SystemSupport
import ValueSimulation

/// Runs simulations of sync on values. The last line of the output has the numbers of seeds that ran and failed.
@main
struct SimulateValues: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate-values", abstract: "Runs the decisions of sync on devices and a server that are values.")

    @Option(help: "The number of seeds.") var seeds: UInt64 = 1000
    @Option(help: "The first seed.") var first: UInt64 = 1
    @Option(help: "The number of threads.") var jobs = Processors.count
    @Option(help: "A planted defect: \(ValueCanary.allCases.map(\.rawValue).joined(separator: ", ")).") var canary: String?

    @Option(help: "Runs one seed, and prints its events.") var seed: UInt64?
    @Option(
        help: """
            Features instead of those that the seed decides: none, or some of \
            \(ValueFeature.allCases.map(\.rawValue).joined(separator: ",")).
            """)
    var features: String?

    @Flag(help: "Prints a digest of all final states, which a change of speed alone must not change.") var digest = false

    private struct Tally {
        var next: UInt64
        var failed = 0
        var digest = StateDigest()
    }

    func run() throws {
        let features = try self.features.map(Self.parsed)
        let canary: ValueCanary? = try self.canary.map { try Self.parsed($0, "canary") }
        if let seed {
            var runner = ValueRunner(features: features, canary: canary)
            let violations = runner.violations(seed: seed, output: Self.say)
            for violation in violations { Self.say("seed \(seed): \(violation)") }
            throw ExitCode(violations.isEmpty ? 0 : 1)
        }
        try runAll { [digest] in ValueRunner(features: features, canary: canary, digests: digest) }
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

    /// - Parameter makeRunner: Called once by each thread.
    private func runAll(_ makeRunner: @Sendable () -> ValueRunner) throws {
        let tally = Mutex(Tally(next: first))
        let end = first + seeds
        let start = ContinuousClock.now
        DispatchQueue.concurrentPerform(iterations: max(1, jobs)) { _ in
            var runner = makeRunner()
            while let seed = tally.withLock({ tally -> UInt64? in
                guard tally.next < end else { return nil }
                defer { tally.next += 1 }
                return tally.next
            }) {
                guard let violation = runner.violations(seed: seed).first else { continue }
                tally.withLock { tally in
                    tally.failed += 1
                    if tally.failed <= 20 { Self.say("seed \(seed): \(violation)") }
                }
            }
            if let digest = runner.digest { tally.withLock { $0.digest.add(digest) } }
        }
        let (failed, states) = tally.withLock { ($0.failed, $0.digest) }
        if digest { Self.say("digest: \(String(states.value, radix: 16))") }
        let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
        Self.say("seeds run: \(seeds), failed: \(failed), \(Int(Double(seeds) / max(seconds, 0.001) * 60)) seeds a minute")
        throw ExitCode(failed == 0 ? 0 : 1)
    }

    /// Writes a line without a buffer, so that a run that is killed has printed its findings.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
