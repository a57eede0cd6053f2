// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// What a reviewer would otherwise say again and again.
@Suite struct RepositoryTests {
    /// Who never imports whom, and why. The compiler keeps undeclared imports out; this keeps them undeclared.
    static let forbidden: [(target: String, imports: [String], because: String)] = [
        ("CloudWire", ["Foundation", "CloudKit", "CloudEngine", "ManagedModel"], "the wire is the language, not a speaker"),
        ("ObjectGraph", ["CloudKit", "CloudWire", "CloudMirroring", "MirroringCore"], "saving never knows of sync"),
        ("SQLiteStore", ["CloudKit", "CloudWire", "CloudMirroring", "ObjectGraph"], "the store speaks rows and keys"),
        ("ManagedModel", ["GRDB", "SQLiteStore", "ObjectGraph"], "models are values"),
        ("MirroringCore", ["GRDB", "AsyncHTTPClient", "CloudKit", "SQLiteStore", "ObjectGraph", "Dispatch"], "what decides is replayed from a seed"),
        (
            "CloudEngine", ["GRDB", "Hummingbird", "CloudKit", "CloudEngineSQLite", "CloudService", "Dispatch", "Synchronization"],
            "what decides is replayed from a seed"
        ),
        ("CloudService", ["GRDB", "Hummingbird", "CloudKit", "CloudEngineSQLite", "Foundation"], "storages and carriers plug into the service"),
        ("CloudKit", ["CloudEngine", "CloudServer", "GRDB", "Hummingbird"], "each side works against somebody else's other side"),
        ("CloudMirroring", ["CloudEngine", "CloudServer", "GRDB", "AsyncHTTPClient"], "each side works against somebody else's other side"),
        ("CloudConsole", ["CloudKit", "Hummingbird", "GRDB", "CloudEngineSQLite"], "the console is pages over the engine"),
        ("CloudServer", ["CloudKit", "ObjectGraph", "GRDB", "AsyncHTTPClient"], "each side works against somebody else's other side"),
    ]

    static let banned: [(word: String, folders: [String], instead: String)] = [
        ("try!", ["Sources", "Examples", "Benchmarks/Bench"], "throw, or a precondition that says why"),
        ("fatalError()", ["Sources", "Examples"], "a preconditionFailure with a sentence"),
        ("FIXME", ["Sources", "Examples", "Tests", "Benchmarks/Bench"], "mend it, or say in the ledger that it is absent"),
        ("Date()", ["Sources/MirroringCore", "Sources/CloudEngine"], "the time that is passed in"),
        ("UUID()", ["Sources/MirroringCore", "Sources/CloudEngine"], "the identifier that is passed in"),
        ("SystemRandomNumberGenerator", ["Sources/MirroringCore", "Sources/CloudEngine"], "the randomness that is passed in"),
        ("Task {", ["Sources/MirroringCore", "Sources/CloudEngine"], "an effect that a shell carries out"),
        (" async", ["Sources/MirroringCore", "Sources/CloudEngine"], "a function of CloudService that calls the engine in a unit of work"),
        ("await ", ["Sources/MirroringCore", "Sources/CloudEngine"], "a function of CloudService that calls the engine in a unit of work"),
        ("Mutex<", ["Sources/MirroringCore", "Sources/CloudEngine"], "a value that its caller owns"),
        ("Task.sleep", ["Tests"], "a signal, or the virtual clock"),
        ("Thread.sleep", ["Tests"], "a signal, or the virtual clock"),
    ]

    @Test func noTargetImportsWhatItMustNot() throws {
        for rule in Self.forbidden {
            for file in try Self.swiftFiles(in: "Sources/\(rule.target)") {
                for line in file.text.split(separator: "\n") where line.contains("import ") && !line.hasPrefix("//") {
                    let module = line.split(separator: " ").last.map(String.init) ?? ""
                    if rule.imports.contains(module) { Issue.record("\(file.path) imports \(module): \(rule.because)") }
                }
            }
        }
    }

    @Test func bannedWordsStayOut() throws {
        for rule in Self.banned {
            for folder in rule.folders {
                for file in try Self.swiftFiles(in: folder) where !file.path.hasSuffix("RepositoryTests.swift") {
                    for (number, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
                    where line.contains(rule.word) && !line.drop(while: { $0 == " " }).hasPrefix("//") {
                        Issue.record("\(file.path):\(number + 1): '\(rule.word)'; use \(rule.instead)")
                    }
                }
            }
        }
    }

    @Test func everySourceHasItsHeader() throws {
        for folder in ["Sources", "Tests", "Examples", "Plugins", "Benchmarks/Bench"] {
            // A manifest begins with the version of the tools; swift-package asks for that.
            for file in try Self.swiftFiles(in: folder)
            where !file.path.hasSuffix("Package.swift") && !file.text.hasPrefix("// SPDX-License-Identifier: Apache-2.0\n") {
                Issue.record("\(file.path) does not begin with its licence line")
            }
        }
    }

    @Test func filesStayReadable() throws {
        for folder in ["Sources", "Examples", "Benchmarks/Bench"] {
            for file in try Self.swiftFiles(in: folder) {
                let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false).count
                if lines > 500 { Issue.record("\(file.path) has \(lines) lines: which second type hides inside?") }
            }
        }
    }

    /// What the guides show was compiled, and run.
    @Test func guidesShowCodeOfTests() throws {
        let tests = try Self.swiftFiles(in: "Tests/CloudKitTestingTests/Guides").map(\.text).joined(separator: "\n")
        let folder = Self.root.appendingPathComponent("Documentation/Tarn.docc")
        var samples = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() where name.hasSuffix(".md") {
            let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
            for sample in text.components(separatedBy: "```swift\n").dropFirst() {
                samples += 1
                let code = sample.components(separatedBy: "```")[0]
                if !tests.contains(code) { Issue.record("\(name) shows code that no test of the guides has: \(code.prefix(60))…") }
            }
        }
        #expect(samples > 5)
    }

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func swiftFiles(in folder: String) throws -> [(path: String, text: String)] {
        let url = root.appendingPathComponent(folder)
        #expect(FileManager.default.fileExists(atPath: url.path), "there is no folder \(folder)")
        let names = try #require(FileManager.default.enumerator(atPath: url.path))
        return try names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted().map { name in
            ("\(folder)/\(name)", try String(contentsOf: url.appendingPathComponent(name), encoding: .utf8))
        }
    }
}
