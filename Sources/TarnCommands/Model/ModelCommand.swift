// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import ManagedModel

/// `tarn model …`: questions about model files.
struct ModelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "model", abstract: "Make, change, draw, check and compare data models.",
        subcommands: [
            ModelNewCommand.self, ModelEditCommand.self, ModelGraphCommand.self, ModelCheckCommand.self, ModelWriteCommand.self,
            ModelDiffCommand.self,
        ])
}

/// `tarn model diff OLD NEW`: lists changes, and whether stores can be migrated by inference.
struct ModelDiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Say what changed between two versions of a model.",
        discussion: Help.discussion(
            """
            Models are .xcdatamodel or .xcdatamodeld folders (the current version), or compiled .momd files. The exit code is 0 \
            when stores of the old version can be opened with the new one by an inferred migration, and 2 when they cannot.
            """, examples: "tarn model diff Notes.xcdatamodeld/Notes.xcdatamodel 'Notes.xcdatamodeld/Notes 2.xcdatamodel'"))

    @Argument(help: "The model that stores were made with.", completion: .directory)
    var old: String

    @Argument(help: "The model that is to open them.", completion: .directory)
    var new: String

    @Flag(help: "Print one line of JSON.")
    var json = false

    /// One line of `--json`; stable.
    private struct Report: Encodable {
        struct Change: Encodable {
            var subject: String
            var what: String
            var obstacle: String?
            var allowedWhenSynced: Bool
        }
        var changes: [Change]
        var inferable: Bool
        var allowedWhenSynced: Bool
    }

    func run() throws {
        let difference = ModelDifference(from: try ModelInput.read(old), to: try ModelInput.read(new))
        if json { try printReport(difference) } else { printLines(difference) }
        if !difference.isInferable { throw ExitCode(2) }
    }

    private func printLines(_ difference: ModelDifference) {
        for change in difference.changes {
            let obstacle = change.obstacle.map { "; cannot be inferred\(change.dependsOnRows ? " where rows need it" : ""): \($0)" } ?? ""
            Output.line("\(change.subject) \(change.summary)\(obstacle)\(change.isAllowedWhenSynced ? "" : "; not for a synced store")")
        }
        if difference.changes.isEmpty { return Output.line("nothing changed that a store depends on") }
        Output.line(difference.isInferable ? "a migration can be inferred" : "a migration cannot be inferred: write a mapping, or stages")
        Output.line(
            difference.isAllowedWhenSynced
                ? "a synced store allows it" : "a synced store does not allow it: devices with other versions would not share these values")
    }

    private func printReport(_ difference: ModelDifference) throws {
        let report = Report(
            changes: difference.changes.map {
                Report.Change(subject: $0.subject, what: $0.summary, obstacle: $0.obstacle, allowedWhenSynced: $0.isAllowedWhenSynced)
            }, inferable: difference.isInferable, allowedWhenSynced: difference.isAllowedWhenSynced)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        Output.line(String(decoding: try encoder.encode(report), as: UTF8.self))
    }
}
