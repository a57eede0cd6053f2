// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudInProcess
import Foundation
import ManagedModel
import SQLiteStore
import Testing

@testable import TarnCommands

@Suite struct StoreCommandTests {
    private func makeStore(_ folder: ScratchFolder) throws -> (SQLiteStore, String) {
        let path = folder.path + "/notes.sqlite"
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        var draft = Attribute(name: "draft", type: .string)
        draft.isTransient = true
        let model = try ResolvedModel(
            Model(entities: [
                Entity(
                    name: "Folder", attributes: [Attribute(name: "name", type: .string)],
                    relationships: [Relationship(name: "notes", destination: "Note", inverse: "folder", isToMany: true)]),
                Entity(
                    name: "Note", attributes: [Attribute(name: "title", type: .string), draft],
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
        let folder = ScratchFolder("tarn-commands")
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

    @Test func infoListsTheStoresContents() async throws {
        let folder = ScratchFolder("tarn-commands")
        let (store, path) = try makeStore(folder)
        let description = try StoreDescription(of: URL(fileURLWithPath: path))
        let text = StoreReport.text(description)
        for part in ["Note", "Folder", "ZFOLDER\tINTEGER\t→ Folder", store.identifier, "1 transaction (", "notes.sqlite"] {
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
            #expect("\(error)".contains("The file does not exist"))
        }
    }

    /// A folder with two notes, one of them with a malicious title.
    private func makeFilledStore(_ folder: ScratchFolder) throws -> String {
        let (store, path) = try makeStore(folder)
        try store.write { writer in
            let parent = try writer.allocateKeys(for: 0, count: 1)[0]
            let note = try writer.allocateKeys(for: 1, count: 1)[0]
            var changes = StoreChanges()
            changes.inserts = [
                Row(key: parent, version: 1, values: [.string("a \"b\", c")]),
                Row(key: note, version: 1, values: [.null, .reference(parent), .string("\u{1B}[31m\u{202E}\n=1+1")]),
            ]
            try writer.apply(changes)
        }
        store.close()
        return path
    }

    private func rows(_ path: String, _ entity: String) throws -> [StoreRow] {
        let contents = try StoreContents(of: URL(fileURLWithPath: path), options: .inspection)
        return try contents.read { reader in
            try reader.fetch(contents.query(entity)).map { try StoreRow($0, contents.model, readingMembers: reader) }
        }
    }

    @Test func browsingShowsObjectsAndEscapesWhatATerminalObeys() throws {
        let folder = ScratchFolder("tarn-commands")
        defer { withExtendedLifetime(folder) {} }
        let path = try makeFilledStore(folder)
        #expect(
            StoreTable.text(try rows(path, "Note")) == """
                _id      folder     title
                Note/p1  nil        nil
                Note/p2  Folder/p1  \\u{1b}[31m\\u{202e}\\u{a}=1+1
                """)
        #expect(
            StoreTable.text(try rows(path, "Folder")[0]) == """
                _id    Folder/p1
                name   a "b", c
                notes  Note/p2
                """)
        for arguments in [[path], [path, "--json"], [path, "Note"], [path, "Note", "p2"], [path, "Note", "2", "--json"]] {
            try StoreCommand.Browse.parse(arguments).run()
        }
        try StoreCommand.Browse.parse([path, "Note", "--where", "folder.name BEGINSWITH 'a'", "--sort", "-title", "--limit", "1"]).run()
    }

    @Test(arguments: [
        (["Nothing"], "its entities are Folder, Note"), (["Note", "7"], "no object with the key 7"), (["Note", "x"], "give a number"),
        (["Note", "--where", "title ==="], "change --where"), (["Note", "--sort", "size"], "change --where or --sort"),
    ]) func whatCannotBeBrowsedIsNamed(_ arguments: [String], _ part: String) throws {
        let folder = ScratchFolder("tarn-commands")
        defer { withExtendedLifetime(folder) {} }
        let path = try makeFilledStore(folder)
        let error = #expect(throws: CommandError.self) { try StoreCommand.Browse.parse([path] + arguments).run() }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }

    @Test func exportedObjectsAreLinesOfJSONOrCSV() throws {
        let folder = ScratchFolder("tarn-commands")
        let path = try makeFilledStore(folder)
        func file(_ name: String) throws -> String { try String(contentsOfFile: folder.path + "/out/" + name, encoding: .utf8) }
        try StoreCommand.Export.parse([path, "--to", folder.path + "/out"]).run()
        #expect(
            try file("Note.jsonl") == """
                {"entity":"Note","id":"Note/p1","attributes":{"title":null},"relationships":{"folder":null}}
                {"entity":"Note","id":"Note/p2","attributes":{"title":"\\u001b[31m\u{202E}\\n=1+1"},"relationships":{"folder":"Folder/p1"}}

                """)
        for line in try file("Folder.jsonl").split(separator: "\n") {
            let object = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(object["attributes"] as? [String: String] == ["name": "a \"b\", c"])
            #expect(object["relationships"] as? [String: [String]] == ["notes": ["Note/p2"]])
        }
        try StoreCommand.Export.parse([path, "--to", folder.path + "/out", "--format", "csv", "--entity", "Folder"]).run()
        #expect(try file("Folder.csv") == "_id,name,notes\nFolder/p1,\"a \"\"b\"\", c\",Note/p2\n")
        // A file that is there stays.
        let error = #expect(throws: CommandError.self) { try StoreCommand.Export.parse([path, "--to", folder.path + "/out"]).run() }
        #expect(error?.description.contains("choose an empty folder") == true)
        #expect(throws: (any Error).self) { try StoreCommand.Export.parse([path, "--format", "csv"]) }
    }

    @Test func valuesOfEveryKindAreWritten() {
        let values: [StoredValue] = [
            .int(-5), .double(0.5), .double(.infinity), .decimal(Decimal(string: "12.50") ?? 0), .date(0.25), .date(1e300),
            .data(Data([1, 2])),
            .url("https://example.com/"), .null,
        ]
        #expect(
            values.map { JSONText.value($0) } == [
                "-5", "0.5", "\"inf\"", "\"12.5\"", "\"2001-01-01T00:00:00.250Z\"", "\"1e+300\"", "\"AQI=\"", "\"https://example.com/\"",
                "null",
            ])
        #expect(JSONText.value(.int(1), isFlag: true) == "true")
    }

    @Test func theModelOfAStoreIsWrittenAsAFile() throws {
        let folder = ScratchFolder("tarn-commands")
        let path = try makeFilledStore(folder)
        try StoreCommand.ModelOfStore.parse([path, folder.path + "/Notes.xcdatamodeld"]).run()
        try ModelCheckCommand.parse([folder.path + "/Notes.xcdatamodeld"]).run()
        let text = try String(contentsOfFile: folder.path + "/Notes.xcdatamodeld/Notes.xcdatamodel/contents", encoding: .utf8)
        #expect(
            text.contains(#"<relationship name="folder" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Folder""#))
        #expect(throws: CommandError.self) { try StoreCommand.ModelOfStore.parse([path, folder.path + "/Notes.xcdatamodeld"]).run() }
        #expect(throws: CommandError.self) { try StoreCommand.ModelOfStore.parse([path, folder.path + "/Notes"]).run() }
    }
}
