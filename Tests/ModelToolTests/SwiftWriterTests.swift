// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ModelFile
import ModelFolders
import ModelTool
import Testing

@Suite struct SwiftWriterTests {
    @Test(arguments: [
        ("Integer 16", "YES", "Int16"), ("Integer 16", "NO", "NSNumber?"),
        ("Integer 32", "YES", "Int32"), ("Integer 64", "YES", "Int64"),
        ("Double", "YES", "Double"), ("Float", "YES", "Float"), ("Float", "NO", "NSNumber?"),
        ("Boolean", "YES", "Bool"), ("Boolean", "NO", "NSNumber?"),
        ("Decimal", "NO", "NSDecimalNumber?"), ("String", "NO", "String?"),
        ("Date", "NO", "Date?"), ("Date", "YES", "TimeInterval"),
        ("Binary", "NO", "Data?"), ("UUID", "NO", "UUID?"), ("URI", "NO", "URL?"),
        ("Transformable", "NO", "NSObject?"),
    ])
    func propertiesHaveTheTypesThatXcodeGives(type: String, isScalar: String, swift: String) throws {
        let attribute = "<attribute name=\"a\" attributeType=\"\(type)\" usesScalarValueType=\"\(isScalar)\"/>"
        let source = try swiftFor(attribute)
        #expect(source.contains("    public var a: \(swift) {\n"))
    }

    @Test(arguments: [("Undefined", "NSObject?"), ("Object ID", "NSManagedObjectID?"), ("Integer 64", "NSNumber?")])
    func transientPropertiesHaveTypesToo(type: String, swift: String) throws {
        let source = try swiftFor("<attribute name=\"a\" transient=\"YES\" attributeType=\"\(type)\"/>")
        #expect(source.contains("    public var a: \(swift) {\n        get {"))
    }

    @Test func compositesAreDictionariesAndFetchedPropertiesReadOnlyArrays() throws {
        let source = try ModelFolder(
            body: """
                <entity name="Note" representedClassName="Note" codeGenerationType="class">
                    <attribute name="home" attributeType="Composite" composite="Home"/>
                    <fetchedProperty name="default"><fetchRequest name="r" entity="Plain"/></fetchedProperty>
                </entity>
                <entity name="Plain"/>
                <composite name="Home"><attribute name="city" optional="YES" attributeType="String"/></composite>
                """
        ).swift()
        #expect(source.contains("    public var home: [String: Any]? {\n        get { _value(PropertyKeys.home) }\n"))
        #expect(source.contains("    public var `default`: [NSManagedObject]? {\n        _value(PropertyKeys.`default`)\n    }\n"))
    }

    private func swiftFor(_ properties: String) throws -> String {
        let body =
            "<entity name=\"Note\" representedClassName=\"Note\" codeGenerationType=\"class\">\(properties)</entity>"
        return try ModelFolder(body: body).swift()
    }

    @Test func keywordsAreEscapedWhereTheyAreDeclared() throws {
        let source = try swiftFor("<attribute name=\"default\" attributeType=\"String\"/>")
        #expect(source.contains("        static let `default` = ManagedPropertyKey(\"default\")\n"))
        #expect(
            source.contains("    public var `default`: String? {\n        get { _string(PropertyKeys.`default`) }\n"))
    }

    @Test func aNameThatAClassOfTheModelHasIsWrittenWithItsModule() throws {
        let source = try ModelFolder(
            body: """
                <entity name="Date" representedClassName="Date" codeGenerationType="class">
                    <attribute name="when" attributeType="Date" usesScalarValueType="NO"/>
                </entity>
                """
        ).swift()
        #expect(source.contains("class Date: NSManagedObject"))
        #expect(source.contains("public var when: Foundation.Date? {"))
    }

    @Test func anOrderedRelationshipHasMethodsWithPositions() throws {
        let source = try swiftFor(
            """
            <relationship name="lines" toMany="YES" ordered="YES" destinationEntity="Note" inverseName="of"/>
            <relationship name="of" maxCount="1" destinationEntity="Note" inverseName="lines"/>
            """)
        let methods = source.split(separator: "\n").filter { $0.contains("public func") }.map { $0.dropLast(2) }
        #expect(
            methods == [
                "    public func addToLines(_ value: Note)", "    public func removeFromLines(_ value: Note)",
                "    public func addToLines(_ values: NSOrderedSet)",
                "    public func removeFromLines(_ values: NSOrderedSet)",
                "    public func insertIntoLines(_ value: Note, at idx: Int)",
                "    public func removeFromLines(at idx: Int)",
                "    public func replaceLines(at idx: Int, with value: Note)",
                "    public func insertIntoLines(_ values: [Note], at indexes: NSIndexSet)",
                "    public func removeFromLines(at indexes: NSIndexSet)",
                "    public func replaceLines(at indexes: NSIndexSet, with values: [Note])",
            ])
    }

    @Test func onlyTheUppermostGeneratedClassSaysThatItIsIdentifiable() throws {
        let source = try ModelFolder(
            body: """
                <entity name="A" representedClassName="Base"/>
                <entity name="B" parentEntity="A" representedClassName="Middle" codeGenerationType="class"/>
                <entity name="C" parentEntity="B" representedClassName="Leaf" codeGenerationType="category"/>
                """
        ).swift()
        #expect(source.contains("nonisolated public class Middle: Base {"))
        #expect(source.contains("nonisolated extension Leaf {"))
        #expect(source.contains("extension Middle: Identifiable {}"))
        #expect(!source.contains("extension Leaf: Identifiable"))
        #expect(!source.contains("class Base"))
    }

    @Test func aModelWithoutGeneratedClassesStillRegistersItself() throws {
        let source = try ModelFolder("My Shop 2", versions: ["V": "<model><entity name=\"A\"/></model>"]).swift()
        #expect(source.contains("public final class My_Shop_2ModelRegistration: ManagedModelRegistration {"))
        #expect(source.contains("            \"My Shop 2\": #\"\"\"\n"))
        #expect(!source.contains("PropertyKeys"))
    }

    @Test func textOfTheModelCannotEndTheLiteralItStandsIn() throws {
        let source = try ModelFolder(
            body: """
                <entity name="A"><userInfo><entry key="k" value="&quot;&quot;&quot;##"/></userInfo></entity>
                """
        ).swift()
        #expect(source.contains("\"Shop\": ###\"\"\"\n"))
        #expect(source.contains("\n                \"\"\"###\n"))
    }
}
