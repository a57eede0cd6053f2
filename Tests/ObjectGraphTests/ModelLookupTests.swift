// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import Testing

/// Models in bundles, and the versions in a model file.
@Suite struct ModelLookupTests {
    private static func entity(_ name: String, _ attributes: String...) -> String {
        let lines = attributes.map { #"<attribute name="\#($0)" optional="YES" attributeType="String"/>"# }
        return #"<entity name="\#(name)" representedClassName="">\#(lines.joined())</entity>"#
    }

    /// Makes a folder with model files of these versions; the first version of each file is the current one.
    private func folder(_ models: [String: [(version: String, entities: String)]]) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "models-\(UUID().uuidString)")
        for (name, versions) in models {
            let file = folder.appending(path: "\(name).xcdatamodeld")
            for (version, entities) in versions {
                let place = file.appending(path: "\(version).xcdatamodel")
                try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
                try Data("<model>\(entities)</model>".utf8).write(to: place.appending(path: "contents"))
            }
            let current = ["_XCCurrentVersionName": "\(versions[0].version).xcdatamodel"]
            let list = try PropertyListSerialization.data(fromPropertyList: current, format: .xml, options: 0)
            try list.write(to: file.appending(path: ".xccurrentversion"))
        }
        return folder
    }

    @Test func modelsOfBundlesAreMerged() throws {
        let first = try folder(["Notes": [("Notes", Self.entity("Note", "title"))], "Tags": [("Tags", Self.entity("Tag", "name"))]])
        let second = try folder(["Trips": [("Trips", Self.entity("Trip", "goal"))]])
        let clash = try folder(["Notes": [("Notes", Self.entity("Note", "text"))]])
        defer { for place in [first, second, clash] { try? FileManager.default.removeItem(at: place) } }
        let bundles = try [first, second, clash].map { try #require(Bundle(url: $0)) }
        let merged = try #require(NSManagedObjectModel.mergedModel(from: Array(bundles[..<2])))
        #expect(merged.entitiesByName.keys.sorted() == ["Note", "Tag", "Trip"])
        #expect(NSManagedObjectModel.mergedModel(from: bundles) == nil, "two entities are called Note")
        #expect(NSManagedObjectModel.mergedModel(from: []) == nil)
    }

    @Test func theVersionOfAStoreIsFoundInABundle() throws {
        let place = try folder(["Notes": [("Notes 2", Self.entity("Note", "title", "text")), ("Notes", Self.entity("Note", "title"))]])
        defer { try? FileManager.default.removeItem(at: place) }
        let older = try #require(NSManagedObjectModel(contentsOf: place.appending(path: "Notes.xcdatamodeld/Notes.xcdatamodel")))
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: older)
        let store = try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: place.appending(path: "notes.sqlite"), options: nil)
        let bundle = try #require(Bundle(url: place))
        let found = try #require(NSManagedObjectModel.mergedModel(from: [bundle], forStoreMetadata: coordinator.metadata(for: store)))
        #expect(found.entitiesByName["Note"]?.attributesByName.keys.sorted() == ["title"])
        #expect(NSManagedObjectModel.mergedModel(from: [bundle], forStoreMetadata: [:]) == nil)
    }

    @Test(arguments: [("title.length &lt; 9", true), ("title.length &lt;", false)])
    func aModelFileNeedsReadablePredicatesInItsTemplates(predicate: String, isRead: Bool) throws {
        let template = #"<fetchRequest name="Short" entity="Note" predicateString="\#(predicate)"/>"#
        let place = try folder(["Notes": [("Notes", Self.entity("Note", "title") + template)]])
        defer { try? FileManager.default.removeItem(at: place) }
        let model = NSManagedObjectModel(contentsOf: place.appending(path: "Notes.xcdatamodeld"))
        #expect(model?.fetchRequestTemplate(forName: "Short")?.predicate?.description == (isRead ? "title.length < 9" : nil))
        #expect((model != nil) == isRead)
    }

    @Test func everyVersionOfAFileHasAChecksum() throws {
        let place = try folder(["Notes": [("Notes 2", Self.entity("Note", "title", "text")), ("Notes", Self.entity("Note", "title"))]])
        defer { try? FileManager.default.removeItem(at: place) }
        let file = place.appending(path: "Notes.xcdatamodeld")
        let checksums = try NSManagedObjectModel.checksumsForVersionedModel(at: file)
        #expect(checksums.keys.sorted() == ["Notes", "Notes 2"])
        #expect(checksums["Notes 2"] == NSManagedObjectModel(contentsOf: file)?.versionChecksum)
        #expect(checksums["Notes"] == NSManagedObjectModel(contentsOf: file.appending(path: "Notes.xcdatamodel"))?.versionChecksum)
        #expect(checksums["Notes"] != checksums["Notes 2"])
        #expect { try NSManagedObjectModel.checksumsForVersionedModel(at: place.appending(path: "None.xcdatamodeld")) } throws: {
            ($0 as? CocoaError)?.code == .fileReadNoSuchFile
        }
    }
}
