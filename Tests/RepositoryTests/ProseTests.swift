// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// The language of comments, messages and documents, by `.ci/prose`.
@Suite struct ProseTests {
    /// - Returns: The exit code and the output.
    private func run(_ arguments: [String], in root: URL = RepositoryFiles.root) throws -> (code: Int32, text: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", root.appendingPathComponent(".ci/prose").path] + arguments
        let output = Pipe()
        (process.standardOutput, process.standardError) = (output, output)
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
    }

    @Test func noFolderIsAboveItsLimit() throws {
        let result = try run(["--check"])
        #expect(result.code == 0, "\(result.text)")
    }

    /// A tree with one source file, and the program.
    private func tree(_ source: String, limits: String = "", _ body: (URL) throws -> Void) throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-prose-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        for folder in [".ci", "Sources/Part", "Tests"] {
            try FileManager.default.createDirectory(at: root.appendingPathComponent(folder), withIntermediateDirectories: true)
        }
        try FileManager.default.copyItem(
            at: RepositoryFiles.root.appendingPathComponent(".ci/prose"), to: root.appendingPathComponent(".ci/prose"))
        try Data(source.utf8).write(to: root.appendingPathComponent("Sources/Part/File.swift"))
        if !limits.isEmpty { try Data(limits.utf8).write(to: root.appendingPathComponent(".ci/prose-limits")) }
        try body(root)
    }

    private static let houseStyle = "// Whoever dies meanwhile is told what it was, and nobody says so.\n"

    @Test func aNewFolderHasToMeetTheGoal() throws {
        try tree(Self.houseStyle) { root in
            let result = try run(["--check"], in: root)
            #expect(result.code == 1)
            #expect(result.text.contains("Sources/Part"))
            #expect(result.text.contains("comments, above the limit of 150"))
        }
        try tree("// The server rejects the request; the client retries with backoff.\n") { root in
            let result = try run(["--check"], in: root)
            #expect(result.code == 0)
        }
    }

    @Test func limitsAreLoweredAndNeverRaised() throws {
        let limits = "Sources/Part comments 90000\nSources/Gone comments 400\n"
        try tree(Self.houseStyle, limits: limits) { root in
            let file = root.appendingPathComponent(".ci/prose-limits")
            let (allowed, lowering) = (try run(["--check"], in: root), try run(["--lower"], in: root))
            #expect(allowed.code == 0)
            #expect(lowering.code == 0)
            let lowered = try String(contentsOf: file, encoding: .utf8)
            #expect(!lowered.contains("Gone"))
            #expect(!lowered.contains("90000"))
            let lowerLimit = try run(["--check"], in: root)
            #expect(lowerLimit.code == 0)
            try Data((Self.houseStyle + Self.houseStyle + "// who who who\n").utf8).write(
                to: root.appendingPathComponent("Sources/Part/File.swift"))
            let (second, failure) = (try run(["--lower"], in: root), try run(["--check"], in: root))
            let unchanged = try String(contentsOf: file, encoding: .utf8)
            #expect(second.code == 0)
            #expect(unchanged == lowered)
            #expect(failure.code == 1)
        }
    }

    @Test func codeAndShortTextsAreNotMessages() throws {
        try tree("let who = \"who\"\nlet whose = [who: \"nobody tells\"]\n") { root in
            let result = try run(["--check"], in: root)
            #expect(result.code == 0)
        }
        try tree("let text = \"Whoever is told what it was says so\"\n") { root in
            let result = try run(["--check"], in: root)
            #expect(result.code == 1)
            #expect(result.text.contains("in messages, above the limit of 100"))
        }
    }
}
