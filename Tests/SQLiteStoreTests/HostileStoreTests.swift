// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import Testing

/// Malicious and damaged files: inspection ends with a result or a ``StoreError``.
@Suite struct HostileStoreTests {
    /// A store without Tarn's record of its model, so that its tables are the only source.
    private func withStore<T>(_ body: (URL) throws -> T) throws -> T {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let model = try Library.model()
            var options = Library.options()
            options.isHistoryEnabled = false
            let store = try Library.store(url, model: model, options: options)
            let author = try store.insert(model, "Author", ["name": .string("a")])
            for index in 0..<20 {
                try store.insert(
                    model, index % 2 == 0 ? "Book" : "Comic",
                    ["title": .string("\(index)"), "author": .reference(author), "cover": .data(Data(count: index))])
            }
            try store.insert(model, "Tag", ["label": .string("t")])
            store.close()
            try Library.forgetModel(url)
            return try body(url)
        }
    }

    /// Reads everything in the file.
    private func look(at url: URL) throws {
        let contents = try StoreContents(of: url, options: Library.options())
        try contents.read { reader in
            for entity in contents.model.entities {
                try reader.forEachRow(of: entity.index) { row in
                    for index in entity.toMany.indices { _ = try reader.destinations(of: row.key, toMany: index) }
                }
            }
        }
    }

    @Test func entitiesThatAreTheirOwnAncestorsAreRoots() throws {
        try withStore { url in
            try Library.execute("UPDATE Z_PRIMARYKEY SET Z_SUPER = 3 WHERE Z_ENT = 2", on: url)
            #expect(try DerivedModel(ofStoreAt: url).model.entities.map(\.name) == ["Author", "Book", "Tag"])
            try look(at: url)
            _ = try StoreCheck.run(on: url)
            // A thousand levels.
            try Library.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 1100) \
                INSERT INTO Z_PRIMARYKEY SELECT i, 'E' || i, i - 1, 0 FROM n
                """, on: url)
            #expect(try DerivedModel(ofStoreAt: url).model.entities.map(\.name) == ["Author", "Book", "Tag"])
            try Library.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 2000 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) \
                INSERT INTO Z_PRIMARYKEY SELECT i, 'E' || i, 0, 0 FROM n
                """, on: url)
            let error = #expect(throws: StoreError.self) { try DerivedModel(ofStoreAt: url) }
            #expect(error?.code == .corrupt)
        }
    }

    @Test func viewsTriggersAndVirtualTablesAreNotUsed() throws {
        try withStore { url in
            let before = try DerivedModel(ofStoreAt: url).model
            try Library.execute(
                """
                CREATE VIEW Z_2TAGS2 AS SELECT 1 Z_2BOOKS, 1 Z_4TAGS; CREATE TABLE ZX (Z_PK INTEGER PRIMARY KEY); \
                CREATE TRIGGER T AFTER INSERT ON ZX BEGIN SELECT missing_function(1); END; \
                PRAGMA writable_schema = ON; \
                INSERT INTO sqlite_master VALUES ('table', 'ZVIRTUAL', 'ZVIRTUAL', 0, 'CREATE VIRTUAL TABLE ZVIRTUAL USING missing_module(a)'); \
                INSERT INTO Z_PRIMARYKEY VALUES (9, 'Virtual', 0, 0), (10, '2Tags2', 0, 0)
                """, on: url)
            let derived = try DerivedModel(ofStoreAt: url)
            #expect(derived.model == before)
            #expect(derived.notes.contains { $0.contains("Virtual is left out") })
            try look(at: url)
            #expect(try StoreDescription(of: url).entities.first { $0.name == "Virtual" }?.table == nil)
        }
    }

    /// Entities name the files of an export.
    @Test func invalidNamesAreOmitted() throws {
        try withStore { url in
            try Library.execute(
                """
                CREATE TABLE "Z../../UP" (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER); \
                INSERT INTO Z_PRIMARYKEY VALUES (8, '../../up', 0, 0); \
                ALTER TABLE ZTAG ADD COLUMN "Z\u{1B}[31m" VARCHAR; ALTER TABLE ZTAG ADD COLUMN ZGEOMETRY GEOMETRY
                """, on: url)
            let derived = try DerivedModel(ofStoreAt: url)
            #expect(derived.model.entities.map(\.name) == ["Author", "Book", "Comic", "Tag"])
            #expect(derived.model.entities.last?.attributes.map(\.name) == ["label"])
            #expect(derived.notes.count == 4)
            try look(at: url)
        }
    }

    @Test(arguments: 0..<150) func aDamagedPageEndsInAnErrorOrInRows(_ seed: Int) throws {
        try withStore { url in
            var random = SeededRandom(seed: UInt64(seed))
            var bytes = [UInt8](try Data(contentsOf: url))
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let start = Int.random(in: 100..<bytes.count, using: &random)
                let count = min(bytes.count - start, [1, 2, 8, 200].randomElement(using: &random) ?? 1)
                for place in start..<(start + count) { bytes[place] = UInt8.random(in: 0...255, using: &random) }
            }
            try Data(bytes).write(to: url)
            for step in [{ try look(at: url) }, { _ = try StoreDescription(of: url) }, { _ = try StoreCheck.run(on: url) }] {
                do { try step() } catch { #expect(error is StoreError, "\(error)") }
            }
        }
    }

    /// Pages that reference the next one a hundred times each: 10 pages are a hundred billion billion rows.
    @Test func aFileWithMoreRowsThanItsBytesEnds() throws {
        try withStore { url in
            let root = try #require(
                try Library.rows("SELECT rootpage FROM sqlite_master WHERE name = 'ZTAG'", on: url).first.flatMap(Int.init))
            try Library.execute("PRAGMA wal_checkpoint(TRUNCATE)", on: url)
            var bytes = [UInt8](try Data(contentsOf: url))
            let size = Int(bytes[16]) << 8 | Int(bytes[17])
            let leaf = Array(bytes[((root - 1) * size)..<(root * size)])
            func big(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).reversed().map { UInt8(value >> (8 * $0) & 0xFF) } }
            func interior(_ child: Int) -> [UInt8] {
                var page = [UInt8](repeating: 0, count: size)
                let cells = 100
                let start = size - cells * 5
                page.replaceSubrange(0..<12, with: [5, 0, 0] + big(cells, 2) + big(start, 2) + [0] + big(child, 4))
                for cell in 0..<cells {
                    page.replaceSubrange((12 + 2 * cell)..<(14 + 2 * cell), with: big(start + 5 * cell, 2))
                    page.replaceSubrange((start + 5 * cell)..<(start + 5 * cell + 5), with: big(child, 4) + [1])
                }
                return page
            }
            let first = bytes.count / size + 1
            for index in 0..<9 { bytes += interior(first + index + 1) }
            bytes += leaf
            bytes.replaceSubrange(((root - 1) * size)..<(root * size), with: interior(first))
            bytes.replaceSubrange(28..<32, with: big(bytes.count / size, 4))
            bytes.replaceSubrange(92..<96, with: bytes[24..<28])
            try Data(bytes).write(to: url)
            for step in [{ try look(at: url) }, { _ = try StoreDescription(of: url) }, { _ = try StoreCheck.run(on: url) }] {
                do {
                    try step()
                    // The check lists violations instead.
                    #expect(try StoreCheck.run(on: url).counts[.fileDamaged] != nil)
                } catch { #expect((error as? StoreError)?.code == .corrupt, "\(error)") }
            }
        }
    }

    // MARK: Models in stores of Apple's

    /// An archived model with one entity, Tag, that has the attribute `labelText`.
    private func archive() -> [UInt8] {
        func kind(_ name: String) -> ArchivedValue { .map([("$classname", .text(name))]) }
        return ArchivedValue.map([
            ("$archiver", .text("NSKeyedArchiver")), ("$top", .map([("root", .reference(1))])),
            (
                "$objects",
                .list([
                    .text("$null"), .map([("$class", .reference(2)), ("NSEntities", .reference(3))]), kind("NSManagedObjectModel"),
                    .map([("NS.keys", .list([.reference(4)])), ("NS.objects", .list([.reference(5)]))]), .text("Tag"),
                    .map([
                        ("$class", .reference(6)), ("NSEntityName", .reference(4)), ("NSClassNameForEntity", .reference(7)),
                        ("NSSuperentity", .reference(0)), ("NSProperties", .reference(8)),
                    ]), kind("NSEntityDescription"), .text("TagObject"),
                    .map([("NS.keys", .list([.reference(9)])), ("NS.objects", .list([.reference(10)]))]), .text("labelText"),
                    .map([
                        ("$class", .reference(11)), ("NSPropertyName", .reference(9)), ("NSAttributeType", .int(700)),
                        ("NSIsOptional", .bool(true)),
                        ("NSRenamingIdentifier", .reference(9)),
                    ]), kind("NSAttributeDescription"),
                ])
            ),
        ]).propertyList()
    }

    /// An RFC 1951 stream with stored (uncompressed) blocks.
    private func stored(_ bytes: [UInt8]) -> [UInt8] {
        let (low, high) = (UInt8(bytes.count & 0xFF), UInt8(bytes.count >> 8))
        return [1, low, high, ~low, ~high] + bytes
    }

    private func withArchive(_ bytes: [UInt8], _ body: (DerivedModel) throws -> Void) throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let model = try ResolvedModel(Model(entities: [Entity(name: "Tag", attributes: [Attribute(name: "labelText", type: .string)])]))
            var options = Library.options()
            options.isHistoryEnabled = false
            try Library.store(url, model: model, options: options).close()
            try Library.forgetModel(url)
            let hex = bytes.map { String(format: "%02x", $0) }.joined()
            try Library.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB); INSERT INTO Z_MODELCACHE VALUES (x'\(hex)')", on: url)
            try body(try DerivedModel(ofStoreAt: url))
        }
    }

    @Test func anArchivedModelIsRead() throws {
        try withArchive(stored(archive())) { derived in
            #expect(derived.origin == .archived)
            #expect(derived.model.entities.map(\.className) == ["TagObject"])
            #expect(derived.model.entities.first?.attributes == [Attribute(name: "labelText", type: .string)])
        }
    }

    @Test(arguments: 0..<60) func aDamagedArchiveIsReadOrIgnored(_ seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        var bytes = archive()
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            // The trailer has the offsets and sizes of everything.
            let place =
                Bool.random(using: &random)
                ? Int.random(in: (bytes.count - 32)..<bytes.count, using: &random) : bytes.indices.randomElement(using: &random) ?? 0
            bytes[place] = UInt8.random(in: 0...255, using: &random)
        }
        try withArchive(stored(bytes)) { #expect($0.model.entities.map(\.name) == ["Tag"]) }
    }
}

/// Writes binary property lists with references, which Foundation cannot write.
private indirect enum ArchivedValue {
    case text(String)
    case int(UInt16)
    case bool(Bool)
    case reference(UInt8)
    case list([ArchivedValue])
    case map([(String, ArchivedValue)])

    func propertyList() -> [UInt8] {
        var objects: [[UInt8]] = []
        let root = add(to: &objects)
        var (bytes, offsets) = (Array("bplist00".utf8), [Int]())
        for object in objects {
            offsets.append(bytes.count)
            bytes += object
        }
        let table = bytes.count
        func big(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).reversed().map { UInt8(value >> (8 * $0) & 0xFF) } }
        return bytes + offsets.flatMap { big($0, 2) } + [0, 0, 0, 0, 0, 0, 2, 1] + big(objects.count, 8) + big(root, 8) + big(table, 8)
    }

    private func add(to objects: inout [[UInt8]]) -> Int {
        func head(_ kind: UInt8, _ count: Int) -> [UInt8] { count < 15 ? [kind | UInt8(count)] : [kind | 15, 0x10, UInt8(count)] }
        var object: [UInt8]
        switch self {
        case .text(let text): object = head(0x50, text.utf8.count) + Array(text.utf8)
        case .int(let number): object = [0x11, UInt8(number >> 8), UInt8(number & 0xFF)]
        case .bool(let flag): object = [flag ? 9 : 8]
        case .reference(let index): object = [0x80, index]
        case .list(let values): object = head(0xA0, values.count) + values.map { UInt8($0.add(to: &objects)) }
        case .map(let pairs):
            let keys = pairs.map { UInt8(ArchivedValue.text($0.0).add(to: &objects)) }
            object = head(0xD0, pairs.count) + keys + pairs.map { UInt8($0.1.add(to: &objects)) }
        }
        objects.append(object)
        return objects.count - 1
    }
}
