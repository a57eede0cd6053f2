// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import TestBasics
import TarnMirror
import Testing

/// The app saves while an import runs, and Core Data rejects neither save: the rows that both change differ, or the app's save is the later
/// one.
@Suite(.closesFixtures, .timeLimit(.minutes(5))) struct SaveDuringImportTests {
    private typealias Change = @Sendable (NSManagedObjectContext) throws -> Void

    private static let relate: Change = { try $0.object("Note", "note").setValue(try $0.object("Book", "book"), forKey: "book") }
    private static let link: Change = { try $0.object("Tag", "tag").mutableSetValue(forKey: "books").add(try $0.object("Book", "book")) }
    private static let insert: Change = {
        $0.insert("Note", ["title": "new"]).setValue(try $0.object("Book", "book"), forKey: "book")
    }
    private static let delete: Change = { $0.delete(try $0.object("Book", "book")) }

    /// - Parameters:
    ///   - step: When the app saves; by default between the mirror's read and its save.
    ///   - here: The app's save.
    ///   - elsewhere: The change that the mirror imports.
    /// - Returns: The objects of the device once the import has ended, and those of both devices in the end.
    private func run(
        at step: MirrorEnvironment.Step = .journalWritten, _ here: @escaping Change, _ elsewhere: @escaping Change
    ) async throws -> (imported: String, converged: String) {
        let saver = Saver(at: step)
        let pair = try await Pair(reached: { try saver.reached($0) })
        try pair.tablet.edit { context in
            for (entity, title) in [("Book", "book"), ("Note", "note"), ("Tag", "tag")] { context.insert(entity, ["title": title]) }
        }
        try await pair.converge()
        try pair.tablet.edit(elsewhere)
        try await pair.tablet.sync()
        saver.saveNext(on: pair.phone, here)
        try await pair.phone.sync()
        #expect(saver.count == 1)
        return (try pair.phone.dump, try await pair.converge())
    }

    @Test func aReferenceToAnObjectThatTheImportDeletesIsCleared() async throws {
        let (imported, converged) = try await run(Self.relate, Self.delete)
        #expect(imported == "Note  title note\nTag  title tag")
        #expect(converged == imported)
    }

    @Test func aNewObjectThatRefersToOneThatTheImportDeletesStays() async throws {
        let (imported, converged) = try await run(Self.insert, Self.delete)
        #expect(imported == "Note  title new\nNote  title note\nTag  title tag")
        #expect(converged == imported)
    }

    @Test func aLinkToAnObjectThatTheImportDeletesIsRemoved() async throws {
        let (imported, converged) = try await run(Self.link, Self.delete)
        #expect(imported == "Note  title note\nTag  title tag")
        #expect(converged == imported)
    }

    @Test func anImportedReferenceToAnObjectThatTheAppDeletesIsCleared() async throws {
        let (imported, converged) = try await run(Self.delete, Self.relate)
        #expect(imported == "Note  title note\nTag  title tag")
        #expect(converged == imported)
    }

    @Test func anImportedLinkToAnObjectThatTheAppDeletesIsRemoved() async throws {
        let (imported, converged) = try await run(Self.delete, Self.link)
        #expect(imported == "Note  title note\nTag  title tag")
        #expect(converged == imported)
    }

    /// The import has saved a new book, and the mirror's context still has it without tags.
    @Test func aLinkToAnObjectThatTheImportHasJustInsertedIsSent() async throws {
        let (imported, converged) = try await run(at: .rowsSaved) {
            try $0.object("Tag", "tag").setValue(Set([try $0.object("Book", "new")]), forKey: "books")
        } _: {
            $0.insert("Book", ["title": "new"])
        }
        #expect(
            imported == """
                Book  pages 0  title book
                Book  pages 0  title new  tags ["tag"]
                Note  title note
                Tag  title tag  books ["new"]
                """)
        #expect(converged == imported)
    }
}
