// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import Foundation
import ManagedModel
import ModelFile
import Testing

@testable import TarnCommands

@Suite struct ModelEditTests {
    private func read(_ path: String) throws -> ModelFileContents { try ModelFileReader.read(contentsOf: URL(fileURLWithPath: path)) }

    private func contents(_ path: String, version: String = "Notes") throws -> String {
        try String(contentsOfFile: "\(path)/\(version).xcdatamodel/contents", encoding: .utf8)
    }

    /// Folder and Note with both sides of a relationship.
    private func makeNotes(_ folder: ScratchFolder) async throws -> String {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let path = folder.path + "/Notes.xcdatamodeld"
        for arguments in [
            ["new", path, "--entity", "Note", "--cloud", "title:String", "stars:Integer16=3", "isDone:Boolean!=NO", "createdAt:Date"],
            ["edit", "add-entity", path, "Folder", "name:String"],
            ["edit", "add-relationship", path, "Folder.notes", "Note.folder", "--to-many", "--ordered", "--delete-rule", "cascade"],
        ] {
            let run = await CommandRun(["model"] + arguments)
            try #require(run.status == 0, "\(arguments): \(run.notes)")
        }
        return path
    }

    @Test func aModelIsMadeAsXcodeWritesIt() async throws {
        let folder = ScratchFolder("tarn-model")
        let path = try await makeNotes(folder)
        GoldenFile("model/contents.xml").expect(try contents(path))
        let model = try read(path).compiled.current
        #expect(model.entities.map(\.name).sorted() == ["Folder", "Note"])
        let check = await CommandRun("model", "check", path, "--json")
        #expect(check.status == 0, "\(check.output)")
    }

    /// A change leaves every other line as it is.
    @Test func differencesAreSmall() async throws {
        let folder = ScratchFolder("tarn-model")
        let path = try await makeNotes(folder)
        let before = try contents(path).split(separator: "\n")
        #expect(await CommandRun("model", "edit", "add-attribute", path, "Note.body", "String").status == 0)
        let after = try contents(path).split(separator: "\n")
        let changes = after.difference(from: before)
        #expect(changes.insertions.count == 1)
        #expect(changes.removals.isEmpty)
        #expect(await CommandRun("model", "edit", "remove", path, "Note.body").status == 0)
        #expect(try contents(path).split(separator: "\n") == before)
    }

    @Test func aRenamedPropertyKeepsItsValues() async throws {
        let folder = ScratchFolder("tarn-model")
        let path = try await makeNotes(folder)
        for arguments in [
            ["add-version", path], ["rename", path, "Note.title", "headline"], ["rename", path, "Folder", "Notebook"],
            ["rename", path, "Note.folder", "notebook"],
        ] {
            let run = await CommandRun(["model", "edit"] + arguments)
            #expect(run.status == 0, "\(arguments): \(run.notes)")
        }
        let file = try read(path)
        #expect(file.compiled.currentVersion == "Notes 2")
        let old = try #require(file.compiled.versions["Notes"]), new = file.compiled.current
        let note = try #require(new.entities.first { $0.name == "Note" }),
            notebook = try #require(new.entities.first { $0.name == "Notebook" })
        #expect(note.attributes.first { $0.name == "headline" }?.renamingIdentifier == "title")
        #expect(note.relationships.first?.destination == "Notebook")
        #expect(notebook.renamingIdentifier == "Folder")
        #expect(notebook.className == "Notebook")
        #expect(notebook.relationships.first?.inverse == "notebook")
        let difference = ModelDifference(from: old, to: new)
        #expect(difference.isInferable, "\(difference.changes)")
        #expect(difference.changes.map(\.summary).contains { $0.contains("renamed") })
    }

    /// The lens of a subentity may have inherited attributes.
    @Test func lensesFollowARenamedAttribute() throws {
        let texts = ["name", "first", "last", "street", "city", "address"].map { Attribute(name: $0, type: .string) }
        var person = Entity(name: "Person", attributes: texts), member = Entity(name: "Member", superentity: "Person")
        person.userInfo["syncLens"] = "name -> first last; street city -> address by ', '"
        member.userInfo["syncLens"] = "city->town"
        var model = Model(entities: [person, member])
        for (name, newName) in [("name", "fullName"), ("city", "place")] {
            try ModelEdit.renameProperty(name, entity: "Person", to: newName).apply(to: &model)
        }
        #expect(model.entities[0].userInfo["syncLens"] == "fullName -> first last; street place -> address by ', '")
        #expect(model.entities[1].userInfo["syncLens"] == "place -> town")
        try ModelEdit.renameProperty("last", entity: "Person", to: "surname").apply(to: &model)
        #expect(LensDeclaration.parse(model.entities[0].userInfo["syncLens"] ?? "")?.map(\.later) == [["first", "surname"], ["address"]])
    }

    @Test func bothSidesOfARelationshipAreRemoved() async throws {
        let folder = ScratchFolder("tarn-model")
        let path = try await makeNotes(folder)
        #expect(await CommandRun("model", "edit", "remove", path, "Note.folder").status == 0)
        #expect(try read(path).compiled.current.entities.allSatisfy(\.relationships.isEmpty))
        let second = ScratchFolder("tarn-model")
        let again = try await makeNotes(second)
        #expect(await CommandRun("model", "edit", "remove", again, "Folder").status == 0)
        #expect(try read(again).compiled.current.entities.map(\.name) == ["Note"])
        #expect(try read(again).compiled.current.entities[0].relationships.isEmpty)
    }

    @Test func anEditThatMakesTheModelInvalidChangesNothing() async throws {
        let folder = ScratchFolder("tarn-model")
        let path = try await makeNotes(folder)
        let before = try contents(path)
        for (arguments, words) in [
            (["add-attribute", path, "Nots.a", "String"], "Did you mean 'Note'?"),
            (["add-attribute", path, "Note.title", "String"], "has a property 'title' already"),
            (["add-attribute", path, "Note.a", "Strng"], "Did you mean 'String'?"),
            (["add-attribute", path, "Note.a", "Integer16", "--default", "many"], "a"),
            (["add-entity", path, "Folder"], "has an entity 'Folder' already"),
            (["rename", path, "Note.titel", "x"], "Did you mean 'title'?"),
            (["remove", path, "Note.nothing"], "has no property 'nothing'"),
            (["add-relationship", path, "Note.tags", "Tag.notes"], "has no entity 'Tag'"),
            (["add-attribute", path, "Note.objectID", "String"], "objectID"),
            (["add-version", path, "Notes"], "isn't a valid new version"),
            (["add-entity", path, "Memo", "--parent", "Nte"], "Did you mean 'Note'?"),
        ] {
            let run = await CommandRun(["model", "edit"] + arguments)
            #expect(run.status == 1, "\(arguments)")
            #expect(run.notes.contains(words), "\(arguments): \(run.notes)")
            #expect(try contents(path) == before, "\(arguments)")
        }
        let present = await CommandRun("model", "new", path, "--entity", "Note")
        #expect(present.notes.contains("There is something at"), "\(present.notes)")
        let missing = await CommandRun("model", "edit", "remove", folder.path + "/None.xcdatamodeld", "A")
        #expect(missing.notes.contains("tarn model new"), "\(missing.notes)")
    }

    @Test func aFileOfXcodeIsEditedInPlace() async throws {
        let folder = ScratchFolder("tarn-model")
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let source = GoldenFile.folder.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Examples/Notebook/Sources/Notebook/Model/Notebook.xcdatamodeld")
        let path = folder.path + "/Notebook.xcdatamodeld"
        try FileManager.default.copyItem(at: source, to: URL(fileURLWithPath: path))
        let before = try contents(path, version: "Notebook").split(separator: "\n")
        let entity = try #require(try read(path).compiled.current.entities.first).name
        let run = await CommandRun("model", "edit", "add-attribute", path, "\(entity).addedLater", "Date")
        #expect(run.status == 0, "\(run.notes)")
        let changes = try contents(path, version: "Notebook").split(separator: "\n").difference(from: before)
        #expect(changes.insertions.count <= 2)
        #expect(changes.removals.count <= 1)
    }

    @Test func graphsAreGolden() async throws {
        let folder = ScratchFolder("tarn-model")
        let path = try await makeNotes(folder)
        for arguments in [
            ["add-entity", path, "Memo", "--parent", "Note"], ["add-entity", path, "Tag", "label:String"],
            ["add-relationship", path, "Note.tags", "Tag.notes", "--to-many", "--inverse-to-many"],
            ["add-relationship", path, "Folder.children", "Folder.parent", "--to-many"],
        ] {
            let run = await CommandRun(["model", "edit"] + arguments)
            #expect(run.status == 0, "\(arguments): \(run.notes)")
        }
        for (format, file) in [("svg", "graph.svg"), ("mermaid", "graph.mmd"), ("dot", "graph.dot")] {
            GoldenFile("model/\(file)").expect(await CommandRun("model", "graph", path, "--format", format).output)
        }
        GoldenFile("model/graph.json").expect(await CommandRun("model", "graph", path, "--json").output)
    }

    @Test func aDrawingIsXMLForEveryModel() async throws {
        var entities: [Entity] = []
        for number in 0..<17 {
            entities.append(
                Entity(
                    name: "Entity\(number)",
                    relationships: [Relationship(name: "next", destination: "Entity\((number * 5 + 1) % 17)", isToMany: number % 2 == 0)]))
        }
        let drawing = ModelDrawing(ModelGraph(Model(entities: entities))).svg
        #expect(drawing.hasPrefix("<svg "))
        #expect(drawing.contains("Entity16"))
        #expect(!drawing.contains("nan"))
        #expect(ModelDrawing(ModelGraph(Model())).svg.hasSuffix("</svg>\n"))
    }
}
