// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import Testing

/// New stores compared with those that Apple's framework made for the same models: statements, entities and numbers are equal.
@Suite(.enabled(if: AppleStores.areThere, "the folder ../shared/fixtures/apple-stores is missing"))
struct AppleLayoutTests {
    private static let files = [
        "sample-v1/store.sqlite", "bookmarks-v5/store.sqlite", "history/store.sqlite", "migration-v1-v3/store-v1.sqlite",
        "migration-v1-v3/store-v2.sqlite", "migration-v1-v3/store-v3.sqlite",
    ]

    /// What only Apple's stores have, for a reason.
    private static let absent: Set = [
        // They speed up reading the history of one author. Each costs every save a page of the log: a save took half as long again.
        "CREATE INDEX ATRANSACTION_ZAUTHORTS_INDEX ON ATRANSACTION (ZAUTHORTS)",
        "CREATE INDEX ATRANSACTION_ZBUNDLEIDTS_INDEX ON ATRANSACTION (ZBUNDLEIDTS)",
        "CREATE INDEX ATRANSACTION_ZCONTEXTNAMETS_INDEX ON ATRANSACTION (ZCONTEXTNAMETS)",
        "CREATE INDEX ATRANSACTION_ZPROCESSIDTS_INDEX ON ATRANSACTION (ZPROCESSIDTS)",
        "CREATE INDEX Z_TRANSACTION_TransactionAuthorIndex ON ATRANSACTION (ZAUTHOR COLLATE BINARY ASC)",
    ]

    @Test(arguments: files) func aNewStoreHasTheStatementsOfApples(_ file: String) throws {
        try AppleStores.withCopy(file) { url in
            let model = try ResolvedModel(try DerivedModel(ofStoreAt: url).model)
            let apples = try Library.rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND type != 'trigger'", on: url)
            var options = Library.options()
            options.isHistoryEnabled = apples.contains { $0.hasPrefix("CREATE TABLE ACHANGE") }
            let new = url.deletingLastPathComponent().appending(path: "new.sqlite")
            try Library.store(new, model: model, options: options).close()
            let ours = try Library.rows(
                "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND type != 'trigger' AND name NOT LIKE 'TARN%'", on: new)
            #expect(Set(apples).subtracting(ours).subtracting(Self.absent) == [])
            #expect(Set(ours).subtracting(apples) == [])
            let entities = "SELECT Z_ENT, Z_NAME, Z_SUPER FROM Z_PRIMARYKEY ORDER BY Z_ENT"
            #expect(try Library.rows(entities, on: new) == Library.rows(entities, on: url))
            #expect(try Library.rows("SELECT COUNT(*) FROM Z_MODELCACHE", on: new) == ["0"])
        }
    }

    /// The ordered side names the table and its first column; without one, the entity that is first by name does.
    @Test func aJoinTableIsNamedByItsOrderedSide() throws {
        for isOrdered in [false, true] {
            let album = Entity(
                name: "Album", relationships: [Relationship(name: "photos", destination: "Photo", inverse: "albums", isToMany: true)])
            let photo = Entity(
                name: "Photo",
                relationships: [Relationship(name: "albums", destination: "Album", inverse: "photos", isToMany: true, isOrdered: isOrdered)]
            )
            let store = try Library.store(model: ResolvedModel(Model(entities: [album, photo])))
            let table = try store.lines("SELECT sql FROM sqlite_master WHERE type = 'table' AND name LIKE 'Z\\__%S' ESCAPE '\\'")
            #expect(
                table == [
                    isOrdered
                        ? "CREATE TABLE Z_2ALBUMS ( Z_2PHOTOS INTEGER, Z_1ALBUMS INTEGER, Z_FOK_1ALBUMS INTEGER, PRIMARY KEY (Z_2PHOTOS, Z_1ALBUMS) )"
                        : "CREATE TABLE Z_1PHOTOS ( Z_1ALBUMS INTEGER, Z_2PHOTOS INTEGER, PRIMARY KEY (Z_1ALBUMS, Z_2PHOTOS) )"
                ])
        }
    }

    /// A store of an earlier release, in which names decided alone, goes on with its tables.
    @Test func aStoreKeepsItsJoinTables() throws {
        let folder = Entity(
            name: "Folder",
            relationships: [
                Relationship(name: "favoriteFolders", destination: "Folder", inverse: "favorites", isToMany: true),
                Relationship(name: "favorites", destination: "Folder", inverse: "favoriteFolders", isToMany: true, isOrdered: true),
            ])
        let model = try ResolvedModel(Model(entities: [folder]))
        try Library.withFolder { place in
            let url = place.appending(path: "a.sqlite")
            let store = try Library.store(url, model: model)
            let keys = try (0..<2).map { _ in try store.insert(model, "Folder", [:]) }
            #expect(
                try store.lines("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'Z\\_1%' ESCAPE '\\'") == [
                    "Z_1FAVORITES"
                ])
            store.close()
            // What such a store looks like: the other side's name in the tables and in the store's record.
            let plist = try #require(try Library.rows("SELECT hex(Z_PLIST) FROM Z_METADATA", on: url).first)
            var bytes = Data()
            for index in stride(from: 0, to: plist.count, by: 2) {
                let start = plist.index(plist.startIndex, offsetBy: index)
                bytes.append(try #require(UInt8(plist[start..<plist.index(start, offsetBy: 2)], radix: 16)))
            }
            var list = try #require(PropertyListSerialization.propertyList(from: bytes, format: nil) as? [String: Any])
            let record = String(decoding: try #require(list["TarnStoreModel"] as? Data), as: UTF8.self)
            list["TarnStoreModel"] = Data(record.replacing(#""table":"Z_1FAVORITES""#, with: #""table":"Z_1FAVORITEFOLDERS""#).utf8)
            let hex = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0).map {
                String(format: "%02x", $0)
            }.joined()
            try Library.execute("ALTER TABLE Z_1FAVORITES RENAME TO Z_1FAVORITEFOLDERS; UPDATE Z_METADATA SET Z_PLIST = x'\(hex)'", on: url)
            let again = try Library.store(url, model: model)
            var changes = StoreChanges()
            changes.links = [
                LinkChange(owner: keys[0], relationship: model.toMany("Folder", "favorites"), destination: keys[1], isAddition: true)
            ]
            try again.save(changes)
            #expect(try again.lines("SELECT Z_1FAVORITEFOLDERS, Z_1FAVORITES FROM Z_1FAVORITEFOLDERS") == ["1|2"])
            #expect(try again.lines("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'Z_1FAVORITES'") == [])
            #expect(try again.read { try $0.destinations(of: keys[1], toMany: model.toMany("Folder", "favoriteFolders")) } == [keys[0]])
            again.close()
            #expect(try StoreCheck.run(on: url).violations == [])
        }
    }
}
