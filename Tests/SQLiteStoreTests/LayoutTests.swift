// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import Testing

@Suite struct LayoutTests {
    @Test func tablesAreThoseOfCoreData() throws {
        let store = try Library.store()
        let schema = try store.lines(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name NOT LIKE 'A%' ORDER BY type DESC, name")
        #expect(
            schema.joined(separator: "\n") == """
                CREATE TABLE ZAUTHOR ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZBORN TIMESTAMP, ZNAME VARCHAR )
                CREATE TABLE ZBOOK ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZISOPEN INTEGER, ZPAGES INTEGER, \
                ZAUTHOR INTEGER, ZPUBLISHED TIMESTAMP, ZWEIGHT FLOAT, ZPRICE DECIMAL, ZPAGE VARCHAR, ZTITLE VARCHAR, \
                ZARTIST VARCHAR, ZNUMBER BLOB, ZCOVER BLOB )
                CREATE TABLE ZTAG ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZLABEL VARCHAR )
                CREATE TABLE Z_2TAGS ( Z_2BOOKS INTEGER, Z_4TAGS INTEGER, PRIMARY KEY (Z_2BOOKS, Z_4TAGS) )
                CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)
                CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)
                CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)
                CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR)
                CREATE INDEX ZBOOK_Z_ENT_INDEX ON ZBOOK (Z_ENT)
                CREATE INDEX Z_2TAGS_Z_4TAGS_INDEX ON Z_2TAGS (Z_4TAGS, Z_2BOOKS)
                CREATE INDEX Z_Author_byName ON ZAUTHOR (ZNAME COLLATE BINARY ASC)
                """)
        #expect(
            try store.lines("SELECT * FROM Z_PRIMARYKEY") == [
                "1|Author|0|0", "2|Book|0|0", "3|Comic|2|0", "4|Tag|0|0", "16001|CHANGE|0|0", "16002|TRANSACTION|0|0",
                "16003|TRANSACTIONSTRING|0|0",
            ])
        #expect(store.identifier == "AB000000-0000-0000-0000-000000000001")
    }

    @Test func siblingsThatUseANameTwiceGetNumberedColumns() throws {
        let model = try ResolvedModel(
            Model(entities: [
                Entity(name: "Item", isAbstract: true),
                Entity(name: "Note", superentity: "Item", attributes: [Attribute(name: "text", type: .string)]),
                Entity(name: "Label", superentity: "Item", attributes: [Attribute(name: "text", type: .string)]),
            ]))
        let store = try Library.store(model: model)
        let note = try store.insert(model, "Note", ["text": .string("note")])
        try store.insert(model, "Label", ["text": .string("label")])
        #expect(try store.lines("SELECT Z_ENT, ZTEXT, ZTEXT1 FROM ZITEM") == ["3|NULL|note", "2|label|NULL"])
        let asked = RowKey(store: 7, entity: model.index("Item"), primaryKey: note.primaryKey)
        let row = try store.read { try $0.row(asked) }
        #expect(row?.key == note)
        #expect(row?.values == [.string("note")])
    }

    @Test func aReferenceToAnEntityWithSubentitiesRecordsTheConcreteEntity() throws {
        let model = try Library.model { model in
            model.entities[3].relationships.append(Relationship(name: "favourite", destination: "Book"))
        }
        let store = try Library.store(model: model)
        let comic = try store.insert(model, "Comic", ["artist": .string("Zep")])
        let author = try store.insert(model, "Author", ["favourite": .reference(comic)])
        #expect(try store.lines("SELECT ZFAVOURITE, Z2_FAVOURITE FROM ZAUTHOR") == ["1|3"])
        let row = try store.read { try $0.row(author) }
        #expect(row?.values[model.slot("Author", "favourite")] == .reference(comic))
    }
}
