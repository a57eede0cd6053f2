// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CoreData
import Foundation
import TarnMirror
import TestBasics
import Testing

/// Concurrent edits of a device with `NSPersistentCloudKitContainer` and one with `TarnMirror`.
@Suite(.closesFixtures, .timeLimit(.minutes(5))) struct MirrorConflictTests {
    private struct Entry: Hashable {
        var property: String
        var winner: TarnMirror.Conflict.Winner
        var losing: String?
        var isDeleted: Bool

        init(_ property: String, _ winner: TarnMirror.Conflict.Winner, _ losing: String?, isDeleted: Bool = false) {
            (self.property, self.winner, self.losing, self.isDeleted) = (property, winner, losing, isDeleted)
        }

        init(_ conflict: TarnMirror.Conflict) {
            self.init(
                conflict.propertyName, conflict.winner, conflict.losingValue.map { "\($0)" }, isDeleted: conflict.objectID == nil)
        }
    }

    /// Both devices have the book "Swift".
    private func pair() async throws -> Pair {
        let pair = try await Pair()
        try pair.tablet.edit { $0.insert("Book", ["title": "Swift", "summary": "old"]) }
        try await pair.converge()
        return pair
    }

    /// Runs a closure while a device has no connection, so that the other one's saves are the earlier ones.
    private func offline(_ device: any SyncingDevice, _ body: () async throws -> Void) async throws {
        device.transport.goOffline()
        try await body()
        device.transport.goOnline()
    }

    private func set(_ value: Any?, _ name: String) -> @Sendable (NSManagedObjectContext) throws -> Void {
        let value = value as? String
        return { try $0.object("Book", "Swift").setValue(value, forKey: name) }
    }

    @Test func editsOfDifferentAttributesAreMerged() async throws {
        let pair = try await pair()
        try await offline(pair.phone) {
            try pair.tablet.edit { try $0.object("Book", "Swift").setValue(NSNumber(value: 300), forKey: "pages") }
            try await pair.tablet.sync()
            try pair.phone.edit(set("new", "summary"))
        }
        #expect(try await pair.converge() == "Book  pages 300  summary new  title Swift")
        #expect(try await pair.phone.mirror.conflicts().isEmpty)
        #expect(try pair.tablet.cloudContainer.conflicts().isEmpty)
    }

    @Test func theEditThatReachesTheServerLaterWins() async throws {
        let pair = try await pair()
        try await offline(pair.phone) {
            try pair.tablet.edit(set("of the container", "summary"))
            try await pair.tablet.sync()
            try pair.phone.edit(set("of the mirror", "summary"))
        }
        #expect(try await pair.converge() == "Book  pages 0  summary of the mirror  title Swift")
        #expect(try await pair.phone.mirror.conflicts().map { Entry($0) } == [Entry("summary", .valueSetHere, "of the container")])

        try await offline(pair.tablet) {
            try pair.phone.edit(set("first", "summary"))
            try await pair.phone.sync()
            try pair.tablet.edit(set("second", "summary"))
        }
        #expect(try await pair.converge() == "Book  pages 0  summary second  title Swift")
        #expect(try await pair.phone.mirror.conflicts().count == 1)
        #expect(try pair.tablet.cloudContainer.conflicts().map { $0.losingValue as? String } == ["first"])
    }

    @Test func aDeletionBeatsAnEditAndTheLogKeepsIt() async throws {
        let pair = try await pair()
        try pair.tablet.edit { $0.insert("Book", ["title": "Other"]) }
        try await pair.converge()
        try await offline(pair.phone) {
            try pair.tablet.edit { context in
                context.delete(try context.object("Book", "Swift"))
                try context.object("Book", "Other").setValue("sent", forKey: "summary")
            }
            try await pair.tablet.sync()
            try pair.phone.edit(set("unsent", "summary"))
            try pair.phone.edit { context in context.delete(try context.object("Book", "Other")) }
        }
        #expect(try await pair.converge() == "")
        #expect(
            Set(try await pair.phone.mirror.conflicts().map { Entry($0) }) == [
                Entry("summary", .deletionElsewhere, "unsent", isDeleted: true),
                Entry("summary", .deletionHere, "sent", isDeleted: true),
            ])
    }

    @Test func concurrentLinksAreUnited() async throws {
        let pair = try await pair()
        try await offline(pair.phone) {
            for (device, name) in [(pair.tablet, "container"), (pair.phone, "mirror")] as [(any SyncingDevice, String)] {
                try device.edit { context in
                    let book = try context.object("Book", "Swift")
                    book.mutableSetValue(forKey: "tags").add(context.insert("Tag", ["title": name]))
                }
            }
            try await pair.tablet.sync()
        }
        #expect(try await pair.converge().contains("tags [\"container\", \"mirror\"]"))
    }

    /// Each side of a one-to-one relationship is a field of its own record, and both devices decide alike.
    @Test func concurrentOneToOneRelationshipsConverge() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { context in
            for title in ["A", "B"] {
                context.insert("Note", ["title": "note \(title)"])
                context.insert("Cover", ["title": "cover \(title)"])
            }
        }
        try await pair.converge()
        try await offline(pair.phone) {
            try pair.tablet.edit { try $0.object("Note", "note A").setValue(try $0.object("Cover", "cover A"), forKey: "cover") }
            try await pair.tablet.sync()
            try pair.phone.edit { try $0.object("Note", "note B").setValue(try $0.object("Cover", "cover A"), forKey: "cover") }
        }
        let dump = try await pair.converge()
        #expect(dump.components(separatedBy: "cover →").count == 2, "one note has the cover")
        #expect(dump.components(separatedBy: "note →").count == 2)
    }

    @Test func anEntryOfTheLogIsForgotten() async throws {
        let pair = try await pair()
        try await offline(pair.phone) {
            try pair.tablet.edit(set("one", "summary"))
            try await pair.tablet.sync()
            try pair.phone.edit(set("two", "summary"))
        }
        try await pair.converge()
        #expect(try await pair.phone.mirror.conflicts().count == 1)
        #expect(pair.phone.mirror.status.conflictCount == 1)
        try await pair.phone.mirror.forgetConflicts(try await pair.phone.mirror.conflicts())
        #expect(try await pair.phone.mirror.conflicts().isEmpty)
        #expect(pair.phone.mirror.status.conflictCount == 0)
    }

    @Test func theStatusOfTheNextLaunchHasTheNumberOfConflicts() async throws {
        let pair = try await pair()
        #expect(pair.phone.mirror.status.conflictCount == 0)
        try await offline(pair.phone) {
            try pair.tablet.edit(set("one", "summary"))
            try await pair.tablet.sync()
            try pair.phone.edit(set("two", "summary"))
        }
        try await pair.converge()
        try await pair.phone.kill()
        let phone = try MirrorDevice(pair.phone.transport, file: pair.phone.file)
        try await phone.sync()
        #expect(phone.mirror.status.conflictCount == 1)
    }

    /// The context is unchanged.
    @Test func aRelationshipToADeletedObjectIsNotRestored() async throws {
        let pair = try await pair()
        try pair.tablet.edit { context in
            for title in ["A", "B"] { context.insert("Book", ["title": title]) }
            context.insert("Note", ["title": "note"])
        }
        try await pair.converge()
        try await offline(pair.phone) {
            try pair.tablet.edit { try $0.object("Note", "note").setValue(try $0.object("Book", "A"), forKey: "book") }
            try await pair.tablet.sync()
            try pair.phone.edit { try $0.object("Note", "note").setValue(try $0.object("Book", "B"), forKey: "book") }
        }
        try await pair.converge()
        let conflict = try #require(try await pair.phone.mirror.conflicts().first)
        #expect(conflict.propertyName == "book")
        try pair.phone.edit { $0.delete(try $0.object("Book", "A")) }
        try pair.phone.edit { context in
            // The entry is older than the deletion.
            let error = #expect(throws: TarnMirror.Failure.self) {
                try pair.phone.mirror.restoreLosingValue(of: conflict, in: context)
            }
            #expect(error?.code == .unrestorableValue)
            #expect(!context.hasChanges)
        }
        #expect(try pair.phone.read { try $0.object("Note", "note").value(forKeyPath: "book.title") as? String } == "B")
    }

    /// The app saves an object between the mirror's read and its save: Core Data rejects the mirror's save, and the mirror reads again.
    @Test func anImportDoesNotOverwriteASaveThatItHasNotSeen() async throws {
        let saver = Saver(at: .journalWritten)
        let pair = try await Pair(reached: { try saver.reached($0) })
        try pair.tablet.edit { $0.insert("Book", ["title": "Swift", "summary": "old"]) }
        try await pair.converge()
        try pair.tablet.edit(set("of the container", "summary"))
        try await pair.tablet.sync()
        // Nothing of the mirror runs: it has no push stream.
        saver.saveNext(on: pair.phone) { try $0.object("Book", "Swift").setValue(NSNumber(value: 5), forKey: "pages") }
        try await pair.phone.sync()
        #expect(try pair.phone.dump == "Book  pages 5  summary of the container  title Swift")
        #expect(try await pair.converge() == "Book  pages 5  summary of the container  title Swift")
        #expect(saver.count == 1)
    }
}
