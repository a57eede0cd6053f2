// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudInProcess
import Foundation
import Testing

@testable import TarnCommands

@Suite struct NewCommandTests {
    @Test(arguments: ["Trails", "a", "Trail_2", String(repeating: "a", count: 64)])
    func aModulesNameIsAProjectsName(_ name: String) {
        #expect(ProjectName.problem(of: name) == nil)
    }

    @Test(arguments: ["", "2nd", "my-app", "Wälder", "a b", "../x", "_x", "CoreData", "note", "Class", String(repeating: "a", count: 65)])
    func otherNamesAreRejectedWithAnExample(_ name: String) {
        let problem = ProjectName.problem(of: name)
        #expect(problem?.contains("such as") == true)
    }

    @Test func thePackageIsTheOptionElseTheEnvironmentElseTheInstalledOne() throws {
        let url = "https://example.org/swift/tarn.git"
        let first = try TarnPackage.find(option: url, environment: ["TARN_PACKAGE": "https://b"], besides: "https://c")
        #expect(first == TarnPackage(location: url, isFolder: false))
        #expect(try TarnPackage.find(option: nil, environment: ["TARN_PACKAGE": "https://b"], besides: "https://c").location == "https://b")
        #expect(try TarnPackage.find(option: nil, environment: [:], besides: "https://c").location == "https://c")
        for recorded in [nil, ""] {
            #expect(throws: CommandError.self) { try TarnPackage.find(option: nil, environment: [:], besides: recorded) }
        }
        #expect(first.identity == "tarn")
        #expect(TarnPackage(location: "https://example.org/fork", isFolder: false).identity == "fork")
        #expect(first.dependency == ".package(url: \"\(url)\", .upToNextMinor(from: \"\(TarnCommand.configuration.version)\"))")
    }

    @Test func aFolderHasToBeAClone() throws {
        let folder = ScratchFolder("tarn-new")
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        #expect(throws: CommandError("'\(folder.path)' is not a clone of Tarn. Name its folder, or a URL, with --tarn.")) {
            try TarnPackage.find(option: folder.path, environment: [:], besides: nil)
        }
        try Data("let package = Package(name: \"tarn\")".utf8).write(to: URL(fileURLWithPath: folder.path + "/Package.swift"))
        let package = try TarnPackage.find(option: folder.path, environment: [:], besides: nil)
        #expect(package.isFolder)
        #expect(package.dependency == ".package(name: \"tarn\", path: \"\(URL(fileURLWithPath: folder.path).standardizedFileURL.path)\")")
        #expect(TarnPackage(location: #"/a "b"\c"#, isFolder: true).dependency == #".package(name: "tarn", path: "/a \"b\"\\c")"#)
    }

    @Test func theNewProjectIsAnObjectOfJSON() async throws {
        let folder = ScratchFolder("tarn-new")
        let run = await CommandRun("new", "Trails", "--output", folder.path, "--tarn", "https://example.org/tarn.git", "--json")
        let object = #"{"name":"Trails","folder":"\#(folder.path)","package":"https://example.org/tarn.git"}"#
        #expect(run.output == object + "\n", "\(run.notes)")
        #expect(FileManager.default.fileExists(atPath: folder.path + "/Package.swift"))
    }

    private struct PortReport: Decodable {
        struct Place: Decodable {
            var path: String
            var line: Int
        }

        var files: Int
        var fixed: Int
        var left: Int
        var written: Bool
        var changed: [String]
        var unreadable: [String]
        var places: [Place]
    }

    @Test func theReportOnSourcesIsAnObjectOfJSON() async throws {
        let folder = ScratchFolder("tarn-port")
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = URL(fileURLWithPath: folder.path + "/Notes.swift")
        try Data("import CoreData\n\nlet key = #keyPath(Note.title)\n".utf8).write(to: file)
        let run = await CommandRun("port", folder.path, "--json")
        let report = try JSONDecoder().decode(PortReport.self, from: Data(run.output.utf8))
        #expect(report.files == 1)
        #expect(report.fixed + report.left == report.places.count)
        #expect(report.places.first?.path == "Notes.swift")
        #expect(report.places.first?.line == 3)
        #expect(!report.written)
        #expect(report.changed.isEmpty)
        #expect(report.unreadable.isEmpty)
        let text = await CommandRun("port", folder.path)
        #expect(text.output.hasPrefix("Notes.swift:3: "), "\(text.output)")
    }

    @Test func theInstalledProgramRecordsItsPackage() throws {
        let folder = ScratchFolder("tarn-new")
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let program = URL(fileURLWithPath: folder.path + "/tarn")
        #expect(TarnPackage.recordedSource(of: program) == nil)
        try Data("/clone\n".utf8).write(to: URL(fileURLWithPath: folder.path + "/source"))
        #expect(TarnPackage.recordedSource(of: program) == "/clone")
    }

    @Test func everyFileOfAProjectHasItsName() {
        let template = ProjectTemplate(name: "Trails", package: TarnPackage(location: "/tarn", isFolder: true))
        let paths = template.files.map(\.path)
        #expect(Set(paths).count == paths.count)
        #expect(paths.contains("Sources/TrailsModel/Trails.xcdatamodeld/Trails.xcdatamodel/contents"))
        #expect(template.files.filter(\.isExecutable).map(\.path) == ["server", "device"])
        for file in template.files { #expect(file.text.hasSuffix("\n"), "\(file.path)") }
    }

    @Test func theVersionIsPrinted() {
        do {
            _ = try TarnCommand.parseAsRoot(["--version"])
            Issue.record("--version was parsed as a command")
        } catch {
            #expect(TarnCommand.message(for: error) == TarnCommand.configuration.version)
            #expect(TarnCommand.exitCode(for: error).isSuccess)
        }
        #expect(TarnCommand.configuration.version.wholeMatch(of: /\d+\.\d+\.\d+/) != nil)
    }
}
