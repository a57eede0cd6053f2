// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PackagePlugin

/// Embeds the files of a target's folder `Web` in its code, as the enum `WebFile`.
@main struct WebFilesPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
        let folder = target.directoryURL.appending(path: "Web")
        let contents = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? []
        let files = contents.compactMap { $0 as? URL }.filter { !$0.hasDirectoryPath }.sorted { $0.path < $1.path }
        guard !files.isEmpty else {
            Diagnostics.error("target \(target.name) has no files in \(folder.path)")
            return []
        }
        let output = context.pluginWorkDirectoryURL.appending(path: "WebFile.swift")
        return [
            .buildCommand(
                displayName: "Embedding web files of \(target.name)", executable: try context.tool(named: "webembed").url,
                arguments: [folder.path, output.path], inputFiles: files, outputFiles: [output])
        ]
    }
}
