// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudServer
import CloudService
import CloudWire
import Foundation

/// `tarn schema`: record types, fields, indexes and grants of a container. The server may run at the
/// same time.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Export, import, check, compare and deploy the schema of a container.",
        discussion: """
            In development, saves create record types and fields; production accepts only a deployed schema. \
            Schemas are texts in the schema language of CloudKit (.ckdb).
            """,
        subcommands: [Export.self, Validate.self, Check.self, Import.self, Diff.self, Deploy.self, Reset.self])

    /// The options of schema commands.
    struct Options: ParsableArguments {
        static let containerNames: NameSpecification = [.customLong("container"), .customLong("container-id")]
        static let containerHelp = ArgumentHelp("Identifier of the container.", valueName: "identifier")

        @Option(name: Options.containerNames, help: Options.containerHelp)
        var container: String
        @OptionGroup var place: OperatorOptions

        func validate() throws { try ContainerOptions.check(container) }
    }

    /// A text in the schema language.
    struct Input: ParsableArguments {
        @Option(help: ArgumentHelp("The schema; - reads standard input.", valueName: "path"))
        var file: String

        /// - Throws: `CommandError` with line and column.
        func read() throws -> SchemaText {
            let text = try SchemaCommand.text(ofFile: file)
            _ = try SchemaCommand.parse(text, file: file)
            return SchemaText(text)
        }
    }

    /// Reads a file; `-` is standard input.
    static func text(ofFile file: String) throws -> String {
        let data: Data
        if file == "-" {
            data = FileHandle.standardInput.readDataToEndOfFile()
        } else {
            data = try NamedFile.content(of: file)
        }
        guard let text = String(bytes: data, encoding: .utf8) else { throw CommandError("\(file) is not UTF-8.") }
        return text
    }

    /// Reads a text in the schema language.
    ///
    /// - Throws: `CommandError` with line and column.
    static func parse(_ text: String, file: String) throws -> ContainerSchema {
        do {
            let (schema, warnings) = try ContainerSchema.read(text)
            for warning in warnings { Output.note("\(file):\(warning.line):\(warning.column): warning: \(warning.what)") }
            return schema
        } catch {
            throw CommandError("\(file):\(error.line):\(error.column): \(error.what)")
        }
    }

    static func show(_ result: SchemaChanges, _ output: OutputOptions, ifNone: String) {
        let (changes, removals) = (result.changes, result.removals)
        if output.json {
            for change in changes {
                output.print("", ["change": JSONText.string(change.line), "deletesValues": "\(change.removesValues)"])
            }
            for line in removals { output.print("", ["deletes": JSONText.string(line)]) }
            return
        }
        if changes.isEmpty { Output.note(ifNone) }
        lines(of: result, .output).forEach(Output.line)
    }

    /// The changes for a terminal, which text of a malicious server must not control.
    static func lines(of result: SchemaChanges, _ style: TextStyle) -> [String] {
        let changes = result.changes.map { change in
            let line = TerminalText.escaped(change.line)
            return line.hasPrefix("+") ? style.good(line) : line.hasPrefix("-") ? style.bad(line) : style.warning(line)
        }
        return changes + result.removals.map { style.bad("deletes \(TerminalText.escaped($0))") }
    }
}

extension CloudEnvironment: ExpressibleByArgument {}

extension SchemaCommand {
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the schema.",
            discussion: Help.discussion(
                examples: "tarn schema export --container iCloud.org.example.notes",
                "tarn schema export --container iCloud.org.example.notes --output-file notes.ckdb"),
            aliases: ["export-schema"])

        @OptionGroup var options: Options
        @Option(help: "development or production.")
        var environment = CloudEnvironment.development
        @Option(help: ArgumentHelp("Where to write it; standard output if left out.", valueName: "path"))
        var outputFile: String?

        func run() async throws {
            let operation = ExportSchema(container: options.container, environment: environment)
            let text = try await options.place.perform(operation, isAudited: false).text
            guard let outputFile else { return Output.text(text) }
            do {
                try Data(text.utf8).write(to: URL(filePath: outputFile), options: .atomic)
            } catch {
                throw CommandError(
                    "The file \(outputFile) cannot be written: check its folder and the disk, or choose another with --output-file.")
            }
        }
    }

    struct Validate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check a schema and show what importing it would change.",
            discussion: Help.discussion(examples: "tarn schema validate --container iCloud.org.example.notes --file notes.ckdb"),
            aliases: ["validate-schema"])

        @OptionGroup var options: Options
        @OptionGroup var input: Input
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let schema = try input.read()
            let changes = try await options.place.perform(
                ValidateSchema(container: options.container, schema: schema), isAudited: false)
            SchemaCommand.show(changes, output, ifNone: "The schema is valid and changes nothing.")
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put a schema in place of that of development.",
            discussion: Help.discussion(
                """
                Types and fields that it lacks, or has with another type, are deleted with their records and values, on the server \
                and then on devices. If there are any, the import needs --yes; --server refuses it. Nothing of production is deleted.
                """, examples: "tarn schema import --container iCloud.org.example.notes --file notes.ckdb"),
            aliases: ["import-schema"])

        @OptionGroup var options: Options
        @OptionGroup var input: Input
        @Flag(help: "Confirm that records and values are deleted.")
        var yes = false
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let schema = try input.read()
            let (operation, file) = (ImportSchema(container: options.container, schema: schema, deletesValues: yes), input.file)
            let changes = try await options.place.withAdminClient(CommandAudit(ImportSchema.name, operation.subject)) { client in
                let changes = try await client.perform(operation)
                guard changes.isMade else {
                    let confirmation = options.place.server == nil ? "Confirm it with --yes" : "Run it on the server's machine with --yes"
                    throw CommandError(
                        "The import deletes from all databases of development:\n"
                            + changes.removals.map { "  \($0)" }.joined(separator: "\n")
                            + "\n\(confirmation), or add what \(file) lacks; 'tarn schema export' prints the present schema.")
                }
                return changes
            }
            SchemaCommand.show(changes, output, ifNone: "Nothing changed.")
        }
    }

    struct Diff: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what development has that production has not.",
            discussion: Help.discussion(examples: "tarn schema diff --container iCloud.org.example.notes"))

        @OptionGroup var options: Options
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let changes = try await options.place.perform(CompareSchemas(container: options.container), isAudited: false)
            SchemaCommand.show(changes, output, ifNone: "Development and production have the same schema.")
        }
    }

    struct Deploy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add to production what development has.",
            discussion: Help.discussion(
                "Production only grows: a deployment that would remove or change something is refused.",
                examples: "tarn schema deploy --container iCloud.org.example.notes",
                "tarn schema deploy --server https://cloud.example.org --key-file operator.key --container iCloud.org.example.notes"))

        @OptionGroup var options: Options
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let changes = try await options.place.perform(DeploySchema(container: options.container))
            SchemaCommand.show(changes, output, ifNone: "Production has everything already.")
        }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make development equal to production and delete all its records.",
            discussion: Help.discussion(examples: "tarn schema reset --container iCloud.org.example.notes --yes"),
            aliases: ["reset-schema"])

        @Option(name: Options.containerNames, help: Options.containerHelp)
        var container: String
        @OptionGroup var data: DataOptions
        @Flag(help: "Confirm that all records of development are deleted.")
        var yes = false
        @OptionGroup var output: OutputOptions

        func validate() throws {
            try ContainerOptions.check(container)
            guard yes else { throw ValidationError("This deletes all records of development: confirm it with --yes.") }
        }

        func run() async throws {
            let place = try data.location()
            let changes = try await place.withStore(mustExist: true, audited: CommandAudit("schema.reset", container)) { store in
                let containers = try await store.containers()
                guard containers.contains(container) else {
                    throw CommandError(unknownContainer: container, data: place.shown, among: containers)
                }
                return try await store.service.schema(of: container).reset()
            }
            SchemaCommand.show(SchemaChanges(changes, isMade: true), output, ifNone: "The schemas were the same; the records are deleted.")
        }
    }
}
