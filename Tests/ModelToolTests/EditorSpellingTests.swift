// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ModelFile
import ModelFolders
import ModelTool
import Testing

/// Spellings that versions of Xcode left in model files and that its compiler accepts.
@Suite struct EditorSpellingTests {
    private func attribute(_ attributes: String) throws -> (Attribute, warnings: [String]) {
        let compilation = try ModelFolder(body: "<entity name=\"E\"><attribute name=\"a\" \(attributes)/></entity>").read()
        let attribute = try #require(compilation.compiled.current.entities.first?.attributes.first)
        return (attribute, lines(compilation.warnings))
    }

    @Test func transientAttributeMayHaveNoType() throws {
        let (made, warnings) = try attribute(#"optional="YES" transient="YES" syncable="YES""#)
        #expect(made.type == .undefined)
        #expect(made.isTransient)
        #expect(warnings == [])
        let folder = try ModelFolder(
            body:
                #"<entity name="E" representedClassName="E" codeGenerationType="class"><attribute name="a" optional="YES" transient="YES"/></entity>"#
        )
        #expect(try folder.swift().contains("public var a: NSObject? {"))
        let document = try #require(folder.read().documents["Shop"])
        #expect(try !ModelFileWriter(document).text().contains("attributeType"))
    }

    /// Every type with a default value that was meant for another type.
    @Test(arguments: [
        "NO", "YES", "no", "yes", "true", "false", "0", "1", "-1", "2", "0.0", "1.0", "0.5", "2.75", "1e3", " 3 ", "", "  ",
    ])
    func defaultValueOfAnotherTypeIsConverted(text: String) throws {
        let trimmed = text.trimmingCharacters(in: .whitespaces)
        let flags = ["NO": 0.0, "YES": 1, "no": 0, "yes": 1, "true": 1, "false": 0]
        let number = flags[trimmed] ?? Double(trimmed)
        for type in ["Integer 16", "Integer 32", "Integer 64", "Boolean", "Double", "Float", "Decimal"] {
            let (made, warnings) = try attribute("attributeType=\"\(type)\" defaultValueString=\"\(text)\"")
            let expected: StoredValue =
                switch (number, type) {
                case (nil, _): .null
                case (let number?, "Boolean"): .int(number == 0 ? 0 : 1)
                case (let number?, "Double"), (let number?, "Float"): .double(number)
                case (let number?, "Decimal"): .decimal(Decimal(string: "\(number)") ?? 0)
                case (let number?, _): .int(Int64(number))
                }
            #expect(made.defaultValue == expected, "\(type) \(text)")
            let isOwnSpelling: Bool =
                switch type {
                case "Boolean": flags[trimmed] != nil || trimmed == "0" || trimmed == "1"
                case "Double", "Float", "Decimal": flags[trimmed] == nil && !trimmed.isEmpty
                default: flags[trimmed] == nil && number.map { $0.rounded() == $0 } == true
                }
            #expect(warnings.isEmpty == isOwnSpelling, "\(type) '\(text)': \(warnings)")
        }
    }

    @Test func convertedDefaultValueIsNamedInTheWarning() throws {
        #expect(
            try attribute(#"attributeType="Integer 16" defaultValueString="NO""#).warnings
                == ["2 warning: E.a has the default value 'NO'; expected a whole number from -32768 to 32767, 0 is used"])
        #expect(
            try attribute(#"attributeType="UUID" defaultValueString="""#).warnings
                == ["2 warning: E.a has the default value ''; expected a UUID, none is used"])
    }

    @Test(arguments: ["none", "None", "manual", "Manual/None"])
    func explicitManualCodeGenerationIsAccepted(text: String) throws {
        let compilation = try ModelFolder(body: "<entity name=\"E\" codeGenerationType=\"\(text)\"/>").read()
        #expect(compilation.compiled.current.entities[0].codeGeneration == .manual)
        #expect(compilation.warnings.count == (text == "manual" ? 0 : 1))
    }

    @Test(arguments: [
        (".NSArray", "NSArray"), ("NSArray.", "NSArray"), (" NSArray ", "NSArray"), ("UIColor *", "UIColor"),
        ("Palette.Entry", "Palette.Entry"),
        ("[String]", "[String]"), ("[String: [Int]]", "[String: [Int]]"), ("Dictionary<String, Set<Int>>", "Dictionary<String, Set<Int>>"),
        ("NSArray?", "NSArray"), ("(Int, String)", "(Int, String)"), ("..Entry", "Entry"), ("Any", "Any"),
    ])
    func customClassNameBecomesASwiftType(spelling: String, type: String) throws {
        let escaped = spelling.replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        let folder = try ModelFolder(
            body: """
                <entity name="E" representedClassName="E" codeGenerationType="class">
                    <attribute name="a" attributeType="Transformable" customClassName="\(escaped)"/>
                </entity>
                """)
        #expect(try folder.swift().contains("public var a: \(type)? {"))
        // A file that is written again keeps the spelling.
        var document = try #require(folder.read().documents["Shop"])
        document.model.entities[0].attributes[0].isOptional = true
        #expect(try ModelFileWriter(document).text().contains("customClassName=\"\(escaped)\""))
    }

    @Test func customClassNameThatIsNotATypeIsReported() throws {
        for spelling in ["NSArray<NSString *>", "a b", "[String", "1", "class", "any Codable", "."] {
            let text = spelling.replacing("<", with: "&lt;")
            let (made, warnings) = try attribute("attributeType=\"Transformable\" customClassName=\"\(text)\"")
            #expect(made.valueClassName == nil)
            #expect(warnings == ["2 warning: E.a has the class '\(spelling)', which isn't a Swift type; NSObject is used instead"])
        }
    }

    @Test func attributeMayBeNamedClassName() throws {
        let folder = try ModelFolder(
            body:
                #"<entity name="E" representedClassName="E" codeGenerationType="class"><attribute name="className" attributeType="String"/></entity>"#
        )
        #expect(try folder.swift().contains("public var className: String? {"))
    }

    @Test(arguments: ["E.", " E", ".E", "Shop.E", "..E"])
    func representedClassNameIsReadWithoutStrayDots(spelling: String) throws {
        let model = try ModelFolder(body: "<entity name=\"E\" representedClassName=\"\(spelling)\" codeGenerationType=\"class\"/>").read()
            .compiled.current
        #expect(model.entities[0].className == "E")
    }
}
