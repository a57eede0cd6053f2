// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ModelFile
import ModelFolders
import ModelTool
import TestBasics
import Testing

/// Random models from file to running program: written, read, generated, compiled by one call, and used.
@Suite struct CompiledModelsTests {
    @Test(.enabled(if: BuiltPackage.current != nil, "the build left no description of itself"))
    func objectsOfRandomModelsComeBackAsTheyWere() throws {
        let package = try #require(BuiltPackage.current)
        let folder = FileManager.default.temporaryDirectory.appending(path: "generated-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)

        var sources: [URL] = []
        func add(_ name: String, _ text: String) throws {
            sources.append(folder.appending(path: name))
            try Data(text.utf8).write(to: sources[sources.count - 1])
        }
        var models: [(name: String, model: Model)] = []
        for seed in SeedPart.of(1...16, step: 2) {
            let name = "Model\(seed)"
            let made = RandomModel.make(seed: UInt64(seed), prefix: name)
            let url = folder.appending(path: "\(name).xcdatamodeld")
            try ModelBundleWriter.write([name: ModelDocument(made)], current: name, to: url)
            let compilation = try ModelFileReader.read(contentsOf: url, module: "Generated")
            #expect(compilation.compiled.current == made)
            try add("\(name)+CoreDataModel.swift", try SwiftWriter(compilation, module: "Generated").source())
            models.append((name, compilation.compiled.current))
        }
        let program = RoundTripProgram(models: models)
        try add("HandWritten.swift", program.handWritten)
        try add("main.swift", program.main)
        let executable = folder.appending(path: "roundtrip")
        let complaint = try package.compile(sources, to: executable)
        try #require(complaint == nil, "\(complaint?.prefix(4000) ?? "")")
        let result = try package.run(executable, [folder.path])
        #expect(result.code == 0, "\(result.text.prefix(4000))")
        #expect(result.text == "failures: 0\n", "\(result.text.prefix(4000))")
    }
}
