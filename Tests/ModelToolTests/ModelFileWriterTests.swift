// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ModelFile
import ModelFolders
import ModelTool
import Testing

@Suite struct ModelFileWriterTests {
    private func rewritten(_ text: String, _ change: (inout Model) -> Void = { _ in }) throws -> String {
        var document = try #require(try ModelFolder(versions: ["Shop": text]).read().documents["Shop"])
        change(&document.model)
        return try ModelFileWriter(document).text()
    }

    @Test func theFullExampleIsWrittenAsItStands() throws { #expect(try rewritten(libraryExample) == libraryExample) }

    @Test(
        .enabled(if: !Package.models.isEmpty, "no models of Apple's stores beside the package"),
        arguments: Package.models)
    func filesOfXcodeAreWrittenByteForByte(model: URL) throws {
        for (name, document) in try ModelFileReader.read(contentsOf: model).documents {
            let folder = model.pathExtension == "xcdatamodel" ? model : model.appending(path: "\(name).xcdatamodel")
            #expect(try ModelFileWriter(document).text() == String(contentsOf: folder.appending(path: "contents"), encoding: .utf8))
        }
    }

    private let old = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" usedWithCloudKit="true" userDefinedModelVersionIdentifier="" future="1">
            <entity name="A" representedClassName="NSManagedObject" syncable="NO" weather="fine">
                <attribute name="a" optional="YES" attributeType="Double" minValueString="1.50" defaultValueString="2" elementID="" syncable="YES"/>
                <attribute name="b" attributeType="Boolean" defaultValueString="true"/>
                <attribute name="c" attributeType="Binary" defaultValueString="x" storedInTruthFile="YES"/>
                <relationship name="d" maxCount="1" destinationEntity="B" inverseName="e" inverseEntity="C"/>
                <marks>
                    <mark depth="2">text &amp; more</mark>
                </marks>
            </entity>
            <entity name="B">
                <relationship name="e" toMany="YES" destinationEntity="A" inverseName="d" inverseEntity="A"/>
            </entity>
            <entity name="C" parentEntity="B"/>
            <elements>
                <element name="A" positionX="-63" positionY="-18" width="128" height="105"/>
                <element name="B" positionX="9" positionY="0" width="128" height="105"/>
            </elements>
        </model>
        """

    @Test func unknownElementsStay() throws { #expect(try rewritten(old) == old) }

    @Test func changesOfTheModelAreWritten() throws {
        let new = try rewritten(old) { model in
            model.entities[0].attributes[0].defaultValue = .double(2.25)
            model.entities[0].attributes[1].defaultValue = .int(0)
            model.entities[0].relationships[0].destination = "C"
            model.entities[1].name = "Z"
            model.versionIdentifiers = ["2"]
        }
        let changed = new.split(separator: "\n").filter { !old.split(separator: "\n").contains($0) }
        #expect(
            changed == [
                #"<model type="com.apple.IDECoreDataModeler.DataModel" usedWithCloudKit="true" userDefinedModelVersionIdentifier="2" future="1">"#,
                #"        <attribute name="a" optional="YES" attributeType="Double" minValueString="1.50" defaultValueString="2.25" elementID="" syncable="YES"/>"#,
                #"        <attribute name="b" attributeType="Boolean" defaultValueString="NO"/>"#,
                #"        <relationship name="d" maxCount="1" destinationEntity="C" inverseName="e" inverseEntity="C"/>"#,
                #"    <entity name="Z" syncable="YES">"#,
                #"        <relationship name="e" toMany="YES" deletionRule="Nullify" destinationEntity="A" inverseName="d" inverseEntity="A"/>"#,
            ])
        #expect(!new.contains(#"<element name="B""#))
        #expect(new.contains(#"<element name="A""#))
    }

    @Test func aModelWithoutAFileIsWrittenAsXcodeWritesANewOne() throws {
        let entity = Entity(
            name: "Post", className: "Post", attributes: [Attribute(name: "likes", type: .integer32), Attribute(name: "at", type: .date)])
        #expect(
            try ModelFileWriter(ModelDocument(Model(entities: [entity], versionIdentifiers: [""]))).text() == """
                <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
                <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22522" systemVersion="23B92" minimumToolsVersion="Automatic" sourceLanguage="Swift" userDefinedModelVersionIdentifier="">
                    <entity name="Post" representedClassName="Post" syncable="YES">
                        <attribute name="at" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
                        <attribute name="likes" optional="YES" attributeType="Integer 32" usesScalarValueType="NO"/>
                    </entity>
                </model>
                """)
    }

    @Test func valuesThatAFileCannotHoldAreNamed() throws {
        var blob = Attribute(name: "blob", type: .binaryData, defaultValue: .data(Data([1])))
        blob.userInfo = ["k": "\u{1}"]
        var inline = Attribute(name: "inline", type: .composite)
        inline.elements = [Attribute(name: "x", type: .double, defaultValue: .double(.infinity))]
        let model = Model(entities: [Entity(name: "E", attributes: [blob, inline])], versionIdentifiers: ["1", "2"])
        let problems = #expect(throws: ModelError.self) { try ModelFileWriter(ModelDocument(model)).text() }?.problems.map(\.description)
        #expect(
            problems == [
                "the model has several version identifiers; a model file holds one",
                "E.blob has a default value that a model file cannot hold",
                "E.inline is made of attributes and not of a composite with a name",
                #"the model has characters that XML cannot hold: "                <entry key=\"k\" value=\"\u{01}\"/>""#,
            ])
    }

    @Test func versionsAreWrittenWithTheNameOfTheCurrentOne() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "written-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appending(path: "Shop.xcdatamodeld")
        let (one, two) = (Model(entities: [Entity(name: "A")]), Model(entities: [Entity(name: "B")]))
        try ModelBundleWriter.write(["Shop": ModelDocument(one), "Shop 2": ModelDocument(two)], current: "Shop 2", to: url)
        let read = try ModelFileReader.read(contentsOf: url).compiled
        #expect(read.currentVersion == "Shop 2")
        #expect(read.versions == ["Shop": one, "Shop 2": two])
        try ModelBundleWriter.write(["Shop": ModelDocument(two)], current: "Shop", to: url)
        #expect(try ModelFileReader.read(contentsOf: url).compiled.currentVersion == "Shop")
    }
}
