// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ModelTool
import Testing

@Suite struct AccessorCommandTests {
    /// - Returns: The text written for a file, and the complaints.
    private func accessors(_ source: String, dependency: String? = nil) throws -> (text: String, complaints: [String]) {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, other, output) = (folder.appending(path: "A.swift"), folder.appending(path: "B.swift"), folder.appending(path: "out"))
        try Data(source.utf8).write(to: file)
        try Data((dependency ?? "").utf8).write(to: other)
        var complaints: [String] = []
        let code = AccessorCommand.run(
            ["--module", "App", "--swift", output.path, file.path] + (dependency == nil ? [] : ["--dependency", "Kit", other.path]),
            complain: { complaints.append($0) })
        #expect(code == (complaints.isEmpty ? 0 : 1))
        return (try String(contentsOf: output, encoding: .utf8), complaints)
    }

    @Test(arguments: [
        ("class A: NSManagedObject { @NSManaged var x: Gone }", "#error(\"@NSManaged A.x: type 'Gone' is declared neither"),
        ("class A: NSManagedObject { @NSManaged var x: (Int) -> Void }", "#error(\"@NSManaged A.x: a function cannot be"),
        ("class A: NSManagedObject { @NSManaged var x: B & C }", "a composition of protocols cannot be"),
        ("class A: NSManagedObject { @NSManaged func dance(with value: A) }", "Core Data supplies no method of this form"),
        ("typealias T = T\nclass A: NSManagedObject { @NSManaged var x: T }", "an alias of itself"),
        ("extension Gone { @NSManaged var x: Int }", "class 'Gone' is declared neither"),
        ("struct A { @NSManaged var x: Int }", "only classes have managed properties"),
        ("private enum E: Int16 { case a }\nclass A: NSManagedObject { @NSManaged private var x: E }", "type 'E' is private"),
    ])
    func whatHasNoSymbolIsAnErrorAtItsPlace(source: String, error: String) throws {
        let text = try accessors(source).text
        #expect(text.contains(error))
        #expect(text.contains("A.swift\", line: "))
    }

    @Test func aModuleWithoutManagedMembersGetsAnEmptyFile() throws {
        let text = try accessors("/* @NSManaged var x: Int */ let y = \"@NSManaged var z: Int\"").text
        #expect(!text.contains("extension"))
        #expect(!text.contains("import"))
    }

    @Test func typesOfDependenciesAreFound() throws {
        let text = try accessors(
            "import CoreData\nimport Kit\nclass A: NSManagedObject { @NSManaged var x: Color?; @NSManaged var y: Kit.Color }",
            dependency: "public struct Color { public init() {} }"
        ).text
        #expect(text.contains("$s3App1AC1x3Kit5ColorVSgvg"))
        #expect(text.contains("$s3App1AC1y3Kit5ColorVvg"))
        #expect(text.contains("import Kit"))
    }

    @Test(arguments: [
        "{{{{", "class", "@", "@NSManaged", "func (", "var x:", "#if", "#endif #else", "\"\\(\"", "class A { @NSManaged var", "/*", "`",
    ])
    func nonsenseIsReadToItsEnd(source: String) throws {
        #expect(try accessors(source).complaints.isEmpty)
    }

    @Test func wrongArgumentsAreNamed() {
        var complaints: [String] = []
        #expect(AccessorCommand.run(["--swift", "/tmp/x"], complain: { complaints.append($0) }) == 1)
        #expect(AccessorCommand.run(["--module", "A", "--swift", "/tmp/x", "/nowhere.swift"], complain: { complaints.append($0) }) == 1)
        #expect(complaints[0].contains("no module given"))
        #expect(complaints[1].contains("cannot read '/nowhere.swift'"))
    }

    @Test func accessNotesNameExposedMembers() {
        var index = SourceIndex(module: "App")
        index.add(
            """
            @objc(Post) public class Post: NSManagedObject {
                @objc(addTagsObject:) @NSManaged public func addToTags(_ value: Tag)
                @objc dynamic var summary: String { "" }
                @objc(initWithTitle:context:) convenience init(title: String, in context: NSManagedObjectContext) {}
                @objc enum Kind: Int16 { case a }
                class Inner { @objc func f(_ a: Int, with b: Int) {} }
            }
            """, file: "Post.swift")
        #expect(
            AccessNotes.text(for: index.exposed) == """
                Reason: 'Objective-C interoperability is not available on this platform'
                Notes:
                - Name: 'Post'
                  ObjC: false
                - Name: 'Post.Inner.f(_:with:)'
                  ObjC: false
                - Name: 'Post.addToTags(_:)'
                  ObjC: false
                - Name: 'Post.init(title:in:)'
                  ObjC: false
                - Name: 'Post.summary'
                  ObjC: false

                """)
    }
}
