// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PackagePlugin

/// Compiles each Core Data model in a target's folder: classes become part of the target, the compiled model a
/// resource of it. Gives bodies to `@NSManaged` members of hand-written classes, and checks classes against models.
///
/// The set of outputs depends on the names of the models alone, never on their content: SwiftPM caches a plan until files
/// are added or removed.
@main struct ModelCompilerPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
        #if os(macOS)
            // On Apple's platforms Xcode compiles models for Apple's framework.
            return []
        #else
            guard let target = target as? SwiftSourceModuleTarget else { return [] }
            let models = models(under: target.directoryURL)
            for (name, group) in Dictionary(grouping: models, by: \.name) where group.count > 1 {
                Diagnostics.error(
                    "target \(target.name) has \(group.count) models named \(name); their classes would overwrite each other"
                )
                return []
            }
            let tool = try context.tool(named: "modelc").url
            return [accessors(context, target, tool, models)]
                + models.map { model in
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

    /// One file for the target, with or without managed properties: the plan is made before sources are read.
    ///
    /// The models are checked against the sources on the way: both are inputs of this command alone.
    private func accessors(_ context: PluginContext, _ target: SwiftSourceModuleTarget, _ tool: URL, _ models: [Model]) -> Command {
        let sources = target.sourceFiles(withSuffix: "swift").map(\.url)
        let swift = context.pluginWorkDirectoryURL.appending(path: "\(target.moduleName)+ManagedAccessors.swift")
        var arguments = ["accessors", "--module", target.moduleName, "--swift", swift.path]
        for model in models { arguments += ["--model", model.url.path] }
        arguments += sources.map(\.path)
        for dependency in dependencies(of: target) {
            arguments += ["--dependency", dependency.moduleName]
            arguments += dependency.sourceFiles(withSuffix: "swift").map(\.url.path)
        }
        return .buildCommand(
            displayName: "Reading managed properties of \(target.name)", executable: tool, arguments: arguments,
            inputFiles: sources + models.flatMap { [$0.url] + $0.files }, outputFiles: [swift])
    }

    /// The modules that declare types of properties: those of the package, and products that it uses. Core Data's own
    /// are known to the tool.
    private func dependencies(of target: SwiftSourceModuleTarget) -> [SwiftSourceModuleTarget] {
        var found: [SwiftSourceModuleTarget] = []
        var waiting: [any Target] = [target]
        while let current = waiting.popLast() {
            for dependency in current.dependencies {
                let targets: [any Target] =
                    switch dependency {
                    case .target(let target): [target]
                    case .product(let product): product.targets
                    @unknown default: []
                    }
                for case let module as SwiftSourceModuleTarget in targets
                where !["CoreData", "CloudKit"].contains(module.moduleName) && !found.contains(where: { $0.id == module.id }) {
                    found.append(module)
                    if case .target = dependency { waiting.append(module) }
                }
            }
        }
        return found
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
