// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import CloudInProcess
import CloudWire
import Foundation
import Testing

@testable import TarnCommands

@Suite struct SchemaCommandTests {
    /// The sentence a command failed with, or nil.
    private func run<Command: AsyncParsableCommand>(_ type: Command.Type, _ folder: ScratchFolder, _ arguments: String...) async -> String? {
        do {
            var command = try Command.parse(arguments + ["--container", "iCloud.org.example.notes", "--data", folder.path])
            try await command.run()
            return nil
        } catch {
            return Command.message(for: error)
        }
    }

    @Test func aSchemaGoesFromAFileToProductionAndBack() async throws {
        let folder = ScratchFolder("tarn-commands")
        try SQLiteServerStore(path: folder.path, use: .server).close()
        let (input, output) = (folder.path + "/in.ckdb", folder.path + "/out.ckdb")
        let text = "DEFINE SCHEMA RECORD TYPE Plant (\"___recordID\" REFERENCE QUERYABLE, name STRING SORTABLE, GRANT READ TO \"_world\");"
        try Data(text.utf8).write(to: URL(filePath: input))
        #expect(await run(SchemaCommand.Validate.self, folder, "--file", input) == nil)
        #expect(await run(SchemaCommand.Import.self, folder, "--file", input) == nil)
        #expect(await run(SchemaCommand.Diff.self, folder) == nil)
        #expect(await run(SchemaCommand.Deploy.self, folder) == nil)
        #expect(await run(SchemaCommand.Export.self, folder, "--environment", "production", "--output-file", output) == nil)
        let exported = try ContainerSchema(text: try String(contentsOfFile: output, encoding: .utf8))
        #expect(exported == (try ContainerSchema(text: text)).completed)

        try Data("DEFINE SCHEMA\nRECORD TYPE Plant (name INT64);".utf8).write(to: URL(filePath: input))
        let refused = await run(SchemaCommand.Import.self, folder, "--file", input)
        #expect(refused?.contains("field 'name' of type 'Plant' is STRING in production and cannot become INT64") == true)
        try Data("DEFINE SCHEMA\nRECORD TYPE Plant (name TEXT);".utf8).write(to: URL(filePath: input))
        let wrong = await run(SchemaCommand.Validate.self, folder, "--file", input)
        #expect(wrong?.hasPrefix("\(input):2:25: found 'TEXT', expected ASSET") == true)
        #expect(await run(SchemaCommand.Validate.self, folder, "--file", folder.path + "/none")?.contains("cannot be read") == true)
        #expect(await run(SchemaCommand.Reset.self, folder)?.contains("--yes") == true)
        #expect(await run(SchemaCommand.Reset.self, folder, "--yes") == nil)
    }
}
