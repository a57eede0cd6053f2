// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore
import Testing

/// Large values in external files. Source: core-data-sqlite-format, "External binary storage".
@Suite struct ExternalFileTests {
    static let large = 128 * 1024 + 1

    static func model(isExternal: Bool = true) throws -> ResolvedModel {
        try Library.model { model in
            guard let book = model.entities.firstIndex(where: { $0.name == "Book" }),
                let cover = model.entities[book].attributes.firstIndex(where: { $0.name == "cover" })
            else { return }
            model.entities[book].attributes[cover].allowsExternalBinaryDataStorage = isExternal
            model.entities[book].attributes[cover].preservesValueInHistoryOnDeletion = true
        }
    }

    static func bytes(_ count: Int, _ seed: UInt8 = 0) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0) ^ seed }) }

    private func files(_ url: URL) -> [String] {
        let folder = url.deletingLastPathComponent().appending(
            path: ".\(url.deletingPathExtension().lastPathComponent)_SUPPORT/_EXTERNAL_DATA")
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    private func cover(_ store: SQLiteStore, _ key: RowKey) throws -> StoredValue? {
        try store.row(key).map { $0.values[try Self.model().slot("Book", "cover")] }
    }

    private func set(_ store: SQLiteStore, _ key: RowKey, _ value: StoredValue) throws {
        let slot = try Self.model().slot("Book", "cover")
        try store.write { writer in
            let row = try #require(try writer.row(key))
            var values = row.values
            values[slot] = value
            var changes = StoreChanges()
            changes.updates = [RowUpdate(key: key, expectedVersion: row.version, values: values, changedSlots: [slot])]
            try writer.apply(changes)
        }
    }

    private func check(_ url: URL) throws -> [StoreViolation.Rule] { try StoreCheck.run(on: url).violations.map(\.rule) }

    /// - Parameter change: Changes file or value between mapping and writing.
    /// - Returns: Whether the value's file is the one that was mapped.
    private func isLinked(isImmutable: Bool = true, _ change: (URL, Data) throws -> Data = { $1 }) throws -> Bool {
        func number(_ path: String) throws -> Int? { try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int }
        return try Library.withFolder { folder in
            let source = folder.appending(path: "source")
            try Self.bytes(Self.large).write(to: source)
            let mapped = try #require(MappedFile.contents(of: source, isImmutable: isImmutable))
            // Keeps the number from being that of a new file.
            let (before, other) = (try number(source.path), folder.appending(path: "other"))
            try FileManager.default.linkItem(at: source, to: other)
            let value = try change(source, mapped)
            let url = folder.appending(path: "a.sqlite")
            let store = try Library.store(url, model: Self.model())
            let key = try store.insert(Self.model(), "Book", ["cover": .data(value)])
            try? FileManager.default.removeItem(at: source)
            #expect(try cover(store, key) == .data(value))
            let name = try #require(files(url).first)
            return try number(SQLiteStore.supportFolder(of: url).appending(path: "_EXTERNAL_DATA/\(name)").path) == before
        }
    }

    @Test func onlyAnImmutableFileIsLinked() throws {
        #expect(try isLinked())
        #expect(try !isLinked(isImmutable: false))
        #expect(try !isLinked { $1.dropLast() + [1] }, "another value")
        #expect(
            try !isLinked { source, value in
                try FileManager.default.removeItem(at: source)
                return value
            }, "the file is gone")
        #expect(
            try !isLinked { source, value in
                try FileManager.default.removeItem(at: source)
                try Self.bytes(Self.large, 9).write(to: source)
                return value
            }, "another file has its path")
    }

    @Test(arguments: [0, 1, 37, 38, 128 * 1024, 128 * 1024 + 1, 1_000_000]) func sizeDecidesWhetherAValueIsExternal(_ size: Int) throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let store = try Library.store(url, model: Self.model())
            // Bytes that look like a tag must not be parsed as one.
            var value = Self.bytes(size, 2)
            let key = try store.insert(Self.model(), "Book", ["cover": .data(value)])
            #expect(try cover(store, key) == .data(value))
            let packed = try store.read { try $0.fetchPacked(StoreQuery(entity: Self.model().index("Book"))) }
            let slot = try Self.model().slot("Book", "cover")
            #expect(packed.first?.values(at: 0)[slot] == .data(value))
            let isLarge = size >= Self.large
            #expect(files(url).count == (isLarge ? 1 : 0))
            let column = try store.lines("SELECT hex(substr(ZCOVER, 1, 1)), length(ZCOVER) FROM ZBOOK")
            #expect(column == [isLarge ? "02|38" : "01|\(size + 1)"])
            if isLarge {
                #expect(
                    try store.lines("SELECT CAST(substr(ZCOVER, 2, 36) AS TEXT), hex(substr(ZCOVER, 38)) FROM ZBOOK") == [
                        "\(files(url)[0])|00"
                    ])
                #expect(files(url)[0] == files(url)[0].uppercased())
                #expect(UUID(uuidString: files(url)[0]) != nil)
            }
            value.append(7)
            try set(store, key, .data(value))
            #expect(try cover(store, key) == .data(value))
            #expect(files(url).count == (value.count >= Self.large ? 1 : 0))
            store.close()
            #expect(try check(url) == [])
            #expect(try cover(Library.store(url, model: Self.model()), key) == .data(value))
        }
    }

    @Test func filesAreRemovedWithTheirValues() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let model = try Self.model()
            let store = try Library.store(url, model: model)
            let keys = try (0..<5).map { index in
                try store.insert(model, index == 4 ? "Comic" : "Book", ["cover": .data(Self.bytes(Self.large, UInt8(index)))])
            }
            #expect(files(url).count == 5)
            let before = files(url)
            try set(store, keys[0], .null)
            #expect(files(url).count == 4)
            #expect(Set(files(url)).isSubset(of: before))
            try set(store, keys[1], .data(Self.bytes(3)))
            #expect(files(url).count == 3)
            try set(store, keys[2], .data(Self.bytes(Self.large, 99)))
            #expect(files(url).count == 3)
            #expect(!Set(files(url)).isSubset(of: before))
            var changes = StoreChanges()
            changes.deletes = [RowDelete(key: keys[3], expectedVersion: nil)]
            let number = try #require(try store.save(changes))
            #expect(files(url).count == 2)
            // History does not preserve large values of deleted rows.
            let history = try store.read { try $0.history(after: number - 1) }
            #expect(history.flatMap(\.changes).map { $0.tombstone["cover"] ?? .null } == [.null])
            #expect(try check(url) == [])
            let query = StoreQuery(entity: model.index("Book"))
            let outcome = try store.write { try $0.deleteBatch(query, author: nil, contextName: nil, listsKeys: false) }
            #expect(outcome.count == 4)
            #expect(files(url).isEmpty)
            #expect(try check(url) == [])
            store.close()
        }
    }

    @Test func batchRequestsKeepFilesAndRowsTogether() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let model = try Self.model()
            let store = try Library.store(url, model: model)
            final class Source: BatchRowSource {
                var rows: [ContiguousArray<StoredValue>]
                init(_ rows: [ContiguousArray<StoredValue>]) { self.rows = rows }
                func next() -> ContiguousArray<StoredValue>? { rows.isEmpty ? nil : rows.removeFirst() }
                var givenSlots: [Int] { [] }
            }
            let values = [Self.large, 10, Self.large].map { model.values("Book", ["cover": .data(Self.bytes($0))]) }
            _ = try store.write { writer in
                try writer.insertBatch(
                    of: model.index("Book"), author: nil, contextName: nil, onConflict: .refuse, listsKeys: false, rows: Source(values))
            }
            #expect(files(url).count == 2)
            let slot = model.slot("Book", "cover")
            let one = StoreQuery(entity: model.index("Book"), predicate: try PredicateKit.Predicate(format: "cover != nil"))
            #expect(try store.read { try $0.count(one) } == 3)
            let big = Self.bytes(Self.large, 5)
            _ = try store.write { writer in
                try writer.updateBatch(
                    BatchUpdate(one, values: [(slot, .constant(.data(big)))]), author: nil, contextName: nil, listsKeys: false)
            }
            #expect(files(url).isEmpty)
            #expect(try store.read { try $0.fetch(one) }.map { $0.values[slot] } == [.data(big), .data(big), .data(big)])
            let compared = StoreQuery(
                entity: model.index("Book"),
                predicate: .comparison(
                    PredicateKit.Comparison(.keyPath(["cover"]), .equalTo, .constant(.data(big)))))
            let error = #expect(throws: StoreError.self) { try store.read { try $0.count(compared) } }
            #expect(error?.code == .unsupportedPredicate)
            store.close()
            #expect(try check(url) == [])
        }
    }

    @Test func rolledBackTransactionsLeaveNoFileAndLoseNone() throws {
        struct Refusal: Error {}
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let model = try Self.model()
            let store = try Library.store(url, model: model)
            let old = Self.bytes(Self.large, 1)
            let key = try store.insert(model, "Book", ["cover": .data(old)])
            let before = files(url)
            #expect(throws: Refusal.self) {
                try store.write { writer in
                    var changes = StoreChanges()
                    changes.deletes = [RowDelete(key: key, expectedVersion: nil)]
                    let other = try writer.allocateKeys(for: model.index("Book"), count: 1)[0]
                    changes.inserts = [Row(key: other, version: 1, values: model.values("Book", ["cover": .data(old)]))]
                    try writer.apply(changes)
                    #expect(files(url).count == 2)
                    throw Refusal()
                }
            }
            #expect(files(url) == before)
            #expect(try cover(store, key) == .data(old))
            // A file occupies the folder's path.
            try FileManager.default.removeItem(at: folder.appending(path: ".a_SUPPORT"))
            try Data().write(to: folder.appending(path: ".a_SUPPORT"))
            let error = #expect(throws: StoreError.self) { try store.insert(model, "Book", ["cover": .data(old)]) }
            #expect(error?.code == .notPermitted)
            #expect(try store.read { try $0.count(StoreQuery(entity: model.index("Book"))) } == 1)
            #expect(try check(url) == [.externalFileMissing])
            #expect(try cover(store, key) == .null)
            store.close()
        }
    }

    @Test func readersOfAnEarlierStateFindItsFiles() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let model = try Self.model()
            let (store, other) = (try Library.store(url, model: model), try Library.store(url, model: model))
            let (old, new) = (Self.bytes(Self.large, 1), Self.bytes(Self.large, 2))
            let key = try store.insert(model, "Book", ["cover": .data(old)])
            try other.read { reader in
                #expect(try reader.row(key) != nil)
                try set(store, key, .data(new))
                #expect(try reader.row(key)?.values[model.slot("Book", "cover")] == .data(old))
                #expect(files(url).count == 2)
            }
            #expect(try cover(store, key) == .data(new))
            // The next save, of any row, finds the file unneeded.
            try store.insert(model, "Tag", [:])
            #expect(files(url).count == 1)
            other.close()
            store.close()
            #expect(try check(url) == [])
        }
    }

    @Test func leftoversOfACrashAreCleanedUp() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let model = try Self.model()
            let store = try Library.store(url, model: model)
            let value = Self.bytes(Self.large)
            let key = try store.insert(model, "Book", ["cover": .data(value)])
            store.close()
            let orphan = folder.appending(path: ".a_SUPPORT/_EXTERNAL_DATA/\(UUID().uuidString)")
            try value.write(to: orphan)
            #expect(try check(url) == [.externalFileUnused])
            var options = Library.options()
            options.vacuums = true
            let again = try Library.store(url, model: model, options: options)
            #expect(files(url).count == 1)
            #expect(try cover(again, key) == .data(value))
            again.close()
            #expect(try check(url) == [])
        }
    }

    /// The later version of the model lacks the attribute. A deferred migration leaves the column.
    @Test(arguments: [false, true]) func filesOfARemovedAttributeAreRemoved(_ isDeferred: Bool) throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            func model(_ names: [String]) throws -> ResolvedModel {
                try Library.model { model in
                    model.entities[2].attributes.removeAll { $0.name == "cover" }
                    for name in names {
                        var attribute = Attribute(name: name, type: .binaryData)
                        attribute.allowsExternalBinaryDataStorage = true
                        model.entities[2].attributes.append(attribute)
                    }
                }
            }
            let first = try model(["front", "back"])
            let store = try Library.store(url, model: first, options: Library.options(version: 1))
            let value = StoredValue.data(Self.bytes(Self.large))
            let key = try store.insert(first, "Book", ["front": value, "back": .data(Self.bytes(Self.large, 5))])
            store.close()
            try #require(files(url).count == 2)
            var options = Library.options(version: 2)
            options.defersDrops = isDeferred
            let second = try model(["front"])
            let migrated = try Library.store(url, model: second, options: options)
            #expect(files(url).count == 1)
            _ = try migrated.finishDeferredMigration(limit: nil)
            #expect(files(url).count == 1)
            #expect(try migrated.row(key)?.values[second.slot("Book", "front")] == value)
            migrated.close()
            #expect(try check(url) == [])
        }
    }

    /// Both configurations are in one file.
    @Test func aCleanUpKeepsFilesOfOtherConfigurations() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let model = try Library.model { model in
                var image = Attribute(name: "image", type: .binaryData)
                image.allowsExternalBinaryDataStorage = true
                model.entities.append(Entity(name: "Note", attributes: [image]))
                model.configurations = ["Local": ["Note"], "Cloud": ["Author", "Book", "Comic", "Tag"]]
            }
            func opened(_ configuration: String, vacuums: Bool = false) throws -> SQLiteStore {
                var options = Library.options()
                options.vacuums = vacuums
                return try SQLiteStore(url: url, model: model, configuration: configuration, number: 7, options: options)
            }
            let value = StoredValue.data(Self.bytes(Self.large))
            let local = try opened("Local")
            let key = try local.insert(model, "Note", ["image": value])
            local.close()
            try opened("Cloud", vacuums: true).close()
            #expect(files(url).count == 1)
            #expect(try opened("Local").row(key)?.values[model.slot("Note", "image")] == value)
        }
    }

    @Test func aStoreGetsFilesWhenItsModelAllowsThem() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let values: [StoredValue] = [.data(Data([1, 2, 3, 0, 255])), .data(Self.bytes(Self.large)), .data(Data()), .null]
            let plain = try Library.store(url, model: Self.model(isExternal: false))
            let keys = try values.map { try plain.insert(Self.model(), "Book", ["cover": $0]) }
            plain.close()
            let external = try Library.store(url, model: Self.model())
            #expect(try keys.map { try cover(external, $0) } == values)
            let added = try external.insert(Self.model(), "Book", ["cover": .data(Self.bytes(Self.large, 3))])
            #expect(files(url).count == 1)
            external.close()
            let back = try Library.store(url, model: Self.model(isExternal: false))
            #expect(try (keys + [added]).map { try cover(back, $0) } == values + [.data(Self.bytes(Self.large, 3))])
            back.close()
            #expect(try check(url) == [])
        }
    }

    @Test func filesFollowTheStore() throws {
        try Library.withFolder { folder in
            let (from, to) = (folder.appending(path: "a.sqlite"), folder.appending(path: "b.sqlite"))
            let model = try Self.model()
            let source = try Library.store(from, model: model)
            let value = Self.bytes(Self.large, 4)
            let key = try source.insert(model, "Book", ["cover": .data(value)])
            let target = try Library.store(to, model: model)
            try target.insert(model, "Book", ["cover": .data(Self.bytes(Self.large, 9))])
            target.close()
            try SQLiteStore.replace(at: to, withStoreAt: from)
            #expect(files(to) == files(from))
            source.close()
            #expect(try check(to) == [])
            #expect(try cover(Library.store(to, model: model), key) == .data(value))
            try SQLiteStore.destroy(at: to, force: false)
            #expect(files(to).isEmpty)
            #expect(files(from).count == 1)
            #expect(try cover(Library.store(from, model: model), key) == .data(value))
        }
    }

    @Test func aStoreInMemoryMakesNoFiles() throws {
        let store = try Library.store(model: Self.model())
        let value = Self.bytes(Self.large)
        let key = try store.insert(Self.model(), "Book", ["cover": .data(value)])
        #expect(try cover(store, key) == .data(value))
        #expect(try store.lines("SELECT length(ZCOVER) FROM ZBOOK") == ["\(Self.large + 1)"])
    }

    @Test func aProcessThatIsKilledInASaveLosesNoFile() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "external-killed-\(ProcessInfo.processInfo.processIdentifier)")
        setenv("TARN_TEST_EXTERNAL_FOLDER", folder.path, 1)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        await #expect(processExitsWith: .signal(SIGKILL)) {
            guard let path = ProcessInfo.processInfo.environment["TARN_TEST_EXTERNAL_FOLDER"] else { return }
            let model = try ExternalFileTests.model()
            let store = try Library.store(URL(filePath: path).appending(path: "a.sqlite"), model: model)
            let old = try store.insert(model, "Book", ["cover": .data(ExternalFileTests.bytes(ExternalFileTests.large, 1))])
            try store.write { writer in
                var changes = StoreChanges()
                changes.deletes = [RowDelete(key: old, expectedVersion: nil)]
                let key = try writer.allocateKeys(for: model.index("Book"), count: 1)[0]
                let value = ExternalFileTests.bytes(ExternalFileTests.large, 2)
                changes.inserts = [Row(key: key, version: 1, values: model.values("Book", ["cover": .data(value)]))]
                try writer.apply(changes)
                kill(getpid(), SIGKILL)
            }
        }
        let url = folder.appending(path: "a.sqlite")
        #expect(try check(url) == [.externalFileUnused])
        var options = Library.options()
        options.vacuums = true
        let store = try Library.store(url, model: Self.model(), options: options)
        let rows = try store.read { try $0.fetch(StoreQuery(entity: Self.model().index("Book"))) }
        #expect(try rows.map { $0.values[try Self.model().slot("Book", "cover")] } == [.data(Self.bytes(Self.large, 1))])
        store.close()
        #expect(try check(url) == [])
    }
}
