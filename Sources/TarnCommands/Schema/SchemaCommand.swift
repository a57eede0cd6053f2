// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import CloudServer
import CloudService
import CloudWire
import Foundation

/// `tarn schema`: record types, fields, indexes and grants of a container. Works while the server runs and while it does
/// not.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Export, import, compare and deploy the schema of a container.",
        discussion: """
            In development record types and fields come into being by use; in production only what was deployed is \
            accepted. Schemas are texts in the schema language of CloudKit (.ckdb).
            """,
        subcommands: [Export.self, Validate.self, Import.self, Diff.self, Deploy.self, Reset.self])

    /// What all commands of this kind need to know.
    struct Options: ParsableArguments {
        @Option(name: [.customLong("container"), .customLong("container-id")], help: ArgumentHelp("Identifier of the container.", valueName: "identifier"))
        var container: String
        @OptionGroup var data: DataOptions

        func validate() throws {
            guard PathSegments.isContainerIdentifier(container) else {
                throw ValidationError("A container identifier looks like iCloud.org.example.notes.")
            }
        }

        /// - Parameter action: What the audit log calls the command; nil for one that only reads.
        func withService<Value>(_ action: String?, _ body: (SchemaService) async throws -> Value) async throws -> Value {
            do {
                return try await data.withStore(mustExist: true, audited: action.map { CommandAudit("schema.\($0)", container) }) { store in
                    try await body(
                        SchemaService(
                            containerIdentifier: container, engine: Engine(sealer: store.sealer), storage: store,
                            surroundings: .system))
                }
            } catch let refused as SchemaRefused {
                throw CommandError("Refused:\n" + refused.reasons.map { "  \($0)" }.joined(separator: "\n"))
            }
        }
    }

    /// A text in the schema language.
    struct Input: ParsableArguments {
        @Option(help: ArgumentHelp("The schema; - reads standard input.", valueName: "path"))
        var file: String

        func read() throws -> ContainerSchema {
            let data: Data
            if file == "-" {
                data = FileHandle.standardInput.readDataToEndOfFile()
            } else {
                guard let contents = FileManager.default.contents(atPath: file) else {
                    throw CommandError("The file \(file) cannot be read.")
                }
                data = contents
            }
            guard let text = String(bytes: data, encoding: .utf8) else { throw CommandError("\(file) is not UTF-8.") }
            do {
                let (schema, warnings) = try ContainerSchema.read(text)
                for warning in warnings { Output.note("\(file):\(warning.line):\(warning.column): warning: \(warning.what)") }
                return schema
            } catch {
                throw CommandError("\(file):\(error.line):\(error.column): \(error.what)")
            }
        }
    }

    static func show(_ changes: [SchemaChange], ifNone: String) {
        if changes.isEmpty { Output.note(ifNone) }
        for change in changes { Output.line(change.line) }
    }
}

extension CloudEnvironment: ExpressibleByArgument {}

extension SchemaCommand {
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print the schema.", aliases: ["export-schema"])

        @OptionGroup var options: Options
        @Option(help: "development or production.")
        var environment = CloudEnvironment.development
        @Option(help: ArgumentHelp("Where to write it; standard output if left out.", valueName: "path"))
        var outputFile: String?

        func run() async throws {
            let text = try await options.withService(nil) { try await $0.export(environment).text }
            guard let outputFile else { return Output.text(text) }
            do {
                try Data(text.utf8).write(to: URL(filePath: outputFile), options: .atomic)
            } catch {
                throw CommandError("The file \(outputFile) cannot be written.")
            }
        }
    }

    struct Validate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check a schema and show what importing it would change.", aliases: ["validate-schema"])

        @OptionGroup var options: Options
        @OptionGroup var input: Input

        func run() async throws {
            let schema = try input.read()
            let (changes, removals) = try await options.withService(nil) { service in
                (try await service.validate(schema), try await service.removals(by: schema))
            }
            SchemaCommand.show(changes, ifNone: "The schema is valid and changes nothing.")
            for line in removals.lines { Output.line("deletes \(line)") }
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put a schema in place of that of development.",
            discussion: """
                Types and fields that it lacks, or has with another type, are deleted with their records and values, on the server \
                and then on devices. If there are any, the import needs --yes. Nothing of production is deleted.
                """,
            aliases: ["import-schema"])

        @OptionGroup var options: Options
        @OptionGroup var input: Input
        @Flag(help: "Confirm that records and values are deleted.")
        var yes = false

        func run() async throws {
            let schema = try input.read()
            let (yes, file) = (yes, input.file)
            let changes = try await options.withService("import") { service in
                let removals = if yes { SchemaRemovals() } else { try await service.removals(by: schema) }
                guard removals.isEmpty else {
                    throw CommandError(
                        "The import deletes from all databases of development:\n" + removals.lines.map { "  \($0)" }.joined(separator: "\n")
                            + "\nConfirm it with --yes, or add what \(file) lacks; 'tarn schema export' prints the present schema.")
                }
                return try await service.importSchema(schema)
            }
            SchemaCommand.show(changes, ifNone: "Nothing changed.")
        }
    }

    struct Diff: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show what development has that production has not.")

        @OptionGroup var options: Options

        func run() async throws {
            let changes = try await options.withService(nil) { try await $0.differences() }
            SchemaCommand.show(changes, ifNone: "Development and production have the same schema.")
        }
    }

    struct Deploy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add to production what development has.",
            discussion: "Production only grows: a deployment that would remove or change something is refused.")

        @OptionGroup var options: Options

        func run() async throws {
            let changes = try await options.withService("deploy") { try await $0.deploy() }
            SchemaCommand.show(changes, ifNone: "Production has everything already.")
        }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make development equal to production and delete all its records.", aliases: ["reset-schema"])

        @OptionGroup var options: Options
        @Flag(help: "Confirm that all records of development are deleted.")
        var yes = false

        func validate() throws {
            guard yes else { throw ValidationError("This deletes all records of development: confirm it with --yes.") }
        }

        func run() async throws {
            let changes = try await options.withService("reset") { try await $0.reset() }
            SchemaCommand.show(changes, ifNone: "The schemas were the same; the records are deleted.")
        }
    }
}
