// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import ModelFile
import ModelTool
import SystemSupport

/// `tarn model check PATH…`: prints the plugin's findings about a model, without a build.
struct ModelCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Print warnings and errors of models, each with file and line.",
        discussion: Help.discussion(
            """
            Lines are those that a build with the ModelCompilerPlugin prints. With --sources, the classes that models name are looked \
            for in Swift files, and @NSManaged members are held against the models. The exit code is 1 when there is an error.
            """, examples: "tarn model check Notes.xcdatamodeld", "tarn model check Sources/Notes --sources Sources/Notes"))

    @Argument(help: "An .xcdatamodeld folder, a single .xcdatamodel, or a folder with such inside.", completion: .directory)
    var paths: [String]

    @Option(help: "A folder with the Swift files of the target that the models belong to.", completion: .directory)
    var sources: String?

    @Option(help: "The name of that target's module, for class names with a leading dot.")
    var module: String?

    @OptionGroup var output: OutputOptions

    func run() throws {
        var compilations: [ModelFileContents] = []
        var findings: [Diagnostic] = []
        for url in try models() {
            do {
                let compilation = try ModelFileReader.read(contentsOf: url, module: module)
                findings += compilation.warnings
                compilations.append(compilation)
            } catch {
                findings += error.diagnostics
            }
        }
        if let sources { findings += ClassChecks(compilations, sources: try index(sources)).findings() }
        let errors = findings.count { $0.severity == .error }
        if output.json {
            for finding in findings { Output.line(Self.json(finding)) }
        } else {
            for finding in findings { Output.line(finding.description) }
            Output.line("\(CountText.text(errors, "error")), \(CountText.text(findings.count - errors, "warning"))")
        }
        if errors > 0 { throw ExitCode.failure }
    }

    private func models() throws -> [URL] {
        var found: [URL] = []
        for path in paths {
            let url = URL(fileURLWithPath: path)
            if Self.isModel(url) {
                found.append(url)
                continue
            }
            let inside = (FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil)?.allObjects ?? []).compactMap {
                $0 as? URL
            }
            let models = inside.filter { Self.isModel($0) && $0.deletingLastPathComponent().pathExtension != "xcdatamodeld" }
            if models.isEmpty {
                throw CommandError("No model was found at '\(path)': give an .xcdatamodeld, an .xcdatamodel, or a folder with one.")
            }
            found += models.sorted { $0.path < $1.path }
        }
        return found
    }

    private static func isModel(_ url: URL) -> Bool { ["xcdatamodel", "xcdatamodeld"].contains(url.pathExtension) }

    private func index(_ folder: String) throws -> AccessorSources {
        guard let names = FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] else {
            throw CommandError("The folder '\(folder)' does not exist.")
        }
        var index = SourceIndex(module: module ?? URL(fileURLWithPath: folder).lastPathComponent)
        for name in names.sorted() where name.hasSuffix(".swift") {
            let file = URL(fileURLWithPath: folder).appendingPathComponent(name)
            guard let data = FileManager.default.contents(atPath: file.path) else { continue }
            index.add(String(decoding: data, as: UTF8.self), file: file.path)
        }
        return AccessorSources(index) { nil }
    }
}

extension ModelCheckCommand {
    static func json(_ finding: Diagnostic) -> String {
        let line = finding.line.map(String.init) ?? "null"
        return #"{"severity":\#(JSONText.string(finding.severity.rawValue)),"file":\#(JSONText.string(finding.file)),"line":\#(line),"#
            + #""message":\#(JSONText.string(finding.message))}"#
    }
}
