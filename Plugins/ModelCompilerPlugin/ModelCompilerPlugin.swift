// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PackagePlugin

/// Compiles each Core Data model in a target's folder: classes become part of the target, the compiled model a
/// resource beside it.
///
/// What is written, and under which name, depends on the names of the models alone, never on what is in them: plans
/// are kept until files come or go.
@main struct ModelCompilerPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
        #if os(macOS)
            // On Apple's platforms Xcode compiles models for Apple's framework.
            return []
        #else
            guard let target = target as? SwiftSourceModuleTarget else { return [] }
            let models = models(under: target.directoryURL)
            guard !models.isEmpty else { return [] }
            for (name, group) in Dictionary(grouping: models, by: \.name) where group.count > 1 {
                Diagnostics.error(
                    "target \(target.name) has \(group.count) models named \(name); their classes would overwrite each other"
                )
                return []
            }
            let tool = try context.tool(named: "modelc").url
            return models.map { model in
                let swift = context.pluginWorkDirectoryURL.appending(path: "\(model.name)+CoreDataModel.swift")
                let compiled = context.pluginWorkDirectoryURL.appending(path: "\(model.name).momd")
                return .buildCommand(
                    displayName: "Compiling \(model.url.lastPathComponent)", executable: tool,
                    arguments: [
                        "compile", model.url.path, "--swift", swift.path, "--compiled", compiled.path, "--module",
                        target.moduleName,
                    ],
                    inputFiles: [model.url] + model.files, outputFiles: [swift, compiled])
            }
        #endif
    }

    private struct Model {
        let url: URL
        /// Every file inside, so that an edit runs the tool again.
        var files: [URL] = []
        var name: String { url.deletingPathExtension().lastPathComponent }
    }

    /// Versioned models and single ones outside of a versioned one, sorted by path.
    private func models(under folder: URL) -> [Model] {
        let inside = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? []
        let urls = inside.compactMap { $0 as? URL }.sorted { $0.path < $1.path }
        let models = urls.filter { url in
            switch url.pathExtension {
            case "xcdatamodeld": true
            case "xcdatamodel": url.deletingLastPathComponent().pathExtension != "xcdatamodeld"
            default: false
            }
        }
        return models.map { url in
            Model(url: url, files: urls.filter { $0.path.hasPrefix(url.path + "/") && !$0.hasDirectoryPath })
        }
    }
}
