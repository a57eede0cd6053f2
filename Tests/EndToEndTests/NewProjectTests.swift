// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

@testable import TarnCommands

/// `tarn new`. `make examples` builds such a project and runs it on two devices.
@Suite(.tags(.slow)) struct NewProjectTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Exit code of `.ci/check-project` on a project named Trails.
    private func check(_ project: String, in folder: Folder) async throws -> Int32 {
        let build = Programs.folder.deletingLastPathComponent().deletingLastPathComponent()
        let child = try ChildProcess(
            "check-project", program: Self.root.appendingPathComponent(".ci/check-project"), arguments: [build.path, project, "Trails"],
            log: URL(fileURLWithPath: folder.path("check.log")))
        _ = await child.everything()
        return await child.ended()
    }

    @Test func itsSourcesCompileAgainstTheLibraries() async throws {
        let folder = try Folder()
        let project = folder.path("Trails")
        let created = try await Programs.run("tarn", ["new", "Trails", "--output", project, "--tarn", Self.root.path], in: folder)
        #expect(created.status == 0, "\(created.complaint)")
        #expect(created.output.contains("Created Trails in"))
        let checked = try await check(project, in: folder)
        #expect(checked == 0, "\((try? String(contentsOfFile: folder.path("check.log"), encoding: .utf8)) ?? "")")
        for script in ["server", "device"] { #expect(FileManager.default.isExecutableFile(atPath: project + "/" + script)) }

        // The check finds an error.
        let program = project + "/Sources/Trails/Trails.swift"
        let text = try String(contentsOfFile: program, encoding: .utf8)
        try Data((text + "let wrong: Int = noteTexts\n").utf8).write(to: URL(fileURLWithPath: program))
        #expect(try await check(project, in: folder) != 0)

        let again = try await Programs.run("tarn", ["new", "Trails", "--output", project, "--tarn", Self.root.path], in: folder)
        #expect(again.status == 1)
        #expect(again.complaint.contains("already exists. Choose another folder with --output."))
    }
}
