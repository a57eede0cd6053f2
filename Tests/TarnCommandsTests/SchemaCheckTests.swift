// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
import CloudInProcess
import Foundation
import ManagedModel
import MirroringCore
import Testing

@testable import TarnCommands

/// `tarn schema check`: a model, and the schema of the records that devices with other versions have.
@Suite struct SchemaCheckTests {
    private struct Place {
        let folder = ScratchFolder("tarn-schema")
        var model: String { folder.path + "/Notes.xcdatamodeld" }
        var schema: String { folder.path + "/production.ckdb" }

        /// A model of notes, and the schema that it needs.
        init() async throws {
            try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
            let made = await CommandRun("model", "new", model, "--entity", "Note", "--cloud", "title:String", "stars:Integer16=3")
            try #require(made.status == 0, "\(made.notes)")
            let mapping = RecordMapping(model: try ResolvedModel(try ModelInput.read(model)))
            try Data(CloudSchema(mapping).text(isPublic: false).utf8).write(to: URL(filePath: schema))
        }

        func edit(_ arguments: String...) async throws {
            let run = await CommandRun(["model", "edit", arguments[0], model] + arguments.dropFirst())
            try #require(run.status == 0, "\(run.notes)")
        }

        /// Replaces a text of the model's file.
        func replace(_ text: String, by other: String) throws {
            let file = URL(filePath: model + "/Notes.xcdatamodel/contents")
            let contents = try String(contentsOf: file, encoding: .utf8)
            try #require(contents.contains(text), "\(contents)")
            try Data(contents.replacing(text, with: other).utf8).write(to: file)
        }

        func check(_ arguments: String...) async -> CommandRun {
            await CommandRun(["schema", "check", model] + (arguments.contains("--against") ? [] : ["--against", schema]) + arguments)
        }
    }

    @Test func aModelWithoutChangesFits() async throws {
        let place = try await Place()
        let run = await place.check()
        #expect(run.status == 0)
        #expect(run.output == "The model fits \(place.schema).\n")
    }

    @Test func anAdditionNeedsADeployment() async throws {
        let place = try await Place()
        try await place.edit("add-attribute", "Note.mood", "Double")
        try await place.edit("add-entity", "Folder", "name:String")
        let run = await place.check()
        #expect(run.status == 1)
        let lines = run.output.split(separator: "\n")
        #expect(lines.first == "+ type CD_Folder is not in \(place.schema): add it")
        #expect(lines.contains("+ field CD_Note.CD_mood is not in \(place.schema): add it"))
        #expect(lines.last == "\(place.schema) lacks what the model saves; additions are compatible with devices of earlier versions.")
    }

    @Test func renamedPartsFit() async throws {
        let place = try await Place()
        try await place.edit("rename", "Note.title", "headline")
        try await place.edit("rename", "Note", "Memo")
        #expect(await place.check().status == 0)
    }

    @Test func aPartThatDisappearsIsABreakUnlessItIsRetired() async throws {
        let place = try await Place()
        try await place.edit("remove", "Note.stars")
        let run = await place.check()
        #expect(run.status == 2)
        #expect(
            run.output.hasPrefix(
                "! field CD_Note.CD_stars has no property in the model. Give a renamed property its first name as renaming identifier; "))
        let earlier = await place.check("--earlier")
        #expect(earlier.status == 0)
        #expect(earlier.output.hasPrefix("  field CD_Note.CD_stars belongs to a later version\n"))
        try place.replace("</entity>", by: "<userInfo><entry key=\"syncRetired\" value=\"stars\"/></userInfo></entity>")
        let retired = await place.check()
        #expect(retired.status == 0)
        #expect(retired.output.hasPrefix("  field CD_Note.CD_stars is retired: earlier versions still use it\n"))
    }

    @Test func anEntityThatDisappearsIsABreak() async throws {
        let place = try await Place()
        try await place.edit("add-entity", "Memo", "text:String")
        try await place.edit("remove", "Note")
        let run = await place.check()
        #expect(run.status == 2)
        #expect(run.output.contains("! type CD_Note has no entity in the model: its objects would disappear from devices."))
    }

    @Test func anotherTypeOfFieldIsABreak() async throws {
        let place = try await Place()
        try place.replace(
            "attributeType=\"Integer 16\" defaultValueString=\"3\" usesScalarValueType=\"YES\"", by: "attributeType=\"String\"")
        let run = await place.check()
        #expect(run.status == 2)
        #expect(run.output.contains("! field CD_Note.CD_stars is INT64 in \(place.schema), and the model saves STRING."))
    }

    @Test func anInvalidModelIsABreak() async throws {
        let place = try await Place()
        try place.replace("</entity>", by: "<userInfo><entry key=\"syncRetired\" value=\"stars\"/></userInfo></entity>")
        let run = await place.check()
        #expect(run.status == 2)
        #expect(run.output.hasPrefix("! property Note.stars has the name of a retired property on the server, 'stars'\n"))
    }

    @Test func linesAreJSON() async throws {
        let place = try await Place()
        try await place.edit("add-attribute", "Note.mood", "Double")
        let run = await place.check("--json")
        #expect(run.status == 1)
        #expect(
            run.output
                == "{\"finding\":\"addition\",\"subject\":\"field CD_Note.CD_mood\",\"message\":\"is not in \(place.schema): add it\"}\n")
    }

    /// The server's database, as a pipeline on the server's machine reads it.
    @Test func productionOfAServerIsChecked() async throws {
        let place = try await Place()
        let data = place.folder.path + "/data"
        try SQLiteServerStore(path: data, use: .server).close()
        let server = ["--container", "iCloud.org.example.notes", "--data", data]
        for command in [["import", "--file", place.schema], ["deploy"]] {
            let run = await CommandRun(["schema"] + command + server)
            try #require(run.status == 0, "\(run.notes)")
        }
        func check(_ environment: String) async -> CommandRun {
            await CommandRun(["schema", "check", place.model, "--against", environment] + server)
        }
        #expect(await check("production").output == "The model fits production.\n")
        try await place.edit("add-attribute", "Note.mood", "Double")
        let production = await check("production"), development = await check("development")
        #expect(production.status == 1)
        #expect(
            production.output.hasPrefix(
                "+ field CD_Note.CD_mood is not in production: add it to development and run 'tarn schema deploy' before devices save it\n")
        )
        #expect(development.status == 1)
        #expect(development.output.contains("the first save creates it, or initializeCloudKitSchema()"))
    }

    @Test func aCheckThatFailsHasACodeOfItsOwn() async throws {
        let place = try await Place()
        for arguments in [["--against", place.folder.path + "/none.ckdb"], ["--configuration", "Other"]] {
            let run = await CommandRun(
                ["schema", "check", place.model] + (arguments.contains("--against") ? [] : ["--against", place.schema]) + arguments)
            #expect(run.status == 3)
            #expect(run.notes.hasPrefix("Error: "))
        }
        #expect(await place.check("--against", "production").status == 64)
    }
}
