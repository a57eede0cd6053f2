// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import ManagedModel
import SQLiteStore
import SystemSupport

/// `tarn store`: reads an app's store. Never changes it; the app may have it open.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store", abstract: "Look into the SQLite store of an app.",
        subcommands: [Info.self, Check.self, Browse.self, Export.self, ModelOfStore.self])

    struct Info: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Describe a store without its model file.",
            discussion: Help.discussion(
                """
                Prints entities, tables, relationships, history and sync metadata of a store that this framework or Apple's \
                wrote. Relationships are guessed from names where the store has no record of its model.
                """, examples: "tarn store info Notes.sqlite", "tarn store info Notes.sqlite --json"))

        @Argument(help: "The store's file, such as Model.sqlite.")
        var file: String
        @Flag(help: "Print one JSON object instead of text.")
        var json = false

        func run() async throws {
            let description = try CommandError.translating(file: file) { try StoreDescription(of: URL(fileURLWithPath: file)) }
            Output.line(json ? try StoreReport.json(description) : StoreReport.text(description))
        }
    }

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Verify every invariant of a store.",
            discussion: Help.discussion(
                """
                Prints a line for each violation: rule, table, key and reason. The exit code is 0 for a sound store, \
                1 when there are violations, 2 when the file cannot be read as a store.
                """, examples: "tarn store check Notes.sqlite"))

        @Argument(help: "The store's file, such as Model.sqlite.")
        var file: String
        @Flag(help: "Print one JSON object instead of text.")
        var json = false

        static let unsound = ExitCode(1)
        static let unreadable = ExitCode(2)

        func run() async throws {
            let check: StoreCheck
            do {
                check = try CommandError.translating(file: file) { try StoreCheck.run(on: URL(fileURLWithPath: file)) }
            } catch let error as CommandError {
                Output.note("Error: \(error.description)")
                throw Self.unreadable
            }
            Output.line(json ? try StoreReport.json(check, of: file) : StoreReport.text(check, of: file))
            if !check.counts.isEmpty { throw Self.unsound }
        }
    }
}

extension StoreContents {
    /// - Throws: ``CommandError`` with the model's entities.
    func entity(_ name: String) throws -> ResolvedEntity {
        if let entity = model.entity(named: name) { return entity }
        let names = model.entities.map(\.name).prefix(50).joined(separator: ", ")
        let suggestion = Suggestion.sentence(for: name, among: model.entities.map(\.name))
        throw CommandError(
            TerminalText.escaped("The store has no entity '\(name)': its entities are \(names).\(suggestion)"))
    }
}

extension CommandError {
    /// Runs `body` and translates errors of a store's file into sentences.
    static func translating<T>(file: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as StoreError {
            if error.code == .corrupt, ServerDatabase.isOne(file) {
                let folder = URL(fileURLWithPath: file).deletingLastPathComponent().relativePath
                throw CommandError(
                    "\(file) is the database of a tarn server, not the store of an app: check it with 'tarn doctor --data \(folder)'.")
            }
            throw CommandError(error)
        }
    }

    init(_ error: StoreError) {
        let advice =
            switch error.code {
            case .notFound: "name the store's file"
            case .notPermitted: "give yourself permission to read it"
            case .corrupt: "name a store's file, or restore it from a backup"
            case .newerFormat: "use the newer release that wrote it"
            case .busy: "try again in a moment"
            case .unsupportedPredicate: "change --where or --sort"
            default: "check the file and its disk"
            }
        let what = "\(error.summary)"
        let detail = error.detail.isEmpty ? "" : " (\(TerminalText.escaped(error.detail)))"
        self.init("\(what.prefix(1).uppercased())\(what.dropFirst())\(detail): \(advice).")
    }
}
