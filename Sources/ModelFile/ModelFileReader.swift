// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
package import ManagedModel

/// The content of a model file.
package struct ModelFileContents: Sendable {
    /// The model's name: `Posts` for `Posts.xcdatamodeld`.
    package let name: String
    /// Name of the file or folder it was read from, without its path.
    package let sourceName: String
    package let compiled: CompiledModel
    /// Each version, with the parts of its file that the model does not hold.
    package let documents: [String: ModelDocument]
    /// The file of the current version, and the lines of its declarations: `Post`, `Post.title`.
    package let currentFile: String
    package let lines: [String: Int]
    package let warnings: [Diagnostic]
}

/// Reads Core Data model files as Xcode's model editor writes them.
///
/// Source: `xcdatamodel-format` (observed over public model files).
package enum ModelFileReader {
    /// Reads every version of a model and checks each.
    ///
    /// - Parameters:
    ///   - url: An `.xcdatamodeld` folder with versions, or a single `.xcdatamodel`.
    ///   - module: The module that a class name with a leading dot belongs to, when it is known.
    /// - Throws: ``ModelFileError`` with the problems of all versions.
    package static func read(contentsOf url: URL, module: String? = nil) throws(ModelFileError)
        -> ModelFileContents
    {
        let bundle = try ModelBundle(url)
        var diagnostics = bundle.warnings
        var documents: [String: ModelDocument] = [:]
        var (currentFile, lines) = (url.path, [String: Int]())
        for version in bundle.versions {
            let result = read(version.contents, module: module)
            diagnostics += result.diagnostics
            documents[version.name] = result.document
            if version.name == bundle.currentVersion { (currentFile, lines) = (version.contents.path, result.lines) }
        }
        let errors = diagnostics.filter { $0.severity == .error }
        guard errors.isEmpty else { throw ModelFileError(diagnostics) }
        do {
            let compiled = try CompiledModel(currentVersion: bundle.currentVersion, versions: documents.mapValues(\.model))
            return ModelFileContents(
                name: bundle.name, sourceName: url.lastPathComponent, compiled: compiled, documents: documents,
                currentFile: currentFile, lines: lines, warnings: diagnostics)
        } catch {
            throw ModelFileError([Diagnostic(.error, file: url.path, error.description)])
        }
    }

    /// Reads one version and checks it.
    private static func read(_ file: URL, module: String?) -> (document: ModelDocument?, lines: [String: Int], diagnostics: [Diagnostic]) {
        let root: SourceElement
        do {
            root = try SourceElement.parse(contentsOf: file)
        } catch {
            return (nil, [:], error.diagnostics)
        }
        var reader = ModelReader(file: file.path, module: module)
        let model = reader.model(from: root)
        var diagnostics = reader.diagnostics

        func add(_ severity: Diagnostic.Severity, _ problem: ModelError.Problem) {
            let line = reader.lines[problem.subject] ?? reader.lines[problem.entity]
            diagnostics.append(Diagnostic(severity, file: file.path, line: line, problem.description))
        }
        var checks = ModelChecks(model)
        checks.run()
        for problem in checks.errors { add(.error, problem) }
        for problem in checks.warnings { add(.warning, problem) }
        do {
            _ = try ResolvedModel(model)
        } catch {
            for problem in error.problems { add(.error, problem) }
        }
        diagnostics.sort { ($0.line ?? 0, $0.message) < ($1.line ?? 0, $1.message) }
        return (ModelDocument(model, module: module, sourceForms: reader.sourceForms), reader.lines, diagnostics)
    }
}
