// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// The manifest against the pages and rules about targets.
@Suite struct ArchitectureTests {
    struct Target: Hashable {
        var kind: String
        var name: String
        var path: String
    }

    /// The targets that `Package.swift` declares, with the folder of each.
    static func targets() throws -> [Target] {
        let manifest = try RepositoryFiles.text(at: "Package.swift")
        let declaration = /\.(target|executableTarget|testTarget|plugin|systemLibrary)\(\s*name: "([^"]+)"/
        let matches = manifest.matches(of: declaration)
        return matches.indices.compactMap { index in
            let (kind, name) = (String(matches[index].1), String(matches[index].2))
            let end = index + 1 < matches.count ? matches[index + 1].range.lowerBound : manifest.endIndex
            let body = manifest[matches[index].range.upperBound..<end]
            // A product has the name of its plugin.
            if kind == "plugin", body.prefix(40).contains("targets:") { return nil }
            let folder = kind == "testTarget" ? "Tests" : kind == "plugin" ? "Plugins" : "Sources"
            return Target(kind: kind, name: name, path: body.firstMatch(of: /path: "([^"]+)"/).map { String($0.1) } ?? "\(folder)/\(name)")
        }
    }

    @Test func theArchitecturePageNamesEveryTarget() throws {
        let page = try RepositoryFiles.text(at: "Documentation/Architecture.md")
        let targets = try Self.targets()
        #expect(targets.count > 50)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap { row in
            row.split(separator: "|")[0].matches(of: /`([^`]+)`/).map { String($0.1) }
        }
        #expect(Set(targets.map(\.name)).subtracting(rows) == [], "Architecture.md lacks these targets")
        #expect(Set(rows).subtracting(targets.map(\.name)) == [], "Architecture.md has targets that the manifest lacks")
    }

    /// Where to start reading: `| step | `Target` | `File.swift` |`.
    @Test func theFilesToStartReadingAtExist() throws {
        let page = try RepositoryFiles.text(at: "Documentation/Architecture.md")
        let rows = page.matches(of: /\| `(\w+)` \| `([\w+\/.]+)` \|/)
        #expect(rows.count >= 9)
        for row in rows {
            let path = RepositoryFiles.root.appendingPathComponent("Sources/\(row.1)/\(row.2)").path
            #expect(FileManager.default.fileExists(atPath: path), "Architecture.md names Sources/\(row.1)/\(row.2)")
        }
    }

    /// Each decision has a number of its own, and a line in the list of the design page.
    @Test func theDesignPageListsEveryDecision() throws {
        let page = try RepositoryFiles.text(at: "Documentation/Design.md")
        let folder = RepositoryFiles.root.appendingPathComponent("Documentation/Decisions").path
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".md") }.sorted()
        #expect(files.filter { !page.contains("](Decisions/\($0))") } == [])
        let numbers = files.map { $0.prefix(4) }
        #expect(Set(numbers).count == numbers.count)
    }

    /// Backticked names in the contributing guide that look like tests or files of the repository.
    @Test func theContributingGuideNamesTestsAndFilesThatExist() throws {
        let guide = try RepositoryFiles.text(at: "CONTRIBUTING.md")
        #expect(try ParityLedgerTests.index().unknownNames(in: guide) == [])
        let example = try #require(guide.firstMatch(of: /ONLY='\w+\.(\w+)'/))
        #expect(try ParityLedgerTests.index().unknownNames(in: "`\(example.1)`") == [])
        for match in guide.matches(of: /`((?:Tests|Documentation|Sources|\.ci)\/[\w\/.-]+)`/) where !match.1.contains("NNNN") {
            let path = RepositoryFiles.root.appendingPathComponent(String(match.1)).path
            #expect(FileManager.default.fileExists(atPath: path), "CONTRIBUTING.md names \(match.1)")
        }
    }

    @Test func theDrawingNamesEveryTarget() throws {
        let drawing = try RepositoryFiles.text(at: "Documentation/Drawings/targets.svg")
        for target in try Self.targets() where target.kind != "testTarget" {
            #expect(drawing.contains(">\(target.name)</text>"), "targets.svg lacks \(target.name)")
        }
    }

    @Test func drawingsAreForLightAndDarkPages() throws {
        let folder = RepositoryFiles.root.appendingPathComponent("Documentation/Drawings")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".svg") }
        #expect(names.count >= 2)
        for name in names {
            let drawing = try RepositoryFiles.text(at: "Documentation/Drawings/\(name)")
            #expect(drawing.contains("prefers-color-scheme: dark"), "\(name)")
            #expect(drawing.contains("<title"), "\(name)")
        }
    }

    @Test func noTargetOfSourcesIsInTests() throws {
        for target in try Self.targets() where target.kind != "testTarget" && target.path.hasPrefix("Tests/") {
            // Its lists are written by the tests.
            #expect(target.name == "StatementPlans", "\(target.name) is in \(target.path)")
        }
    }

    /// Targets of code that have no test target of their name, and where their tests are.
    static let testedElsewhere = [
        "CoreData": "ParityTests uses it, as apps do",
        "CloudEnginePostgres": "CloudEngineSQLiteTests, whose conformance tests run on each storage",
        "CloudStorageSupport": "the tests of both storages", "TemporaryPostgres": "every test that uses it",
        "SimulationKit": "SimulationTests",
        "ValueSimulation": "MirroringCoreTests",
        "StatementPlans": "the tests of the plans",
        "TestBasics": "every test that uses it", "EngineFixtures": "every test that uses it", "ServiceFixtures": "every test that uses it",
        "StorageFixtures": "every test that uses it",
        "ModelFolders": "every test that uses it",
        "PostsApp": "EndToEndTests",
    ]

    @Test func everyTargetHasATestTarget() throws {
        let targets = try Self.targets()
        let tests = Set(targets.filter { $0.kind == "testTarget" }.map(\.name))
        // The C targets are a few functions each, which the tests of their callers cover.
        let code = targets.filter { $0.kind == "target" && $0.name.wholeMatch(of: /C[A-Z]\w+/) == nil }.map(\.name)
        #expect(code.filter { !tests.contains("\($0)Tests") }.sorted() == Self.testedElsewhere.keys.sorted())
    }

    @Test func everyTargetIsInAGroup() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: RepositoryFiles.root.appendingPathComponent("Sources").path)
        for folder in folders.sorted() where !folder.hasPrefix(".") {
            let groups = ImportRules.Group.allCases.filter { $0.targets.contains(folder) }
            #expect(groups.count == 1, "\(folder) is in the groups \(groups.map(\.rawValue)); add it to one in ImportRules")
        }
    }

    @Test func noTargetImportsAgainstTheRules() throws {
        for file in try RepositoryFiles.swift(in: "Sources") {
            let target = String(file.path.split(separator: "/")[1])
            for problem in ImportRules.problems(of: target, path: file.path, text: file.text) { Issue.record("\(problem)") }
        }
    }

    @Test(arguments: [
        ("ObjectGraph", "import CloudKit"), ("SQLiteStore", "package import ObjectGraph"), ("CloudWire", "import Foundation"),
        ("CloudKit", "internal import CloudEngine"), ("CloudServer", "@preconcurrency import CloudKit"),
        ("TarnCommands", "import CloudInProcess"),
        ("CloudEngine", "import struct GRDB.Row"), ("ManagedModel", "public import ObjectGraph"), ("ObjectGraph", "import ModelTool"),
        ("CloudMirroring", "import SimulationKit"), ("modelc", "import CoreData"),
    ])
    func anImportAgainstTheRulesIsFound(_ target: String, _ line: String) {
        #expect(ImportRules.problems(of: target, path: "File.swift", text: "// import of something\n\(line)\n").count == 1)
    }

    @Test(arguments: [
        ("CloudMirroring", "import SQLiteStore"), ("TarnCommands", "import ModelTool"), ("SimulationKit", "package import CloudInProcess"),
        ("CloudWire", "// import Foundation"), ("CloudKit", "public import Foundation"), ("CloudEngineSQLite", "import GRDB"),
    ])
    func otherImportsAreAllowed(_ target: String, _ line: String) {
        #expect(ImportRules.problems(of: target, path: "File.swift", text: line) == [])
    }
}
