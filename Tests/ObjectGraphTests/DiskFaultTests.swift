// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CFaultyDisk
import Foundation
import ManagedModel
import ObjectGraph
import SQLiteStore
import TestBasics
import Testing

/// A disk that fails at the n-th write, sync or growth of a file, for n = 1, 2, … until no operation fails. The disk then
/// holds either the former state or the whole new one, never a third.
///
/// A run of all tests has one half of the operations fail alone, and the other half with all after them; see `SeedPart`.
@Suite(.serialized) struct DiskFaultTests {
    private static let everything = Int32(
        FaultyDiskWrite.rawValue | FaultyDiskSync.rawValue | FaultyDiskGrowth.rawValue | FaultyDiskTruncate.rawValue
            | FaultyDiskDelete.rawValue)
    /// More than the steps of each operation below; a test fails when faults still occur then.
    private static let stepsMax = 400

    private static let model: @Sendable (Bool) throws -> ResolvedModel = { isNewer in
        var note = Entity(
            name: "Note", attributes: [Attribute(name: "title", type: .string), Attribute(name: "rank", type: .integer32)],
            relationships: [
                Relationship(name: "folder", destination: "Folder", inverse: "notes"),
                Relationship(name: "tags", destination: "Tag", inverse: "notes", isToMany: true),
            ])
        note.indexes = [FetchIndex(name: "byTitle", elements: [.init(property: "title")])]
        var entities = [
            note,
            Entity(
                name: "Folder", attributes: [Attribute(name: "name", type: .string)],
                relationships: [Relationship(name: "notes", destination: "Note", inverse: "folder", isToMany: true)]),
            Entity(
                name: "Tag", attributes: [Attribute(name: "label", type: .string)],
                relationships: [Relationship(name: "notes", destination: "Note", inverse: "tags", isToMany: true)]),
        ]
        if isNewer {
            entities[0].attributes.append(Attribute(name: "stars", type: .integer16, isOptional: false, defaultValue: .int(3)))
            entities.append(Entity(name: "Place", attributes: [Attribute(name: "name", type: .string)]))
            entities[0].attributes.removeAll { $0.name == "rank" }
            entities[0].attributes[0].name = "headline"
            entities[0].attributes[0].renamingIdentifier = "title"
            entities[0].indexes = [FetchIndex(name: "byHeadline", elements: [.init(property: "headline")])]
            entities[0].relationships[0].isToMany = true
            entities[0].relationships[0].maximumCount = 0
            entities[2].name = "Label"
            entities[2].renamingIdentifier = "Tag"
            entities[0].relationships[1].destination = "Label"
        }
        return try ResolvedModel(Model(entities: entities))
    }

    private func open(_ url: URL, newer: Bool = false) throws -> SQLiteStore {
        let options = SQLiteStore.Options(clock: { 1000 }, makeIdentifier: { UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) })
        return try SQLiteStore(url: url, model: Self.model(newer), number: 1, options: options)
    }

    /// The contents of a store, as text.
    private func state(_ url: URL, newer: Bool = false) throws -> [String] {
        let store = try open(url, newer: newer)
        defer { store.close() }
        var lines: [String] = []
        try store.read { reader in
            var tables: [String] = []
            try reader.query("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'sqlite_sequence' ORDER BY name") { row in
                if let name = row.text(0) { tables.append(name) }
            }
            for table in tables {
                try reader.query("SELECT *, 0 FROM \"\(table)\" ORDER BY 1, 2") { row in
                    lines.append("\(table) " + (0..<row.count).map { "\(row.value($0))" }.joined(separator: "|"))
                }
            }
            #expect(try reader.problems() == [])
        }
        return lines
    }

    private func fill(_ store: SQLiteStore, count: Int, title: String) throws {
        try store.write { writer in
            let model = try Self.model(false)
            func index(_ name: String) -> Int { model.entity(named: name)?.index ?? -1 }
            let notes = try writer.allocateKeys(for: index("Note"), count: count)
            let folder = try writer.allocateKeys(for: index("Folder"), count: 1)[0]
            let tag = try writer.allocateKeys(for: index("Tag"), count: 1)[0]
            var changes = StoreChanges()
            changes.inserts = [folder, tag].map { Row(key: $0, version: 1, values: model.entities[$0.entityIndex].defaultValues) }
            for note in notes {
                var values = model.entities[note.entityIndex].defaultValues
                if case .slot(let slot)? = model.entities[note.entityIndex].location(of: "title") {
                    values[slot] = .string(title + String(repeating: "x", count: 300))
                }
                if case .slot(let slot)? = model.entities[note.entityIndex].location(of: "folder") { values[slot] = .reference(folder) }
                changes.inserts.append(Row(key: note, version: 1, values: values))
            }
            guard case .toMany(let tags)? = model.entity(named: "Note")?.location(of: "tags") else { return }
            changes.links = notes.map { LinkChange(owner: $0, relationship: tags, destination: tag, isAddition: true) }
            try writer.apply(changes)
        }
    }

    /// Runs an operation on a copy of a store with each fault, and compares the state after a power cut with those before
    /// and after.
    private func failEverywhere(
        operations: Int32, newer: Bool = false, _ work: (SQLiteStore?, URL) throws -> Void, opensFirst: Bool = true,
        isThere: Bool = true
    ) throws {
        faulty_disk_install()
        defer { faulty_disk_clear() }
        let folder = FileManager.default.temporaryDirectory.appending(path: "faults-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let original = folder.appending(path: "original.sqlite")
        let first = try open(original)
        try fill(first, count: 40, title: "old")
        first.close()
        func copied(_ name: String) throws -> URL {
            let url = folder.appending(path: name)
            if isThere { try FileManager.default.copyItem(at: original, to: url) }
            return url
        }
        // These must never have failed partially.
        let before = try state(copied("before.sqlite"), newer: newer)
        let afterURL = try copied("after.sqlite")
        do {
            let store = opensFirst ? try open(afterURL) : nil
            try work(store, afterURL)
            store?.close()
        }
        let after = try state(afterURL, newer: newer)
        for isLasting in [false, true] {
            var hasFailed = 0
            let stride = SeedPart.isWhole ? 1 : 2
            for step in Swift.stride(from: isLasting ? stride : 1, through: Self.stepsMax, by: stride) {
                let place = folder.appending(path: "run")
                try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(at: place) }
                let url = place.appending(path: "a.sqlite")
                if isThere { try FileManager.default.copyItem(at: original, to: url) }
                faulty_disk_plan(place.path, operations, 0)
                let store = opensFirst ? try open(url) : nil
                faulty_disk_plan(place.path, operations, Int32(isLasting ? -step : step))
                do { try work(store, url) } catch { hasFailed += 1 }
                // A power cut: no clean-up runs.
                let left = folder.appending(path: "left")
                try FileManager.default.createDirectory(at: left, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(at: left) }
                for suffix in ["", "-wal", "-journal"] where FileManager.default.fileExists(atPath: url.path + suffix) {
                    try FileManager.default.copyItem(atPath: url.path + suffix, toPath: left.appending(path: "a.sqlite" + suffix).path)
                }
                let wasReached = faulty_disk_count() >= step
                store?.close()
                faulty_disk_clear()
                let found = try state(left.appending(path: "a.sqlite"), newer: newer)
                #expect(found == before || found == after, "operation \(step) failed\(isLasting ? ", and all after it" : "")")
                // The state that the process itself left by continuing.
                let own = try state(url, newer: newer)
                #expect(own == before || own == after, "operation \(step) failed, then the store was closed")
                if !wasReached { break }
                #expect(step + stride <= Self.stepsMax)
            }
            #expect(hasFailed > 0, "some fault must have been met")
        }
    }

    @Test func aSave() throws {
        try failEverywhere(operations: Self.everything) { store, _ in
            try store.map { try fill($0, count: 12, title: "new") }
        }
    }

    @Test func savingExternalValuesSurvivesFaults() throws {
        try failEverywhere(operations: Int32(FaultyDiskGrowth.rawValue)) { store, _ in
            try store.map { try fill($0, count: 12, title: "new") }
        }
    }

    @Test func aMigration() throws {
        try failEverywhere(operations: Self.everything, newer: true, { _, url in try open(url, newer: true).close() }, opensFirst: false)
    }

    @Test func savingManyRowsSurvivesFaults() throws {
        try failEverywhere(operations: Int32(FaultyDiskSync.rawValue | FaultyDiskGrowth.rawValue)) { store, _ in
            try store?.write { try $0.execute("UPDATE ZNOTE SET ZTITLE = ZTITLE || 'y', Z_OPT = Z_OPT + 1") }
        }
    }

    @Test func aCheckpoint() throws {
        try failEverywhere(operations: Self.everything) { store, _ in
            guard let store else { return }
            try fill(store, count: 12, title: "new")
            try store.checkpoint()
        }
    }

    private final class Notes: BatchRowSource {
        private var left = 30
        private let values: ContiguousArray<StoredValue>

        init(_ values: ContiguousArray<StoredValue>) { self.values = values }

        func next() -> ContiguousArray<StoredValue>? {
            left -= 1
            return left < 0 ? nil : values
        }

        var givenSlots: [Int] { [] }
    }

    @Test func batchRequests() throws {
        try failEverywhere(operations: Self.everything) { store, _ in
            try store?.write { writer in
                guard let note = try Self.model(false).entity(named: "Note") else { return }
                let query = StoreQuery(entity: note.index)
                _ = try writer.deleteBatch(query, author: "a", contextName: nil, listsKeys: true)
                _ = try writer.insertBatch(
                    of: note.index, author: "a", contextName: nil, onConflict: .refuse, listsKeys: false, rows: Notes(note.defaultValues))
                guard case .slot(let title)? = note.location(of: "title") else { return }
                let update = BatchUpdate(query, values: [(title, .constant(.string("all")))])
                _ = try writer.updateBatch(update, author: "a", contextName: nil, listsKeys: false)
            }
        }
    }

    @Test func purgingHistorySurvivesFaults() throws {
        try failEverywhere(operations: Self.everything) { store, _ in
            try store?.write { writer in
                let count = try writer.purgeHistory(before: 100)
                #expect(count == 1)
            }
        }
    }

    @Test func aNewStore() throws {
        try failEverywhere(operations: Self.everything, { _, url in try open(url).close() }, opensFirst: false, isThere: false)
    }

    @Test func destroyingAStoreSurvivesFaults() throws {
        try failEverywhere(
            operations: Self.everything, { _, url in try SQLiteStore.destroy(at: url, force: false) }, opensFirst: false)
    }

    @Test func aFullDiskFailsTheSaveAndTheContextKeepsItsChanges() throws {
        faulty_disk_install()
        defer { faulty_disk_clear() }
        let folder = FileManager.default.temporaryDirectory.appending(path: "full-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let growth = Int32(FaultyDiskGrowth.rawValue)
        faulty_disk_plan(folder.path, growth, 0)
        let entity = NSEntityDescription()
        entity.name = "Page"
        let text = NSAttributeDescription()
        (text.name, text.attributeType) = ("text", .stringAttributeType)
        entity.properties = [text]
        let model = NSManagedObjectModel()
        model.entities = [entity]
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        _ = try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appending(path: "a.sqlite"), options: nil)
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = coordinator
        try context.performAndWait {
            let page = NSEntityDescription.insertNewObject(forEntityName: "Page", into: context)
            page.setValue(String(repeating: "long ", count: 10_000), forKey: "text")
            faulty_disk_plan(folder.path, growth, -1)
            let error = #expect(throws: CocoaError.self) { try context.save() }
            #expect(error?.code == .fileWriteOutOfSpace)
            #expect(context.hasChanges)
            #expect(page.isInserted)
            #expect((page.value(forKey: "text") as? String)?.count == 50_000)
            faulty_disk_clear()
            try context.save()
            #expect(!context.hasChanges)
            #expect(!page.objectID.isTemporaryID)
            context.reset()
            let count = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Page"))
            #expect(count == 1)
        }
    }
}
