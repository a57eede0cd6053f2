// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudWire
import CoreData
import Foundation
import TarnMirror
import TestBasics
import Testing

/// A device with `NSPersistentCloudKitContainer` and one with `TarnMirror` show the same.
@Suite(.closesFixtures, .timeLimit(.minutes(5))) struct ConvergenceTests {
    private static func sample(_ title: String) -> [String: Any] {
        [
            "title": title, "small": NSNumber(value: Int16(-7)), "medium": NSNumber(value: Int32(70_000)),
            "large": NSNumber(value: Int64(1) << 40), "flag": NSNumber(value: true), "double": NSNumber(value: 0.1),
            "float": NSNumber(value: Float(0.1)), "decimal": NSDecimalNumber(string: "12.34"), "text": "Grüße",
            "date": Date(timeIntervalSinceReferenceDate: 1000.25), "bytes": Data([0, 1, 255]),
            "uuid": UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)) as Any,
            "link": URL(string: "https://example.org/a?b=c") as Any,
        ]
    }

    @Test func eachAttributeTypeTravelsInBothDirections() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { $0.insert("Sample", Self.sample("container")) }
        try pair.phone.edit { $0.insert("Sample", Self.sample("mirror")) }
        let lines = try await pair.converge().split(separator: "\n")
        #expect(lines.count == 2)
        #expect(
            Set(lines.map { $0.replacing("title container", with: "title").replacing("title mirror", with: "title") }).count == 1,
            "both objects have the same values")
        #expect(lines.allSatisfy { line in Library.sampleTypes.allSatisfy { line.contains("  \($0.name) ") } })
    }

    /// The mirror's own saves are in the store's history, too.
    @Test func anImportIsNotSentBack() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { context in for title in ["a", "b"] { context.insert("Sample", Self.sample(title)) } }
        try await pair.converge()
        try pair.tablet.edit { try $0.object("Sample", "a").setValue("b2", forKey: "title") }
        try pair.tablet.edit { context in context.delete(try context.object("Sample", "b")) }
        try await pair.converge()
        #expect(!pair.phone.transport.log.contains("records/modify"))
        // A save of the app is sent.
        try pair.phone.edit { $0.insert("Sample", Self.sample("c")) }
        try await pair.converge()
        #expect(pair.phone.transport.log.count { $0 == "records/modify" } == 1)
    }

    @Test func aClearedValueIsClearedOnTheOtherDevice() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { $0.insert("Sample", Self.sample("all")) }
        try await pair.converge()
        for device in [pair.phone, pair.tablet] as [any SyncingDevice] {
            try device.edit { context in
                let object = try context.object("Sample", "all")
                for (name, _) in Library.sampleTypes { object.setValue(nil, forKey: name) }
            }
            #expect(try await pair.converge() == "Sample  title all")
            try device.edit { context in
                let object = try context.object("Sample", "all")
                for (name, value) in Self.sample("all") { object.setValue(value, forKey: name) }
            }
            #expect(try await pair.converge().contains("decimal 12.34"))
        }
    }

    /// A store of Tarn's holds a number of double precision for an attribute of single precision; key-value coding shows less.
    @Test func aNumberWithMoreDigitsThanItsTypeIsNoEdit() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { $0.insert("Sample", ["title": "third", "float": NSNumber(value: 1.0 / 3)]) }
        try await pair.converge()
        let saved = try await pair.records(ofType: "CD_Sample").map(\.recordChangeTag)
        try pair.phone.edit { try $0.object("Sample", "third").setValue("text", forKey: "text") }
        try await pair.converge()
        #expect(try await pair.phone.mirror.conflicts().isEmpty)
        #expect(try await pair.records(ofType: "CD_Sample").map(\.recordChangeTag) != saved)
    }

    @Test func relationshipsOfEachShapeTravelInBothDirections() async throws {
        let pair = try await Pair()
        for (device, name) in [(pair.tablet, "container"), (pair.phone, "mirror")] as [(any SyncingDevice, String)] {
            try device.edit { context in
                let book = context.insert("Novel", ["title": "book of \(name)", "genre": "crime", "pages": NSNumber(value: 12)])
                let note = context.insert("Note", ["title": "note of \(name)"])
                let tags = [context.insert("Tag", ["title": "a \(name)"]), context.insert("Tag", ["title": "b \(name)"])]
                note.setValue(book, forKey: "book")
                note.setValue(context.insert("Cover", ["title": "cover of \(name)"]), forKey: "cover")
                book.setValue(Set(tags), forKey: "tags")
                let friends = [context.insert("Reader", ["title": "Ann \(name)"]), context.insert("Reader", ["title": "Bo \(name)"])]
                friends[0].setValue(Set([friends[1]]), forKey: "friends")
            }
        }
        let dump = try await pair.converge()
        #expect(dump.split(separator: "\n").count == 14)
        #expect(dump.contains("tags [\"a mirror\", \"b mirror\"]"))
        #expect(dump.contains("tags [\"a container\", \"b container\"]"))
        #expect(dump.contains("Cover  title cover of mirror  note → note of mirror"))
        #expect(dump.contains("Reader  title Bo container  friends [\"Ann container\"]"))

        // Each device changes the objects of the other one.
        for (device, name, own) in [(pair.tablet, "mirror", "container"), (pair.phone, "container", "mirror")]
            as [(any SyncingDevice, String, String)]
        {
            try device.edit { context in
                let book = try context.object("Book", "book of \(name)")
                book.mutableSetValue(forKey: "tags").remove(try context.object("Tag", "a \(name)"))
                book.mutableSetValue(forKey: "tags").add(try context.object("Tag", "a \(own)"))
                try context.object("Note", "note of \(name)").setValue(nil, forKey: "cover")
                try context.object("Reader", "Ann \(name)").setValue(Set<NSManagedObject>(), forKey: "friends")
            }
        }
        let changed = try await pair.converge()
        #expect(
            changed.contains(
                "Novel  genre crime  pages 12  title book of mirror  notes [\"note of mirror\"]  tags [\"a container\", \"b mirror\"]"))
        #expect(changed.contains("tags [\"a mirror\", \"b container\"]"))
        #expect(!changed.contains("friends"))
        #expect(!changed.contains("cover →"))
    }

    @Test func deletionsTravelInBothDirections() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { context in
            for title in ["one", "two", "three"] {
                let book = context.insert("Book", ["title": title])
                context.insert("Note", ["title": "note of \(title)"]).setValue(book, forKey: "book")
                book.setValue(Set([context.insert("Tag", ["title": "tag of \(title)"])]), forKey: "tags")
            }
        }
        try await pair.converge()
        // The notes are deleted by cascade.
        try pair.phone.edit { context in context.delete(try context.object("Book", "one")) }
        try pair.tablet.edit { context in context.delete(try context.object("Book", "two")) }
        let dump = try await pair.converge()
        #expect(
            dump.split(separator: "\n").sorted() == [
                "Book  pages 0  title three  notes [\"note of three\"]  tags [\"tag of three\"]",
                "Note  title note of three  book → three", "Tag  title tag of one", "Tag  title tag of three  books [\"three\"]",
                "Tag  title tag of two",
            ])
        #expect(try await pair.records(ofType: "CDMR").count == 1)
        #expect(try await pair.records(ofType: "CD_Note").count == 1)
    }

    @Test func deleteRulesAreNotRunByAnImport() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { context in
            let book = context.insert("Book", ["title": "old"])
            context.insert("Note", ["title": "note"]).setValue(book, forKey: "book")
        }
        try await pair.converge()
        // The mirror's device adds a note that the deleting device does not see: only Core Data's cascade would delete it.
        try pair.phone.edit { context in
            context.insert("Note", ["title": "unsent"]).setValue(try context.object("Book", "old"), forKey: "book")
        }
        try pair.tablet.edit { context in context.delete(try context.object("Book", "old")) }
        try await pair.tablet.sync()
        #expect(try await pair.converge() == "Note  title unsent")
    }

    @Test func aStoreWithObjectsIsExportedWhenItIsFirstMirrored() async throws {
        let cloud = try InProcessCloud()
        let tablet = try ContainerDevice(try await cloud.addUser("mia", device: "tablet"))
        let phone = try MirrorDevice(
            try await cloud.addDevice("phone", of: "mia"),
            prepare: { context in
                let book = context.insert("Book", ["title": "before"])
                book.setValue(Set([context.insert("Tag", ["title": "tag"])]), forKey: "tags")
                try context.save()
                // History says nothing of them.
                try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date(timeIntervalSinceReferenceDate: 1e12)))
            })
        #expect(try await Pair.converge([tablet, phone]).contains("Book  pages 0  title before  tags [\"tag\"]"))
    }

    @Test func aLongValueTravelsAsAnAsset() async throws {
        let pair = try await Pair()
        let long = String(repeating: "a long text ", count: 70_000)
        try pair.tablet.edit { $0.insert("Book", ["title": "container", "summary": long]) }
        try pair.phone.edit { context in
            context.insert("Note", ["title": "mirror", "scan": Data(repeating: 7, count: 800_000)])
        }
        let dump = try await pair.converge()
        #expect(dump.contains("summary …\(long.count)"))
        #expect(dump.contains("scan <800000:"))
        #expect(try await pair.records(ofType: "CD_Note").allSatisfy { $0.fields["CD_scan_ckAsset"] != nil })
        // An edit of another attribute sends nothing of it.
        try pair.phone.edit { try $0.object("Book", "container").setValue(NSNumber(value: 9), forKey: "pages") }
        let uploads = pair.phone.transport.log.count { $0 == "asset" }
        #expect(try await pair.converge().contains("pages 9  summary …\(long.count)"))
        #expect(pair.phone.transport.log.count { $0 == "asset" } == uploads)
    }

    @Test func manyObjectsTravelInSeveralRequestsAndPages() async throws {
        let pair = try await Pair()
        try pair.phone.edit { context in
            let tag = context.insert("Tag", ["title": "all"])
            for number in 0..<900 {
                context.insert("Book", ["title": "mirror \(number)"]).setValue(Set([tag]), forKey: "tags")
            }
        }
        try pair.tablet.edit { context in
            for number in 0..<1500 { context.insert("Book", ["title": "container \(number)"]) }
        }
        #expect(try await pair.converge().split(separator: "\n").count == 2401)
    }
}
