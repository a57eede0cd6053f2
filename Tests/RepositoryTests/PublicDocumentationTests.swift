// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// The documentation of public declarations against its thresholds, by `.ci/public-documentation`.
@Suite struct PublicDocumentationTests {
    @Test func everyTargetMeetsItsThresholds() throws {
        let report = try Self.run([])
        #expect(report.exitCode == 0, "\(report.output)")
        #expect(report.output.contains("ObjectGraph"))
    }

    // MARK: The script

    /// Undocumented declarations are marked by their names.
    static let source = #"""
        /// Documented, with a string that looks like code: "}".
        public struct Shape {
            /// Documented.
            @available(macOS 12, *)
            public var area: Double { 1 }
            public var undocumentedText = "/* \(")}") no comment */"
            public private(set) var undocumentedCount = 0
            var internalCount = 0
            public func undocumentedCut() { let public1 = 1 }
            // An ordinary comment.
            public func undocumentedTurn() {}
            @available(*, unavailable, message: "cut instead")
            public func unavailableCall() {}
            public override func overriding() {}
            public static func _underscored() {}
            private struct Hidden { public var hiddenCount = 1 }
            /// Documented.
            public enum Kind {
                /// Documented.
                case round
                case undocumentedSquare
            }
        }
        struct Internal {}
        extension Internal { public var unreachable: Int { 1 } }
        public extension Shape {
            func undocumentedGrowth() {}
            internal func internalGrowth() {}
        }
        public protocol undocumentedDrawing {
            func undocumentedDraw()
        }
        public typealias `undocumentedDefault` = Shape
        """#

    @Test func undocumentedDeclarationsAreListed() throws {
        let lines = try Self.missing(Self.source)
        #expect(
            lines.map { $0.split(separator: " ")[2].split(separator: ".").last.map { $0.dropLast() } } == [
                "undocumentedText", "undocumentedCount", "undocumentedCut", "undocumentedTurn", "undocumentedSquare", "undocumentedGrowth",
                "undocumentedDrawing", "undocumentedDraw", "undocumentedDefault",
            ])
        #expect(lines.first == "Sources/Shapes/Shapes.swift:6: var Shape.undocumentedText: no comment")
    }

    @Test func throwingDeclarationsNeedTheirErrors() throws {
        let lines = try Self.missing(
            """
            /// - Throws: `ShapeError` if the radius is negative; nothing was drawn then.
            public func draw(radius: Double) throws {}
            /// Draws.
            public func silent(
                radius: Double
            ) async throws -> Int { 1 }
            /// Draws.
            public func callback(_ body: () throws -> Void) rethrows {}
            /// Draws.
            public func completion(_ body: @escaping (Int) throws -> Int) -> Int { 1 }
            /// An area.
            public var silentArea: Double { get throws { 1 } }
            """)
        #expect(
            lines == [
                "Sources/Shapes/Shapes.swift:4: func silent: no \"- Throws:\"",
                "Sources/Shapes/Shapes.swift:12: var silentArea: no \"- Throws:\"",
            ])
    }

    @Test(arguments: [
        (thresholds: "Shapes 50 1", exitCode: Int32(0), "Shapes                   1 of     2 documented   50.0%"),
        ("Shapes 50.1 1", 1, "too few"),
        ("Shapes 50 0", 1, "Shapes.swift:2: area throws"),
        ("Shapes 50 1 area", 0, "50.0%"),
        ("Shapes 50 1 cut", 1, "cut is undocumented, and Apple's API does not have it"),
        ("Shapes 50 1 *", 1, "cut is undocumented, and Apple's API does not have it"),
        ("Shapes 50 1 bend", 1, "bend is not a public declaration of Shapes"),
        ("Shapes fifty", 1, "write TARGET PERCENT THROWING"),
        ("Circles 50 0", 1, "There is no target Circles"),
        ("# none", 1, "Shapes has public declarations and no threshold"),
    ])
    func thresholdsDecideTheExitCode(_ thresholds: String, _ exitCode: Int32, _ line: String) throws {
        let source = "/// An area.\npublic func area() throws -> Int { 1 }\npublic func cut() {}\n"
        let report = try Self.withTree(source, thresholds) { try Self.run(["--root", $0, "--thresholds", $0 + "/thresholds"]) }
        #expect(report.exitCode == exitCode)
        #expect(report.output.contains(line), "\(report.output)")
    }

    private static func missing(_ source: String) throws -> [String] {
        let report = try withTree(source, "Shapes 0 0") {
            try run(["--root", $0, "--thresholds", $0 + "/thresholds", "--missing", "Shapes"])
        }
        #expect(report.exitCode == 0, "\(report.output)")
        return report.output.split(separator: "\n").map(String.init)
    }

    private static func withTree<Result>(_ source: String, _ thresholds: String, _ body: (String) throws -> Result) throws -> Result {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("public-documentation-\(UUID().uuidString)")
        let folder = root.appendingPathComponent("Sources/Shapes")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        try source.write(to: folder.appendingPathComponent("Shapes.swift"), atomically: true, encoding: .utf8)
        try thresholds.write(to: root.appendingPathComponent("thresholds"), atomically: true, encoding: .utf8)
        return try body(root.path)
    }

    /// Runs the script; its output and its errors come back as one text.
    private static func run(_ arguments: [String]) throws -> (exitCode: Int32, output: String) {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", RepositoryFiles.root.appendingPathComponent(".ci/public-documentation").path] + arguments
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}
