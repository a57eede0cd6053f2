// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import ManagedModel
import ModelFile
import ModelTool

/// A model's folder with atomic changes: a version that the reader rejects isn't written.
struct ModelFolder {
    let url: URL

    /// - Throws: ``CommandError`` unless the path ends with `.xcdatamodeld`.
    init(_ path: String) throws {
        url = URL(fileURLWithPath: path)
        guard url.pathExtension == "xcdatamodeld" else {
            throw CommandError("'\(path)' isn't the name of a model: end it with .xcdatamodeld.")
        }
    }

    func read() throws -> ModelFileContents {
        guard FileManager.default.fileExists(atPath: url.path) else {
            throw CommandError("The model '\(url.relativePath)' does not exist: 'tarn model new \(url.relativePath) --entity NAME' makes it.")
        }
        return try Self.reading(url)
    }

    /// Writes the versions to a temporary folder, reads them back, and then writes them to the model's folder.
    ///
    /// - Throws: ``CommandError`` with the reader's errors, before the model's folder changes.
    func write(_ versions: [String: ModelDocument], current: String) throws {
        let trial = FileManager.default.temporaryDirectory.appendingPathComponent(
            "tarn-model-\(UUID().uuidString)/\(url.lastPathComponent)")
        defer { try? FileManager.default.removeItem(at: trial.deletingLastPathComponent()) }
        do {
            try ModelBundleWriter.write(versions, current: current, to: trial)
            let findings = try Self.reading(trial).warnings
            for finding in findings { Output.note("\(finding.severity.rawValue): \(finding.message)") }
            try ModelBundleWriter.write(versions, current: current, to: url)
        } catch let error as ModelError {
            throw CommandError("The model cannot be written: \(error.description).")
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError("The model \(url.relativePath) cannot be written: choose another place, or give yourself write permission.")
        }
    }

    private static func reading(_ url: URL) throws -> ModelFileContents {
        do {
            return try ModelFileReader.read(contentsOf: url)
        } catch {
            throw CommandError(error.errors.map { $0.message }.joined(separator: "\n"))
        }
    }
}

/// `tarn model new PATH`: a model without Xcode.
struct ModelNewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Make a model.",
        discussion: Help.discussion(
            """
            The model is an .xcdatamodeld folder, as Xcode's editor writes it, with one entity to begin with. Attributes have the form \
            NAME:TYPE, with ! for a required one and =VALUE for a default. 'tarn model edit' adds the rest.

            Types: \(AttributeText.types).
            """,
            examples: "tarn model new Notes.xcdatamodeld --entity Note title:String createdAt:Date",
            "tarn model new Notes.xcdatamodeld --entity Note --cloud title:String 'isDone:Boolean=NO'"))

    @Argument(help: "The .xcdatamodeld to make.", completion: .directory)
    var path: String
    @Argument(help: ArgumentHelp("Attributes of the entity.", valueName: "name:type"))
    var attributes: [String] = []
    @Option(help: ArgumentHelp("Name of the first entity.", valueName: "name"))
    var entity: String
    @Flag(help: "Mark the model for CloudKit.")
    var cloud = false
    @OptionGroup var output: OutputOptions

    func run() throws {
        let folder = try ModelFolder(path)
        guard !FileManager.default.fileExists(atPath: folder.url.path) else {
            throw CommandError("There is something at '\(path)' already: choose another name, or change it with 'tarn model edit'.")
        }
        var first = Entity(name: entity, className: entity)
        first.codeGeneration = .class
        first.attributes = try attributes.map { try AttributeText($0).attribute }
        var model = Model(entities: [first], versionIdentifiers: [""])
        if cloud { model.cloudConfigurations = [Model.defaultConfiguration] }
        let version = folder.url.deletingPathExtension().lastPathComponent
        try folder.write([version: ModelDocument(model)], current: version)
        output.print("\(path): made with the entity \(entity)", ["path": JSONText.string(path), "entity": JSONText.string(entity)])
    }
}
