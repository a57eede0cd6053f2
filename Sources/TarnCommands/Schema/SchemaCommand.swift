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

    /// The options of all schema commands.
    struct Options: ParsableArguments {
        @Option(
            name: [.customLong("container"), .customLong("container-id")],
            help: ArgumentHelp("Identifier of the container.", valueName: "identifier"))
        var container: String
        @OptionGroup var data: DataOptions

        func validate() throws { try ContainerOptions.check(container) }

        /// - Parameters:
        ///   - action: The command's name in the audit log; nil for a command that only reads.
        ///   - mustBeKnown: `true` if the container must exist. An import may create it.
        func withService<Value>(
            _ action: String?, mustBeKnown: Bool = true, _ body: (SchemaService) async throws -> Value
        ) async throws -> Value {
            let place = try data.location()
            do {
                return try await place.withStore(mustExist: true, audited: action.map { CommandAudit("schema.\($0)", container) }) {
                    store in
                    let containers = mustBeKnown ? try await store.containers() : []
                    guard !mustBeKnown || containers.contains(container) else {
                        throw CommandError(unknownContainer: container, data: place.shown, among: containers)
                    }
                    return try await body(
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

        func read() throws -> ContainerSchema { try SchemaCommand.read(file) }
    }

    /// Reads a text in the schema language; `-` is standard input.
    ///
    /// - Throws: `CommandError` with line and column.
    static func read(_ file: String) throws -> ContainerSchema {
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

    /// - Parameter removals: Sentences about records that are deleted.
    static func show(_ changes: [SchemaChange], removals: [String] = [], _ output: OutputOptions, ifNone: String) {
        if output.json {
            for change in changes {
                output.print("", ["change": JSONText.string(change.line), "deletesValues": "\(change.removesValues)"])
            }
            for line in removals { output.print("", ["deletes": JSONText.string(line)]) }
            return
        }
        if changes.isEmpty { Output.note(ifNone) }
        let style = TextStyle.output
        for change in changes {
            let line = change.line
            Output.line(line.hasPrefix("+") ? style.good(line) : line.hasPrefix("-") ? style.bad(line) : style.warning(line))
        }
        for line in removals { Output.line(style.bad("deletes \(line)")) }
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
            abstract: "Check a schema and show what importing it would change.",
            discussion: Help.discussion(examples: "tarn schema validate --container iCloud.org.example.notes --file notes.ckdb"),
            aliases: ["validate-schema"])

        @OptionGroup var options: Options
        @OptionGroup var input: Input
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let schema = try input.read()
            let (changes, removals) = try await options.withService(nil, mustBeKnown: false) { service in
                (try await service.validate(schema), try await service.removals(by: schema))
            }
            SchemaCommand.show(changes, removals: removals.lines, output, ifNone: "The schema is valid and changes nothing.")
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put a schema in place of that of development.",
            discussion: Help.discussion(
                """
                Types and fields that it lacks, or has with another type, are deleted with their records and values, on the server \
                and then on devices. If there are any, the import needs --yes. Nothing of production is deleted.
                """, examples: "tarn schema import --container iCloud.org.example.notes --file notes.ckdb"),
            aliases: ["import-schema"])

        @OptionGroup var options: Options
        @OptionGroup var input: Input
        @Flag(help: "Confirm that records and values are deleted.")
        var yes = false
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let schema = try input.read()
            let (yes, file) = (yes, input.file)
            let changes = try await options.withService("import", mustBeKnown: false) { service in
                let removals = if yes { SchemaRemovals() } else { try await service.removals(by: schema) }
                guard removals.isEmpty else {
                    throw CommandError(
                        "The import deletes from all databases of development:\n" + removals.lines.map { "  \($0)" }.joined(separator: "\n")
                            + "\nConfirm it with --yes, or add what \(file) lacks; 'tarn schema export' prints the present schema.")
                }
                return try await service.importSchema(schema)
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
            let changes = try await options.withService(nil) { try await $0.differences() }
            SchemaCommand.show(changes, output, ifNone: "Development and production have the same schema.")
        }
    }

    struct Deploy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add to production what development has.",
            discussion: Help.discussion(
                "Production only grows: a deployment that would remove or change something is refused.",
                examples: "tarn schema deploy --container iCloud.org.example.notes"))

        @OptionGroup var options: Options
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let changes = try await options.withService("deploy") { try await $0.deploy() }
            SchemaCommand.show(changes, output, ifNone: "Production has everything already.")
        }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make development equal to production and delete all its records.",
            discussion: Help.discussion(examples: "tarn schema reset --container iCloud.org.example.notes --yes"),
            aliases: ["reset-schema"])

        @OptionGroup var options: Options
        @Flag(help: "Confirm that all records of development are deleted.")
        var yes = false
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard yes else { throw ValidationError("This deletes all records of development: confirm it with --yes.") }
        }

        func run() async throws {
            let changes = try await options.withService("reset") { try await $0.reset() }
            SchemaCommand.show(changes, output, ifNone: "The schemas were the same; the records are deleted.")
        }
    }
}
