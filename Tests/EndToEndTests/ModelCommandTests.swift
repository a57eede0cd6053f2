// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// `tarn model check` and `tarn model write`.
@Suite struct ModelCommandTests {
    private let contents = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model documentVersion="1.0" userDefinedModelVersionIdentifier="">
            <entity name="Note" representedClassName="Note" syncable="YES">
                <attribute name="title" optional="YES" attributeType="String"/>
                <relationship name="tag" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Note"/>
            </entity>
        </model>
        """

    private func model(_ name: String, _ text: String, in folder: Folder) throws -> String {
        let version = folder.url.appendingPathComponent("\(name).xcdatamodeld/\(name).xcdatamodel")
        try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: version.appendingPathComponent("contents"))
        return folder.path("\(name).xcdatamodeld")
    }

    @Test func modelsAreCheckedWithTheirClasses() async throws {
        let folder = try Folder()
        let model = try model("Notes", contents, in: folder)
        let alone = try await Programs.run("tarn", ["model", "check", model], in: folder)
        #expect(alone.status == 0)
        #expect(alone.output == "\(model)/Notes.xcdatamodel/contents:5: warning: Note.tag has no inverse\n0 errors, 1 warning\n")

        let source = folder.path("Note.swift")
        try Data("import CoreData\nclass Note: NSManagedObject { @NSManaged var title: Int }".utf8).write(to: URL(fileURLWithPath: source))
        let checked = try await Programs.run("tarn", ["model", "check", folder.url.path, "--sources", folder.url.path], in: folder)
        #expect(checked.status == 1)
        #expect(
            checked.output.contains("\(source):2: error: @NSManaged Note.title is a 'Int', and the model's attribute is of type String\n"))
        #expect(checked.output.hasSuffix("1 error, 1 warning\n"))

        let nowhere = try await Programs.run("tarn", ["model", "check", folder.path("Gone")], in: folder)
        #expect(nowhere.status == 1)
        #expect(nowhere.complaint.contains("No model was found at"))
    }

    @Test func modelsAreWrittenWithoutLoss() async throws {
        let folder = try Folder()
        let model = try model("Notes", contents, in: folder)
        let printed = try await Programs.run("tarn", ["model", "write", model], in: folder)
        #expect(printed.status == 0)
        #expect(printed.output == contents + "\n")

        let copy = folder.path("Copy.xcdatamodeld")
        #expect(try await Programs.run("tarn", ["model", "write", model, copy], in: folder).status == 0)
        #expect(try String(contentsOfFile: copy + "/Notes.xcdatamodel/contents", encoding: .utf8) == contents)
        let again = try await Programs.run("tarn", ["model", "write", model, copy], in: folder)
        #expect(again.status == 1)
        #expect(again.complaint.contains("--replace"))
        #expect(try await Programs.run("tarn", ["model", "write", model, copy, "--replace"], in: folder).status == 0)
        let unnamed = try await Programs.run("tarn", ["model", "write", model, folder.path("Copy")], in: folder)
        #expect(unnamed.status == 1)
        #expect(unnamed.complaint.contains(".xcdatamodeld"))
    }
}
