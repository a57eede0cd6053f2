// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import SystemSupport

/// `tarn new NAME`: a package with an app that syncs, its server and its test.
struct NewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Create a project: an app that syncs, its model, a server script and a test.",
        discussion: Help.discussion(
            """
            The project depends on the Tarn package, which --tarn names as a folder or as the URL of a Git repository. Without \
            --tarn it is the package that this program was installed from.
            """, examples: "tarn new Trails", "tarn new Trails --tarn ../tarn"))

    @Argument(help: "Name of the app, such as Trails: letters, digits and _; a letter first.")
    var name: String

    @Option(help: ArgumentHelp("Folder to create. (default: NAME)", valueName: "folder"), completion: .directory)
    var output: String?

    @Option(help: ArgumentHelp("The Tarn package: a folder with a clone, or a URL. TARN_PACKAGE names it too.", valueName: "path-or-url"))
    var tarn: String?

    @OptionGroup var result: OutputOptions

    func validate() throws {
        if let problem = ProjectName.problem(of: name) { throw ValidationError(problem) }
    }

    func run() throws {
        let package = try TarnPackage.find(
            option: tarn, environment: ProcessInfo.processInfo.environment, besides: TarnPackage.recordedSource())
        let folder = URL(fileURLWithPath: output ?? name)
        let files = FileManager.default
        if files.fileExists(atPath: folder.path), (try? files.contentsOfDirectory(atPath: folder.path))?.isEmpty != true {
            throw CommandError("'\(folder.relativePath)' already exists. Choose another folder with --output.")
        }
        do {
            for file in ProjectTemplate(name: name, package: package).files {
                let url = folder.appendingPathComponent(file.path)
                try files.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(file.text.utf8).write(to: url)
                if file.isExecutable { try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: url.path) }
            }
        } catch {
            throw CommandError("The project cannot be written to '\(folder.relativePath)': check the folder's permissions and the disk.")
        }
        result.print(
            """
            Created \(name) in \(folder.relativePath), with Tarn from \(package.location).

              cd \(folder.relativePath)
              ./server             the server, in one terminal
              ./device phone       the app, in a second one (the first build takes some minutes)
              ./device tablet      the app again, in a third one: type a line in one, see it in the other
              swift test           two devices and a cloud in one process
            """,
            [
                "name": JSONText.string(name), "folder": JSONText.string(folder.relativePath),
                "package": JSONText.string(package.location),
            ])
    }
}

/// Names that can be the name of a Swift module and of a program.
enum ProjectName {
    /// Modules that the project imports, and names that SwiftPM or Swift reserve.
    private static let taken: Set<String> = [
        "any", "class", "cloudkit", "cloudkittesting", "coredata", "enum", "extension", "foundation", "func", "import", "internal", "main",
        "note", "package", "protocol", "public", "self", "struct", "swift", "tarn", "test", "testing", "tests", "type",
    ]

    /// Returns a sentence about a name that cannot be used; nil for one that can.
    static func problem(of name: String) -> String? {
        let bytes = Array(name.utf8)
        let isLetter: (UInt8) -> Bool = { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }
        let isDigit: (UInt8) -> Bool = { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard let first = bytes.first, bytes.count <= 64, isLetter(first),
            bytes.allSatisfy({ isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") })
        else {
            return "'\(name)' cannot name a Swift module: use 1 to 64 letters, digits and _, with a letter first, such as Trails."
        }
        guard !taken.contains(name.lowercased()) else {
            return "'\(name)' is the name of a module or a keyword: choose another, such as \(name)App."
        }
        return nil
    }
}

/// The package that a project depends on.
struct TarnPackage: Equatable {
    /// An absolute path, or a URL.
    let location: String
    let isFolder: Bool

    /// The name by which products refer to the package: the last component of its location.
    var identity: String {
        let last = location.split(separator: "/").last.map(String.init) ?? "tarn"
        return isFolder ? "tarn" : last.hasSuffix(".git") ? String(last.dropLast(4)) : last
    }

    /// The entry of a manifest's `dependencies`.
    var dependency: String {
        isFolder
            ? ".package(name: \"tarn\", path: \(quoted))"
            : ".package(url: \(quoted), .upToNextMinor(from: \"\(TarnVersion.current)\"))"
    }

    private var quoted: String {
        "\"" + location.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"") + "\""
    }

    /// Returns the package of the option, else of `TARN_PACKAGE`, else the one that the program was installed from.
    ///
    /// - Throws: `CommandError` without such a package, or if the folder isn't a clone of Tarn.
    static func find(option: String?, environment: [String: String], besides recorded: String?) throws -> TarnPackage {
        guard let text = option ?? environment["TARN_PACKAGE"] ?? recorded, !text.isEmpty else {
            throw CommandError("The Tarn package is unknown. Name it with --tarn: a folder with a clone, or the URL of a Git repository.")
        }
        if text.contains("://") || text.hasPrefix("git@") { return TarnPackage(location: text, isFolder: false) }
        let folder = URL(fileURLWithPath: text).standardizedFileURL
        let manifest = try? String(contentsOf: folder.appendingPathComponent("Package.swift"), encoding: .utf8)
        guard manifest?.contains("name: \"tarn\"") == true else {
            throw CommandError("'\(text)' is not a clone of Tarn. Name its folder, or a URL, with --tarn.")
        }
        return TarnPackage(location: folder.path, isFolder: true)
    }

    /// The location that `make install` and `make release` write next to the program.
    static func recordedSource(of executable: URL? = Bundle.main.executableURL) -> String? {
        guard let executable else { return nil }
        let file = executable.resolvingSymlinksInPath().deletingLastPathComponent().appendingPathComponent("source")
        return (try? String(contentsOf: file, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
