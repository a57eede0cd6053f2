// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import Testing

/// Models that are derived from stores.
@Suite struct DerivedModelTests {
    /// Every storage of a property: an ordered one-to-many, a one-to-one, both kinds of many-to-many, a to-many without
    /// inverse.
    private static let model: Model = {
        var person = Entity(
            name: "Person",
            attributes: [
                Attribute(name: "name", type: .string), Attribute(name: "born", type: .date), Attribute(name: "identifier", type: .uuid),
                Attribute(name: "weight", type: .double), Attribute(name: "income", type: .decimal),
                Attribute(name: "age", type: .integer16),
                Attribute(name: "portrait", type: .binaryData),
            ],
            relationships: [
                Relationship(name: "friends", destination: "Person", inverse: "friends", isToMany: true),
                Relationship(name: "passport", destination: "Passport", inverse: "holder"),
                Relationship(name: "houses", destination: "House", inverse: "owner", isToMany: true, isOrdered: true),
                Relationship(name: "wishes", destination: "Tag", isToMany: true),
            ])
        person.uniquenessConstraints = [["name", "born"]]
        let author = Entity(
            name: "Author", superentity: "Person", attributes: [Attribute(name: "penName", type: .string)],
            relationships: [Relationship(name: "tags", destination: "Tag", inverse: "authors", isToMany: true, isOrdered: true)])
        var house = Entity(
            name: "House", attributes: [Attribute(name: "street", type: .string)],
            relationships: [Relationship(name: "owner", destination: "Person", inverse: "houses")])
        house.indexes = [FetchIndex(name: "byStreet", elements: [.init(property: "street", isAscending: false)])]
        return Model(entities: [
            person, author, house,
            Entity(
                name: "Passport", attributes: [Attribute(name: "number", type: .string)],
                relationships: [Relationship(name: "holder", destination: "Person", inverse: "passport")]),
            Entity(
                name: "Tag", attributes: [Attribute(name: "label", type: .string)],
                relationships: [Relationship(name: "authors", destination: "Author", inverse: "tags", isToMany: true)]),
        ])
    }()

    /// Two persons, an author with two tags, and their objects.
    private func fill(_ url: URL) throws -> SQLiteStore {
        let model = try ResolvedModel(Self.model)
        let store = try Library.store(url, model: model)
        let ada = try store.insert(
            model, "Person",
            [
                "name": .string("Ada"), "born": .date(10), "identifier": .uuid(UUID()), "weight": .double(60), "income": .decimal(12.5),
                "age": .int(36), "portrait": .data(Data([1, 2, 3])),
            ])
        let zep = try store.insert(model, "Author", ["name": .string("Zep"), "penName": .string("Z"), "identifier": .uuid(UUID())])
        let passport = try store.insert(model, "Passport", ["number": .string("7"), "holder": .reference(ada)])
        try store.write { try $0.execute("UPDATE ZPERSON SET ZPASSPORT = \(passport.primaryKey) WHERE Z_PK = \(ada.primaryKey)") }
        let houses = try (0..<2).map { try store.insert(model, "House", ["street": .string("\($0)"), "owner": .reference(ada)]) }
        let tags = try (0..<3).map { try store.insert(model, "Tag", ["label": .string("\($0)")]) }
        var changes = StoreChanges()
        func link(_ owner: RowKey, _ name: String, _ destination: RowKey) {
            let entity = model.entities[owner.entityIndex].name
            changes.links.append(
                LinkChange(owner: owner, relationship: model.toMany(entity, name), destination: destination, isAddition: true))
        }
        link(ada, "friends", zep)
        link(ada, "wishes", tags[0])
        link(zep, "tags", tags[2])
        link(zep, "tags", tags[1])
        changes.orders = [OrderChange(owner: ada, relationship: model.toMany("Person", "houses"), destinations: [houses[1], houses[0]])]
        try store.save(changes)
        return store
    }

    @Test func aStoreThatHasARecordOfItsModelGivesThatModel() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let store = try fill(url)
            let derived = try DerivedModel(ofStoreAt: url)
            #expect(derived.origin == .recorded)
            #expect(derived.notes == [])
            #expect(derived.model.entities.sorted { $0.name < $1.name } == Self.model.entities.sorted { $0.name < $1.name })
            store.close()
            let contents = try StoreContents(of: url, options: Library.options())
            #expect(try contents.read { try $0.fetch(contents.query("Person")) }.count == 2)
        }
    }

    @Test func tablesAndValuesGiveAModelThatReadsTheSameObjects() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            try fill(url).close()
            try Library.forgetModel(url)
            let derived = try DerivedModel(ofStoreAt: url)
            #expect(derived.origin == .tables)
            #expect(derived.notes == [])
            func entity(_ name: String) throws -> Entity { try #require(derived.model.entities.first { $0.name == name }) }
            let person = try entity("Person")
            #expect(
                person.attributes.map { "\($0.name) \($0.type)" }.sorted() == [
                    "age integer64", "born date", "identifier uuid", "income decimal", "name string", "portrait binaryData",
                    "weight double",
                ])
            #expect(try entity("Author").superentity == "Person")
            #expect(try entity("Author").attributes.map(\.name) == ["penname"])
            #expect(person.uniquenessConstraints == [["name", "born"]])
            #expect(
                try entity("House").indexes == [FetchIndex(name: "byStreet", elements: [.init(property: "street", isAscending: false)])])
            func relationship(_ entity: Entity, _ name: String) throws -> Relationship {
                try #require(entity.relationships.first { $0.name == name }, "\(entity.relationships.map(\.name))")
            }
            let owner = try relationship(entity("House"), "owner")
            #expect(owner == Relationship(name: "owner", destination: "Person", inverse: "house_owner"))
            #expect(
                try relationship(person, "house_owner")
                    == Relationship(
                        name: "house_owner", destination: "House", inverse: "owner", isToMany: true, isOrdered: true))
            #expect(try relationship(person, "passport") == Relationship(name: "passport", destination: "Passport", inverse: "holder"))
            #expect(
                try relationship(entity("Passport"), "holder") == Relationship(name: "holder", destination: "Person", inverse: "passport"))
            #expect(
                try relationship(person, "friends")
                    == Relationship(name: "friends", destination: "Person", inverse: "friends", isToMany: true))
            #expect(try relationship(person, "wishes") == Relationship(name: "wishes", destination: "Tag", isToMany: true))
            #expect(
                try relationship(entity("Author"), "tags")
                    == Relationship(
                        name: "tags", destination: "Tag", inverse: "authors", isToMany: true, isOrdered: true))

            let contents = try StoreContents(of: url, options: Library.options())
            try contents.read { reader in
                let query = try contents.query("Person", where: "ANY house_owner.street == '1'", sort: "-name")
                let ada = try #require(try reader.fetch(query).first).key
                #expect(
                    try reader.destinations(of: ada, toMany: contents.model.toMany("Person", "house_owner")).map(\.primaryKey) == [2, 1])
                #expect(try reader.destinations(of: ada, toMany: contents.model.toMany("Person", "friends")).map(\.primaryKey) == [2])
                var seen: [Int64] = []
                try reader.forEachRow(of: contents.model.index("Author")) { row in
                    seen.append(row.key.primaryKey)
                    #expect(row.values[contents.model.slot("Author", "penname")] == .string("Z"))
                    let tags = try reader.destinations(of: row.key, toMany: contents.model.toMany("Author", "tags"))
                    #expect(tags.map(\.primaryKey) == [3, 2])
                }
                #expect(seen == [2])
            }
        }
    }

    @Test func anAppsOwnStoreOpensWithTheDerivedModel() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            try fill(url).close()
            try Library.forgetModel(url)
            let model = try ResolvedModel(try DerivedModel(ofStoreAt: url).model)
            var options = Library.options()
            options.isReadOnly = true
            let store = try Library.store(url, model: model, options: options)
            #expect(try store.read { try $0.count(StoreQuery(entity: model.index("House"))) } == 2)
        }
    }

    /// Names, bytes and times of change of everything in a folder.
    private func trace(_ folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
            let path = folder.appending(path: name).path
            let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
            let bytes = FileManager.default.contents(atPath: path) ?? Data()
            return "\(name) \(date?.timeIntervalSinceReferenceDate ?? 0) \(bytes.count) \(bytes.hashValue)"
        }
    }

    /// A file alone, with a log, with a log and its index, and in the older journal mode.
    @Test(arguments: [[""], ["", "-wal"], ["", "-wal", "-shm"]], [false, true])
    func inspectionLeavesNoTrace(_ parts: [String], _ isRollback: Bool) throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let store = try fill(url)
            if parts == [""] {
                store.close()
                if isRollback { try Library.execute("PRAGMA journal_mode = DELETE", on: url) }
            }
            let place = folder.appending(path: "copy")
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            for part in parts {
                try FileManager.default.copyItem(atPath: url.path + part, toPath: place.appending(path: "b.sqlite\(part)").path)
            }
            let before = try trace(place)
            let contents = try StoreContents(of: place.appending(path: "b.sqlite"), options: Library.options())
            #expect(try contents.read { try $0.fetch(contents.query("Person")) }.count == 2)
            #expect(try StoreDescription(of: place.appending(path: "b.sqlite")).entities.count == 5)
            #expect(try trace(place) == before)
        }
    }

    @Test func aStoreIsReadWhileAnAppWrites() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let store = try fill(url)
            let model = try ResolvedModel(Self.model)
            let (file, log) = (try Data(contentsOf: url), try Data(contentsOf: folder.appending(path: "a.sqlite-wal")))
            let contents = try StoreContents(of: url, options: Library.options())
            try contents.read { reader in
                #expect(try reader.count(contents.query("Tag")) == 3)
                #expect(try Data(contentsOf: url) == file)
                #expect(try Data(contentsOf: folder.appending(path: "a.sqlite-wal")) == log)
                try store.insert(model, "Tag", [:])
                // A read transaction sees one consistent state.
                #expect(try reader.count(contents.query("Tag")) == 3)
            }
            #expect(try contents.read { try $0.count(contents.query("Tag")) } == 4)
            store.close()
        }
    }

    @Test func largeValuesInFilesAreFound() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            var photo = Attribute(name: "photo", type: .binaryData)
            photo.allowsExternalBinaryDataStorage = true
            let model = try ResolvedModel(Model(entities: [Entity(name: "Photo", attributes: [photo])]))
            let store = try Library.store(url, model: model)
            let large = Data(repeating: 9, count: 300_000)
            try store.insert(model, "Photo", ["photo": .data(large)])
            try store.insert(model, "Photo", ["photo": .data(Data([5, 6]))])
            store.close()
            try Library.forgetModel(url)
            let contents = try StoreContents(of: url, options: Library.options())
            #expect(contents.derived.origin == .tables)
            let rows = try contents.read { try $0.fetch(try contents.query("Photo")) }
            #expect(rows.map(\.values) == [[.data(large)], [.data(Data([5, 6]))]])
        }
    }

    /// The record of a release without a stored model: names and kinds, in the metadata.
    @Test func theRecordInTheMetadataIsEnough() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let store = try fill(url)
            try store.write { try $0.execute("DROP TABLE TARNSTORE_MODEL") }
            store.close()
            let derived = try DerivedModel(ofStoreAt: url)
            #expect(derived.origin == .recorded)
            func bare(_ model: Model) -> [Entity] {
                model.entities.sorted { $0.name < $1.name }.map { entity in
                    var bare = Entity(name: entity.name, superentity: entity.superentity)
                    bare.attributes = entity.attributes.map { Attribute(name: $0.name, type: $0.type == .integer16 ? .integer64 : $0.type) }
                        .sorted { $0.name < $1.name }
                    bare.relationships = entity.relationships.sorted { $0.name < $1.name }
                    return bare
                }
            }
            #expect(bare(derived.model) == bare(Self.model))
        }
    }
}

/// Models derived from stores of Apple's framework, with and without the model in the store, compared with the real ones.
@Suite(.enabled(if: AppleStores.areThere, "the folder ../shared/fixtures/apple-stores is missing"))
struct AppleDerivedModelTests {
    private static let files = [
        "sample-v1/store.sqlite", "bookmarks-v5/store.sqlite", "history/store.sqlite", "migration-v1-v3/store-v1.sqlite",
        "migration-v1-v3/store-v2.sqlite", "migration-v1-v3/store-v3.sqlite",
    ]

    @Test(arguments: files, [false, true]) func everyRowOfEveryTableIsRead(_ file: String, _ isForgotten: Bool) throws {
        try AppleStores.withCopy(file) { url in
            if isForgotten { try AppleStores.dropModel(url) }
            let contents = try StoreContents(of: url, options: Library.options())
            #expect(contents.derived.origin == (isForgotten ? .tables : .archived))
            #expect(contents.derived.notes == [])
            let info = try StoreDescription(of: url)
            #expect(contents.model.entities.map(\.name) == info.entities.map(\.name))
            try contents.read { reader in
                for entity in info.entities {
                    var keys: [Int64] = []
                    try reader.forEachRow(of: contents.model.index(entity.name)) { keys.append($0.key.primaryKey) }
                    #expect(keys.count == entity.rows, "\(entity.name)")
                    #expect(keys == keys.sorted(), "\(entity.name)")
                }
                let all = try contents.model.entities.filter { $0.superentity == nil }.reduce(0) {
                    try $0 + reader.count(contents.query($1.name))
                }
                #expect(Int64(all) == info.tables.reduce(0) { $0 + $1.rows })
                // Every to-many row leads to objects, and join records are counted once from each side.
                for entity in contents.model.entities {
                    try reader.forEachRow(of: entity.index) { row in
                        for index in entity.toMany.indices { _ = try reader.destinations(of: row.key, toMany: index) }
                    }
                }
            }
            // It also opens like any other store.
            var options = Library.options()
            options.isReadOnly = true
            let store = try Library.store(url, model: contents.model, options: options)
            #expect(try store.read { try $0.count(StoreQuery(entity: 0)) } > 0)
        }
    }

    private static let models = [
        "sample-v1/store.sqlite": "sample-v1/Model.xcdatamodel", "bookmarks-v5/store.sqlite": "bookmarks-v5/Model.xcdatamodel",
        "migration-v1-v3/store-v1.sqlite": "migration-v1-v3/Model.xcdatamodeld/Model.xcdatamodel",
        "migration-v1-v3/store-v2.sqlite": "migration-v1-v3/Model.xcdatamodeld/Model 2.xcdatamodel",
        "migration-v1-v3/store-v3.sqlite": "migration-v1-v3/Model.xcdatamodeld/Model 3.xcdatamodel",
    ]

    /// Without parts that the archive lacks in a known form, or that stores do not depend on.
    private func comparable(_ model: Model, isGuess: Bool) -> [Entity] {
        model.entities.sorted { $0.name < $1.name }.map { entity in
            var result = Entity(name: entity.name, superentity: entity.superentity, isAbstract: entity.isAbstract)
            result.uniquenessConstraints = entity.uniquenessConstraints
            result.attributes = entity.attributes.filter { !isGuess || !$0.isTransient }.map { attribute in
                var bare = Attribute(name: attribute.name, type: attribute.type, isOptional: attribute.isOptional)
                if isGuess {
                    bare.name = bare.name.lowercased()
                    bare.isOptional = true
                    if [.boolean, .integer16, .integer32].contains(bare.type) { bare.type = .integer64 }
                    if bare.type == .transformable { bare.type = .binaryData }
                    return bare
                }
                bare.isTransient = attribute.isTransient
                bare.defaultValue = attribute.defaultValue
                bare.preservesValueInHistoryOnDeletion = attribute.preservesValueInHistoryOnDeletion
                bare.valueTransformerName = attribute.valueTransformerName
                bare.versionHashModifier = attribute.versionHashModifier
                bare.renamingIdentifier = attribute.renamingIdentifier
                return bare
            }.sorted { $0.name < $1.name }
            result.relationships = entity.relationships.map { relationship in
                var bare = relationship
                if isGuess {
                    bare = Relationship(
                        name: relationship.name.lowercased(), destination: relationship.destination, inverse: nil,
                        isToMany: relationship.isToMany, isOrdered: relationship.isOrdered)
                }
                return bare
            }.sorted { $0.name < $1.name }
            return result
        }
    }

    @Test(arguments: models.keys.sorted()) func theModelInTheStoreIsTheRealOne(_ file: String) throws {
        let real = try AppleStores.model(try #require(Self.models[file]))
        try AppleStores.withCopy(file) { url in
            let derived = try DerivedModel(ofStoreAt: url)
            #expect(derived.origin == .archived)
            #expect(comparable(derived.model, isGuess: false) == comparable(real, isGuess: false))
            // A migration omits classes.
            for entity in derived.model.entities {
                #expect([entity.name, "NSManagedObject"].contains(entity.className))
                #expect((entity.className == entity.name || file.hasPrefix("migration")))
            }
        }
    }

    /// Everything but the names of inverses, which a store's tables do not contain, and the case of names.
    @Test(arguments: models.keys.sorted()) func tablesGiveTheRealModelsStructure(_ file: String) throws {
        let real = comparable(try AppleStores.model(try #require(Self.models[file])), isGuess: true)
        try AppleStores.withCopy(file) { url in
            try AppleStores.dropModel(url)
            let derived = comparable(try DerivedModel(ofStoreAt: url).model, isGuess: true)
            #expect(derived.map(\.name) == real.map(\.name))
            for (derived, real) in zip(derived, real) {
                #expect(derived.superentity == real.superentity)
                #expect(derived.attributes == real.attributes, "\(real.name)")
                #expect(
                    derived.uniquenessConstraints.map { $0.map { $0.lowercased() } }
                        == real.uniquenessConstraints.map { $0.map { $0.lowercased() } })
                #expect(
                    derived.relationships.filter { !$0.isToMany } == real.relationships.filter { !$0.isToMany }, "\(real.name)")
                func shapes(_ entity: Entity) -> [String] {
                    entity.relationships.filter(\.isToMany).map { "\($0.destination) \($0.isOrdered)" }.sorted()
                }
                #expect(shapes(derived) == shapes(real), "\(real.name)")
            }
        }
    }
}
