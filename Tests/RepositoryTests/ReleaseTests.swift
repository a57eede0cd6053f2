// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// What a release says of itself is the same everywhere.
@Suite struct ReleaseTests {
    /// `TarnVersion.current`.
    private static func version() throws -> String {
        let source = try RepositoryFiles.text(at: "Sources/SystemSupport/TarnVersion.swift")
        return String(try #require(source.firstMatch(of: /static let current = "(\d+\.\d+\.\d+)"/)).1)
    }

    @Test func theChangelogBeginsWithTheVersionAndItsDate() throws {
        let changelog = try RepositoryFiles.text(at: "CHANGELOG.md")
        let heading = try #require(changelog.firstMatch(of: /(?m)^## (\S+), (\d{4}-\d{2}-\d{2})$/))
        #expect(try String(heading.1) == Self.version())
        let first = try #require(changelog.firstMatch(of: /(?m)^## .*$/))
        #expect(first.0 == heading.0, "the first section has a version and a date")
    }

    @Test func theSecurityPageSupportsTheVersion() throws {
        let minor = try Self.version().split(separator: ".").prefix(2).joined(separator: ".")
        #expect(try RepositoryFiles.text(at: "SECURITY.md").contains("| \(minor) | yes |"))
    }

    private struct Dependency: Decodable {
        var name: String
        var version: String
        var location: String
        var licence: String
    }

    /// Releases are built with the versions of the list, which the ranges of the manifest have to allow.
    @Test func theListedVersionsAreThoseOfTheManifest() throws {
        let listed = try JSONDecoder().decode([Dependency].self, from: Data(RepositoryFiles.text(at: "Packaging/dependencies.json").utf8))
        let manifest = try RepositoryFiles.text(at: "Package.swift")
        let declared = manifest.matches(of: /\.package\(url: "([^"]+)", from: "([^"]+)"\)/)
        #expect(declared.count >= 10)
        for dependency in declared {
            let location = String(dependency.1).replacing(/\.git$/, with: "")
            let entry = try #require(listed.first { $0.location == location }, "\(location) is not in Packaging/dependencies.json")
            let (minimum, version) = (numbers(String(dependency.2)), numbers(entry.version))
            #expect(minimum.first == version.first, "\(location)")
            #expect(!version.lexicographicallyPrecedes(minimum), "\(location) \(entry.version) is below \(dependency.2)")
        }
        for entry in listed { #expect(!entry.licence.isEmpty, "\(entry.name)") }
    }

    private func numbers(_ version: String) -> [Int] { version.split(separator: ".").compactMap { Int($0) } }

    /// Each `make …` in documents and scripts.
    @Test func documentedTargetsAreInTheMakefile() throws {
        let makefile = try RepositoryFiles.text(at: "Makefile")
        let targets = Set(makefile.matches(of: /(?m)^([a-z][a-z-]*):/).map { String($0.1) })
        var count = 0
        for path in ["README.md", "CONTRIBUTING.md", ".ci/run", ".ci/nightly", "Documentation/Tarn.docc/Installing.md"] {
            for use in try RepositoryFiles.text(at: path).matches(of: /(?:`|^|\n|lane )make ([a-z][a-z-]*)/) {
                count += 1
                #expect(targets.contains(String(use.1)), "\(path) names make \(use.1)")
            }
        }
        #expect(count >= 20)
    }

    @Test func theServiceIsHardened() throws {
        let lines = try RepositoryFiles.text(at: "Packaging/tarn.service").split(separator: "\n")
        for setting in [
            "User=tarn", "NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "PrivateDevices=yes", "UMask=0077",
            "CapabilityBoundingSet=", "MemoryDenyWriteExecute=yes", "SystemCallFilter=@system-service",
            "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
        ] {
            #expect(lines.contains(Substring(setting)), "tarn.service lacks \(setting)")
        }
        #expect(lines.contains { $0.hasPrefix("MemoryMax=") })
    }
}
