// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// The model that a store was made for: the store's own record, else a model of the program.
///
/// Source: `core-data-sqlite-format`, "Bookkeeping tables": Apple's stores record their model for the same purpose, in a
/// form that is not public. For those, the program's model with exactly the store's tables is taken.
struct SourceModel {
    static let table = "TARNSTORE_MODEL"

    /// The part of the model that a later migration needs. Default values may be objects, and are omitted.
    static func record(_ model: Model, in connection: Connection) throws(StoreError) {
        var recorded = Model(entities: model.entities)
        recorded.composites = model.composites
        for index in recorded.entities.indices {
            for place in recorded.entities[index].attributes.indices { recorded.entities[index].attributes[place].forgetDefaults() }
        }
        for index in recorded.composites.indices {
            for place in recorded.composites[index].attributes.indices { recorded.composites[index].attributes[place].forgetDefaults() }
        }
        let data: Data
        do { data = try CompiledModel(currentVersion: "store", versions: ["store": recorded]).encoded() } catch {
            throw StoreError(.other, "the model cannot be kept in the store", detail: error.description)
        }
        try connection.execute("CREATE TABLE IF NOT EXISTS \(table) (VERSION INTEGER PRIMARY KEY, CONTENT BLOB)")
        try connection.execute("DELETE FROM \(table)")
        try connection.execute("INSERT INTO \(table) (VERSION, CONTENT) VALUES (1, ?)", [.blob(data)])
    }

    static func recorded(in connection: Connection, _ columns: [String: [String]]) throws(StoreError) -> Model? {
        guard columns[table] != nil else { return nil }
        let data = try connection.first("SELECT CONTENT FROM \(table) WHERE VERSION = 1") { $0.blob(0) }
        guard let data else { return nil }
        do throws(CompiledModelError) { return try CompiledModel(data: data).current } catch {
            throw StoreError(.corrupt, "the model that the store keeps cannot be read", detail: error.description)
        }
    }

    /// Records what other devices depend on, in a row of its own that earlier releases ignore, and delete when they migrate the store.
    ///
    /// Writes nothing if the last opening recorded the same.
    static func record(_ declarations: SyncDeclarations, in connection: Connection) throws(StoreError) {
        if try self.declarations(in: connection) == declarations { return }
        let data: Data
        do { data = try JSONEncoder().encode(declarations) } catch {
            throw StoreError(.other, "the names on the server cannot be kept in the store")
        }
        try connection.execute("INSERT OR REPLACE INTO \(table) (VERSION, CONTENT) VALUES (2, ?)", [.blob(data)])
    }

    /// Returns the recorded declarations; nil for a store that was not opened for sync since its last migration.
    ///
    /// The store must have a recorded model.
    static func declarations(in connection: Connection) throws(StoreError) -> SyncDeclarations? {
        let data = try connection.first("SELECT CONTENT FROM \(table) WHERE VERSION = 2") { $0.blob(0) }
        return data.flatMap { try? JSONDecoder().decode(SyncDeclarations.self, from: $0) }
    }

    /// Returns a model with exactly the tables of the file.
    static func fitting(_ models: [Model], _ store: ForeignStore, _ existing: StoreLayoutBuilder.Existing) throws(StoreError) -> Model? {
        for model in models.filter(store.hasIdentifiers) + models.filter({ !store.hasIdentifiers(of: $0) }) {
            guard let resolved = try? ResolvedModel(model) else { continue }
            var builder = try StoreLayoutBuilder(resolved, configuration: nil, existing: existing)
            guard let layout = try? builder.build() else { continue }
            if (try? store.check(against: layout, existing.columns)) != nil { return model }
        }
        return nil
    }
}

extension Attribute {
    fileprivate mutating func forgetDefaults() {
        defaultValue = .null
        userInfo = [:]
        for index in elements.indices { elements[index].forgetDefaults() }
    }
}
