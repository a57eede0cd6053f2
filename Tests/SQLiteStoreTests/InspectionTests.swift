// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import Testing

@Suite struct InspectionTests {
    /// A store with two authors, a book that one of them wrote, and a tag on it.
    private func store(at url: URL) throws -> SQLiteStore {
        let model = try Library.model()
        let store = try Library.store(url, model: model)
        let author = try store.insert(model, "Author", ["name": .string("a")])
        try store.insert(model, "Author", [:])
        let book = try store.insert(model, "Comic", ["title": .string("t"), "author": .reference(author)])
        let tag = try store.insert(model, "Tag", [:])
        var changes = StoreChanges()
        changes.author = "test"
        changes.links = [
            LinkChange(owner: book, relationship: model.toMany("Book", "tags"), destination: tag, isAddition: true)
        ]
        try store.save(changes)
        return store
    }

    private func contents(of folder: URL) throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            contents[name] = FileManager.default.contents(atPath: folder.appending(path: name).path)
        }
        return contents
    }

    @Test func aStoreIsDescribedWithoutItsModel() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let open = try store(at: url)
            let info = try StoreDescription(of: url)
            #expect(info.identifier == open.identifier)
            #expect(info.format == 1)
            #expect(info.isModelRecorded)
            #expect(info.entities.map(\.name) == ["Author", "Book", "Comic", "Tag"])
            #expect(info.entities.map(\.rows) == [2, 0, 1, 1])
            #expect(info.entities.map(\.lastKey) == [2, 1, 1, 1])
            #expect(info.entities.map(\.parent) == [nil, nil, "Book", nil])
            let book = try #require(info.tables.first { $0.name == "ZBOOK" })
            #expect(book.columns.first { $0.name == "ZAUTHOR" }?.leadsTo == "Author")
            #expect(book.columns.first { $0.name == "ZTITLE" }?.leadsTo == nil)
            #expect(info.joins.map(\.pairs) == [1])
            #expect(Set(info.joins.flatMap(\.between)) == ["Book", "Tag"])
            #expect(info.history?.transactions == 5)
            #expect(info.history?.authors == ["test"])
            #expect(info.journalMode == "wal")
            #expect(info.files.contains { $0.name == "a.sqlite-wal" })
            #expect(info.mirroring == nil)
            #expect(info.externalFiles == 0)
            open.close()
            let closed = try StoreDescription(of: url)
            #expect(closed.entities.map(\.rows) == [2, 0, 1, 1])
            #expect(closed.journalMode == "wal")
        }
    }

    @Test func inspectionChangesNothingDuringAndAfterWrites() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let model = try Library.model()
            let open = try store(at: url)
            let log = FileManager.default.contents(atPath: url.path + "-wal")
            #expect(try StoreCheck.run(on: url).violations == [])
            #expect(FileManager.default.contents(atPath: url.path + "-wal") == log)
            try open.insert(model, "Tag", [:])
            #expect(try StoreDescription(of: url).entities.map(\.rows) == [2, 0, 1, 2])
            // As left by a killed process: with a log, and copied without the log's index.
            let copy = folder.appending(path: "copy")
            try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: url.path + suffix, toPath: copy.appending(path: "b.sqlite\(suffix)").path)
            }
            let before = try contents(of: copy)
            #expect(try StoreDescription(of: copy.appending(path: "b.sqlite")).entities.map(\.rows) == [2, 0, 1, 2])
            #expect(try StoreCheck.run(on: copy.appending(path: "b.sqlite")).violations == [])
            #expect(try contents(of: copy) == before)
            open.close()
            let closed = try contents(of: folder).filter { !$0.key.hasPrefix("copy") }
            #expect(try StoreCheck.run(on: url).counts.isEmpty)
            #expect(try contents(of: folder).filter { !$0.key.hasPrefix("copy") } == closed)
        }
    }

    private struct Damage: Sendable {
        let sql: String
        let rule: StoreViolation.Rule
        let table: String
        let key: Int64?
    }

    private static let damages = [
        Damage(sql: "UPDATE ZBOOK SET ZAUTHOR = 9", rule: .referenceDangling, table: "ZBOOK", key: 1),
        Damage(sql: "UPDATE ZBOOK SET Z_ENT = 4", rule: .rowOfUnknownEntity, table: "ZBOOK", key: 1),
        Damage(sql: "UPDATE ZBOOK SET Z_OPT = NULL", rule: .versionMissing, table: "ZBOOK", key: 1),
        Damage(sql: "UPDATE Z_PRIMARYKEY SET Z_MAX = 1 WHERE Z_NAME = 'Author'", rule: .keyNotGivenOut, table: "ZAUTHOR", key: 2),
        Damage(sql: "INSERT INTO Z_2TAGS VALUES (1, 5)", rule: .pairDangling, table: "Z_2TAGS", key: 5),
        Damage(sql: "DELETE FROM ATRANSACTION WHERE Z_PK = 2", rule: .changeWithoutTransaction, table: "ACHANGE", key: 2),
        Damage(sql: "UPDATE ACHANGE SET ZCHANGETYPE = 7 WHERE Z_PK = 2", rule: .changeUnreadable, table: "ACHANGE", key: 2),
        Damage(sql: "DELETE FROM ATRANSACTIONSTRING", rule: .transactionTextMissing, table: "ATRANSACTION", key: 5),
        Damage(sql: "DELETE FROM ZAUTHOR WHERE Z_PK = 2", rule: .historyDisagrees, table: "ZAUTHOR", key: 2),
        Damage(
            sql: "UPDATE Z_PRIMARYKEY SET Z_MAX = 4 WHERE Z_ENT = 16002", rule: .historyNumberNotGivenOut, table: "ATRANSACTION",
            key: 5),
        Damage(sql: "DELETE FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book'", rule: .entityListBroken, table: "Z_PRIMARYKEY", key: 3),
        Damage(sql: "DROP TABLE Z_2TAGS", rule: .tableMissing, table: "Z_2TAGS", key: nil),
        Damage(sql: "DROP INDEX Z_Author_byName", rule: .indexMissing, table: "", key: nil),
        Damage(sql: "DROP TABLE ZTAG", rule: .tableMissing, table: "ZTAG", key: nil),
        Damage(sql: "ALTER TABLE ZBOOK DROP COLUMN ZWEIGHT", rule: .columnMissing, table: "ZBOOK", key: nil),
        Damage(
            sql: "UPDATE ZBOOK SET ZCOVER = CAST(x'02' || 'C0FFEE00-0000-0000-0000-000000000000' || x'00' AS BLOB)",
            rule: .externalFileMissing, table: "ZBOOK", key: 1),
    ]

    @Test(arguments: Self.damages.indices) func everyDamageIsLocated(_ index: Int) throws {
        let damage = Self.damages[index]
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let open = try store(at: url)
            #expect(try StoreCheck.run(on: url).counts.isEmpty)
            try open.write { try $0.execute(damage.sql) }
            open.close()
            let check = try StoreCheck.run(on: url)
            #expect(
                check.violations.contains { $0.rule == damage.rule && $0.table == damage.table && $0.key == damage.key },
                "\(damage.sql): \(check.violations)")
            #expect(check.counts[damage.rule] == check.violations.filter { $0.rule == damage.rule }.count)
        }
    }

    @Test func invalidFilesAreRejectedWithAReason() throws {
        try Library.withFolder { folder in
            func refusal(_ name: String, _ data: Data?) throws -> StoreError? {
                let url = folder.appending(path: name)
                try data?.write(to: url)
                let error = #expect(throws: StoreError.self) { try StoreDescription(of: url) }
                #expect((try? StoreCheck.run(on: url)) == nil)
                return error
            }
            #expect(try refusal("missing", nil)?.code == .notFound)
            #expect(try refusal("empty", Data())?.code == .corrupt)
            #expect(try refusal("text", Data(repeating: 65, count: 4096))?.code == .corrupt)
            #expect(try refusal("short", Data("SQLite format 3\0".utf8))?.code == .corrupt)
            #expect("\(try refusal("text2", Data("hello".utf8))?.summary ?? "")".contains("not a SQLite database"))
            let url = folder.appending(path: "a.sqlite")
            try store(at: url).close()
            var damaged = try Data(contentsOf: url)
            for offset in 4096..<min(damaged.count, 20 * 4096) { damaged[offset] = 0x5A }
            let corrupt = folder.appending(path: "corrupt")
            try damaged.write(to: corrupt)
            let found = Result { try StoreCheck.run(on: corrupt) }
            switch found {
            case .success(let check): #expect(check.counts[.fileDamaged] != nil)
            case .failure(let error): #expect((error as? StoreError)?.code == .corrupt)
            }
            let error = #expect(throws: StoreError.self) { try StoreDescription(of: folder) }
            #expect(error?.code == .notFound)
        }
    }
}

@Suite(.enabled(if: AppleStores.areThere, "the folder ../shared/fixtures/apple-stores is missing"))
struct AppleInspectionTests {
    private static let files = [
        "sample-v1/store.sqlite", "bookmarks-v5/store.sqlite", "history/store.sqlite", "migration-v1-v3/store-v1.sqlite",
        "migration-v1-v3/store-v2.sqlite", "migration-v1-v3/store-v3.sqlite",
    ]

    @Test(arguments: Self.files) func storesOfApplesAreSound(_ file: String) throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "store.sqlite")
            for suffix in ["", "-wal", "-shm"] {
                guard let data = FileManager.default.contents(atPath: AppleStores.folder.appending(path: file + suffix).path) else {
                    continue
                }
                try data.write(to: url.deletingLastPathComponent().appending(path: "store.sqlite\(suffix)"))
            }
            #expect(try StoreCheck.run(on: url).violations == [])
            let info = try StoreDescription(of: url)
            #expect(info.format == nil)
            #expect(!info.isModelRecorded)
            #expect(!info.entities.isEmpty)
            #expect(info.entities.allSatisfy { $0.table != nil })
            #expect(info.frameworkVersion != nil)
        }
    }

    @Test func relationshipsAreGuessedFromNames() throws {
        // Inspected in copies: opening a log rebuilds its index.
        func description(_ file: String) throws -> StoreDescription {
            try Library.withFolder { folder in
                for suffix in ["", "-wal"] {
                    guard let data = FileManager.default.contents(atPath: AppleStores.folder.appending(path: file + suffix).path) else {
                        continue
                    }
                    try data.write(to: folder.appending(path: "store.sqlite\(suffix)"))
                }
                return try StoreDescription(of: folder.appending(path: "store.sqlite"))
            }
        }
        func columns(_ file: String) throws -> [String: String] {
            let info = try description(file)
            var leads: [String: String] = [:]
            for table in info.tables {
                for column in table.columns { if let name = column.leadsTo { leads["\(table.name).\(column.name)"] = name } }
            }
            return leads
        }
        #expect(try columns("sample-v1/store.sqlite") == ["ZCAR.ZOWNER": "unknown"])
        #expect(try columns("history/store.sqlite") == ["ZBOOK.ZAUTHOR": "Writer", "ZPAGE.ZBOOK": "Book"])
        #expect(try columns("migration-v1-v3/store-v3.sqlite") == ["ZSECTION.ZPOST": "Post"])
        #expect(try columns("bookmarks-v5/store.sqlite") == ["ZBOOKMARKENTITY.ZPARENT": "BookmarkEntity"])
        let bookmarks = try description("bookmarks-v5/store.sqlite")
        #expect(bookmarks.joins.map(\.table) == ["Z_1FAVORITES"])
        #expect(bookmarks.joins[0].isOrdered)
        #expect(bookmarks.joins[0].between == ["BookmarkEntity", "BookmarkEntity"])
    }
}
