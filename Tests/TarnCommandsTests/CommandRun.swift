// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import Synchronization

@testable import TarnCommands

/// A command line of `tarn`, run in this process, with its output.
struct CommandRun {
    var output = ""
    var notes = ""
    var status: Int32 = 0

    private final class Sink: Output.Sink {
        private let texts = Mutex((output: "", notes: ""))

        func write(_ text: String, isNote: Bool) {
            texts.withLock { if isNote { $0.notes += text } else { $0.output += text } }
        }

        var all: (output: String, notes: String) { texts.withLock { $0 } }
    }

    /// Runs a command to its end, as the program does.
    init(_ arguments: [String]) async {
        if let problem = CommandCheck.problem(arguments, root: TarnCommand.self) {
            (notes, status) = ("Error: \(problem)\n", 64)
            return
        }
        let sink = Sink()
        do {
            try await Output.$sink.withValue(sink) {
                var command = try TarnCommand.parseAsRoot(arguments)
                if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
            }
            (output, notes) = sink.all
        } catch {
            (output, notes) = sink.all
            status = TarnCommand.exitCode(for: error).rawValue
            let message = TarnCommand.fullMessage(for: error)
            if !message.isEmpty { notes += message + "\n" }
        }
    }

    init(_ arguments: String...) async { await self.init(arguments) }
}

/// Command lines with their output, as a person sees them in a terminal, for a golden file.
struct Transcript {
    private(set) var text = ""
    /// Texts that differ between runs, with names for them.
    private let names: [(text: String, name: String)]

    init(_ names: (text: String, name: String)...) { self.names = names }

    /// - Returns: The run, for further expectations.
    @discardableResult
    mutating func run(_ arguments: String...) async -> CommandRun {
        await run(arguments, in: [])
    }

    /// - Parameter place: Options that are left out of the text.
    @discardableResult
    mutating func run(_ arguments: [String], in place: [String]) async -> CommandRun {
        let run = await CommandRun(arguments + place)
        let words = arguments.map { $0.contains(where: { " '\"()<>=|".contains($0) }) ? "'" + $0 + "'" : $0 }
        text += stable("$ tarn \(words.joined(separator: " "))\n\(run.output)\(run.notes)")
        if run.status != 0 { text += "(exit code \(run.status))\n" }
        text += "\n"
        return run
    }

    private func stable(_ text: String) -> String {
        var text = text
        for (value, name) in names { text = text.replacing(value, with: name) }
        text = text.replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z/, with: "TIME")
        text = text.replacing(/"timestamp":\d+/, with: "\"timestamp\":MILLISECONDS")
        text = text.replacing(/\b(tarn_[0-9a-f]{48}|[0-9a-f]{64,})\b/, with: "SECRET")
        return text.replacing(/_[0-9a-f]{32}\b/, with: "_USER")
    }
}
