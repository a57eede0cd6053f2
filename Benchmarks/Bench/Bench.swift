// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation

@main struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Times the work of Core Data, of the server and of sync, compared with other systems.",
        subcommands: [
            MeasureCommand.self, ScaleCommand.self, WaitsCommand.self, AttackCommand.self, OverloadCommand.self,
            StreamsCommand.self, SoakCommand.self, BareServer.self,
            DeviceProgram.self,
        ], defaultSubcommand: MeasureCommand.self)
}

/// Measures the works, compares them with their anchors, and says which goals are met.
struct MeasureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "measure", abstract: "Measure the works.")

    @Option(help: "How many rows the works have.")
    var rows = 100_000

    @Option(help: "How many rounds are counted; ratios are medians over them.")
    var rounds = 6

    @Flag(inversion: .prefixedNo, help: "Compare ten times as many rows with --rows for G10, or --rows with a tenth of them.")
    var large = true

    @Option(help: "Only these works, by identifier: L1,R2.")
    var only: String?

    @Option(help: "The executable tarn, for the works of the server; without it they are left out.")
    var tarn: String?

    @Option(help: "Where Kinto was installed, for the same.")
    var anchors: String?

    @Option(help: "Mebibytes of the asset of B1.")
    var mebibytes = 1024

    @Option(help: "Where the verdicts go, as JSON.")
    var output: String?

    func validate() throws {
        guard rows >= 1000, rounds >= 1 else { throw ValidationError("There must be at least 1000 rows and one round.") }
    }

    func run() throws {
        let scratch = try Scratch()
        let posts = Posts(rows, in: scratch)
        let wanted = only.map { Set($0.split(separator: ",").map(String.init)) }
        let runner = Runner(rounds: rounds, note: note)
        let stage = tarn.map { CloudStage(tarn: $0, anchors: anchors, in: scratch) }
        let works =
            works(posts) + (try Coding.works()) + [Testing.work(), Linked.work(scratch, links: large ? 100_000 : 10_000)]
            + (stage.map(works) ?? [])
        let measurements = try works.filter { wanted?.contains($0.id) ?? true }.map(runner.measure)
        print(Table.of(measurements).text)
        var verdicts = Goal.all.compactMap { $0.verdict(measurements) }
        if wanted?.contains("G10") ?? true { verdicts += try linearity(posts, scratch).verdicts() }
        print(Table.of(verdicts).text)
        if let output { try write(verdicts, to: output) }
    }

    private func works(_ posts: Posts) -> [Work] {
        [Inserting.work(posts)] + Reading.works(posts) + LookingUp.works(posts) + Finding.works(posts) + Changing.works(posts)
            + Committing.works(posts) + Linking.works(posts) + Faulting.works(posts)
    }

    private func works(_ stage: CloudStage) -> [Work] {
        Serving.works(stage, large: large) + Waiting.works(stage) + Calling.works(stage) + Carrying.works(stage, bytes: mebibytes << 20)
            + Mirroring.works(stage, large: large) + [Mirroring.permissions(stage)] + Mirroring.values(stage, bytes: mebibytes << 20)
    }

    private func linearity(_ posts: Posts, _ scratch: Scratch) -> Linearity {
        let other = Posts(large ? rows * 10 : rows / 10, in: scratch)
        return Linearity(small: large ? posts : other, large: large ? other : posts, rounds: large ? 2 : 3, note: note)
    }

    private func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

    private func write(_ verdicts: [Verdict], to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try (encoder.encode(verdicts) + Data("\n".utf8)).write(to: URL(fileURLWithPath: path))
    }
}
