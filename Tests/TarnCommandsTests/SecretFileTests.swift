// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import Foundation
import Testing

@testable import TarnCommands

/// Secrets and users' values are in files of their owner alone.
@Suite struct SecretFileTests {
    private static func mode(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test func theLinkOfTheFirstRunIsInAFileUnlessATerminalShowsIt() throws {
        let folder = ScratchFolder("tarn-first-run")
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let secret = "http://127.0.0.1/console/first-run?secret=12"
        let path = "\(folder.path)/\(FirstRunLink.fileName)"
        let service = FirstRunLink(data: folder.path, isTerminal: false)
        for _ in 0..<2 {
            let line = try service.show(secret)
            #expect(!line.contains("secret=12"))
            #expect(line.hasSuffix(path))
            #expect(try Self.mode(path) == 0o600)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == secret + "\n")
        }
        #expect(try FirstRunLink(data: folder.path, isTerminal: true).show(secret).hasSuffix(secret))
        #expect(!FileManager.default.fileExists(atPath: path))
        _ = try service.show(secret)
        service.remove()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func exportsAreForTheirOwner() throws {
        let folder = ScratchFolder("tarn-export")
        let file = try ExportFile(folder: URL(fileURLWithPath: folder.path + "/new"), name: "Note.csv")
        try file.line("title")
        try file.close()
        #expect(try Self.mode(folder.path + "/new") == 0o700)
        #expect(try Self.mode(folder.path + "/new/Note.csv") == 0o600)
    }
}
