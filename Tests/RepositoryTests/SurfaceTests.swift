// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// Documented declarations against the code: the lists in `Tests/Surface` become sources that use each of them.
@Suite struct SurfaceTests {
    static let lists = [
        "Containers", "Contexts", "Errors", "Fetching", "History", "Migration", "Mirroring", "Models", "Notifications", "Objects",
        "Observing", "Operations", "Records", "Sharing", "SyncEngine",
    ]
    /// Modules that a list's declarations are in; CloudKit where nothing stands here.
    private static let modules = [
        "Contexts": ["CoreData"], "Fetching": ["CoreData"], "History": ["CoreData"], "Migration": ["CoreData"],
        "Mirroring": ["CloudKit", "CoreData"], "Models": ["CoreData"], "Objects": ["CoreData"], "Observing": ["CoreData"],
    ]

    @Test(arguments: lists)
    func theGeneratedSourceUsesEveryDocumentedDeclaration(_ name: String) throws {
        let source = SurfaceWriter(
            name: name, list: try Self.list(name), imports: Self.modules[name] ?? ["CloudKit"]
        ).source()
        let path = "Tests/CloudParityTests/Surface/\(name)Surface.swift"
        if ProcessInfo.processInfo.environment["REWRITE_GOLDEN"] == "1" {
            try source.write(to: RepositoryFiles.root.appendingPathComponent(path), atomically: true, encoding: .utf8)
        }
        #expect(try RepositoryFiles.text(at: path) == source, "\(path) isn't what its list makes; run with REWRITE_GOLDEN=1")
    }

    @Test func everyListIsTested() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: RepositoryFiles.root.appendingPathComponent("Tests/Surface").path)
        #expect(files.sorted() == Self.lists.map { $0 + ".txt" })
    }

    @Test func absentAPIIsInTheLedger() throws {
        let rows = ParityLedger(try RepositoryFiles.text(at: "Documentation/Parity.md")).rows.filter(\.saysAbsent)
        for name in try Self.lists.flatMap({ try Self.list($0).absent }) {
            let last = name.split(separator: ".").last.map(String.init) ?? name
            let isNamed = rows.contains { ($0.symbol + $0.state).components(separatedBy: "`").contains { $0.hasSuffix(last) } }
            #expect(isNamed, "no row of the ledger says that \(name) is absent")
        }
    }

    private static func list(_ name: String) throws -> SurfaceList {
        try SurfaceList(RepositoryFiles.text(at: "Tests/Surface/\(name).txt"))
    }

    // MARK: The format

    static func uses(_ text: String) throws -> [String] {
        SurfaceWriter(name: "Shapes", list: try SurfaceList(text), imports: []).source().split(separator: "\n")
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter {
                $0.hasPrefix("_ =") || $0.hasPrefix("let _") || $0.hasPrefix("expect")
            }
    }

    @Test func typesAreUsedAsTheirSuperclassAndProtocols() throws {
        #expect(
            try Self.uses("class Circle: Shape, any Hashable") == [
                "_ = { (x: Circle) -> Shape in x }", "_ = { (x: Circle) -> any Hashable in x }",
            ])
        #expect(try Self.uses("struct Point") == ["_ = Point.self"])
    }

    @Test func propertiesHaveExactlyTheirType() throws {
        #expect(
            try Self.uses("class Circle\n  var radius: Double? { set }\n  var area: Double").dropFirst() == [
                "let _: ReferenceWritableKeyPath<Circle, Double?> = \\.radius", "let _: KeyPath<Circle, Double> = \\.area",
            ])
        #expect(try Self.uses("struct Point\n  var x: Double { set }").last == "let _: WritableKeyPath<Point, Double> = \\.x")
    }

    @Test func functionsAreCalledWithAndWithoutTheirDefaults() throws {
        #expect(
            try Self.uses("class Circle\n  func cut(_: [Int: Shape], at: Point? = nil) async throws -> [Shape]").dropFirst() == [
                "_ = { (x: Circle, a0: [Int: Shape], a1: Point?) async throws -> [Shape] in try await x.cut(a0, at: a1) }",
                "_ = { (x: Circle, a0: [Int: Shape]) async throws -> [Shape] in try await x.cut(a0) }",
            ])
        #expect(try Self.uses("class Circle\n  init?(radius: Double)").last == "_ = { (a0: Double) -> Circle? in Circle(radius: a0) }")
        #expect(try Self.uses("class Circle\n  static func unit()").last == "_ = { () -> Void in Circle.unit() }")
        #expect(
            try Self.uses("class Circle\n  func each(_: @escaping (Int, (any Error)?) -> Void)").last
                == "_ = { (x: Circle, a0: @escaping (Int, (any Error)?) -> Void) -> Void in x.each(a0) }")
    }

    @Test func constantsAreCompared() throws {
        #expect(
            try Self.uses("enum Kind\n  case round = 1\n  static let name: String = \"kind\"\nlet KindKey: String = \"key\"") == [
                "expectDocumented(\"Kind.round\", Kind.round, 1)", "expectDocumented(\"Kind.name\", Kind.name, \"kind\")",
                "expectDocumented(\"KindKey\", KindKey, \"key\")", "_ = Kind.self", "_ = { () -> Kind in .round }",
                "_ = { () -> String in Kind.name }", "_ = { () -> String in KindKey }",
            ])
    }

    @Test func casesHaveTheirPayload() throws {
        #expect(
            try Self.uses("enum Change\n  case save(Circle, [Int: Shape])\n  case move(from: Point)").dropFirst() == [
                "_ = { (a0: Circle, a1: [Int: Shape]) -> Change in .save(a0, a1) }", "_ = { (a0: Point) -> Change in .move(from: a0) }",
            ])
    }

    @Test func blocksSubscriptsAndAliasesAreUsed() throws {
        #expect(
            try Self.uses("class Circle\n  block done: (Int, Result<[Int: Int], any Error>)").dropFirst() == [
                "_ = { (x: Circle) in x.done = { (_: Int, _: Result<[Int: Int], any Error>) -> Void in } }",
                "_ = { (x: Circle) in x.done = nil }",
            ])
        #expect(
            try Self.uses("class Circle\n  subscript(String) -> Int? { set }").dropFirst() == [
                "_ = { (x: Circle, key: String) -> Int? in x[key] }", "_ = { (x: Circle, key: String, value: Int?) in x[key] = value }",
            ])
        #expect(try Self.uses("class Circle\n  alias ID = String").last == "_ = { (x: [Circle.ID]) -> [String] in x }")
    }

    @Test func deprecatedDeclarationsAreUsedInDeprecatedFunctions() throws {
        let source = SurfaceWriter(name: "Shapes", list: try SurfaceList("class Circle\n  deprecated var size: Int"), imports: []).source()
        #expect(source.contains("@available(*, deprecated)\n    private static func usesDeprecatedCircle()"))
        #expect(!source.contains("Self.usesDeprecatedCircle()"))
    }

    @Test func propertiesOfClassesAreListedByName() throws {
        let list = try SurfaceList(
            "class Circle\n  var radius: Double\n  static var unit: Circle\n  deprecated var size: Int\nstruct Point\n  var x: Int")
        let source = SurfaceWriter(name: "Shapes", list: list, imports: []).source()
        #expect(
            source.contains(
                "propertiesOfCircle: [(name: String, path: PartialKeyPath<Circle>)] {\n        [\n            (\"radius\", \\.radius),\n        ]"
            ))
        #expect(!source.contains("propertiesOfPoint"))
    }

    @Test func absentDeclarationsAreListedAndNotUsed() throws {
        let list = try SurfaceList("class Circle\n  absent diameter\nabsent Pyramid")
        #expect(list.absent == ["Circle.diameter", "Pyramid"])
        #expect(try Self.uses("absent Pyramid") == [])
    }

    @Test(arguments: ["square Circle", "  var area: Double", "class Circle\n  area: Double", "class Circle\n  func area"])
    func aLineOfAnotherFormatIsRefused(_ text: String) {
        #expect(throws: SurfaceList.Malformed.self) { try SurfaceList(text) }
    }
}
