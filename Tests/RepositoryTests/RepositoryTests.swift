// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// Rules that a reviewer would otherwise repeat. The rules between targets are in `ArchitectureTests`.
@Suite struct RepositoryTests {
    private static let pure = ImportRules.pure.map { "Sources/\($0)" }
    private static let deciders = ["Sources/MirroringCore", "Sources/CloudEngine"]

    static let banned: [(word: String, folders: [String], instead: String)] = [
        ("try!", ["Sources", "Examples", "Benchmarks/Bench"], "throw, or a precondition that says why"),
        ("fatalError()", ["Sources", "Examples"], "a preconditionFailure with a sentence"),
        ("FIXME", ["Sources", "Examples", "Tests", "Benchmarks/Bench"], "fix it, or list it as absent in the ledger"),
        ("Date()", pure, "the time that is passed in"),
        ("Date.now", pure, "the time that is passed in"),
        ("ContinuousClock", pure, "the time that is passed in"),
        ("UUID()", pure, "the identifier that is passed in"),
        ("SystemRandomNumberGenerator", pure, "the randomness that is passed in"),
        (".random(in", pure, "the randomness that is passed in"),
        ("Task {", pure, "an effect that a shell carries out"),
        ("Task(", pure, "an effect that a shell carries out"),
        ("Task.detached", pure, "an effect that a shell carries out"),
        (" async", deciders, "a function of CloudService or CloudMirroring that carries out an effect"),
        ("await ", deciders, "a function of CloudService or CloudMirroring that carries out an effect"),
        ("Mutex<", deciders, "a value that its caller owns"),
        ("DispatchQueue", pure, "an effect that a shell carries out"),
        ("DurableFile.", pure, "an effect that a shell carries out"),
        ("FileLock", pure, "an effect that a shell carries out"),
        ("Task.sleep", ["Tests"], "a signal, or the virtual clock"),
        ("Thread.sleep", ["Tests"], "a signal, or the virtual clock"),
    ]

    @Test func bannedWordsStayOut() throws {
        for rule in Self.banned {
            for folder in rule.folders {
                for file in try RepositoryFiles.swift(in: folder)
                where !file.path.hasSuffix("RepositoryTests.swift") && RepositoryFiles.has(rule.word, in: file.text) {
                    for (number, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
                    where line.contains(rule.word) && !line.drop(while: { $0 == " " }).hasPrefix("//") {
                        Issue.record("\(file.path):\(number + 1): '\(rule.word)'; use \(rule.instead)")
                    }
                }
            }
        }
    }

    /// Primitives of `SystemSupport`, by a text that only another copy contains.
    static let primitives: [(text: String, primitive: String, exceptions: [String])] = [
        ("0xcbf2_9ce4", "Fingerprint", []), ("14_695_981_039", "Fingerprint", []), ("0x6c62_272e", "WideFingerprint", []),
        ("LOCK_EX", "FileLock", ["Sources/CloudKit/Operations/LongLived/"]),  // They lock a folder that may be renamed.
        (" + 256, radix: 16)", "Hex", []), ("? \"0\" + text", "Hex", []),
        ("renameat(", "DurableFile", []),
    ]

    @Test func primitivesHaveOneHome() throws {
        for file in try RepositoryFiles.swift(in: "Sources") where !file.path.hasPrefix("Sources/SystemSupport/") {
            for copy in Self.primitives
            where RepositoryFiles.has(copy.text, in: file.text) && !copy.exceptions.contains(where: file.path.hasPrefix) {
                Issue.record("\(file.path) has '\(copy.text)': use SystemSupport's \(copy.primitive)")
            }
        }
    }

    /// One folder owns the tables of the sync metadata: a change of a table is a change of one file.
    @Test func statementsOfSyncMetadataStandInTheirFolder() throws {
        let table =
            /TARN_(STATE|ZONE|RECORD|LINK|LINKRANK|PARKED|RANK|INCOMPLETE|LACKING|MERGED|DELETED|OUTBOX|STAGEDPAGE|STAGEDASSET|CONFLICT|EVENT)\b/
        for folder in ["Sources/CloudMirroring", "Sources/SimulationKit", "Sources/MirroringCore"] {
            for file in try RepositoryFiles.swift(in: folder) where !file.path.contains("/Metadata/") {
                for (number, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
                where line.contains(table) && !line.drop(while: { $0 == " " }).hasPrefix("//") {
                    Issue.record(
                        "\(file.path):\(number + 1) names a table of the sync metadata; add an operation to Sources/CloudMirroring/Metadata"
                    )
                }
            }
        }
    }

    @Test func everySourceHasItsHeader() throws {
        for folder in ["Sources", "Tests", "Examples", "Plugins", "Benchmarks/Bench"] {
            // A manifest begins with the version of the tools; swift-package asks for that.
            for file in try RepositoryFiles.swift(in: folder)
            where !file.path.hasSuffix("Package.swift") && !file.text.hasPrefix("// SPDX-License-Identifier: Apache-2.0\n") {
                Issue.record("\(file.path) does not begin with its licence line")
            }
        }
    }

    @Test func filesStayReadable() throws {
        for folder in ["Sources", "Examples", "Benchmarks/Bench"] {
            for file in try RepositoryFiles.swift(in: folder) {
                let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false).count
                if lines > 500 { Issue.record("\(file.path) has \(lines) lines: which second type hides inside?") }
            }
        }
    }
}
