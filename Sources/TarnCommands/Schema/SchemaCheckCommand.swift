// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudService
import CloudWire
import Foundation
import ManagedModel

extension SchemaCommand {
    /// `tarn schema check MODEL --against production`: for continuous integration, before a release.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say whether a model fits a schema: what has to be deployed, and what would break devices.",
            discussion: Help.discussion(
                """
                The exit code is 0 if the schema fits, 1 if it lacks types, fields or indexes, which a deployment adds, 2 if other versions \
                of the app would not share values with this model, and 3 if the check failed. A field without a property is one that the \
                model renamed or removed without saying so; with --earlier it belongs to a later version. Lines begin with + for an \
                addition and ! for a break.
                """,
                examples: "tarn schema check Notes.xcdatamodeld --against production --container iCloud.org.example.notes",
                "tarn schema check Notes.xcdatamodeld --against production.ckdb",
                "tarn schema check Notes.xcdatamodeld --against production --container iCloud.org.example.notes --server https://cloud.example.org"
            ))

        @Argument(help: "An .xcdatamodeld or .xcdatamodel folder, or a compiled .momd.", completion: .directory)
        var model: String
        @Option(help: ArgumentHelp("production, development, or a file that 'tarn schema export' wrote.", valueName: "schema"))
        var against: String
        @Option(
            name: [.customLong("container"), .customLong("container-id")],
            help: ArgumentHelp("Identifier of the container; not for a file.", valueName: "identifier"))
        var container: String?
        @Option(help: ArgumentHelp("Configuration of the mirrored store; all entities if left out.", valueName: "name"))
        var configuration: String?
        @Flag(name: .customLong("public"), help: "The model is mirrored into the public database.")
        var isPublic = false
        @Flag(help: "A later version of the model is in use.")
        var earlier = false
        @OptionGroup var place: OperatorOptions
        @OptionGroup var output: OutputOptions

        private var environment: CloudEnvironment? { CloudEnvironment(rawValue: against) }

        func validate() throws {
            if let container { try ContainerOptions.check(container) }
            if environment != nil, container == nil {
                throw ValidationError("Name the container with --container, or a schema file with --against.")
            }
        }

        func run() async throws {
            let fit: SchemaFit
            do {
                fit = try await check()
            } catch {
                Output.note("Error: \(Self.message(for: error))")
                throw ExitCode(3)
            }
            for finding in fit.findings { show(finding) }
            if !output.json { Output.line(fit.summary) }
            if fit.status != 0 { throw ExitCode(fit.status) }
        }

        private func check() async throws -> SchemaFit {
            let resolved: ResolvedModel
            do {
                resolved = try ResolvedModel(try ModelInput.read(model))
            } catch let error as ModelError {
                throw CommandError(
                    "'\(model)' isn't a valid model: \(error.problems.map { "\($0.subject) \($0.what)" }.joined(separator: "; ")).")
            }
            if let configuration, resolved.entities(inConfiguration: configuration) == nil {
                throw CommandError("'\(model)' has no configuration '\(configuration)'.")
            }
            let (schema, place) = try await schema()
            return try SchemaFit(
                resolved, configuration: configuration, isPublic: isPublic, isEarlier: earlier, schema: schema, at: place)
        }

        private func schema() async throws -> (ContainerSchema, SchemaFit.Place) {
            guard let environment, let container else {
                return (try SchemaCommand.parse(try SchemaCommand.text(ofFile: against), file: against), .file(against))
            }
            let text = try await place.perform(ExportSchema(container: container, environment: environment), isAudited: false).text
            let schema = try SchemaCommand.parse(text, file: "\(against) of \(container)")
            return (schema, environment == .production ? .production : .development)
        }

        private func show(_ finding: SchemaFit.Finding) {
            let line = "\(finding.kind.mark) \(finding.subject) \(finding.message)"
            if output.json {
                output.print(
                    "",
                    [
                        "finding": JSONText.string(finding.kind.rawValue), "subject": JSONText.string(finding.subject),
                        "message": JSONText.string(finding.message),
                    ])
                return
            }
            let style = TextStyle.output
            switch finding.kind {
            case .addition: Output.line(style.good(line))
            case .conflict, .unknown: Output.line(style.bad(line))
            case .retired, .later: Output.line(line)
            }
        }
    }
}
