// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import Testing

@Suite struct RowTests {
    static let values: [String: [StoredValue]] = [
        "pages": [.int(0), .int(.max), .int(.min), .int(-1)],
        "isOpen": [.int(0), .int(1)],
        "weight": [
            .double(0.1), .double(.greatestFiniteMagnitude), .double(-.leastNonzeroMagnitude), .double(.infinity),
        ],
        "price": ["0.1", "-12.50", "123456789012345678901234567890.12345678", "0", "9223372036854775807", "79.99"].map {
            .decimal(Decimal(string: $0) ?? .nan)
        },
        "published": [.date(0), .date(712_345_678.901_234), .date(-1e9)],
        "title": ["", "plain", "naïve – 日本 🏳️‍🌈", "nul\0inside", String(repeating: "x", count: 70_000)].map {
            .string($0)
        },
        "page": [.url("https://example.org/a?b=c#d")],
        "cover": [.data(Data()), .data(Data([0, 255, 1])), .data(Data(repeating: 7, count: 300_000))],
        "number": [.uuid(UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255)))],
    ]

    @Test(arguments: values.keys.sorted())
    func everyValueRoundTrips(name: String) throws {
        let model = try Library.model()
        let store = try Library.store(model: model)
        for value in (Self.values[name] ?? []) + [.null] {
            let key = try store.insert(model, "Book", [name: value])
            let row = try store.read { try $0.row(key) }
            #expect(row == Row(key: key, version: 1, values: model.values("Book", [name: value])))
        }
    }

    @Test func rowsAreInKeyOrderWithoutMissingOnes() throws {
        let model = try Library.model()
        let store = try Library.store(model: model)
        let author = try store.insert(model, "Author", ["name": .string("a")])
        let book = try store.insert(model, "Book", ["title": .string("b")])
        let gone = RowKey(store: 7, entity: book.entityIndex, primaryKey: 99)
        let foreign = RowKey(store: 8, entity: book.entityIndex, primaryKey: book.primaryKey)
        let rows = try store.read { try $0.rows([book, gone, author, foreign, book]) }
        #expect(rows.map(\.key) == [book, author, book])
    }

    @Test func anUpdateRaisesTheVersionAndWritesOnlyWhatChanged() throws {
        let model = try Library.model()
        let store = try Library.store(model: model)
        let key = try store.insert(model, "Book", ["title": .string("a"), "pages": .int(1)])
        var changes = StoreChanges()
        let values = model.values("Book", ["title": .string("b"), "pages": .int(99)])
        changes.updates = [
            RowUpdate(key: key, expectedVersion: 1, values: values, changedSlots: [model.slot("Book", "title")])
        ]
        try store.save(changes)
        let row = try store.read { try $0.row(key) }
        #expect(row?.version == 2)
        #expect(row?.values == model.values("Book", ["title": .string("b"), "pages": .int(1)]))
    }

    @Test func allConflictsOfASaveAreReportedAndNothingIsWritten() throws {
        let model = try Library.model()
        let store = try Library.store(model: model)
        let keys = try ["a", "b", "c"].map { try store.insert(model, "Author", ["name": .string($0)]) }
        var changes = StoreChanges()
        func update(_ key: RowKey, _ version: Int64) -> RowUpdate {
            RowUpdate(
                key: key, expectedVersion: version, values: model.values("Author", ["name": .string("x")]),
                changedSlots: [model.slot("Author", "name")])
        }
        changes.updates = [update(keys[0], 1), update(keys[1], 5)]
        changes.deletes = [
            RowDelete(key: keys[2], expectedVersion: 4),
            RowDelete(key: RowKey(store: 7, entity: 0, primaryKey: 77), expectedVersion: 1),
        ]
        let error = #expect(throws: StoreError.self) { try store.save(changes) }
        #expect(error?.code == .conflict)
        #expect(error?.conflicts.map(\.key.primaryKey) == [2, 3, 77])
        #expect(error?.conflicts.map { $0.persisted?.version } == [1, 1, nil])
        #expect(try store.lines("SELECT ZNAME, Z_OPT FROM ZAUTHOR") == ["a|1", "b|1", "c|1"])
        #expect(try store.read { try $0.latestTransaction() } == 3)
    }

    @Test func aThrowRollsBackTheTransaction() throws {
        let model = try Library.model()
        let store = try Library.store(model: model)
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try store.write { writer in
                let key = try writer.allocateKeys(for: 0, count: 3)[2]
                var changes = StoreChanges()
                changes.inserts = [Row(key: key, version: 1, values: model.values("Author", [:]))]
                try writer.apply(changes)
                throw Stop()
            }
        }
        #expect(try store.lines("SELECT COUNT(*), (SELECT MAX(Z_MAX) FROM Z_PRIMARYKEY) FROM ZAUTHOR") == ["0|0"])
    }

    @Test func metadataKeepsTheAppsAndTheStoresValues() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let store = try Library.store(url)
            try store.write { try $0.setMetadata(["app": "x", "NSStoreType": "mine", "TarnStoreFormat": 99]) }
            store.close()
            let metadata = try Library.store(url).read { try $0.metadata() }
            #expect(metadata["app"] as? String == "x")
            #expect(metadata["NSStoreType"] as? String == "SQLite")
            #expect(metadata["NSStoreUUID"] as? String == "AB000000-0000-0000-0000-000000000001")
        }
    }

    @Test func aTooLargeValueIsRejectedAndNeverBecomesNil() throws {
        let model = try Library.model()
        let store = try Library.store(model: model)
        let size = 1_000_000_001
        let start = mmap(nil, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        let huge = Data(bytesNoCopy: try #require(start), count: size, deallocator: .unmap)
        let error = #expect(throws: StoreError.self) { try store.insert(model, "Book", ["cover": .data(huge)]) }
        #expect(error?.code == .constraint)
        #expect(try store.lines("SELECT COUNT(*) FROM ZBOOK") == ["0"])
    }
}
