// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import ManagedModel
import SQLiteStore
import Testing

@testable import TarnCommands

@Suite struct StoreCommandTests {
    private func makeStore(_ folder: TemporaryFolder) throws -> (SQLiteStore, String) {
        let path = folder.path + "/notes.sqlite"
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let model = try ResolvedModel(
            Model(entities: [
                Entity(
                    name: "Folder", attributes: [Attribute(name: "name", type: .string)],
                    relationships: [Relationship(name: "notes", destination: "Note", inverse: "folder", isToMany: true)]),
                Entity(
                    name: "Note", attributes: [Attribute(name: "title", type: .string)],
                    relationships: [Relationship(name: "folder", destination: "Folder", inverse: "notes")]),
            ]))
        let options = SQLiteStore.Options(clock: { 1000 }, makeIdentifier: { UUID() })
        let store = try SQLiteStore(url: URL(fileURLWithPath: path), model: model, number: 1, options: options)
        try store.write { writer in
            let note = try writer.allocateKeys(for: 1, count: 1)[0]
            var changes = StoreChanges()
            changes.inserts = [Row(key: note, version: 1, values: model.entities[1].defaultValues)]
            try writer.apply(changes)
        }
        return (store, path)
    }

    private func exitCode(_ arguments: String...) async -> Int32 {
        do {
            let command = try StoreCommand.Check.parse(arguments)
            try await command.run()
            return 0
        } catch let code as ExitCode {
            return code.rawValue
        } catch {
            return -1
        }
    }

    @Test func checkTellsByItsExitCode() async throws {
        let folder = TemporaryFolder()
        let (store, path) = try makeStore(folder)
        #expect(await exitCode(path) == 0)
        #expect(await exitCode(path, "--json") == 0)
        try store.write { try $0.execute("UPDATE ZNOTE SET ZFOLDER = 5") }
        #expect(await exitCode(path) == 1)
        store.close()
        #expect(await exitCode(path) == 1)
        #expect(await exitCode(folder.path + "/nothing.sqlite") == 2)
        try Data("no store".utf8).write(to: URL(fileURLWithPath: folder.path + "/text"))
        #expect(await exitCode(folder.path + "/text") == 2)
    }

    @Test func infoSaysWhatIsThere() async throws {
        let folder = TemporaryFolder()
        let (store, path) = try makeStore(folder)
        let description = try StoreDescription(of: URL(fileURLWithPath: path))
        let text = StoreReport.text(description)
        for part in ["Note", "Folder", "ZFOLDER\tINTEGER\t→ Folder", store.identifier, "1 transactions", "notes.sqlite"] {
            #expect(text.contains(part), "\(part)")
        }
        let object = try #require(JSONSerialization.jsonObject(with: Data(StoreReport.json(description).utf8)) as? [String: Any])
        #expect(object["identifier"] as? String == store.identifier)
        #expect((object["entities"] as? [Any])?.count == 2)
        try store.write { try $0.execute("UPDATE ZNOTE SET ZFOLDER = 5") }
        let check = try StoreCheck.run(on: URL(fileURLWithPath: path))
        #expect(StoreReport.text(check, of: path).hasPrefix("referenceDangling\tZNOTE\t1\t"))
        let report = try #require(JSONSerialization.jsonObject(with: Data(StoreReport.json(check, of: path).utf8)) as? [String: Any])
        #expect(report["isSound"] as? Bool == false)
        #expect((report["counts"] as? [String: Int]) == ["referenceDangling": 1])
        do {
            let command = try StoreCommand.Info.parse([folder.path + "/nothing.sqlite"])
            try await command.run()
            Issue.record("a file that is not there was described")
        } catch {
            #expect("\(error)".contains("There is no such file"))
        }
    }
}
