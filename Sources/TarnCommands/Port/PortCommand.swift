// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import ModelTool

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

    func run() throws {
        let port: SourcePort
        do {
            port = try SourcePort(URL(fileURLWithPath: path), keepsAttributes: !hasNoFlags)
        } catch {
            throw CommandError("The file or folder '\(path)' does not exist.")
        }
        for path in port.unreadable { Output.line("\(path): cannot be read as Swift; it is left alone") }
        for (path, obstacle) in port.obstacles {
            Output.line("\(path):\(obstacle.line): \(obstacle.text)\n    \(obstacle.kind.reason)\(remedy(obstacle))")
        }
        if write { for path in try changed(by: port) { Output.line("changed \(path)") } }
        // The written edits may add uses of @objc.
        let noted = write ? try SourcePort(URL(fileURLWithPath: path), keepsAttributes: !hasNoFlags) : port
        if !hasNoFlags, !noted.exposed.isEmpty { try notes(noted) }
        let left = port.obstacles.filter { $0.obstacle.edit == nil }.count
        let fixed = port.obstacles.count - left
        Output.line("\(port.files.count) files read, \(fixed) places \(write ? "fixed" : "that --write fixes"), \(left) to fix by hand")
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
            Output.line("wrote \(SourcePort.notesName)")
        } else {
            Output.line("--write puts notes on \(port.exposed.count) uses of @objc into \(SourcePort.notesName)")
        }
        Output.line(
            """
            Add to each target in Package.swift that uses @objc:

                swiftSettings: [.unsafeFlags(
                    ["-access-notes-path", "\\(Context.packageDirectory)/\(SourcePort.notesName)", "-Xfrontend", "-Raccess-note=none"],
                    .when(platforms: [.linux]))]

            or build with: swift build -Xswiftc -access-notes-path -Xswiftc \(SourcePort.notesName)

            """)
    }
}
