// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import Testing

@testable import TarnCommands

/// Rules of every command. A new command fails here until its golden file exists.
@Suite struct CommandTreeTests {
    struct Entry: CustomTestStringConvertible {
        var path: [String]
        var type: any ParsableCommand.Type

        var words: String { (["tarn"] + path).joined(separator: " ") }
        var fileName: String { "help/" + (["tarn"] + path).joined(separator: "-") + ".txt" }
        var isLeaf: Bool { type.configuration.subcommands.isEmpty }
        var testDescription: String { words }
    }

    static let all: [Entry] = entries(of: TarnCommand.self, at: [])

    private static func entries(of type: any ParsableCommand.Type, at path: [String]) -> [Entry] {
        [Entry(path: path, type: type)]
            + type.configuration.subcommands.flatMap { entries(of: $0, at: path + [CommandCheck.name($0)]) }
    }

    /// Commands that print no data, or a document of a format of its own.
    static let withoutJSON: Set<String> = [
        "tarn serve", "tarn openapi", "tarn schema export", "tarn store export", "tarn store model", "tarn model write",
        "tarn record export",
    ]

    /// Help, and the errors of a missing and of an unknown argument.
    @Test(arguments: all) func helpAndErrorsAreGolden(_ entry: Entry) {
        // Options of the root that every command repeats.
        let help = TarnCommand.helpMessage(for: entry.type, columns: 100).split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.hasPrefix("  --version ") }.joined(separator: "\n")
        var text = "$ \(entry.words) --help\n\(help)\n"
        if entry.isLeaf {
            for arguments in [[], ["--no-such-option"]] {
                do {
                    _ = try TarnCommand.parseAsRoot(entry.path + arguments)
                } catch {
                    let message = TarnCommand.fullMessage(for: error)
                    text +=
                        "\n$ \(([entry.words] + arguments).joined(separator: " "))\n\(message)\n(exit code \(TarnCommand.exitCode(for: error).rawValue))\n"
                }
            }
        } else if !entry.path.isEmpty {
            let problem = CommandCheck.problem(entry.path + ["no-such-command"], root: TarnCommand.self)
            text += "\n$ \(entry.words) no-such-command\nError: \(problem ?? "none")\n(exit code 64)\n"
        }
        GoldenFile(entry.fileName).expect(text)
    }

    @Test func noGoldenHelpIsLeftOver() throws {
        let names = Set(Self.all.map { String($0.fileName.dropFirst("help/".count)) })
        let files = try FileManager.default.contentsOfDirectory(atPath: GoldenFile.folder.appendingPathComponent("help").path)
        #expect(files.filter { !names.contains($0) }.sorted() == [], "no command has these files: delete them")
    }

    @Test(arguments: all.filter(\.isLeaf)) func everyCommandHasExamplesAndJSON(_ entry: Entry) throws {
        // `helpAndErrorsAreGolden` compares it with the command's.
        let help = try String(contentsOf: GoldenFile.folder.appendingPathComponent(entry.fileName), encoding: .utf8)
        #expect(help.contains("Examples:"), "\(entry.words) has no examples: use Help.discussion(…, examples:) as the others do")
        let words = "\(entry.words) has no --json: use OutputOptions, or list it in withoutJSON if it prints no data"
        #expect(help.contains("--json") || Self.withoutJSON.contains(entry.words), "\(words)")
        #expect(!entry.type.configuration.abstract.isEmpty, "\(entry.words) has no description")
    }

    @Test(arguments: [
        ["user", "roles", "mia"], ["token", "add"], ["zone", "list", "--user", "mia"], ["record", "get", "n1"], ["watch"], ["doctor"],
        ["schema", "diff"],
    ])
    func aContainerIsAnIdentifier(_ words: [String]) async {
        let run = await CommandRun(words + ["--container", "no container"])
        #expect(run.notes.contains("A container identifier has letters, digits and the signs . - _"), "\(run.notes)")
        #expect(run.status == 64)
    }

    @Test func unknownCommandsGetASuggestion() async {
        for (arguments, suggestion) in [
            (["srve"], "Did you mean 'serve'?"), (["user", "lst"], "Did you mean 'list'?"),
            (["recrod", "query"], "Did you mean 'record'?"),
        ] {
            let run = await CommandRun(arguments)
            #expect(run.notes.contains(suggestion), "\(arguments): \(run.notes)")
            #expect(run.status == 64)
        }
        #expect(CommandCheck.problem(["user", "list", "--data", "x"], root: TarnCommand.self) == nil)
        #expect(CommandCheck.problem(["help", "user"], root: TarnCommand.self) == nil)
        #expect(CommandCheck.problem(["schema", "export-schema"], root: TarnCommand.self) == nil)
        #expect(CommandCheck.problem(["zzzzzzzz"], root: TarnCommand.self)?.contains("Did you mean") == false)
        let option = await CommandRun("serve", "--prt", "1")
        #expect(option.notes.contains("Did you mean '--port'?"), "\(option.notes)")
    }
}
