// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import Synchronization

/// Attacks a server that may use little memory, one attack after the other, while a user saves all the time.
struct AttackCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attack", abstract: "Attack a server, and measure the concurrent saves of a user.",
        discussion: """
            Prints the median and the 99th percentile of saves before and during each attack, responses, peak memory, and whether the \
            server runs. Ends with 1 if the server ended, if a percentile during an attack is above --p99, if peak memory is above \
            --memory, or if a response had a status of 5xx other than 503.
            """)

    @Option(help: "The executable tarn.")
    var tarn: String

    @Option(help: "Seconds of each attack.")
    var seconds = 10.0

    @Option(help: "Seconds of saves without an attack before each.")
    var before = 3.0

    @Option(help: "Milliseconds that the 99th percentile of saves may take during an attack.")
    var p99 = 250.0

    @Option(help: "Mebibytes of memory that the server may use (ulimit -d, and peak resident memory).")
    var memory = 1024

    @Option(help: "Only attacks with this text in their names.")
    var only: String?

    func validate() throws {
        guard seconds > 0, before > 0, memory >= 64 else {
            throw ValidationError("Times are positive, and there are at least 64 MiB of memory.")
        }
    }

    func run() throws {
        let scratch = try Scratch()
        let folder = scratch.newFile().deletingPathExtension()
        let server = try StressServer(tarn: tarn, folder: folder)
        // Data segments and private mappings that are written to. An address space limit would count reserved memory as well.
        server.shellLimits = ["ulimit -d \(memory * 1024)", "ulimit -c 0"]
        let tokens = (owner: try server.newUser("mia"), attacker: try server.newUser("eve"))
        try server.start()
        defer { server.stop() }
        print(
            "attack | saves | p50 before | p99 before | p50 | p99 | max ms | retried | accepted | refused | 5xx | dropped | peak MB | server"
        )
        var failures: [String] = []
        for attack in Attack.all where only.map({ attack.name.contains($0) }) ?? true {
            let outcome = try run(attack, server, tokens)
            print(outcome.line)
            fflush(nil)
            failures += outcome.failures.map { "\(attack.name): \($0)" }
            if !server.isAlive {
                server.stop()
                try server.start()
            }
        }
        for failure in failures { print("FAILED \(failure)") }
        print(failures.isEmpty ? "The server held." : "\(failures.count) failures.")
        if !failures.isEmpty { throw ExitCode.failure }
    }

    private struct Outcome {
        var line: String
        var failures: [String] = []
    }

    private func run(_ attack: Attack, _ server: StressServer, _ tokens: (owner: String, attacker: String)) throws -> Outcome {
        let score = Attack.Score()
        let isOver = Mutex(false), running = Mutex(attack.threads)
        func sender(_ thread: Int) -> Attack.Sender {
            Attack.Sender(port: server.port, token: tokens.attacker, thread: thread, score: score) { isOver.withLock { $0 } }
        }
        for thread in 0..<attack.threads { attack.prepare(sender(thread)) }
        let probe = SaveProbe(port: server.port, token: tokens.owner)
        probe.start()
        defer { probe.end() }
        usleep(300_000)
        _ = probe.takeSamples()
        usleep(UInt32(before * 1e6))
        let calm = probe.takeSamples()
        server.forgetPeak()
        for thread in 0..<attack.threads {
            let sender = sender(thread)
            Thread.detachNewThread {
                attack.attack(sender)
                running.withLock { $0 -= 1 }
            }
        }
        usleep(UInt32(seconds * 1e6))
        let samples = probe.takeSamples()
        isOver.withLock { $0 = true }
        let counts = score.current, peak = server.peakMemory / 1_048_576, isAlive = server.isAlive
        // Threads that wait for a response end with the response or with their timeout, before the next attack starts.
        while running.withLock({ $0 }) > 0 { usleep(20_000) }

        let high = SaveProbe.percentile(0.99, of: samples)
        func text(_ value: Double) -> String { value.isFinite ? String(format: "%.1f", value) : "-" }
        let cells =
            [
                attack.name, "\(samples.count)", text(SaveProbe.percentile(0.5, of: calm)), text(SaveProbe.percentile(0.99, of: calm)),
                text(SaveProbe.percentile(0.5, of: samples)), text(high), text(samples.map(\.milliseconds).max() ?? .infinity),
                "\(samples.count { $0.attempts > 1 })", "\(counts.accepted)", "\(counts.refused)", "\(counts.failed)", "\(counts.dropped)",
                text(peak), isAlive ? "runs" : "ENDED",
            ]
        var outcome = Outcome(line: cells.joined(separator: " | "))
        if !isAlive { outcome.failures.append("the server ended") }
        if high > p99 { outcome.failures.append("the 99th percentile of saves is \(text(high)) ms, above \(text(p99))") }
        if peak > Double(memory) { outcome.failures.append("peak memory is \(text(peak)) MB, above \(memory)") }
        if counts.failed > 0 { outcome.failures.append("\(counts.failed) responses have a status of 5xx") }
        return outcome
    }
}
