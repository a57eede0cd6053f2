// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ModelFile
import ModelFolders
import ModelTool
import Testing

/// Sources of a target from line 1, and their findings, without the folder.
struct CheckedClass: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let source: String
    let findings: [String]

    init(_ description: String, _ source: String, _ findings: String...) {
        testDescription = description
        self.source = source
        self.findings = findings
    }
}

@Suite struct ClassCheckTests {
    private static let model = """
        <model userDefinedModelVersionIdentifier="">
            <entity name="Note" representedClassName="Note" syncable="YES">
                <attribute name="title" optional="YES" attributeType="String"/>
                <attribute name="rank" attributeType="Integer 16" usesScalarValueType="YES"/>
                <attribute name="when" optional="YES" attributeType="Date"/>
                <attribute name="palette" optional="YES" attributeType="Transformable"/>
                <attribute name="home" optional="YES" attributeType="Composite" composite="Home"/>
                <relationship name="tags" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Tag" inverseName="note" inverseEntity="Tag"/>
                <relationship name="steps" optional="YES" toMany="YES" ordered="YES" deletionRule="Nullify" destinationEntity="Task" inverseName="of" inverseEntity="Task"/>
                <fetchedProperty name="alike"><fetchRequest name="r" entity="Note"/></fetchedProperty>
            </entity>
            <entity name="Tag" representedClassName=".Tag" codeGenerationType="category" syncable="YES">
                <relationship name="note" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Note" inverseName="tags" inverseEntity="Note"/>
            </entity>
            <entity name="Task" representedClassName="Task" parentEntity="Note" codeGenerationType="class" syncable="YES">
                <attribute name="due" optional="YES" attributeType="Date"/>
                <relationship name="of" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Note" inverseName="steps" inverseEntity="Note"/>
            </entity>
            <composite name="Home"><attribute name="city" optional="YES" attributeType="String"/></composite>
        </model>
        """
    private static let tag = "\nclass Tag: NSManagedObject {}"

    /// - Returns: What `modelc accessors` says, and its exit code.
    private func check(_ source: String, dependency: String? = nil) throws -> (code: Int32, lines: [String]) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "checks-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let model = folder.appending(path: "M.xcdatamodel")
        try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
        try Data(Self.model.utf8).write(to: model.appending(path: "contents"))
        try Data(source.utf8).write(to: folder.appending(path: "A.swift"))
        var arguments = [
            "--module", "App", "--swift", folder.appending(path: "out").path, "--model", model.path, folder.appending(path: "A.swift").path,
        ]
        if let dependency {
            try Data(dependency.utf8).write(to: folder.appending(path: "B.swift"))
            arguments += ["--dependency", "Kit", folder.appending(path: "B.swift").path]
        }
        var lines: [String] = []
        let code = AccessorCommand.run(arguments, complain: { lines.append($0.replacingOccurrences(of: folder.path + "/", with: "")) })
        return (code, lines)
    }

    @Test(arguments: [
        CheckedClass(
            "everything fits",
            """
            import CoreData
            @objc(Note) public class Note: NSManagedObject {
                @NSManaged public var title: String?, rank: Int, when: TimeInterval
                @NSManaged var palette: [String: Int]?
                @NSManaged private(set) var tags: Set<Tag>
                @NSManaged var primitiveTitle: NSString?
                @NSManaged var home: [String: Any]?
                @NSManaged var due: Date?
            }
            extension Note {
                @NSManaged var steps: NSOrderedSet?
                @NSManaged var alike: [Note]?
                @NSManaged func addToTags(_ value: Tag)
                @NSManaged func insertIntoSteps(_ values: [Task], at indexes: NSIndexSet)
                @objc(removeTagsObject:) @NSManaged func forget(_ tag: Tag)
            }
            class Outer { class Tag: Base {} }
            class Base: CoreData.NSManagedObject {}
            class Unrelated: NSManagedObject { @NSManaged var anything: Int }
            """),
        CheckedClass(
            "types that hold no such value",
            """
            class Note: NSManagedObject {
                @NSManaged var title: Date?
                @NSManaged var rank: String
                @NSManaged var when: UUID?
                @NSManaged var tags: [Tag]
                @NSManaged var steps: Set<Tag>
                @NSManaged var home: String?
                @NSManaged var alike: NSSet?
            }
            typealias Label = String
            class Tag: NSManagedObject { @NSManaged var note: Label }
            """,
            "A.swift:2: error: @NSManaged Note.title is a 'Date?', and the model's attribute is of type String",
            "A.swift:3: error: @NSManaged Note.rank is a 'String', and the model's attribute is of type Integer 16",
            "A.swift:4: error: @NSManaged Note.when is a 'UUID?', and the model's attribute is of type Date",
            "A.swift:5: error: @NSManaged Note.tags is a '[Tag]', and the model's relationship is to-many, an NSSet",
            "A.swift:6: error: @NSManaged Note.steps is a 'Set<Tag>', and the model's relationship is ordered, an NSOrderedSet",
            "A.swift:7: error: @NSManaged Note.home is a 'String?', and the model's attribute is of type Composite",
            "A.swift:8: error: @NSManaged Note.alike is a 'NSSet?', and the model's property is fetched, an array",
            "A.swift:11: error: @NSManaged Tag.note is a 'Label', and the model's relationship leads to one Note"),
        CheckedClass(
            "names that the model does not have",
            """
            class Note: NSManagedObject {
                @NSManaged var titel: String?
                @NSManaged func addToLabels(_ value: Tag)
                @NSManaged func addToTitle(_ value: Tag)
                #if DEBUG
                @NSManaged var trace: String?
                #endif
            }
            """ + tag,
            "A.swift:2: error: @NSManaged Note.titel: entity Note, Task has no property of this name; its first use would end the process",
            "A.swift:3: error: @NSManaged Note.addToLabels: entity Note, Task has no to-many relationship 'labels'; its first use would end the process",
            "A.swift:4: error: @NSManaged Note.addToTitle: entity Note, Task has no to-many relationship 'title'; its first use would end the process",
            "A.swift:6: warning: @NSManaged Note.trace: entity Note, Task has no property of this name; its first use would end the process"
        ),
        CheckedClass(
            "classes that are missing, of another name, no managed objects, or there twice",
            """
            @objc(Note) class PlainNote: NSManagedObject {}
            class Tag: Codable {}
            class Task: Note {}
            """,
            "M.xcdatamodel/contents:2: warning: Note has the class 'Note', which is the Objective-C name of 'PlainNote'; without Objective-C "
                + "classes are found by their names in Swift",
            "M.xcdatamodel/contents:15: error: Task asks for a generated class 'Task', which A.swift:3 declares as well; set Codegen to "
                + "Category/Extension or Manual/None"),
        CheckedClass(
            "no class at all", "struct Tag {}\nclass Base {}\nclass Note: Base {}",
            "A.swift:3: error: 'Note' isn't a subclass of NSManagedObject, and entity Note has it as its class",
            "A.swift:1: error: 'Tag' isn't a subclass of NSManagedObject, and entity Tag has it as its class"),
        CheckedClass(
            "a class in another module that is not read", "import Far\nclass Note: FarBase {}",
            "M.xcdatamodel/contents:12: warning: Tag has the class 'Tag', which is declared neither in module App nor in those it uses; its objects "
                + "would be of the class NSManagedObject"),
    ])
    func whatCoreDataWouldFindAtRunTimeIsFoundBefore(check: CheckedClass) throws {
        let result = try self.check(check.source)
        #expect(result.lines == check.findings)
        #expect(result.code == (check.findings.contains { $0.contains(" error: ") } ? 1 : 0))
    }

    @Test func classesOfDependenciesAreFound() throws {
        let result = try check(
            "import Kit\nextension Note { @NSManaged var title: String? }",
            dependency: "open class Note: NSManagedObject {}\npublic class Tag: Note {}")
        #expect(result.lines == [])
        #expect(result.code == 0)
    }

    @Test func aModelThatIsBrokenIsLeftToItsCompiler() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "checks-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var lines: [String] = []
        let code = AccessorCommand.run(
            [
                "--module", "App", "--swift", folder.appending(path: "out").path, "--model",
                folder.appending(path: "Gone.xcdatamodeld").path,
            ],
            complain: { lines.append($0) })
        #expect(code == 0)
        #expect(lines == [])
    }
}
