// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// The glossary against the sources: each term has a definition, and a type that exists.
@Suite struct GlossaryTests {
    struct Term: Equatable {
        var name: String
        var definition: String
        var types: [String]
    }

    /// The rows of all tables with the columns term, definition and type.
    static func terms(in text: String) -> [Term] {
        text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5, cells[1] != "term", cells[1] != "---" else { return nil }
            let types = cells[3].split(separator: ",").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
            return Term(name: cells[1], definition: cells[2], types: types)
        }
    }

    /// Names of the types that Swift code declares, nested ones without their parents.
    static func declaredTypes(in code: String) -> Set<String> {
        let declaration = /\b(?:class|struct|enum|protocol|actor|typealias)\s+(\w+)/
        return Set(code.matches(of: declaration).map { String($0.1) })
    }

    @Test func everyTermHasADefinitionAndATypeThatExists() throws {
        let terms = try Self.terms(in: RepositoryFiles.text(at: "Documentation/Glossary.md"))
        #expect(terms.count >= 60)
        #expect(Set(terms.map(\.name)).count == terms.count, "a term has one definition")
        let declared = try RepositoryFiles.swift(in: "Sources").reduce(into: Set<String>()) {
            $0.formUnion(Self.declaredTypes(in: $1.text))
        }
        for term in terms {
            #expect(term.definition.hasSuffix("."), "\(term.name) has a definition of one or two sentences")
            for type in term.types {
                let name = type.split(separator: ".").last.map(String.init) ?? type
                #expect(
                    declared.contains(name), "\(term.name): no type \(type) is declared in Sources; name the present one in Glossary.md")
            }
        }
    }

    @Test func rowsAndDeclarationsAreParsed() {
        let text = """
            | term | definition | type |
            |---|---|---|
            | batch | Records that are sent together. | `ExportBatch`, `CKShare.Participant` |
            """
        #expect(
            Self.terms(in: text) == [
                Term(name: "batch", definition: "Records that are sent together.", types: ["ExportBatch", "CKShare.Participant"])
            ])
        #expect(Self.declaredTypes(in: "package struct A {}\nfinal class B: C {}\nenum D { case struct_ }") == ["A", "B", "D"])
    }
}
