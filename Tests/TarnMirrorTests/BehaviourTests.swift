// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import CoreData
import Foundation
import ManagedModel
import ModelFolders
import TestBasics
import Testing

/// What apps rely on, with each mirror on each side. `CloudMirroringTests` has the same for two devices with our container.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct BehaviourTests {
    // MARK: Objects

    @Test(arguments: Arrangement.allCases) func unlinkingPropagates(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement)
        try couple.first.edit { context in
            context.insert("Book", ["title": "Swift", "tags": Set([context.insert("Tag", ["title": "language"])])])
        }
        #expect(try await couple.converge().contains("tags [\"language\"]"))
        try couple.second.edit { try $0.object("Book", "Swift").setValue(Set<NSManagedObject>(), forKey: "tags") }
        #expect(try await couple.converge() == "Book  pages 0  title Swift\nTag  title language")
    }

    @Test(arguments: Arrangement.allCases) func anAccentWrittenInAnotherWayIsAChange(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement)
        try couple.first.edit { $0.insert("Tag", ["title": "e\u{301}"]) }
        #expect(try await couple.converge().utf8.elementsEqual("Tag  title e\u{301}".utf8))
        try couple.second.edit { try $0.all("Tag").first?.setValue("\u{e9}", forKey: "title") }
        // Swift's strings are equal, so that nothing has to be exchanged until the dumps are.
        for _ in 0..<2 { try await couple.converge() }
        for device in couple.both { #expect(try device.dump.utf8.elementsEqual("Tag  title \u{e9}".utf8)) }
    }

    @Test(arguments: Arrangement.allCases) func editsOfDifferentAttributesOfflineAreBothKept(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement)
        try couple.first.edit { $0.insert("Book", ["title": "Both"]) }
        try await couple.converge()
        couple.goOffline()
        try couple.first.edit { try $0.object("Book", "Both").setValue("of the first", forKey: "summary") }
        try couple.second.edit { try $0.object("Book", "Both").setValue(NSNumber(value: 5), forKey: "pages") }
        couple.goOnline()
        #expect(try await couple.converge() == "Book  pages 5  summary of the first  title Both")
        for device in couple.both { #expect(try await device.losses().isEmpty) }
    }

    @Test(arguments: Arrangement.allCases) func eachDeletesTheObjectsOfTheOther(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement)
        for (number, device) in couple.both.enumerated() {
            try device.edit { context in
                let tag = context.insert("Tag", ["title": "tag \(number)"])
                for book in 0..<4 {
                    let book = context.insert("Book", ["title": "\(number) \(book)", "tags": Set([tag])])
                    context.insert("Note", ["title": "note", "book": book])
                }
            }
        }
        #expect(try await couple.converge().split(separator: "\n").count == 2 * (1 + 4 + 4))
        couple.goOffline()
        for (number, device) in couple.both.enumerated() {
            try device.edit { context in
                for object in try context.all("Book") + context.all("Tag") {
                    let title = object.value(forKey: "title") as? String ?? ""
                    if title.hasPrefix("\(1 - number) ") || title == "tag \(1 - number)" { context.delete(object) }
                }
            }
        }
        couple.goOnline()
        #expect(try await couple.converge() == "")
    }

    /// Three levels of a hierarchy, and relationships of each shape of an entity with itself.
    @Test(arguments: Arrangement.allCases) func hierarchiesAndRelationshipsWithOneselfTravel(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement, model: Family.model)
        try couple.first.edit { context in
            let rex = context.insert("Dog", ["name": "Rex 🐕‍🦺𝔘", "tricks": NSNumber(value: 3)])
            let bella = context.insert("Dog", ["name": "Bella"])
            let pup = context.insert("Puppy", ["name": "Pup", "toy": "ball", "mother": bella])
            rex.setValue(bella, forKey: "mate")
            rex.setValue(Set([bella, pup, rex]), forKey: "friends")
            pup.setValue(Set([rex]), forKey: "follows")
        }
        #expect(
            try await couple.converge(Family.picture) == [
                "Dog Bella: – [\"Pup\"] Rex 🐕‍🦺𝔘 [\"Rex 🐕‍🦺𝔘\"] [] []",
                "Dog Rex 🐕‍🦺𝔘: – [] Bella [\"Bella\", \"Pup\", \"Rex 🐕‍🦺𝔘\"] [] [\"Pup\"]",
                "Puppy Pup: Bella [] – [\"Rex 🐕‍🦺𝔘\"] [\"Rex 🐕‍🦺𝔘\"] []",
            ])
        try couple.second.edit { context in
            let all = try context.all("Animal")
            let rex = all.first { ($0.value(forKey: "name") as? String)?.hasPrefix("Rex") == true }
            rex?.setValue(nil, forKey: "mate")
            rex?.mutableSetValue(forKey: "friends").remove(all.first { $0.value(forKey: "name") as? String == "Pup" } as Any)
            rex?.setValue(rex, forKey: "mother")
        }
        #expect(
            try await couple.converge(Family.picture) == [
                "Dog Bella: – [\"Pup\"] – [\"Rex 🐕‍🦺𝔘\"] [] []",
                "Dog Rex 🐕‍🦺𝔘: Rex 🐕‍🦺𝔘 [\"Rex 🐕‍🦺𝔘\"] – [\"Bella\", \"Rex 🐕‍🦺𝔘\"] [] [\"Pup\"]",
                "Puppy Pup: Bella [] – [] [\"Rex 🐕‍🦺𝔘\"] []",
            ])
    }

    @Test(arguments: Arrangement.allCases) func extremeValuesTravelAndAreCleared(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement)
        try couple.first.edit { context in
            context.insert("Sample", ["title": "nothing"])
            context.insert("Sample", Self.least)
            context.insert("Sample", Self.greatest)
        }
        let sent = try await couple.converge()
        #expect(sent.split(separator: "\n").count == 3)
        for text in ["large -9223372036854775808", "large 9223372036854775807", "small -32768", "text \u{1}𝄞 \u{10FFFF} e\u{301} \"\\"] {
            #expect(sent.contains(text), "\(text)")
        }
        try couple.second.edit { context in
            for object in try context.all("Sample") {
                for (name, _) in Library.sampleTypes { object.setValue(nil, forKey: name) }
            }
        }
        #expect(try await couple.converge() == "Sample  title greatest\nSample  title least\nSample  title nothing")
        for device in couple.both { #expect(try await device.losses().isEmpty) }
    }

    private static var least: [String: Any] {
        [
            "title": "least", "small": NSNumber(value: Int16.min), "medium": NSNumber(value: Int32.min),
            "large": NSNumber(value: Int64.min), "flag": NSNumber(value: false),
            "double": NSNumber(value: -Double.greatestFiniteMagnitude), "float": NSNumber(value: -Float.greatestFiniteMagnitude),
            "decimal": NSDecimalNumber(string: "-12345.0625"), "date": Date(timeIntervalSince1970: -62_135_596_800), "text": "",
            "bytes": Data(), "uuid": UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
        ]
    }

    private static var greatest: [String: Any] {
        [
            "title": "greatest", "small": NSNumber(value: Int16.max), "medium": NSNumber(value: Int32.max),
            "large": NSNumber(value: Int64.max), "flag": NSNumber(value: true),
            "double": NSNumber(value: Double.greatestFiniteMagnitude), "float": NSNumber(value: Float.leastNonzeroMagnitude),
            "decimal": NSDecimalNumber(string: "98765432.125"), "date": Date(timeIntervalSince1970: 253_402_300_799.999),
            "text": "\u{1}𝄞 \u{10FFFF} e\u{301} \"\\", "bytes": Data((0...255).map { UInt8($0) }), "uuid": UUID(),
            "link": URL(string: "https://example.org/a?b=%20#c") as Any,
        ]
    }

    /// A value above the size of an asset, and below it again.
    @Test(arguments: Arrangement.allCases) func aLongValueIsReplacedByAShortOne(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement)
        let picture = Data((0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try couple.first.edit { $0.insert("Note", ["title": "picture", "scan": picture]) }
        #expect(try await couple.converge().contains("scan <900000:"))
        #expect(couple.first.transport.log.contains("asset"))
        let uploads = couple.second.transport.log.count { $0 == "asset" }
        try couple.second.edit { try $0.object("Note", "picture").setValue(Data([7]), forKey: "scan") }
        #expect(try await couple.converge() == "Note  scan <1:7>  title picture")
        #expect(couple.second.transport.log.count { $0 == "asset" } == uploads)
    }

    /// Links and relationships arrive before their targets, in saves of their own.
    @Test(arguments: Arrangement.allCases) func referencesWaitForTheirTargets(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement)
        try await couple.converge()
        let script = try await couple.cloud.addDevice("script", of: "mia")
        let client = CloudDatabaseClient(
            containerIdentifier: Pair.containerIdentifier, environment: .development, scope: .private, transport: script)
        func create(_ name: String, _ type: String, _ fields: [String: String]) async throws -> String {
            let record = Record(recordName: name, recordType: type, fields: fields.mapValues { Field(.string($0)) })
            let answer = try await client.modifyRecords(
                ModifyRecordsRequest(
                    operations: [RecordOperation(.create, record)], zoneID: ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")),
                idempotencyKey: name)
            for case .failure(_, let error, _) in answer.results { Issue.record("\(error.reason)") }
            return try await couple.converge()
        }
        #expect(
            try await create(
                "L", "CDMR", ["CD_entityNames": "Book:Tag", "CD_recordNames": "B:T", "CD_relationships": "tags:books"]) == "")
        #expect(
            try await create("N", "CD_Note", ["CD_entityName": "Note", "CD_title": "note", "CD_book": "B"]) == "Note  title note")
        _ = try await create("T", "CD_Tag", ["CD_entityName": "Tag", "CD_title": "tag"])
        #expect(
            try await create("B", "CD_Book", ["CD_entityName": "Book", "CD_title": "book"])
                == """
                Book  pages 0  title book  notes ["note"]  tags ["tag"]
                Note  title note  book → book
                Tag  title tag  books ["book"]
                """)
    }

    /// An import changes the objects that a context shows.
    @Test(arguments: Arrangement.allCases) func anImportIsMergedIntoAContext(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement)
        try couple.first.edit { $0.insert("Book", ["title": "First"]) }
        try await couple.converge()
        let context = couple.second.container.newBackgroundContext()
        // Used inside the context's queue only; held so that it stays registered.
        nonisolated(unsafe) let book = try context.performAndWait {
            context.automaticallyMergesChangesFromParent = true
            let book = try context.object("Book", "First")
            #expect(book.value(forKey: "summary") == nil)
            return book
        }
        try couple.first.edit { try $0.object("Book", "First").setValue("seen", forKey: "summary") }
        try await couple.converge()
        #expect(context.performAndWait { book.value(forKey: "summary") as? String } == "seen")
    }

    // MARK: Conflicts

    @Test(arguments: Arrangement.allCases) func aLosingValueIsRestored(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement)
        try couple.first.edit { $0.insert("Book", ["title": "Both", "summary": "before"]) }
        try await couple.converge()
        try await couple.concurrently {
            try $0.object("Book", "Both").setValue("of the first", forKey: "summary")
        } second: {
            try $0.object("Book", "Both").setValue("of the second", forKey: "summary")
        }
        #expect(try await couple.converge() == "Book  pages 0  summary of the second  title Both")
        #expect(try await couple.first.losses().isEmpty)
        let losses = try await couple.second.losses()
        #expect(losses.map(\.text) == ["Book.summary of the first, winner 0"])
        let loss = try #require(losses.first)
        try couple.second.edit { context in
            let restored = try loss.restore(context)
            #expect(restored.objectID == loss.objectID)
        }
        #expect(try await couple.converge() == "Book  pages 0  summary of the first  title Both")
    }

    @Test(arguments: Arrangement.allCases) func aLosingRelationshipIsRestored(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement)
        try couple.first.edit { context in
            for title in ["A", "B", "C"] { context.insert("Book", ["title": title]) }
            context.insert("Note", ["title": "note", "book": try context.object("Book", "A")])
        }
        try await couple.converge()
        try await couple.concurrently {
            try $0.object("Note", "note").setValue(try $0.object("Book", "B"), forKey: "book")
        } second: {
            try $0.object("Note", "note").setValue(try $0.object("Book", "C"), forKey: "book")
        }
        #expect(try await couple.converge().contains("Note  title note  book → C"))
        let loss = try #require(try await couple.second.losses().first)
        #expect(loss.text.hasPrefix("Note.book "))
        try couple.second.edit { _ = try loss.restore($0) }
        #expect(try await couple.converge().contains("Note  title note  book → B"))
    }

    @Test(arguments: Arrangement.allCases) func unsentEditsOfADeletedObjectBecomeANewOne(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement)
        try couple.first.edit { $0.insert("Book", ["title": "Both"]) }
        try await couple.converge()
        try await couple.concurrently {
            $0.delete(try $0.object("Book", "Both"))
        } second: { context in
            let book = try context.object("Book", "Both")
            book.setValue("long work", forKey: "summary")
            book.setValue("Renamed", forKey: "title")
        }
        #expect(try await couple.converge() == "")
        let losses = try await couple.second.losses()
        #expect(
            losses.map(\.text).sorted() == ["Book.summary long work, winner 1, deleted", "Book.title Renamed, winner 1, deleted"])
        try couple.second.edit { _ = try losses[0].restore($0) }
        #expect(try await couple.converge() == "Book  pages 0  summary long work  title Renamed")
    }

    /// The first device deletes the book that the second one gives a note.
    @Test(arguments: Arrangement.allCases) func aRelationshipToADeletedObjectIsCleared(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement)
        try couple.first.edit { $0.insert("Book", ["title": "Both"]) }
        try await couple.converge()
        try await couple.concurrently {
            $0.delete(try $0.object("Book", "Both"))
        } second: {
            $0.insert("Note", ["title": "note", "book": try $0.object("Book", "Both")])
        }
        #expect(try await couple.converge() == "Note  title note")
    }

    @Test(arguments: Arrangement.allCases) func oneOfTwoNotesGetsTheCover(_ arrangement: Arrangement) async throws {
        let couple = try await Couple(arrangement)
        try couple.first.edit { context in
            for title in ["A", "B"] { context.insert("Note", ["title": title]) }
            context.insert("Cover", ["title": "cover"])
        }
        try await couple.converge()
        try await couple.concurrently {
            try $0.object("Note", "A").setValue(try $0.object("Cover", "cover"), forKey: "cover")
        } second: {
            try $0.object("Note", "B").setValue(try $0.object("Cover", "cover"), forKey: "cover")
        }
        #expect(try await couple.converge() == "Cover  title cover  note → B\nNote  title A\nNote  title B  cover → cover")
    }
}
