// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import ManagedModel
import ModelFile
import ModelTool

/// `tarn model write FROM [TO]`: a model as a file that Xcode's editor opens.
struct ModelWriteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write", abstract: "Write a model as Xcode's model editor does.",
        discussion: Help.discussion(
            """
            Without TO, prints the current version. A model file is rewritten without loss: spellings, positions in the editor and \
            unknown elements stay.
            """, examples: "tarn model write Notes.momd", "tarn model write Notes.momd Notes.xcdatamodeld"))

    @Argument(help: "An .xcdatamodeld, an .xcdatamodel, or a compiled .momd.", completion: .directory)
    var from: String

    @Argument(help: "The .xcdatamodeld to write.", completion: .directory)
    var to: String?

    @Flag(help: "Replace the versions of a model that is there.")
    var replace = false

    func run() throws {
        let (versions, current) = try read(URL(fileURLWithPath: from))
        do {
            guard let to else {
                if let document = versions[current] { Output.line(try ModelFileWriter(document).text()) }
                return
            }
            let url = URL(fileURLWithPath: to)
            guard url.pathExtension == "xcdatamodeld" else {
                throw CommandError("'\(to)' isn't the name of a model: end it with .xcdatamodeld.")
            }
            if !replace, FileManager.default.fileExists(atPath: url.path) {
                throw CommandError("There is something at '\(to)': choose another place, or give --replace.")
            }
            try ModelBundleWriter.write(versions, current: current, to: url)
        } catch let error as ModelError {
            throw CommandError("The model cannot be written: \(error.description).")
        }
    }

    private func read(_ url: URL) throws -> (versions: [String: ModelDocument], current: String) {
        do {
            guard ["xcdatamodel", "xcdatamodeld"].contains(url.pathExtension) else {
                let compiled = try CompiledModel(contentsOf: url)
                return (compiled.versions.mapValues { ModelDocument($0) }, compiled.currentVersion)
            }
            let compilation = try ModelFileReader.read(contentsOf: url)
            return (compilation.documents, compilation.compiled.currentVersion)
        } catch let error as ModelFileError {
            throw CommandError(error.diagnostics.map(\.description).joined(separator: "\n"))
        } catch {
            throw CommandError("'\(url.path)' isn't a readable model: give an .xcdatamodel, an .xcdatamodeld or a .momd.")
        }
    }
}
