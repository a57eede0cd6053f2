// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ModelFile
import ModelFolders
import Testing

@Suite struct BundleTests {
    private let plain = "<model><entity name=\"Note\"/></model>"
    private let newer = "<model><entity name=\"Note\"/><entity name=\"Tag\"/></model>"

    @Test func everyVersionIsReadAndTheCurrentOneIsNamedByItsFile() throws {
        let model = try ModelFolder(versions: ["Shop": plain, "Shop 2": newer], current: "Shop 2.xcdatamodel")
        let compilation = try model.read()
        #expect(compilation.name == "Shop")
        #expect(compilation.sourceName == "Shop.xcdatamodeld")
        #expect(compilation.compiled.currentVersion == "Shop 2")
        #expect(compilation.compiled.versions.mapValues(\.entities.count) == ["Shop": 1, "Shop 2": 2])
    }

    @Test func aSingleVersionNeedsNoFileThatSaysWhichIsCurrent() throws {
        #expect(try ModelFolder(versions: ["Old": plain]).read().compiled.currentVersion == "Old")
    }

    @Test func aModelWithoutVersionsIsReadAsItsOnlyOne() throws {
        let model = try ModelFolder(versions: ["Shop 2": plain])
        let compilation = try ModelFileReader.read(contentsOf: model.url.appending(path: "Shop 2.xcdatamodel"))
        #expect(compilation.name == "Shop 2")
        #expect(compilation.compiled.currentVersion == "Shop 2")
    }

    @Test func severalVersionsWithoutACurrentOneAreRefused() throws {
        let model = try ModelFolder(versions: ["Shop": plain, "Shop 2": newer])
        #expect(
            try findings { try model.read() } == [
                "- error: has 2 versions and no .xccurrentversion that says which of them is current"
            ])
    }

    @Test func aCurrentVersionThatIsNotThereIsRefused() throws {
        let model = try ModelFolder(versions: ["Shop": plain], current: "Shop 9.xcdatamodel")
        #expect(
            try findings { try model.read() } == [
                "- error: names the version 'Shop 9', which is not in Shop.xcdatamodeld"
            ])
    }

    @Test func aModelThatIsNotThereIsRefusedByName() throws {
        let url = URL(filePath: "/nowhere/Lost.xcdatamodeld")
        let error = #expect(throws: ModelFileError.self) { try ModelFileReader.read(contentsOf: url) }
        #expect(
            error?.description
                == "/nowhere/Lost.xcdatamodeld: error: does not exist; expected a folder named Lost.xcdatamodeld"
        )
    }

    @Test func aVersionWithoutContentsIsRefused() throws {
        let model = try ModelFolder(versions: ["Shop": plain])
        try FileManager.default.removeItem(at: model.url.appending(path: "Shop.xcdatamodel/contents"))
        #expect(try findings { try model.read() } == ["- error: has no file named contents"])
        try FileManager.default.removeItem(at: model.url.appending(path: "Shop.xcdatamodel"))
        #expect(try findings { try model.read() } == ["- error: has no .xcdatamodel folder inside"])
    }

    @Test func aProblemOfAnOldVersionIsReportedInItsFile() throws {
        let broken = "<model>\n<entity name=\"Note\" parentEntity=\"Gone\"/>\n</model>"
        let model = try ModelFolder(versions: ["Shop": broken, "Shop 2": newer], current: "Shop 2.xcdatamodel")
        let error = #expect(throws: ModelFileError.self) { try model.read() }
        let file = model.url.appending(path: "Shop.xcdatamodel/contents").path
        #expect(error?.description == "\(file):2: error: Note has an unknown parent entity 'Gone'")
    }

    @Test(arguments: ["", "no markup", "<model><entity name=\"A\"></model>", "<model", "\u{0}\u{1}"])
    func aFileThatIsNotXMLIsRejectedByName(text: String) throws {
        let model = try ModelFolder(versions: ["Shop": text])
        let error = #expect(throws: ModelFileError.self) { try model.read() }
        #expect(error?.diagnostics.count == 1)
        #expect(error?.description.contains("error: the model is not well-formed XML") == true)
    }

    @Test func anotherKindOfXMLIsRefused() throws {
        let model = try ModelFolder(versions: ["Shop": "<plist version=\"1.0\"><dict/></plist>"])
        #expect(
            try findings { try model.read() } == [
                "1 error: the model is not a Core Data model: its root element is 'plist'"
            ])
    }
}
