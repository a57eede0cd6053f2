// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// The statements that run on one kind of database, recorded while the tests ran (`make statements`). Sources and list are
/// compared, so that the list is complete.
package struct StatementList: Sendable {
    package struct Kind: Sendable {
        /// The tables of synced stores that the mirror reads and writes.
        package static let mirror = Kind(name: "mirror", modules: ["CloudMirroring"]) { statement in
            // Names that the store uses for migrations and functions, and tables that only a migration has.
            statement.contains("TARN_") && !["temp.TARN_", "TARN_ORDER", "_OLD"].contains(where: statement.contains)
        }
        /// The server's database.
        package static let server = Kind(name: "server", modules: ["CloudEngineSQLite"]) { _ in true }

        let name: String
        let modules: [String]
        let includes: @Sendable (String) -> Bool
    }

    /// Text of a fragment that no test runs, with the reason.
    package struct Unrecorded: Sendable {
        let text: String
        package let reason: String

        package init(_ text: String, because reason: String) {
            self.text = text
            self.reason = reason
        }
    }

    private let kind: Kind
    package let statements: [String]

    package init(_ kind: Kind) throws {
        self.kind = kind
        statements = try String(contentsOf: Self.file(kind), encoding: .utf8).split(separator: "\n").map {
            StatementFragments.normalized($0)
        }
    }

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    private static func file(_ kind: Kind) -> URL { folder.appendingPathComponent("Statements/\(kind.name).sql") }

    private static func fragments(_ kind: Kind) throws -> [StatementFragment] {
        try kind.modules.flatMap { module in
            try StatementFragments.all(
                in: folder.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources/\(module)"))
        }
    }

    // MARK: Recording

    /// Adds recorded statements of a process to a list, and removes those that the sources no longer have.
    ///
    /// - Parameter log: What `CStatementLog` wrote.
    package static func update(_ kind: Kind, from log: URL) throws {
        let fragments = try fragments(kind)
        let known = try StatementList(kind).statements
        let recorded = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").compactMap { line -> String? in
            let parts = line.split(separator: "\t", maxSplits: 1)
            guard parts.count == 2, (parts[0] == "tarn.sqlite") == (kind.name == Kind.server.name) else { return nil }
            let statement = StatementFragments.normalized(parts[1])
            return kind.includes(statement) ? statement : nil
        }
        // Tests run statements of their own.
        let kept = Set(known + recorded).filter { statement in
            guard StatementFragments.hasPlan(statement), !fragments.contains(where: { $0.whole == statement }) else { return false }
            return fragments.contains { fragment in
                fragment.begins(statement) && ["'", "%"].allSatisfy { fragment.text.contains($0) || !statement.contains($0) }
            }
        }
        try (kept.sorted().joined(separator: "\n") + "\n").write(to: file(kind), atomically: true, encoding: .utf8)
    }

    // MARK: Checking

    /// Problems with the plans of the statements, parts of statements in the sources that are in no statement, listed
    /// statements that the sources do not have, and exceptions that are not needed.
    ///
    /// A literal that is a whole statement needs no recording.
    package func problems(_ check: PlanCheck, exceptions: [PlanException], unrecorded: [Unrecorded]) throws -> [String] {
        let fragments = try Self.fragments(kind)
        let whole = fragments.compactMap(\.whole).filter { text in !statements.contains { $0.hasPrefix(text) } && check.isStatement(text) }
        let all = statements + Set(whole).sorted()
        let unseen = fragments.filter { fragment in !all.contains { fragment.occurs(in: $0) } }
        let missing = unseen.filter { fragment in !unrecorded.contains { fragment.text.contains($0.text) } }
        let unneeded = unrecorded.filter { exception in !unseen.contains { $0.text.contains(exception.text) } }
        return try check.problems(all, exceptions: exceptions) + missing.map { "run make statements, it is not in \(kind.name).sql: \($0)" }
            + statements.filter { statement in !fragments.contains { $0.begins(statement) } }.map { "not in the sources: \($0)" }
            + unneeded.map { "an exception that is not needed: \($0.text)" }
    }
}

extension PlanCheck {
    /// Problems with the plans of statements, with and without statistics, and exceptions that are not needed.
    package func problems(_ statements: [String], exceptions: [PlanException]) throws -> [String] {
        var problems: [PlanProblem] = []
        for hasStatistics in [false, true] {
            try setStatistics(hasStatistics)
            for statement in statements { problems += self.problems(statement) }
        }
        var seen: Set<PlanProblem> = []
        problems = problems.filter { seen.insert($0).inserted }
        let stale = exceptions.filter { exception in !problems.contains(where: exception.accepts) }
        return problems.filter { problem in !exceptions.contains { $0.accepts(problem) } }.map(\.description)
            + stale.map { "an exception that is not needed: \($0.description)" }
    }
}
