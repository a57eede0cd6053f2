// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import CloudInProcess
import CloudKit
import CloudService
import CloudWire
import Foundation
import Testing

@testable import TarnCommands

@Suite struct SchemaCommandTests {
    @Test func changesFromAServerDoNotControlTheTerminal() throws {
        let changes = try SchemaChanges([
            "changes": .objects([["line": .text("+ TYPE \u{1B}[2J")], ["line": .text("- \u{9B}2J")]]), "removals": .texts(["a\u{202E}b"]),
        ])
        let lines = SchemaCommand.lines(of: changes, .plain)
        #expect(lines == [#"+ TYPE \u{1b}[2J"#, #"- \u{9b}2J"#, #"deletes a\u{202e}b"#])
    }

    /// The sentence a command failed with, or nil.
    private func run<Command: AsyncParsableCommand>(_ type: Command.Type, _ folder: ScratchFolder, _ arguments: String...) async -> String?
    {
        do {
            var command = try Command.parse(arguments + ["--container", "iCloud.org.example.notes", "--data", folder.path])
            try await command.run()
            return nil
        } catch {
            return Command.message(for: error)
        }
    }

    @Test func aSchemaIsImportedDeployedAndExported() async throws {
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

    /// Record names are those of users: they may have signs that control a terminal.
    @Test func refusalsDoNotControlTheTerminal() {
        let reasons = ["record 'a\u{1B}[2J' stays", "another"]
        let lines = "Refused:\n  record 'a\\u{1b}[2J' stays\n  another"
        #expect(CommandError(refusals: reasons).description == lines)
        let conflict = WireError(.conflict, reasons.joined(separator: "\n"))
        #expect(CommandError(operation: conflict, server: "https://a.example").description == lines)
        let rejection = WireError(.badRequest, reasons[0])
        #expect(CommandError(operation: rejection, server: nil).description == "Record 'a\\u{1b}[2J' stays.")
    }

    /// Records of a type that the file lacks would go from the server, and then from devices.
    @Test func anImportThatDeletesRecordsNeedsAConfirmation() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "phone")
        let client = CloudDatabaseClient(
            containerIdentifier: "iCloud.org.example.notes", environment: .development, scope: .private, transport: transport)
        let note = Record(recordName: "n1", recordType: "Note", fields: ["title": Field(.string("Milk"))])
        _ = try await client.modifyRecords(ModifyRecordsRequest(operations: [RecordOperation(.create, note)]), idempotencyKey: "n1")
        let folder = ScratchFolder("tarn-commands")
        try await cloud.backUp(to: folder.path)
        let file = folder.path + "/in.ckdb"
        try Data("DEFINE SCHEMA RECORD TYPE Plant (name STRING);".utf8).write(to: URL(filePath: file))
        let refused = await run(SchemaCommand.Import.self, folder, "--file", file)
        #expect(refused?.contains("  1 record of type Note") == true, "\(refused ?? "nil")")
        #expect(refused?.contains("--yes") == true, "\(refused ?? "nil")")
        let output = folder.path + "/out.ckdb"
        #expect(await run(SchemaCommand.Export.self, folder, "--output-file", output) == nil)
        #expect(try String(contentsOfFile: output, encoding: .utf8).contains("RECORD TYPE Note"))
        #expect(await run(SchemaCommand.Import.self, folder, "--file", file, "--yes") == nil)
        #expect(await run(SchemaCommand.Export.self, folder, "--output-file", output) == nil)
        #expect(try !String(contentsOfFile: output, encoding: .utf8).contains("RECORD TYPE Note"))
        try cloud.discard()
    }
}
