// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ModelFile
import ModelFolders
import ModelTool
import Testing

@Suite struct CommandTests {
    private let model: ModelFolder

    init() throws {
        model = try ModelFolder(
            body: """
                <entity name="Note"><attribute name="title" attributeType="String" wobbly="YES"/></entity>
                """)
    }

    private func run(_ arguments: String...) -> (code: Int32, complaints: [String], words: [String]) {
        var complaints: [String] = []
        var words: [String] = []
        let code = ModelCompilerCommand.run(arguments, complain: { complaints.append($0) }, say: { words.append($0) })
        return (code, complaints, words)
    }

    @Test func bothFilesAreWrittenAndWarningsHaveTheirPlace() throws {
        let swift = model.folder.appending(path: "Shop+CoreDataModel.swift")
        let compiled = model.folder.appending(path: "Shop.momd")
        let result = run(
            "compile", model.url.path, "--swift", swift.path, "--compiled", compiled.path, "--module", "App")
        #expect(result.code == 0)
        #expect(result.words.isEmpty)
        let contents = model.url.appending(path: "Shop.xcdatamodel/contents").path
        #expect(result.complaints == ["\(contents):2: warning: Note.title has an unknown attribute 'wobbly'"])
        #expect(try CompiledModel(contentsOf: compiled).current.entities.map(\.name) == ["Note"])
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: compiled.path)) == ["Shop.mom", "VersionInfo.plist"])
        #expect(try String(contentsOf: swift, encoding: .utf8) == model.swift(module: "App"))
    }

    @Test func aFileWhoseContentsStayIsNotWrittenAgain() throws {
        let compiled = model.folder.appending(path: "Shop.momd")
        #expect(run("compile", model.url.path, "--compiled", compiled.path).code == 0)
        let past = Date(timeIntervalSinceReferenceDate: 1000)
        let file = compiled.appending(path: "Shop.mom")
        try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: file.path)
        #expect(run("compile", model.url.path, "--compiled", compiled.path).code == 0)
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.modificationDate] as? Date == past)
    }

    @Test func aCompiledModelIsAFolderThatReplacesTheFileAndTheVersionsOfBefore() throws {
        let compiled = model.folder.appending(path: "Shop.momd")
        try Data("{}".utf8).write(to: compiled)
        #expect(run("compile", model.url.path, "--compiled", compiled.path).code == 0)
        try Data().write(to: compiled.appending(path: "Old.mom"))
        #expect(run("compile", model.url.path, "--compiled", compiled.path).code == 0)
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: compiled.path)) == ["Shop.mom", "VersionInfo.plist"])
        #expect(try CompiledModel(contentsOf: compiled.appending(path: "Shop.mom")).currentVersion == "Shop")
        try FileManager.default.removeItem(at: compiled.appending(path: "VersionInfo.plist"))
        #expect(try CompiledModel(contentsOf: compiled).currentVersion == "Shop")
        try Data().write(to: compiled.appending(path: "Shop.mom"))
        #expect(throws: CompiledModelError.self) { try CompiledModel(contentsOf: compiled) }
    }

    @Test func aBrokenModelWritesNothing() throws {
        let broken = try ModelFolder(body: "<entity name=\"A\" parentEntity=\"Gone\"/>")
        let compiled = broken.folder.appending(path: "Shop.momd")
        let result = run("compile", broken.url.path, "--compiled", compiled.path)
        #expect(result.code == 1)
        let contents = broken.url.appending(path: "Shop.xcdatamodel/contents").path
        #expect(result.complaints == ["\(contents):2: error: A has an unknown parent entity 'Gone'"])
        #expect(!FileManager.default.fileExists(atPath: compiled.path))
    }

    @Test func aFolderThatIsNotThereIsNamed() throws {
        let result = run("compile", model.url.path, "--compiled", "/nowhere/Shop.momd")
        #expect(result.code == 1)
        #expect(result.complaints.last?.hasPrefix("/nowhere/Shop.momd: error: cannot be written: ") == true)
    }

    @Test(arguments: [
        ([], "no model given"),
        (["A"], "nothing to write: give --swift or --compiled"),
        (["A", "B", "--swift", "s"], "more than one model: 'B'"),
        (["A", "--swift"], "--swift needs a value"),
        (["A", "--swift", "--compiled", "c"], "--swift needs a value"),
        (["A", "--swift", "s", "--swift", "t"], "--swift is given twice"),
        (["A", "--loud"], "unknown option '--loud'"),
    ])
    func wrongArgumentsAreNamed(arguments: [String], what: String) {
        var complaints: [String] = []
        let code = ModelCompilerCommand.run(["compile"] + arguments, complain: { complaints.append($0) }, say: { _ in })
        #expect(code == 1)
        #expect(complaints == ["modelc: error: \(what)\n\(ModelCompilerCommand.usage)"])
    }

    @Test func helpIsSaidAndSucceeds() {
        let result = run("--help")
        #expect(result.code == 0)
        #expect(result.words == [ModelCompilerCommand.usage])
        #expect(run().code == 1)
        #expect(run("melt").code == 1)
    }
}
