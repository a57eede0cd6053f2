// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization
import Testing

/// The ledger against the tests: a row can't say "same" without a test that shows it.
@Suite struct ParityLedgerTests {
    /// Names that the tests of a row need not mention.
    static let exceptions = [
        "predicateFormat": "the compiler calls it deprecated on Linux; tests read `description`, which is the same text",
        "tarn": "the name of the program, which tests run as `TarnCommands`",
        "NAME": "a placeholder for the name of a model",
        "diff": "the command's type is `SchemaCommand.Diff`",
        "port": "a command of `tarn`, which tests run as `TarnCommands`",
        "ModelCompilerPlugin": "the build runs it for the test targets that name it",
        "open": "a keyword; a subclass of another module needs it",
        "required": "a keyword; a subclass of another module needs it",
        "VACUUM": "a statement of SQLite's; tests measure the file",
        "xcmappingmodel": "an extension of files that are not read",
        "identity": "the capability `server-identity` is `Capability.serverIdentity`",
        "permissions": "the capability is `Capability.permissions`, offered unless a test leaves it out",
        "BAD_REQUEST": "the code is `WireError.Code.badRequest`",
        "ACCESS_DENIED": "the code is `WireError.Code.accessDenied`",
        "Authorization": "a header that the client of the tests sends",
        "Bearer": "a header that the client of the tests sends",
        "environment": "a placeholder in a path",
        "push": "a part of a path that the client of the tests opens",
        "stream": "a part of a path that the client of the tests opens",
    ]

    private static let all = Result {
        TestIndex(try RepositoryFiles.swift(in: "Tests").map { (String($0.path.dropFirst("Tests/".count)), $0.text) })
    }

    static func index() throws -> TestIndex { try all.get() }

    @Test func everyClaimNamesATestThatExists() throws {
        let ledger = try ParityLedger(RepositoryFiles.text(at: "Documentation/Parity.md"))
        let tests = try Self.index()
        #expect(ledger.rows.count > 150)
        #expect(tests.entries.count > 1500)
        for problem in ledger.problems(tests, exceptions: Self.exceptions) { Issue.record("\(problem)") }
    }

    @Test func documentsNameTestsThatExist() throws {
        let tests = try Self.index()
        let folder = RepositoryFiles.root.appendingPathComponent("Documentation")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() where name.hasSuffix(".md") {
            let document = try RepositoryFiles.text(at: "Documentation/\(name)")
            #expect(tests.unknownNames(in: document) == [], "\(name)")
        }
    }

    // MARK: The rules

    static let tests = TestIndex([
        (
            "ParityTests/Shapes.swift",
            """
            @Suite(.timeLimit(.minutes(1))) struct ShapeTests {
                @Test func circlesAreRound() { #expect(Circle(radius: 1).isRound) }
                @Test(arguments: [
                    1, 2,
                ])
                func squaresHaveSides(_ count: Int) { #expect(Square().sides == 4) }
                // @Test func commentedOut() {}
                func helper() {}
            }
            extension ShapeTests {
                @Test func `default`() {}
            }
            """
        ),
        ("OtherTests/Shapes.swift", "// Square\nstruct ShapeTests {\n    @Test func linesAreStraight() {}\n}"),
        ("OtherTests/ThingsSurface.swift", "struct ThingsSurfaceTests {\n    @Test func membersAreThere() { _ = Triangle.self }\n}"),
    ])

    static func problems(_ rows: String, exceptions: [String: String] = [:]) -> [ParityLedger.Problem.Kind] {
        let ledger = ParityLedger("# Title\n\n| symbol | state | test |\n|---|---|---|\n" + rows)
        return ledger.problems(tests, exceptions: exceptions).map(\.kind)
    }

    @Test func aRowWithATestThatMentionsItsSymbolsIsFine() {
        #expect(Self.problems("| `Circle(radius:)`, `isRound` | same | `ShapeTests.circlesAreRound` |") == [])
        #expect(Self.problems("| `Square` | same; no corners | `ParityTests.ShapeTests` |") == [])
        #expect(Self.problems("| `Square` | same | `ParityTests.ShapeTests.squaresHaveSides`, `ShapeTests.linesAreStraight` |") == [])
        #expect(Self.problems("| `Pyramid` | absent | |") == [])
        #expect(Self.problems("| `…adius` | same | `ShapeTests.default` |") == [])
    }

    @Test func sameNeedsATest() {
        #expect(Self.problems("| `Circle` | same, but slower | |") == [.sameWithoutTest])
        #expect(Self.problems("| `Circle` | differs: in every same-named way | |") == [.sameWithoutTest])
        #expect(Self.problems("| `Circle` | differs | |") == [])
    }

    @Test func namesOfTestsAreChecked() {
        #expect(Self.problems("| circles | same | `ShapeTests.trianglesArePointed` |") == [.unknownTest])
        #expect(Self.problems("| circles | differs | `NoTests` |") == [.unknownTest])
        #expect(Self.problems("| circles | same | `ShapeTests.commentedOut`, `ShapeTests.helper` |") == [.unknownTest, .unknownTest])
        #expect(Self.problems("| circles | same | `ShapeTests` |") == [.ambiguousTest])
    }

    @Test func namesOfTestsInADocumentAreChecked() {
        let document = "See `ShapeTests`, `ShapeTests.circlesAreRound`, `NoTests`, `ShapeTests.none`, `ParityTests` and `Circle.round`."
        #expect(Self.tests.unknownNames(in: document) == ["NoTests", "ShapeTests.none"])
    }

    @Test func symbolsAreMentionedByTheRowsTests() {
        #expect(Self.problems("| `Circle`, `diameter` | same | `ShapeTests.circlesAreRound` |") == [.symbolWithoutTest])
        #expect(Self.problems("| `diameter` | differs | `ShapeTests.circlesAreRound` |") == [])
        #expect(Self.problems("| `diameter` | same | `ShapeTests.circlesAreRound` |", exceptions: ["diameter": "a reason"]) == [])
        #expect(Self.problems("| `Triangle` | same | `ThingsSurfaceTests` |") == [.symbolWithoutTest])
        #expect(Self.problems("| `Square` | same | `OtherTests.ShapeTests` |") == [.symbolWithoutTest], "a comment shows nothing")
    }

    @Test func aStatesClaimsAreMentionedByTheRowsTests() {
        let circles = "| `ShapeTests.circlesAreRound` |"
        #expect(Self.problems("| `Circle` | same, with `radius` " + circles) == [])
        #expect(Self.problems("| `Circle` | same, with `diameter` " + circles) == [.symbolWithoutTest])
        #expect(Self.problems("| `Circle` | same; `diameter` is absent " + circles) == [])
        #expect(Self.problems("| `Circle` | same; it has no `diameter`, and `center` is kept " + circles) == [.symbolWithoutTest])
        #expect(Self.problems("| `Circle` | same; (`diameter`, `center`) are absent " + circles) == [])
        #expect(Self.problems("| `Circle` | differs: `diameter` is kept " + circles) == [])
    }

    @Test func rowsAreWellFormed() {
        #expect(Self.problems("| `Circle` | same |") == [.malformed])
        #expect(Self.problems("| `Circle` | | `ShapeTests` |") == [.malformed])
        #expect(Self.problems("| `Circle` | same | ShapeTests.circlesAreRound |") == [.malformed])
        #expect(Self.problems("| `Circle` | same | `ShapeTests.circlesAreRound` | more |") == [.malformed])
        #expect(Self.problems("| `Circle \\| Square` | same | `ParityTests.ShapeTests` |") == [])
        #expect(Self.problems("| circles | differs | |\n| circles | absent | |") == [.malformed])
        #expect(ParityLedger("| name | state |\n|---|---|\n").malformed.count == 2)
        let header = "\n\n| symbol | state | test |\n|---|---|---|\n"
        #expect(Self.problems("| circles | differs | |" + header + "| circles | absent | |") == [])
        #expect(Self.problems("| circles | differs | |" + header + "| circles | differs | |") == [.malformed])
    }
}

/// Files of the repository that its tests read.
enum RepositoryFiles {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func text(at path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// Files that were read, by folder: most rules read all sources or all tests.
    private static let files = Mutex<[String: [(path: String, text: String)]]>([:])

    static func swift(in folder: String) throws -> [(path: String, text: String)] {
        if let files = files.withLock({ $0[folder] }) { return files }
        let url = root.appendingPathComponent(folder)
        #expect(FileManager.default.fileExists(atPath: url.path), "there is no folder \(folder)")
        let names = try #require(FileManager.default.enumerator(atPath: url.path))
        let read = try names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted().map { name in
            (path: "\(folder)/\(name)", text: try text(at: "\(folder)/\(name)"))
        }
        files.withLock { $0[folder] = read }
        return read
    }

    /// Whether a file has a text, by its bytes: `contains` takes seconds for all files and words.
    static func has(_ word: String, in text: String) -> Bool { text.withCString { strstr($0, word) != nil } }
}
