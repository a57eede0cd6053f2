// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Options for opening, cleaning up and destroying a store's file.
///
/// Source: developer.apple.com/documentation/coredata/store-options
@Suite struct StoreOptionTests {
    private func model(modifier: String? = nil) -> NSManagedObjectModel {
        let page = NSEntityDescription()
        page.name = "Page"
        page.versionHashModifier = modifier
        page.properties = [Library.attribute("text", .stringAttributeType)]
        let model = NSManagedObjectModel()
        model.entities = [page]
        return model
    }

    private func withFile(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("options-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appendingPathComponent("pages.sqlite"))
    }

    /// Opens the file, runs the body in a context over it, and removes the store again.
    private func open(
        _ url: URL, _ model: NSManagedObjectModel, _ options: [String: Any] = [:],
        _ body: (NSManagedObjectContext, NSPersistentStore) throws -> Void = { _, _ in }
    ) throws {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        context.persistentStoreCoordinator = coordinator
        try context.performAndWait { try body(context, store) }
        try coordinator.remove(store)
    }

    private func insert(_ texts: [String], _ context: NSManagedObjectContext) throws {
        for text in texts {
            NSEntityDescription.insertNewObject(forEntityName: "Page", into: context).setValue(text, forKey: "text")
        }
        try context.save()
    }

    private func expectCount(_ expected: Int, _ context: NSManagedObjectContext) throws {
        let count = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Page"))
        #expect(count == expected)
    }

    @Test func aReadOnlyStoreIsReadAndNotWritten() throws {
        try withFile { url in
            try open(url, model()) { context, _ in try insert(["a"], context) }
            try open(url, model(), [NSReadOnlyPersistentStoreOption: true]) { context, store in
                #expect(store.isReadOnly)
                try expectCount(1, context)
                #expect(throws: (any Error).self) { try insert(["b"], context) }
            }
            try open(url, model()) { context, _ in try expectCount(1, context) }
        }
    }

    /// As in an app's bundle, or on a disk that is mounted read-only: no file can be created beside the store. Here a symbolic link
    /// without a target has the name of the log's index, so that creating it fails for every user, root included.
    @Test(arguments: [true, false]) func aReadOnlyStoreIsReadFromAReadOnlyFolder(hasLog: Bool) throws {
        try withFile { url in
            let copy = url.deletingLastPathComponent().appendingPathComponent("copy.sqlite")
            try open(url, model()) { context, _ in
                try insert((0..<300).map { "page \($0)" }, context)
                // While the store is open its last saves are in the log.
                guard hasLog else { return }
                for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: url.path + suffix, toPath: copy.path + suffix) }
            }
            if !hasLog { try FileManager.default.copyItem(at: url, to: copy) }
            try FileManager.default.createSymbolicLink(atPath: copy.path + "-shm", withDestinationPath: "/nowhere/index")
            let before = try FileManager.default.contentsOfDirectory(atPath: copy.deletingLastPathComponent().path).sorted()
            try open(copy, model(), [NSReadOnlyPersistentStoreOption: true]) { context, store in
                #expect(store.isReadOnly)
                try expectCount(300, context)
                let request = NSFetchRequest<NSManagedObject>(entityName: "Page")
                request.predicate = NSPredicate(format: "text ENDSWITH[c] '9'")
                let found = try context.fetch(request)
                #expect(found.count == 30)
                #expect(throws: (any Error).self) { try insert(["b"], context) }
            }
            let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: copy, options: nil)
            #expect(metadata[NSStoreUUIDKey] is String)
            let after = try FileManager.default.contentsOfDirectory(atPath: copy.deletingLastPathComponent().path).sorted()
            // The folder itself can be written here, so SQLite creates an empty log before it fails to create the index.
            #expect(after.filter { $0 != "copy.sqlite-wal" } == before.filter { $0 != "copy.sqlite-wal" })
        }
    }

    @Test func modelVersionsAreComparedUnlessIgnored() throws {
        try withFile { url in
            try open(url, model()) { context, _ in try insert(["a"], context) }
            #expect { try open(url, model(modifier: "2")) } throws: {
                ($0 as? CocoaError)?.code == .persistentStoreIncompatibleVersionHash
            }
            try open(url, model(modifier: "2"), [NSIgnorePersistentStoreVersioningOption: true]) { context, _ in
                try expectCount(1, context)
            }
        }
    }

    /// The bytes of the file and of its write-ahead log.
    private func contents(_ url: URL) -> Data {
        ["", "-wal"].reduce(into: Data()) { $0 += FileManager.default.contents(atPath: url.path + $1) ?? Data() }
    }

    @Test func vacuumReturnsThePagesOfDeletedRowsToTheFileSystem() throws {
        try withFile { url in
            try open(url, model()) { context, _ in
                try insert((0..<500).map { "\($0) " + String(repeating: "x", count: 2000) }, context)
                for page in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Page")) { context.delete(page) }
                try insert(["a"], context)
            }
            let before = contents(url).count
            #expect(before > 500_000)
            try open(url, model(), [NSSQLiteManualVacuumOption: true]) { context, _ in
                // While the store is open: shrinking the file needs no close.
                let after = contents(url).count
                #expect(after < before / 4)
                try expectCount(1, context)
            }
        }
    }

    @Test func analyzeLeavesStatisticsInTheFile() throws {
        try withFile { url in
            let table = Data("sqlite_stat1".utf8)
            try open(url, model()) { context, _ in try insert(["a"], context) }
            #expect(contents(url).range(of: table) == nil)
            try open(url, model(), [NSSQLiteAnalyzeOption: true])
            #expect(contents(url).range(of: table) != nil)
            try open(url, model()) { context, _ in try expectCount(1, context) }
        }
    }

    /// `secure_delete` decides whether the bytes of a deleted row stay in the file.
    @Test(arguments: [nil, "OFF"]) func pragmasReplaceTheStoresDefaults(_ secureDelete: String?) throws {
        try withFile { url in
            let text = "a text that nothing else has"
            let options = secureDelete.map { [NSSQLitePragmasOption: ["secure_delete": $0]] } ?? [:]
            try open(url, model(), options) { context, _ in try insert(["a", text], context) }
            try open(url, model(), options) { context, _ in
                let request = NSFetchRequest<NSManagedObject>(entityName: "Page")
                request.predicate = NSPredicate(format: "text == %@", text)
                for page in try context.fetch(request) { context.delete(page) }
                try context.save()
                try expectCount(1, context)
            }
            // The log is truncated, and with it the earlier form of the page.
            try open(url, model(), [NSSQLiteManualVacuumOption: false])
            #expect((contents(url).range(of: Data(text.utf8)) != nil) == (secureDelete == "OFF"))
        }
    }

    /// `max_page_count` makes a file full that has to grow.
    @Test func pragmasReachTheWritingConnection() throws {
        try withFile { url in
            try open(url, model()) { context, _ in try insert(["a"], context) }
            let options = [NSSQLitePragmasOption: ["max_page_count": "40"]]
            let texts = (0..<100).map { "\($0) " + String(repeating: "x", count: 4000) }
            try open(url, model(), options) { context, _ in #expect(throws: CocoaError.self) { try insert(texts, context) } }
            try open(url, model()) { context, _ in
                try insert(texts, context)
                try expectCount(101, context)
            }
        }
    }

    @Test func aDamagedStoreIsDestroyedWithForce() throws {
        try withFile { url in
            try Data(repeating: 7, count: 5000).write(to: url)
            let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model())
            #expect(throws: (any Error).self) { try open(url, model()) }
            try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType, options: [NSPersistentStoreForceDestroyOption: true])
            try open(url, model()) { context, _ in
                try expectCount(0, context)
                try insert(["a"], context)
            }
        }
    }
}
