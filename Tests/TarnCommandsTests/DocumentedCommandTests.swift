// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import Testing

@testable import TarnCommands

/// Each `tarn …` line of README and guides is a command that this `tarn` has, with its options.
@Suite struct DocumentedCommandTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The commands in the fenced blocks of a document, without comments and environment.
    static func commands(in text: String) -> [[String]] {
        var commands: [[String]] = []
        var isCode = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") { isCode.toggle() }
            guard isCode else { continue }
            let words = words(of: line)
            guard let program = words.firstIndex(where: { !$0.contains("=") && $0 != "sudo" && $0 != "-u" }) else { continue }
            guard words[program] == "tarn" else { continue }
            let rest = words[(program + 1)...]
            // sudo -u tarn tarn …: the system user has the program's name.
            commands.append(Array(rest.first == "tarn" ? rest.dropFirst() : rest))
        }
        return commands
    }

    /// The words of a line of a shell, up to a comment, a pipe or a redirection.
    private static func words(of line: Substring) -> [String] {
        var (words, word, quote) = ([String](), String?.none, Character?.none)
        for character in line {
            if let open = quote {
                if character == open { quote = nil } else { word = (word ?? "") + String(character) }
            } else if character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if character == " " {
                if let finished = word { words.append(finished) }
                word = nil
            } else if word == nil, "#|><&".contains(character) {
                return words
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let finished = word { words.append(finished) }
        return words
    }

    @Test func everyCommandOfTheDocumentsIsParsed() throws {
        let guides = "Documentation/Tarn.docc"
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.root.appendingPathComponent(guides).path)
            .filter { $0.hasSuffix(".md") }
        var count = 0
        // Documents repeat commands, and a debug build takes long to parse one.
        var valid: Set<[String]> = []
        for path in ["README.md"] + names.sorted().map({ "\(guides)/\($0)" }) {
            let text = try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
            for command in Self.commands(in: text) {
                count += 1
                guard !valid.contains(command) else { continue }
                do {
                    _ = try TarnCommand.parseAsRoot(command)
                    valid.insert(command)
                } catch {
                    // --help and --version end like this.
                    if TarnCommand.exitCode(for: error).isSuccess { continue }
                    Issue.record("\(path): tarn \(command.joined(separator: " ")): \(TarnCommand.message(for: error))")
                }
            }
        }
        #expect(count >= 20)
    }

    /// Commands within sentences and tables. Arguments are optional there.
    @Test func everyCommandInASentenceExists() throws {
        var paths = ["README.md", "SECURITY.md", "CONTRIBUTING.md"]
        for folder in ["Documentation", "Documentation/Tarn.docc"] {
            let names = try FileManager.default.contentsOfDirectory(atPath: Self.root.appendingPathComponent(folder).path)
            // Encryption has labels of this form.
            paths += names.filter { $0.hasSuffix(".md") && $0 != "Encryption.md" }.sorted().map { "\(folder)/\($0)" }
        }
        var count = 0
        for path in paths {
            let text = try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
            for match in text.matches(of: /`tarn ([a-z][^`\n]*)`/) {
                count += 1
                let problem = CommandCheck.problem(match.1.split(separator: " ").map(String.init), root: TarnCommand.self)
                #expect(problem == nil, "\(path): \(match.0)")
            }
        }
        #expect(count >= 40)
    }

    /// Code that tests compile and run: that of the guides, and of a project of `tarn new`.
    private static func compiledSources() throws -> [String] {
        let guides = "Tests/CloudKitTestingTests/Guides"
        let names =
            try files(in: guides, ending: ".swift") + [
                "Tests/CloudCollaborationTests/GuideTests.swift", "Tests/TarnMirrorTests/MirrorGuideTests.swift",
            ]
        let project = ProjectTemplate(name: "Trails", package: TarnPackage(location: "../tarn", isFolder: true))
        return try names.map { try String(contentsOf: root.appendingPathComponent($0), encoding: .utf8) } + project.files.map(\.text)
    }

    /// Paths from the root.
    private static func files(in folder: String, ending suffix: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(folder).path).filter { $0.hasSuffix(suffix) }
            .sorted()
            .map { "\(folder)/\($0)" }
    }

    @Test func codeInDocumentsIsCompiled() throws {
        let sources = try Self.compiledSources()
        var count = 0
        for path in try ["README.md"] + Self.files(in: "Documentation", ending: ".md")
            + Self.files(in: "Documentation/Tarn.docc", ending: ".md")
        {
            let text = try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
            for sample in text.components(separatedBy: "```swift\n").dropFirst().map({ $0.components(separatedBy: "```")[0] }) {
                count += 1
                if !sources.contains(where: { $0.contains(sample) }) {
                    Issue.record("\(path) shows code that no test and no new project has: \(sample.prefix(60))…")
                }
            }
        }
        #expect(count >= 30)
    }

    @Test func commandsAreFoundInFencedBlocksOnly() {
        let text = """
            tarn outside
            ```sh
            tarn serve --data ./data   # starts it
            TARN_SERVER=http://x tarn demo | tail
            sudo -u tarn tarn user add mia
            tarn store browse A.sqlite Car --where "maker == 'FIAT'" > file
            make demo
            ```
            """
        #expect(
            Self.commands(in: text) == [
                ["serve", "--data", "./data"], ["demo"], ["user", "add", "mia"],
                ["store", "browse", "A.sqlite", "Car", "--where", "maker == 'FIAT'"],
            ])
    }
}
