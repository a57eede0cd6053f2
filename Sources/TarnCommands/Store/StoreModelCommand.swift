// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import ManagedModel
import ModelFile
import ModelTool
import SQLiteStore

extension StoreCommand {
    /// `tarn store model FILE [TO]`: the model of a store as a file that Xcode's editor opens.
    struct ModelOfStore: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "model", abstract: "Derive the model of a store and write it.",
            discussion: Help.discussion(
                """
                The model is the store's own record of it where that can be read. Else it is guessed from tables, columns and \
                values: names are in lower case then, and relationships are those that values confirm. Notes on standard error \
                say which it is, and list omitted parts. Without TO the model is printed. The store is not changed.
                """, examples: "tarn store model Notes.sqlite", "tarn store model Notes.sqlite Notes.xcdatamodeld"))

        @Argument(help: "The store's file, such as Model.sqlite.")
        var file: String

        @Argument(help: "The .xcdatamodeld to write.", completion: .directory)
        var to: String?

        @Flag(help: "Replace the versions of a model that is there.")
        var replace = false

        func run() throws {
            let derived = try CommandError.translating(file: file) { try DerivedModel(ofStoreAt: URL(fileURLWithPath: file)) }
            for line in Self.notes(derived) { Output.note(line) }
            do {
                guard let to else { return Output.line(try ModelFileWriter(ModelDocument(derived.model)).text()) }
                let url = URL(fileURLWithPath: to)
                guard url.pathExtension == "xcdatamodeld" else {
                    throw CommandError("'\(to)' isn't the name of a model: end it with .xcdatamodeld.")
                }
                if !replace, FileManager.default.fileExists(atPath: url.path) {
                    throw CommandError("There is something at '\(to)': choose another place, or give --replace.")
                }
                let version = url.deletingPathExtension().lastPathComponent
                try ModelBundleWriter.write([version: ModelDocument(derived.model)], current: version, to: url)
            } catch let error as ModelError {
                throw CommandError("The model cannot be written: \(TerminalText.escaped(error.description)).")
            }
        }

        static func notes(_ derived: DerivedModel) -> [String] {
            let origin =
                switch derived.origin {
                case .recorded: "The model is the store's record of it."
                case .archived:
                    "The model is the one that Apple's framework keeps in the store, without its validation rules and expressions."
                case .tables: "The model is guessed from tables: check its names, types and relationships."
                }
            return [origin] + derived.notes.map { "Note: \(TerminalText.escaped($0))." }
        }
    }
}
