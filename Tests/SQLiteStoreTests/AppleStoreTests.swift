// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ModelFile
import PredicateKit
import SQLiteStore
import Testing

/// Stores that Apple's framework wrote, from public test suites. They are not part of the project; where they are
/// absent the tests are skipped.
@Suite(.enabled(if: AppleStores.areThere, "the folder ../shared/fixtures/apple-stores is missing"))
struct AppleStoreTests {
    private static var carModel: Model {
        var car = Entity(
            name: "Car",
            attributes: [
                Attribute(name: "color", type: .transformable), Attribute(name: "maker", type: .string),
                Attribute(name: "markedForDeletionAsOf", type: .date), Attribute(name: "model", type: .string),
                Attribute(name: "numberPlate", type: .string, isOptional: false),
            ], relationships: [Relationship(name: "owner", destination: "Person", inverse: "cars")])
        car.uniquenessConstraints = [["numberPlate"]]
        let expensive = Entity(
            name: "ExpensiveSportCar", superentity: "SportCar",
            attributes: [Attribute(name: "isLimitedEdition", type: .boolean)])
        var id = Attribute(name: "id", type: .uuid, isOptional: false)
        id.preservesValueInHistoryOnDeletion = true
        let person = Entity(
            name: "Person",
            attributes: ["firstName", "lastName"].map { Attribute(name: $0, type: .string) }
                + [id, Attribute(name: "updatedAt", type: .date)],
            relationships: [Relationship(name: "cars", destination: "Car", inverse: "owner", isToMany: true)])
        return Model(entities: [car, Entity(name: "SportCar", superentity: "Car"), expensive, person])
    }

    private static func cars() throws -> ResolvedModel { try ResolvedModel(carModel) }

    @Test func inheritanceAndOneToMany() throws {
        let model = try Self.cars()
        try AppleStores.withStore("sample-v1", model) { store in
            let counts = try ["Car", "SportCar", "ExpensiveSportCar", "Person"].map { name in
                try store.read { try $0.count(StoreQuery(entity: model.index(name))) }
            }
            #expect(counts == [125, 10, 5, 20])
            let predicate = try PredicateKit.Predicate(format: "cars.@count > 0 AND ANY cars.maker == 'FIAT'")
            let owners = try store.read {
                try $0.fetch(StoreQuery(entity: model.index("Person"), predicate: predicate))
            }
            let cars = try store.read { try $0.destinations(of: owners[0].key, toMany: 0) }
            #expect(!cars.isEmpty)
            #expect(
                try store.read { try $0.row(cars[0]) }?.values[model.slot("Car", "owner")] == .reference(owners[0].key))
            #expect(try store.insert(model, "Car", ["numberPlate": .string("new")]).primaryKey == 126)
            let error = #expect(throws: StoreError.self) {
                try store.insert(model, "Car", ["numberPlate": .string("new")])
            }
            #expect(error?.code == .constraint)
            var changes = StoreChanges()
            changes.deletes = [RowDelete(key: owners[0].key, expectedVersion: owners[0].version)]
            let number = try #require(
                try store.write { writer in
                    try writer.nullifyReferences(to: [owners[0].key])
                    return try writer.apply(changes)
                })
            let history = try store.read { try $0.history(after: number - 1) }
            #expect(history[0].changes.first { $0.kind == .delete }?.tombstone == ["id": owners[0].values[model.slot("Person", "id")]])
        }
    }

    @Test func aLogThatIsNotCheckpointedAndOrderedManyToMany() throws {
        let entity = Entity(
            name: "BookmarkEntity",
            attributes: [
                Attribute(name: "isFolder", type: .boolean), Attribute(name: "isPendingDeletion", type: .boolean),
                Attribute(name: "lastChildrenPayloadReceivedFromSync", type: .string),
                Attribute(name: "modifiedAt", type: .date), Attribute(name: "title", type: .string),
                Attribute(name: "url", type: .string), Attribute(name: "uuid", type: .string),
            ],
            relationships: [
                Relationship(
                    name: "children", destination: "BookmarkEntity", inverse: "parent", isToMany: true, isOrdered: true),
                Relationship(
                    name: "favoriteFolders", destination: "BookmarkEntity", inverse: "favorites", isToMany: true),
                Relationship(
                    name: "favorites", destination: "BookmarkEntity", inverse: "favoriteFolders", isToMany: true,
                    isOrdered: true),
                Relationship(name: "parent", destination: "BookmarkEntity", inverse: "children"),
            ])
        let model = try ResolvedModel(Model(entities: [entity]))
        try AppleStores.withStore("bookmarks-v5", model) { store in
            func members(_ owner: Int64, _ name: String) throws -> [Int64] {
                let key = RowKey(store: 7, entity: 0, primaryKey: owner)
                return try store.read { try $0.destinations(of: key, toMany: model.toMany("BookmarkEntity", name)) }
                    .map(\.primaryKey)
            }
            #expect(try members(8, "children") == [5, 10, 4, 1, 3])
            #expect(try members(6, "favorites") == [3, 1, 9, 2, 10])
            #expect(try members(9, "favoriteFolders") == [6])
            var changes = StoreChanges()
            let keys = [6, 4].map { RowKey(store: 7, entity: 0, primaryKey: $0) }
            changes.links = [
                LinkChange(
                    owner: keys[0], relationship: model.toMany("BookmarkEntity", "favorites"), destination: keys[1],
                    isAddition: true)
            ]
            try store.save(changes)
            #expect(try members(6, "favorites") == [3, 1, 9, 2, 10, 4])
        }
    }

    @Test func historyAndTriggersOfDerivedAttributes() throws {
        let writer = Entity(name: "Writer", attributes: [Attribute(name: "age", type: .integer16)])
        let author = Entity(
            name: "Author", superentity: "Writer", attributes: [Attribute(name: "alias", type: .string)],
            relationships: [Relationship(name: "books", destination: "Book", inverse: "author", isToMany: true)])
        let book = Entity(
            name: "Book",
            attributes: [
                Attribute(name: "pagesCount", type: .integer64), Attribute(name: "publishedAt", type: .date),
                Attribute(name: "price", type: .decimal), Attribute(name: "title", type: .string),
                Attribute(name: "uniqueID", type: .uuid), Attribute(name: "frontCover", type: .transformable),
            ],
            relationships: [
                Relationship(name: "author", destination: "Author", inverse: "books"),
                Relationship(name: "pages", destination: "Page", inverse: "book", isToMany: true),
            ])
        let novel = Entity(
            name: "GraphicNovel", superentity: "Book", attributes: [Attribute(name: "isBlackAndWhite", type: .boolean)])
        let page = Entity(
            name: "Page",
            attributes: [
                Attribute(name: "isBookmarked", type: .boolean), Attribute(name: "number", type: .integer32),
                Attribute(name: "content", type: .transformable),
            ], relationships: [Relationship(name: "book", destination: "Book", inverse: "pages")])
        let feedback = Entity(
            name: "Feedback",
            attributes: [
                Attribute(name: "rating", type: .double), Attribute(name: "authorAlias", type: .string),
                Attribute(name: "comment", type: .string), Attribute(name: "bookID", type: .uuid),
            ])
        let model = try ResolvedModel(Model(entities: [writer, author, book, novel, page, feedback]))
        try AppleStores.withStore("history", model) { store in
            let history = try store.read { try $0.history(after: 0) }
            #expect(history.count == 1)
            #expect(history.first?.changes.count == 126)
            #expect(history.first?.processID == "xctest")
            #expect(history[0].changes.allSatisfy { $0.kind == .insert })
            #expect(abs(history[0].timestamp - 737_057_651.68) < 0.01)
            let cheap = StoreQuery(
                entity: model.index("Book"),
                predicate: try PredicateKit.Predicate(format: "price < 10 AND pages.@count == pagesCount"))
            #expect(try store.read { try $0.fetchKeys(cheap) }.map(\.primaryKey) == [1, 3])
            let novels = try store.read { try $0.fetch(StoreQuery(entity: model.index("GraphicNovel"))) }
            #expect(
                novels[0].values[model.slot("GraphicNovel", "price")] == .decimal(Decimal(string: "3.3333333333") ?? 0))
            try store.insert(model, "Page", ["book": .reference(novels[0].key)])
            #expect(try store.lines("SELECT ZPAGESCOUNT FROM ZBOOK WHERE Z_PK = 3") == ["20"])
            #expect(try store.read { try $0.latestTransaction() } == 2)
        }
    }

    private static func posts(_ version: Int) throws -> ResolvedModel {
        func texts(_ names: String...) -> [Attribute] { names.map { Attribute(name: $0, type: .string) } }
        var post = Entity(name: "Post", attributes: texts("postID") + [Attribute(name: "date", type: .date)])
        if version < 3 { post.attributes += texts("content", version == 1 ? "color" : "hexColor") }
        guard version > 2 else { return try ResolvedModel(Model(entities: [post])) }
        post.attributes += texts("hexColor")
        post.relationships = [Relationship(name: "sections", destination: "Section", inverse: "post", isToMany: true)]
        let section = Entity(
            name: "Section", attributes: texts("body", "title") + [Attribute(name: "index", type: .integer16, defaultValue: .int(0))],
            relationships: [Relationship(name: "post", destination: "Post", inverse: "sections")])
        if version == 4 { post.attributes.append(Attribute(name: "softDeleted", type: .boolean, isOptional: false, defaultValue: .int(0))) }
        return try ResolvedModel(Model(entities: [post, section]))
    }

    @Test(arguments: 1...3) func eachVersionOfAModelOpensItsStoreOnly(_ version: Int) throws {
        for other in 1...4 {
            let model = try Self.posts(other)
            if other == version {
                try AppleStores.withStore("migration-v1-v3", file: "store-v\(version).sqlite", model) { store in
                    let query = StoreQuery(entity: model.index("Post"))
                    let rows = try store.read { try $0.fetch(query) }
                    #expect(!rows.isEmpty)
                    #expect(rows.allSatisfy { !$0.values[model.slot("Post", "postID")].isNull })
                    let key = try store.insert(model, "Post", ["postID": .string("new")])
                    #expect(key.primaryKey > rows.map(\.key.primaryKey).max() ?? 0)
                    #expect(try store.lines("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Post'") == ["\(key.primaryKey)"])
                    #expect(try store.read { try $0.problems() } == [])
                }
            } else {
                let error = #expect(throws: StoreError.self, "version \(other) on \(version)") {
                    try AppleStores.withStore("migration-v1-v3", file: "store-v\(version).sqlite", model) { _ in }
                }
                #expect(error?.code == .incompatibleModel)
                let named = ["Post.", "Section", "ZPOST."].contains { error?.detail.contains($0) == true }
                #expect(named, "\(error?.detail ?? "")")
            }
        }
    }

    @Test func aStoreOfAppleIsReadWithoutBeingChanged() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "store.sqlite")
            try FileManager.default.copyItem(at: AppleStores.folder.appending(path: "migration-v1-v3/store-v1.sqlite"), to: url)
            let before = try Data(contentsOf: url)
            var options = Library.options()
            options.isReadOnly = true
            let model = try Self.posts(1)
            let store = try Library.store(url, model: model, options: options)
            #expect(try store.read { try $0.count(StoreQuery(entity: 0)) } > 0)
            store.close()
            #expect(try Data(contentsOf: url) == before)
        }
    }

    @Test func openingKeepsTheDataThatApplesFrameworkNeeds() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "store.sqlite")
            try FileManager.default.copyItem(at: AppleStores.folder.appending(path: "sample-v1/store.sqlite"), to: url)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: url.path)
            func parts(_ url: URL) throws -> (tables: Set<String>, metadata: [String: String]) {
                let info = try StoreDescription(of: url)
                return (Set(info.tables.map(\.name)), info.metadata)
            }
            let (tables, metadata) = try parts(url)
            var options = Library.options()
            options.isHistoryEnabled = false
            let model = try Self.cars()
            let store = try Library.store(url, model: model, options: options)
            let cache = try store.lines("SELECT hex(Z_CONTENT) FROM Z_MODELCACHE")
            try store.insert(model, "Car", ["numberPlate": .string("new")])
            #expect(try store.lines("SELECT Z_OPT, Z_ENT FROM ZCAR WHERE ZNUMBERPLATE = 'new'") == ["1|1"])
            #expect(try store.lines("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Car'") == ["126"])
            #expect(try store.lines("SELECT hex(Z_CONTENT) FROM Z_MODELCACHE") == cache)
            #expect(cache[0].count > 100)
            #expect(try store.lines("SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'A%' AND type = 'table'") == ["0"])
            store.close()
            let after = try parts(url)
            #expect(after.tables == tables)
            for (key, value) in metadata { #expect(after.metadata[key] == value, "\(key)") }
            #expect(try StoreCheck.run(on: url).counts.isEmpty)
        }
    }

    @Test(arguments: [true, false]) func metadataIsReadInEitherEncoding(_ isBinary: Bool) throws {
        try AppleStores.withStore("migration-v1-v3", file: "store-v1.sqlite", Self.posts(1)) { store in
            let data = try PropertyListSerialization.data(
                fromPropertyList: ["NSStoreType": "SQLite", "app": "value"], format: isBinary ? .binary : .xml, options: 0)
            try store.write { try $0.execute("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(data)]) }
            #expect(try store.read { try $0.metadata() }["app"] as? String == "value")
        }
    }

    private struct Mismatch: Sendable {
        let change: @Sendable (inout Model) -> Void
        let detail: String
    }

    private static let mismatches = [
        Mismatch(
            change: { $0.entities[0].attributes[1].type = .integer32 },
            detail: "Car.maker is INTEGER in the model, and column ZCAR.ZMAKER is VARCHAR"),
        Mismatch(
            change: { $0.entities[0].attributes.append(Attribute(name: "wheels", type: .integer16)) },
            detail: "Car.wheels, no column ZCAR.ZWHEELS"),
        Mismatch(change: { $0.entities[0].attributes.remove(at: 1) }, detail: "Car, column ZCAR.ZMAKER"),
        Mismatch(change: { $0.entities.append(Entity(name: "Truck")) }, detail: "Truck"),
        Mismatch(change: { $0.entities.removeAll { $0.name == "ExpensiveSportCar" } }, detail: "ExpensiveSportCar"),
    ]

    @Test(arguments: Self.mismatches.indices) func aMismatchNamesTheDifference(_ index: Int) throws {
        var model = Self.carModel
        Self.mismatches[index].change(&model)
        let resolved = try ResolvedModel(model)
        let error = #expect(throws: StoreError.self) { try AppleStores.withStore("sample-v1", resolved) { _ in } }
        #expect(error?.code == .incompatibleModel)
        #expect(error?.detail.hasSuffix(Self.mismatches[index].detail) == true, "\(error?.detail ?? "")")
    }

    @Test func anIncompatibleModelIsRejected() throws {
        let model = try ResolvedModel(
            Model(entities: [Entity(name: "Car", attributes: [Attribute(name: "wheels", type: .integer16)])]))
        let error = #expect(throws: StoreError.self) { try AppleStores.withStore("sample-v1", model) { _ in } }
        #expect(error?.code == .incompatibleModel)
        #expect(error?.detail.hasSuffix(": ExpensiveSportCar") == true)
    }
}

enum AppleStores {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "shared/fixtures/apple-stores")
    static var areThere: Bool { FileManager.default.fileExists(atPath: folder.path) }

    /// - Parameter path: A model version in the folder of a store.
    static func model(_ path: String) throws -> Model {
        try ModelFileReader.read(contentsOf: folder.appending(path: path)).compiled.current
    }

    static func withCopy<T>(_ file: String, _ body: (URL) throws -> T) throws -> T {
        try Library.withFolder { copy in
            for suffix in ["", "-wal", "-shm"] {
                guard let data = FileManager.default.contents(atPath: folder.appending(path: file + suffix).path) else { continue }
                try data.write(to: copy.appending(path: "store.sqlite\(suffix)"))
            }
            return try body(copy.appending(path: "store.sqlite"))
        }
    }

    /// Removes the model from a copy of a store, which leaves its tables.
    static func dropModel(_ url: URL) throws {
        try Library.execute("DROP TABLE Z_MODELCACHE", on: url)
    }

    /// Works on a copy.
    static func withStore(
        _ name: String, file: String = "store.sqlite", _ model: ResolvedModel, _ body: (SQLiteStore) throws -> Void
    ) throws {
        try Library.withFolder { copy in
            for suffix in ["", "-wal", "-shm"] {
                let source = folder.appending(path: "\(name)/\(file)\(suffix)")
                guard let data = FileManager.default.contents(atPath: source.path) else { continue }
                try data.write(to: copy.appending(path: "store.sqlite\(suffix)"))
            }
            let url = copy.appending(path: "store.sqlite")
            let store = try Library.store(url, model: model)
            let identifier = store.identifier
            try body(store)
            store.close()
            #expect(try StoreCheck.run(on: url).violations == [])
            // After the first opening it is a store like any other.
            #expect(try Library.store(url, model: model).identifier == identifier)
        }
    }
}
