// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import SimulationKit
import Synchronization
import SystemSupport

/// Runs simulations by their seeds; the last line of the output says how many were run and how many failed.
@main
struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Runs devices, users and a server through faults that a seed decides.")

    @Option(help: "How many seeds to run.") var seeds: UInt64 = 100
    @Option(help: "The first seed.") var first: UInt64 = 1
    @Option(help: "Runs this seed alone, and prints what happens.") var seed: UInt64?
    @Option(help: "How many run at the same time.") var jobs = Processors.count
    @Option(help: "A bug that is planted: \(Simulation.Canary.allCases.map(\.rawValue).joined(separator: ", ")).") var canary: String?
    @Option(
        help:
            "Features of all runs, instead of those that seeds decide: none, or some of \(Feature.allCases.map(\.rawValue).joined(separator: ","))"
    )
    var features: String?
    @Option(help: "The server's database: \(Simulation.Storage.allCases.map(\.rawValue).joined(separator: ", ")).")
    var storage = Simulation.Storage.sqlite
    @Flag(help: "Prints a line for each seed.") var lines = false

    func run() throws {
        let canary = try canary.map { name in
            guard let canary = Simulation.Canary(rawValue: name) else {
                throw ValidationError("Unknown canary \(name). Choose one of those in --help.")
            }
            return canary
        }
        let features = try features.map { names in
            Set(
                try (names == "none" ? [] : names.split(separator: ",")).map { name in
                    guard let feature = Feature(rawValue: String(name)) else {
                        throw ValidationError("Unknown feature \(name). Choose one of those in --help.")
                    }
                    return feature
                })
        }
        if let seed {
            let report = try Simulation.run(seed: seed, features: features, canary: canary, storage: storage, keepsTrace: true)
            for line in report.trace { say(line) }
            try finish(run: 1, failed: report.violations.isEmpty ? 0 : 1, digest: report.digest)
        }
        try runAll(canary, features)
    }

    /// Writes a line without a buffer, so that a run that is killed has printed its findings.
    private func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    private struct Tally {
        var next: UInt64
        var failed = 0
        var saves = 0
        var digests: [UInt64: String] = [:]
        var error: (any Error)?
    }

    private func runAll(_ canary: Simulation.Canary?, _ features: Set<Feature>?) throws {
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
                    let report = try Simulation.run(seed: seed, features: features, canary: canary, storage: storage)
                    tally.withLock { tally in
                        tally.saves += report.saves
                        tally.digests[seed] = report.digest
                        if !report.violations.isEmpty { tally.failed += 1 }
                        if lines {
                            say(
                                "seed \(seed) \(report.digest) \(report.events) events, \(report.saves) saves: \(report.faults) + \(report.features)"
                            )
                        }
                        for violation in report.violations.prefix(3) {
                            say("seed \(seed) [\(report.faults) + \(report.features)]: \(violation)")
                        }
                    }
                } catch {
                    tally.withLock { $0.error = error }
                }
            }
        }
        let result = tally.withLock { $0 }
        if let error = result.error { throw error }
        let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
        say("\(result.saves) saves in \(seconds) seconds")
        let digest = Simulation.digest(of: result.digests.sorted { $0.key < $1.key }.map(\.value))
        try finish(run: seeds, failed: result.failed, digest: digest)
    }

    private func finish(run: UInt64, failed: Int, digest: String) throws -> Never {
        say("seeds run: \(run), failed: \(failed), digest: \(digest)")
        throw ExitCode(failed == 0 ? 0 : 1)
    }
}

extension Simulation.Storage: ExpressibleByArgument {}
