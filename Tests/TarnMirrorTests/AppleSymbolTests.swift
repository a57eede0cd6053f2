// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// `Documentation/AppleSymbols.md` against the sources of `TarnMirror`, which must compile against Apple's frameworks.
@Suite struct AppleSymbolTests {
    struct Symbol: Hashable {
        /// The type; nil for a global constant.
        var owner: String?
        /// Without arguments.
        var name: String
        var since: String
        var page: String
    }

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    private static let allSymbols = Result {
        let row = /\| `(?:(\w+)\.)?(\w+)(?:\([^)]*\))?` \| ([^|]+) \| `([^`]+)` \|/
        return try text("Documentation/AppleSymbols.md").matches(of: row).map {
            Symbol(owner: $0.1.map(String.init), name: String($0.2), since: String($0.3), page: String($0.4))
        }
    }

    private static func symbols() throws -> [Symbol] { try allSymbols.get() }

    private static func files(_ target: String) throws -> [String] {
        let folder = root.appendingPathComponent("Sources/\(target)")
        let names = try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap { $0 as? String }
        return try names.filter { $0.hasSuffix(".swift") }.sorted().map {
            try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)
        }
    }

    /// The sources without comments and the texts of strings. Made once: a debug build takes seconds.
    private static let allCode = Result {
        try files("TarnMirror").flatMap { $0.split(separator: "\n") }.map { line in
            line.replacing(/\/\/.*/, with: "").replacing(/"(?:\\.|[^"\\])*"/, with: "\"\"")
        }.joined(separator: "\n")
    }

    private static func code() throws -> String { try allCode.get() }

    /// Types that the package declares.
    private static func declared() throws -> Set<String> {
        let declaration = /\b(?:class|struct|enum|protocol|typealias)\s+`?(\w+)/
        return Set(
            try ["CloudWire", "ManagedModel", "MirroringCore", "SystemSupport", "TarnMirror"].flatMap { try files($0) }
                .flatMap { $0.matches(of: declaration).map { String($0.1) } })
    }

    /// Names of Swift's standard library, of `Synchronization`, of modules, and of generic parameters.
    private static let swift: Set<String> = [
        "Any", "AnyHashable", "Array", "AsyncStream", "Bool", "CancellationError", "CaseIterable", "CheckedContinuation", "CloudWire",
        "Codable",
        "Continuation", "CoreData", "CustomReflectable", "CustomStringConvertible", "Dictionary", "Double", "Duration", "Error", "Float",
        "Foundation", "FoundationNetworking", "Hashable", "Identifiable", "Int", "Int64", "ManagedModel", "Message", "Mirror",
        "MirroringCore",
        "Mutex", "Never", "RawRepresentable", "Self", "Sendable", "Sequence", "Set", "String", "Synchronization", "SystemSupport", "T",
        "Task", "TaskExecutor",
        "UInt16", "UInt64", "UInt8", "Value", "Void",
        // Nested in listed types.
        "ResponseDisposition",
    ]

    @Test func eachTypeInTheSourcesIsListed() throws {
        let listed = Set(try Self.symbols().flatMap { [$0.owner, $0.name].compactMap(\.self) })
        let declared = try Self.declared()
        let used = Set(try Self.code().matches(of: /\b[A-Z]\w*/).map { String($0.0) }).subtracting(declared).subtracting(Self.swift)
        #expect(used.subtracting(listed).sorted() == [], "add these symbols to Documentation/AppleSymbols.md")
    }

    /// Names that Core Data's types have, and that stand for members of the package's own values wherever the sources use them.
    private static let ours: Set<String> = [
        "binary", "binaryData", "boolean", "cancel", "composite", "date", "decimal", "derivationExpression", "description", "double",
        "encode",
        "end", "float", "hash", "index", "init", "insert", "integer16", "integer32", "integer64", "isDeleted", "metadata", "next", "object",
        "perform", "property", "rawValue", "relationships", "resolve", "root", "set", "string", "timestamp", "transaction", "transformable",
        "undefined", "update", "uri", "uuid", "begin", "add", "container", "current", "entityName", "kind", "load", "objects",
        "propertyName", "union",
    ]

    @Test func eachMemberOfCoreDataInTheSourcesIsListed() throws {
        let symbols = try Self.symbols()
        let types = Set(symbols.compactMap { $0.owner ?? $0.name })
        // `Type.member(…): declaration`
        let member = #/(?m)^(\w+)\.(\w+)(?:\([^)]*\))?: /#
        let known = Set(
            try Self.text("Tests/PublicAPI/ObjectGraph.txt").matches(of: member).filter { types.contains(String($0.1)) }.map {
                String($0.2)
            })
        #expect(known.count > 200)
        let used = Set(try Self.code().matches(of: /\.(\w+)/).map { String($0.1) }).intersection(known).subtracting(Self.ours)
        let listed = Set(symbols.map(\.name))
        #expect(used.subtracting(listed).sorted() == [], "add these members to Documentation/AppleSymbols.md")
    }

    @Test func eachListedSymbolIsUsed() throws {
        let words = Set(try Self.code().matches(of: /\w+/).map { String($0.0) })
        for symbol in try Self.symbols() {
            let name = symbol.name == "init" ? symbol.owner ?? "" : symbol.name
            let isUsed = words.contains(name)
            #expect(isUsed, "\(symbol.owner ?? "").\(symbol.name) is listed and not used")
        }
    }

    @Test func eachSymbolIsOlderThanTheSystemsOfTheTarget() throws {
        let symbols = try Self.symbols()
        #expect(symbols.count > 120)
        for symbol in symbols {
            let since = try #require(symbol.since.wholeMatch(of: /iOS (\d+), macOS (\d+)(?:\.\d+)?/), "\(symbol)")
            #expect((Int(since.1) ?? 99) <= 18, "\(symbol)")
            #expect((Int(since.2) ?? 99) <= 15, "\(symbol)")
            let frameworks = ["coredata/", "foundation/", "dispatch/"]
            #expect(frameworks.contains { symbol.page.hasPrefix($0) }, "\(symbol)")
        }
    }

    /// Only modules that Apple's platforms have, and targets that the manifest offers there.
    @Test func theSourcesImportNothingElse() throws {
        let imports = Set(
            try Self.files("TarnMirror").flatMap { $0.matches(of: /(?m)^ *(?:public |package )?import (\w+)/).map { String($0.1) } })
        #expect(
            imports.sorted() == [
                "CloudWire", "CoreData", "Foundation", "FoundationNetworking", "ManagedModel", "MirroringCore", "Synchronization",
                "SystemSupport",
            ])
        for target in ["CloudWire", "ManagedModel", "MirroringCore", "SystemSupport"] {
            for file in try Self.files(target) {
                for match in file.matches(of: /(?m)^ *(?:public |package )?import (\w+)/) {
                    #expect(["CloudWire", "Foundation", "ManagedModel", "Synchronization", "SystemSupport"].contains(String(match.1)))
                }
            }
        }
    }
}
