// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import Testing

/// Stores as Apple's framework writes them: without Tarn's record, with hashes and a checksum that cannot be recomputed.
@Suite struct ForeignStoreTests {
    private static func model(_ change: (inout Model) -> Void = { _ in }) throws -> Model {
        var car = Entity(
            name: "Car",
            attributes: [
                Attribute(name: "plate", type: .string), Attribute(name: "maker", type: .string),
                Attribute(name: "doors", type: .integer16),
            ],
            relationships: [Relationship(name: "owner", destination: "Person", inverse: "cars")])
        car.uniquenessConstraints = [["plate"]]
        let person = Entity(
            name: "Person", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "cars", destination: "Car", inverse: "owner", isToMany: true)])
        var model = Model(entities: [car, person])
        change(&model)
        return model
    }

    private static var metadata: [String: Any] {
        [
            "NSStoreType": "SQLite", "NSStoreModelVersionIdentifiers": ["9"], "NSStoreModelVersionHashesVersion": 3,
            "_NSAutoVacuumLevel": "2",
            "NSPersistenceFrameworkVersion": 1344, "NSStoreModelVersionChecksumKey": "theirs", "NSStoreModelVersionHashesDigest": "digest",
            "NSStoreModelVersionHashes": ["Car": Data(repeating: 1, count: 32), "Person": Data(repeating: 2, count: 32)], "app": "own",
        ]
    }

    private static func options(_ version: UInt8, _ changes: SQLiteStore.ModelChanges, sources: [Model] = []) -> SQLiteStore.Options {
        var options = Library.options()
        options.isHistoryEnabled = false
        options.versionHashes = ["Car": Data([version]), "Person": Data([version])]
        options.versionChecksum = "ours \(version)"
        options.versionIdentifiers = ["ours"]
        options.modelChanges = changes
        options.sourceModels = { sources }
        return options
    }

    /// A store with two cars of one owner, its uniqueness constraint inside of CREATE TABLE as older systems wrote it.
    private func withStore(inlineConstraint: String? = nil, extra: [String: Any] = [:], _ body: (URL) throws -> Void) throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let model = try ResolvedModel(Self.model())
            let store = try Library.store(url, model: model, options: Self.options(1, .infer))
            let owner = try store.insert(model, "Person", ["name": .string("p")])
            for plate in ["a", "b"] {
                try store.insert(
                    model, "Car", ["plate": .string(plate), "maker": .string("m"), "doors": .int(3), "owner": .reference(owner)])
            }
            let data = try PropertyListSerialization.data(
                fromPropertyList: Self.metadata.merging(extra) { $1 }, format: .binary, options: 0)
            try store.write { writer in
                _ = try writer.change("DROP TABLE TARNSTORE_MODEL")
                _ = try writer.change("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(data)])
                if let inlineConstraint {
                    _ = try writer.change("CREATE TABLE ZCOPY AS SELECT * FROM ZCAR")
                    _ = try writer.change("DROP TABLE ZCAR")
                    _ = try writer.change(
                        "CREATE TABLE ZCAR ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZDOORS INTEGER, ZOWNER INTEGER, ZMAKER VARCHAR, ZPLATE VARCHAR, \(inlineConstraint))"
                    )
                    _ = try writer.change(
                        "INSERT INTO ZCAR SELECT Z_PK, Z_ENT, Z_OPT, ZDOORS, ZOWNER, ZMAKER, ZPLATE FROM ZCOPY")
                    _ = try writer.change("DROP TABLE ZCOPY")
                    _ = try writer.change("CREATE INDEX ZCAR_ZOWNER_INDEX ON ZCAR (ZOWNER)")
                }
            }
            store.close()
            try body(url)
        }
    }

    // MARK: Metadata

    /// The metadata as stored, not as apps see them.
    private func stored(_ url: URL, _ model: Model, _ options: SQLiteStore.Options) throws -> [String: Any] {
        let store = try Library.store(url, model: try ResolvedModel(model), options: options)
        var result: [String: Any] = [:]
        try store.read { reader in
            try reader.query("SELECT Z_PLIST FROM Z_METADATA") { row in
                result = row.blob(0).flatMap { try? PropertyListSerialization.propertyList(from: $0, format: nil) as? [String: Any] } ?? [:]
            }
        }
        store.close()
        return result
    }

    @Test func openingKeepsApplesMetadataKeys() throws {
        try withStore { url in
            let options = Self.options(1, .refuse)
            let after = try stored(url, try Self.model(), options)
            let theirs = after.filter { Self.metadata[$0.key] != nil }
            #expect(Set(theirs.keys) == Set(Self.metadata.keys))
            for (key, value) in Self.metadata where !(value is [String: Data]) { #expect("\(theirs[key] ?? "")" == "\(value)", "\(key)") }
            let hashes = "NSStoreModelVersionHashes"
            #expect(theirs[hashes] as? [String: Data] == Self.metadata[hashes] as? [String: Data])
            #expect(Set(after.keys).subtracting(Self.metadata.keys).allSatisfy { $0.hasPrefix("Tarn") })
            // An app sees the metadata of the store's current version.
            let visible = try SQLiteStore.metadata(at: url)
            #expect(visible["NSStoreModelVersionChecksumKey"] as? String == "ours 1")
            #expect(visible["NSStoreModelVersionIdentifiers"] as? [String] == ["ours"])
            #expect(visible["NSStoreModelVersionHashes"] as? [String: Data] == options.versionHashes)
            #expect(visible["app"] as? String == "own")
        }
    }

    @Test func deferredMigrationOfAppleStaysMarked() throws {
        let key = "NSPersistentStoreDeferredLightweightMigrationOptionKey"
        try withStore(extra: [key: true]) { url in
            let after = try stored(url, Self.model(), Self.options(1, .infer))
            #expect(after[key] as? Bool == true)
        }
    }

    // MARK: Versions

    private static let changes: [(String, @Sendable (inout Model) -> Void)] = [
        ("nothing", { _ in }),
        ("optionality", { $0.entities[0].attributes[0].isOptional = false }),
        (
            "transient attribute",
            { model in
                var attribute = Attribute(name: "cached", type: .undefined)
                attribute.isTransient = true
                model.entities[0].attributes.append(attribute)
            }
        ),
        ("new attribute", { $0.entities[0].attributes.append(Attribute(name: "color", type: .string)) }),
        ("removed attribute", { $0.entities[0].attributes.removeLast() }),
        ("another type", { $0.entities[0].attributes[2].type = .double }),
        ("renamed attribute", { $0.entities[0].attributes[0].name = "number" }),
        ("new entity", { $0.entities.append(Entity(name: "Garage")) }),
        (
            "removed relationship",
            { model in
                model.entities[0].relationships = []
                model.entities[1].relationships = []
            }
        ),
        (
            "many-to-many",
            { model in
                model.entities[0].relationships = [Relationship(name: "owner", destination: "Person", inverse: "cars", isToMany: true)]
            }
        ),
        ("ordered", { $0.entities[1].relationships[0].isOrdered = true }),
        (
            "parent",
            { model in
                model.entities.append(Entity(name: "Thing"))
                model.entities[0].superentity = "Thing"
            }
        ),
    ]

    /// Compatibility by metadata matches what opening accepts.
    @Test(arguments: changes.indices)
    func metadataDecidesWhichModelsOpenTheStore(_ index: Int) throws {
        let (name, change) = Self.changes[index]
        try withStore { url in
            let model = try Self.model(change)
            let metadata = try SQLiteStore.metadata(at: url)
            let fits = ForeignTables.fit(metadata, model, configuration: nil)
            var opens = true
            do {
                try Library.store(url, model: try ResolvedModel(model), options: Self.options(2, .refuse)).close()
            } catch let error as StoreError {
                #expect(error.code == .incompatibleModel)
                opens = false
            }
            #expect(fits == opens, "\(name)")
            #expect(opens == (index < 3))
            // Only stores that were not opened here yet have the description, and apps cannot write it.
            if opens { #expect(ForeignTables.fit(try SQLiteStore.metadata(at: url), model, configuration: nil) == nil) }
            try SQLiteStore.setMetadata(metadata, at: url)
            #expect(try stored(url, opens ? model : try Self.model(), Self.options(opens ? 2 : 1, .refuse))["TarnTables"] == nil)
        }
    }

    /// Two versions with equal tables: the store's own version decides whether rows get a required attribute's default.
    @Test func identifiersDistinguishVersionsWithEqualTables() throws {
        try withStore { url in
            let old = try Self.model { model in
                model.entities[0].attributes[1].renamingIdentifier = "brand"
                model.versionIdentifiers = ["9"]
            }
            var other = try Self.model()
            other.entities[0].attributes[1].renamingIdentifier = "other"
            let new = try Self.model { model in
                model.entities[0].attributes[1].name = "brand"
                model.entities[0].attributes[1].renamingIdentifier = "brand"
            }
            let store = try Library.store(url, model: try ResolvedModel(new), options: Self.options(2, .infer, sources: [other, old]))
            #expect(try store.lines("SELECT ZBRAND FROM ZCAR") == ["m", "m"])
        }
    }

    @Test func hashesOfEarlierReleasesAreRecognised() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let model = try ResolvedModel(Self.model())
            try Library.store(url, model: model, options: Self.options(1, .refuse)).close()
            var options = Self.options(2, .refuse)
            #expect(throws: StoreError.self) { try Library.store(url, model: model, options: options) }
            options.earlierVersionHashes = Self.options(1, .refuse).versionHashes
            try Library.store(url, model: model, options: options).close()
        }
    }

    // MARK: Constraints inside of CREATE TABLE

    private static let inlineConstraints = [
        "CONSTRAINT ZPLATE UNIQUE (ZPLATE)", "UNIQUE (ZPLATE, ZMAKER)", "CONSTRAINT Z UNIQUE (ZPLATE), CHECK (ZDOORS < 9)",
        "UNIQUE (ZPLATE), UNIQUE (ZMAKER, ZDOORS, ZPLATE)",
    ]

    /// Columns that a constraint names, or doesn't, are dropped; rows and indexes stay.
    @Test(arguments: inlineConstraints, ["plate", "maker", "doors"])
    func columnsOfTablesWithInlineConstraintsAreDropped(constraint: String, dropped: String) throws {
        try withStore(inlineConstraint: constraint) { url in
            let old = try Self.model()
            let new = try Self.model { model in
                model.entities[0].attributes.removeAll { $0.name == dropped }
                if dropped == "plate" { model.entities[0].uniquenessConstraints = [] }
            }
            let resolved = try ResolvedModel(new)
            let store = try Library.store(url, model: resolved, options: Self.options(2, .infer, sources: [old]))
            let columns = try store.lines("SELECT name FROM pragma_table_info('ZCAR')")
            #expect(!columns.contains("Z" + dropped.uppercased()))
            let rows = try store.lines(
                "SELECT Z_PK, Z_ENT, Z_OPT, ZOWNER, \(dropped == "maker" ? "'m'" : "ZMAKER") FROM ZCAR ORDER BY Z_PK")
            #expect(rows == ["1|1|1|1|m", "2|1|1|1|m"])
            let indexes = try store.lines(
                "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'ZCAR' AND sql IS NOT NULL ORDER BY name")
            #expect(
                indexes == (dropped == "plate" ? [] : ["Z_Car_UNIQUE_plate"]) + ["ZCAR_ZOWNER_INDEX"]
                    || indexes == ["ZCAR_ZOWNER_INDEX"] + (dropped == "plate" ? [] : ["Z_Car_UNIQUE_plate"]))
            if dropped != "plate" {
                let error = #expect(throws: StoreError.self) { try store.insert(resolved, "Car", ["plate": .string("a")]) }
                #expect(error?.code == .constraint)
            }
            try store.insert(resolved, "Car", dropped == "plate" ? [:] : ["plate": .string("c")])
            #expect(try store.lines("PRAGMA integrity_check") == ["ok"])
            #expect(try store.lines("SELECT name FROM sqlite_master WHERE name LIKE 'TARNREBUILD%'").isEmpty)
            store.close()
            #expect(try StoreCheck.run(on: url).violations == [])
            try Library.store(url, model: resolved, options: Self.options(2, .refuse)).close()
        }
    }

    /// A constraint that the new model lacks is not enforced any more.
    @Test func inlineConstraintThatTheModelGaveUpIsDropped() throws {
        try withStore(inlineConstraint: "UNIQUE (ZPLATE)") { url in
            let new = try Self.model { model in
                model.entities[0].uniquenessConstraints = []
                model.entities[0].attributes.append(Attribute(name: "color", type: .string))
            }
            let resolved = try ResolvedModel(new)
            let store = try Library.store(url, model: resolved, options: Self.options(2, .infer, sources: [try Self.model()]))
            try store.insert(resolved, "Car", ["plate": .string("a")])
            #expect(try store.lines("SELECT count(*) FROM ZCAR WHERE ZPLATE = 'a'") == ["2"])
        }
    }

    @Test func deferredDropRebuildsTheTableLater() throws {
        try withStore(inlineConstraint: "UNIQUE (ZPLATE), CHECK (ZMAKER <> '')") { url in
            var options = Self.options(2, .infer, sources: [try Self.model()])
            options.defersDrops = true
            let resolved = try ResolvedModel(Self.model { $0.entities[0].attributes.removeAll { $0.name == "maker" } })
            let store = try Library.store(url, model: resolved, options: options)
            #expect(try store.lines("SELECT name FROM pragma_table_info('ZCAR')").contains("ZMAKER"))
            #expect(try store.finishDeferredMigration(limit: nil))
            #expect(try !store.lines("SELECT name FROM pragma_table_info('ZCAR')").contains("ZMAKER"))
            #expect(try store.lines("SELECT count(*) FROM ZCAR") == ["2"])
        }
    }
}
