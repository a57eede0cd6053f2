// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation

/// Sends a server more requests than it can serve.
struct OverloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "overload", abstract: "Send a server four times the load that it can serve.",
        discussion: """
            Measures how many requests per second a server serves, half of them saves of 20 records and half pages of 200 records, of \
            several users. Then it sends that many, and four times as many, whether or not the server keeps up, and prints the latency of \
            accepted and of refused requests, that of accepted ones inside of the server (the bound of a bucket), the processors that server \
            and client use, and resident memory. The client has a processor of its own, and the server the others. Ends with 1 if the overload lets the 99th percentile of accepted requests \
            grow by more than --growth, if a refusal takes longer than --refusal at the 99th percentile, if memory grows by more than \
            --memory, or if a response has another status.
            """)

    @Option(help: "The executable tarn.")
    var tarn: String

    @Option(help: "Seconds of each load.")
    var seconds = 15.0

    @Option(help: "Users that send.")
    var users = 16

    @Option(help: "The overload, as a multiple of the capacity.")
    var factor = 4.0

    @Option(help: "Milliseconds by which accepted requests may take longer in the overload.")
    var growth = 50.0

    @Option(help: "Milliseconds that the 99th percentile of refusals may take.")
    var refusal = 50.0

    @Option(help: "Mebibytes by which memory may grow in the overload.")
    var memory = 64.0

    @Option(help: "A limit of the server, as NAME=NUMBER.")
    var limit: [String] = []

    func validate() throws {
        guard seconds >= 2, (1...200).contains(users), factor > 1 else {
            throw ValidationError("A load takes 2 seconds at least, there are 1 to 200 users, and the overload is more than the capacity.")
        }
    }

    func run() throws {
        let scratch = try Scratch()
        let limits = (["requestsPerMinute=0"] + limit).flatMap { ["--limit", $0] } + ["--operations-access", "local"]
        let server = try StressServer(tarn: tarn, folder: scratch.newFile().deletingPathExtension(), arguments: limits)
        let tokens = try (0..<users).map { try server.newUser("u\($0)") }
        let split = ProcessorSplit()
        if let split { server.shellLimits.append(split.shellCommand) }
        try server.start()
        try split?.keepClient()
        defer { server.stop() }
        let setup = StressConnection(port: server.port, timeout: 60)
        for token in tokens {
            for batch in 0..<10 {
                guard setup.exchange(Self.save(batch, token))?.status == 200 else { throw Program.Failure(description: "a save failed") }
            }
        }
        let requests = (0..<20).flatMap { number in
            tokens.map { number % 2 == 0 ? Self.save(number % 10, $0) : Self.page($0) }
        }
        let load = OverloadLoad(port: server.port, requests: requests)
        _ = try load.run(rate: nil, clients: 32, seconds: 2)
        let full = try load.run(rate: nil, clients: 32, seconds: seconds / 2)
        print(String(format: "capacity: %.0f requests per second (32 clients)", full.rate))
        print(
            "load | rate | accepted/s | p50 ms | p99 ms | inside p99 ms | refused/s | p50 ms | p99 ms | failed | unsent | late ms "
                + "| server CPUs | client CPUs | RSS MB | peak MB")
        fflush(nil)
        let calm = try measure("1", full.rate, load, server)
        let over = try measure(String(format: "%g", factor), full.rate * factor, load, server)
        var failures: [String] = []
        let growth = over.p99 - calm.p99
        if growth > self.growth { failures.append(String(format: "accepted requests take %.1f ms longer", growth)) }
        if over.refusal > refusal { failures.append(String(format: "refusals take %.1f ms", over.refusal)) }
        if over.peak - calm.peak > memory { failures.append(String(format: "memory grows by %.1f MB", over.peak - calm.peak)) }
        if over.outcome.failed > 0 { failures.append("\(over.outcome.failed) requests failed") }
        if over.outcome.rate < calm.outcome.rate / 2 { failures.append("the overload halves the served requests") }
        for failure in failures { print("FAILED \(failure)") }
        print(failures.isEmpty ? "The server held." : "\(failures.count) failures.")
        if !failures.isEmpty { throw ExitCode.failure }
    }

    private func measure(
        _ name: String, _ rate: Double, _ load: OverloadLoad, _ server: StressServer
    ) throws -> (outcome: OverloadLoad.Outcome, p99: Double, refusal: Double, peak: Double) {
        server.forgetPeak()
        let before = InnerTimes(port: server.port), processor = server.processorSeconds
        let outcome = try load.run(rate: rate, clients: 512, seconds: seconds)
        let used = (server.processorSeconds - processor) / outcome.seconds
        // Refused requests are the fast ones: the slowest hundredth of the accepted ones is at the end of all.
        let inside = InnerTimes(port: server.port).milliseconds(ofAllBut: outcome.accepted.count / 100, since: before)
        let peak = server.peakMemory / 1_048_576
        func cell(_ share: Double, _ values: [Double]) -> String {
            values.isEmpty ? "-" : String(format: "%.1f", SaveProbe.percentile(share, of: values))
        }
        let cells = [
            name + "×", String(format: "%.0f", rate), String(format: "%.0f", outcome.rate), cell(0.5, outcome.accepted),
            cell(0.99, outcome.accepted), String(format: "%g", inside),
            String(format: "%.0f", Double(outcome.refused.count) / outcome.seconds),
            cell(0.5, outcome.refused), cell(0.99, outcome.refused),
            "\(outcome.failed)", "\(outcome.unsent)", String(format: "%.1f", outcome.lateness),
            String(format: "%.2f", used), String(format: "%.2f", outcome.clientSeconds / outcome.seconds),
            String(format: "%.1f", server.residentMemory / 1_048_576), String(format: "%.1f", peak),
        ]
        print(cells.joined(separator: " | "))
        fflush(nil)
        let refusal = outcome.refused.isEmpty ? 0 : SaveProbe.percentile(0.99, of: outcome.refused)
        return (outcome, SaveProbe.percentile(0.99, of: outcome.accepted), refusal, peak)
    }

    private static func save(_ batch: Int, _ token: String) -> [UInt8] {
        let operations = (0..<20).map { number in
            let fields = #""n":{"type":"INT64","value":\#(number)},"t":{"type":"STRING","value":"the text of record \#(number)"}"#
            return
                #"{"operationType":"forceUpdate","record":{"recordName":"r\#(batch * 20 + number)","recordType":"Load","fields":{\#(fields)}}}"#
        }
        return StressServer.request("records/modify", #"{"operations":[\#(operations.joined(separator: ","))]}"#, token: token)
    }

    private static func page(_ token: String) -> [UInt8] {
        StressServer.request("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"_defaultZone"},"resultsLimit":200}]}"#, token: token)
    }
}
