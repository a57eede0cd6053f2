// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Testing

/// Swift's own `precondition` prints no sentence in release builds, which no test of a debug build sees.
@Suite struct MisuseTrapTests {
    @Test(arguments: ["CloudCollaboration", "CloudKit", "ObjectGraph", "PredicateKit"])
    func sentencesOfMisuseAreInReleaseBuilds(_ target: String) throws {
        let sources = try RepositoryFiles.swift(in: "Sources/\(target)")
        let traps = sources.filter { $0.path.hasSuffix("/MisuseTraps.swift") }
        #expect(traps.count == 1)
        for function in ["func precondition(", "func preconditionFailure("] {
            #expect(traps.first?.text.contains(function) == true, "Sources/\(target) uses Swift's own \(function)…)")
        }
        for source in sources where source.text.contains("Swift.precondition") {
            Issue.record("\(source.path): a sentence that Swift.precondition doesn't print in release builds")
        }
    }
}
