// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import ModelTool
import SystemSupport

/// `tarn port PATH`: finds, and with `--write` makes, the edits that a Core Data app's sources need on Linux.
struct PortCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "port", abstract: "Say what keeps sources from compiling without Objective-C, and fix it.",
        discussion: Help.discussion(
            """
            Nothing is written unless --write is given. Observers by #selector become blocks, overrides move from extensions into \
            their class, and missing imports of CoreData and CloudKit are added. @objc stays: access notes make the compiler ignore it, \
            with the printed flags. Packages that cannot set flags keep @objc for Apple's platforms by --no-flags.
            """, examples: "tarn port Sources/Notes", "tarn port Sources/Notes --write"))

    @Argument(help: "The package's folder, or one Swift file.", completion: .directory)
    var path: String

    @Flag(help: "Make the edits, and write the access notes.")
    var write = false

    @Flag(name: .customLong("no-flags"), help: "Put #if around each @objc instead of writing access notes.")
    var hasNoFlags = false

    @OptionGroup var output: OutputOptions

    func run() throws {
        let port: SourcePort
        do {
            port = try SourcePort(URL(fileURLWithPath: path), keepsAttributes: !hasNoFlags)
        } catch {
            throw CommandError("The file or folder '\(path)' does not exist.")
        }
        for path in port.unreadable { line("\(path): cannot be read as Swift; it is left alone") }
        for (path, obstacle) in port.obstacles {
            line("\(path):\(obstacle.line): \(obstacle.text)\n    \(obstacle.kind.reason)\(remedy(obstacle))")
        }
        let paths = write ? try changed(by: port) : []
        for path in paths { line("changed \(path)") }
        // The written edits may add uses of @objc.
        let noted = write ? try SourcePort(URL(fileURLWithPath: path), keepsAttributes: !hasNoFlags) : port
        if !hasNoFlags, !noted.exposed.isEmpty { try notes(noted) }
        let left = port.obstacles.filter { $0.obstacle.edit == nil }.count
        let fixed = port.obstacles.count - left
        output.print(
            "\(CountText.text(port.files.count, "file")) read, \(CountText.text(fixed, "place")) \(write ? "fixed" : "that --write fixes"), \(left) to fix by hand",
            [
                "files": "\(port.files.count)", "fixed": "\(fixed)", "left": "\(left)", "written": "\(write)",
                "accessNotes": "\(hasNoFlags ? 0 : noted.exposed.count)", "changed": Table.json(.list(paths)),
                "unreadable": Table.json(.list(port.unreadable)), "places": "[" + places(port).jsonLines.joined(separator: ",") + "]",
            ])
    }

    /// Prints a line, unless the output is JSON.
    private func line(_ text: String) {
        if !output.json { Output.line(text) }
    }

    private func places(_ port: SourcePort) -> Table {
        var table = Table(
            ("PATH", "path"), ("LINE", "line"), ("TEXT", "text"), ("REASON", "reason"), ("EDIT", "edit"), ("NOTE", "note"))
        for (path, obstacle) in port.obstacles {
            table.add(
                .text(path), .number(Int64(obstacle.line)), .text(obstacle.text), .text(obstacle.kind.reason),
                Table.Cell(obstacle.edit?.text), Table.Cell(obstacle.note))
        }
        return table
    }

    /// Writes the edits, then a second pass for code that the first pass moved.
    private func changed(by port: SourcePort) throws -> [String] {
        let paths = try port.write()
        let moved = try SourcePort(URL(fileURLWithPath: path), keepsAttributes: !hasNoFlags)
        return Set(paths).union(try moved.write()).sorted()
    }

    private func remedy(_ obstacle: Obstacle) -> String {
        guard let edit = obstacle.edit else { return obstacle.note.map { "; by hand, for \($0)" } ?? "" }
        switch obstacle.kind {
        case .keyPath, .qualifiedName, .observer: return write ? ": changed to \(edit.text)" : ": --write makes it \(edit.text)"
        case .missingImport: return write ? ": added \(obstacle.note ?? "")" : ": --write adds \(obstacle.note ?? "")"
        case .overrideInExtension: return (write ? ": moved " : ": --write moves it ") + (obstacle.note ?? "into the class")
        case .erasedRequest: return write ? ": changed to as" : ": --write makes it as"
        default: return ""
        }
    }

    private func notes(_ port: SourcePort) throws {
        let url = port.folder.appendingPathComponent(SourcePort.notesName)
        if write {
            try Data(port.accessNotes.utf8).write(to: url, options: .atomic)
            line("wrote \(SourcePort.notesName)")
        } else {
            line("--write puts notes on \(CountText.text(port.exposed.count, "use")) of @objc into \(SourcePort.notesName)")
        }
        line(
            """
            Add to each target in Package.swift that uses @objc:

                swiftSettings: [.unsafeFlags(
                    ["-access-notes-path", "\\(Context.packageDirectory)/\(SourcePort.notesName)", "-Xfrontend", "-Raccess-note=none"],
                    .when(platforms: [.linux]))]

            or build with: swift build -Xswiftc -access-notes-path -Xswiftc \(SourcePort.notesName)

            """)
    }
}
