// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudWire
import CoreData
import Foundation
import ManagedModel
import TarnMirror
import TestBasics
import Testing

/// Later versions of an app, with renamed and retired parts of the model.
@Suite(.closesFixtures, .timeLimit(.minutes(2))) struct MirrorVersionTests {
    /// `Book` is `Volume`, its `summary` is `blurb`, and its `tags` are `labels`.
    private static var renamed: Model {
        var model = Library.model
        model.entities[0].name = "Volume"
        model.entities[0].renamingIdentifier = "Book"
        model.entities[0].attributes[1].name = "blurb"
        model.entities[0].attributes[1].renamingIdentifier = "summary"
        model.entities[0].relationships[1].name = "labels"
        model.entities[0].relationships[1].renamingIdentifier = "tags"
        model.entities[1].relationships[0].destination = "Volume"
        model.entities[1].relationships[0].inverse = "labels"
        model.entities[2].relationships[0].destination = "Volume"
        model.entities[5].superentity = "Volume"
        return model
    }

    /// Objects that were synced, and changes that the earlier version did not send.
    @Test func renamedPartsKeepTheirRecords() async throws {
        let pair = try await Pair()
        try pair.phone.edit { context in
            for title in ["edited here", "edited there", "deleted here", "deleted there"] {
                let book = context.insert("Book", ["title": title, "summary": "old"])
                book.setValue(Set([context.insert("Tag", ["title": "tag of \(title)"])]), forKey: "tags")
                context.insert("Note", ["title": "note of \(title)"]).setValue(book, forKey: "book")
            }
            context.insert("Novel", ["title": "novel"])
        }
        try await pair.converge()
        pair.phone.transport.goOffline()
        try pair.phone.edit { context in
            try context.object("Book", "edited here").setValue("unsent", forKey: "summary")
            context.delete(try context.object("Book", "deleted here"))
        }
        try await pair.phone.kill()
        pair.phone.transport.goOnline()
        let phone = try MirrorDevice(pair.phone.transport, file: pair.phone.file, model: Self.renamed)
        try pair.tablet.edit { context in
            try context.object("Book", "edited there").setValue("elsewhere", forKey: "summary")
            context.delete(try context.object("Book", "deleted there"))
        }
        for _ in 0..<2 {
            try await pair.tablet.sync()
            try await phone.sync()
        }
        try phone.edit { context in
            let book = try context.object("Volume", "novel")
            book.setValue("of the later version", forKey: "blurb")
            book.setValue(Set([try context.object("Tag", "tag of edited here")]), forKey: "labels")
        }
        try await phone.sync()
        try await pair.tablet.sync()
        let books = [
            "Book  pages 0  summary elsewhere  title edited there  notes [\"note of edited there\"]  tags [\"tag of edited there\"]",
            "Book  pages 0  summary unsent  title edited here  notes [\"note of edited here\"]  tags [\"tag of edited here\"]",
            "Novel  pages 0  summary of the later version  title novel  tags [\"tag of edited here\"]",
        ]
        let lines = try pair.tablet.dump.split(separator: "\n").map(String.init)
        #expect(lines.filter { !$0.hasPrefix("Note") && !$0.hasPrefix("Tag") } == books)
        let blurbs = try phone.read { context in
            try context.all("Volume").map { "\($0.value(forKey: "title") ?? "") \($0.value(forKey: "blurb") ?? "")" }.sorted()
        }
        #expect(blurbs == ["edited here unsent", "edited there elsewhere", "novel of the later version"])
        #expect(try await pair.records(ofType: "CD_Book").count == 3)
        #expect(try await phone.mirror.conflicts().isEmpty)
        #expect(phone.mirror.status.pendingCount == 0)
    }

    /// The phone receives a record of the tablet's later version. Then the server loses the record, and the phone is updated.
    @Test func anUpdatedDeviceShowsTheValuesOfARecordThatItSendsAgain() async throws {
        var later = Library.model
        later.entities[0].attributes.append(Attribute(name: "mood", type: .string))
        let pair = try await Pair(tabletModel: later)
        try await pair.phone.sync()
        try await pair.tablet.sync()
        let backup = TestScope.temporaryFolder("tarn-backup").path
        try await pair.cloud.backUp(to: backup)
        try pair.tablet.edit { $0.insert("Book", ["title": "A", "mood": "calm"]) }
        try await pair.tablet.sync()
        try await pair.phone.sync()
        try await pair.phone.kill()
        pair.tablet.transport.goOffline()
        try await pair.cloud.restore(from: backup)
        let phone = try MirrorDevice(pair.phone.transport, file: pair.phone.file, model: later)
        try await phone.sync()
        #expect(try phone.read { try $0.object("Book", "A").value(forKey: "mood") as? String } == "calm")
        #expect(try await pair.records(ofType: "CD_Book").map { $0.fields["CD_mood"]?.value } == [.string("calm")])
        #expect(try await phone.mirror.conflicts().isEmpty)
    }

    @Test func aRetiredAttributeStaysOnTheServer() async throws {
        var retired = Library.model
        retired.entities[0].attributes.remove(at: 1)
        retired.entities[0].userInfo["syncRetired"] = "summary"
        let pair = try await Pair()
        try pair.phone.edit { $0.insert("Book", ["title": "A", "summary": "text"]) }
        try await pair.converge()
        try await pair.phone.kill()
        let phone = try MirrorDevice(pair.phone.transport, file: pair.phone.file, model: retired)
        try phone.edit { try $0.object("Book", "A").setValue("B", forKey: "title") }
        try await phone.sync()
        try await pair.tablet.sync()
        #expect(try pair.tablet.dump == "Book  pages 0  summary text  title B")
        try pair.tablet.edit { try $0.object("Book", "B").setValue("edited", forKey: "summary") }
        try await pair.tablet.sync()
        try await phone.sync()
        try phone.edit { try $0.object("Book", "B").setValue("C", forKey: "title") }
        try await phone.sync()
        try await pair.tablet.sync()
        #expect(try pair.tablet.dump == "Book  pages 0  summary edited  title C")
        #expect(try await phone.mirror.conflicts().isEmpty)
    }
}
