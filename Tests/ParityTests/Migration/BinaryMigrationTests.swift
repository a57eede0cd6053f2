// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Lightweight migration of binary stores: the program finds the version that a file was written with.
@Suite struct BinaryMigrationTests {
    /// Writes a model file of two versions, as a bundle has it, and reads both.
    private func versions(_ folder: URL) throws -> (old: NSManagedObjectModel, new: NSManagedObjectModel) {
        let file = folder.appendingPathComponent("Notes.xcdatamodeld")
        let attributes = ["title", "body"].map { #"<attribute name="\#($0)" optional="YES" attributeType="String"/>"# }
        for (version, count) in [("Notes", 1), ("Notes 2", 2)] {
            let place = file.appendingPathComponent("\(version).xcdatamodel")
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            let entity = #"<entity name="BinaryNote" representedClassName="">\#(attributes.prefix(count).joined())</entity>"#
            try Data("<model>\(entity)</model>".utf8).write(to: place.appendingPathComponent("contents"))
        }
        let current = ["_XCCurrentVersionName": "Notes 2.xcdatamodel"]
        let list = try PropertyListSerialization.data(fromPropertyList: current, format: .xml, options: 0)
        try list.write(to: file.appendingPathComponent(".xccurrentversion"))
        return (
            try #require(NSManagedObjectModel(contentsOf: file.appendingPathComponent("Notes.xcdatamodel"))),
            try #require(NSManagedObjectModel(contentsOf: file))
        )
    }

    private func failure(_ url: URL, _ model: NSManagedObjectModel, _ options: [AnyHashable: Any]?) -> Int? {
        Depot.code { try Versions.open(url, model, type: NSBinaryStoreType, options: options) { _ in } }
    }

    @Test func aBinaryStoreIsMigratedByItsObjects() throws {
        try Versions.withFolder { folder in
            let (old, new) = try versions(folder)
            let url = folder.appendingPathComponent("a.binary")
            try Versions.open(url, old, type: NSBinaryStoreType) { context throws in
                for title in ["a", "b"] { Versions.insert("BinaryNote", ["title": title], context) }
                try context.save()
            }
            #expect(failure(url, new, nil) == 134_100)
            #expect(failure(url, new, [NSMigratePersistentStoresAutomaticallyOption: true]) == 134_140)
            try Versions.open(url, new, type: NSBinaryStoreType) { context throws in
                #expect(try Versions.values("BinaryNote", "title", by: "title", context, as: String.self) == ["a", "b"])
                try Versions.fetch("BinaryNote", context, sortedBy: "title")[0].setValue("text", forKey: "body")
                try context.save()
            }
            try Versions.open(url, new, type: NSBinaryStoreType, options: nil) { context throws in
                #expect(try Versions.values("BinaryNote", "body", by: "title", context, as: String.self) == ["text", nil])
            }
        }
    }

    /// Stores that are read only keep their version, and so does the file for other programs.
    @Test(arguments: [NSSQLiteStoreType, NSBinaryStoreType]) func aReadOnlyStoreIsNotMigrated(_ type: String) throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.store")
            try Versions.fill(url, type: type)
            let changed = Versions.changed { entities, _ in
                entities["Note"]?.properties.append(Library.attribute("more", .stringAttributeType))
            }
            var options = Versions.automatically
            options[NSReadOnlyPersistentStoreOption] = true
            #expect(Depot.code { try Versions.open(url, changed, type: type, options: options) { _ in } } == 134_100)
            try Versions.open(url, Versions.first(), type: type, options: nil) { context throws in
                #expect(try Versions.fetch("Note", context).count == 3)
            }
        }
    }

    @Test func aVersionThatTheProgramDoesNotHaveIsMissed() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.binary")
            let unknown = Versions.changed { entities, _ in
                entities["Note"]?.properties.append(Library.attribute("unknownToTheProgram", .stringAttributeType))
            }
            try Versions.open(url, unknown, type: NSBinaryStoreType) { context throws in
                Versions.insert("Note", ["title": "a"], context)
                try context.save()
            }
            let newer = Versions.changed { entities, _ in Versions.remove("kind", from: entities["Note"]) }
            #expect(failure(url, newer, Versions.automatically) == 134_130)
            try Versions.open(url, unknown, type: NSBinaryStoreType, options: nil) { context throws in
                #expect(try Versions.fetch("Note", context).count == 1)
            }
        }
    }
}
