// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// The model of a store's tables, recorded in the store's metadata and compared with the model that opens the store:
/// names of entities and properties, the storage of each, and its column.
struct RecordedModel: Codable, Equatable, Sendable {
    var entities: [String: RecordedEntity] = [:]
    /// Statements of the indexes that the model declares, by name; nil in records from before they were recorded.
    var indexes: [String: String]?

    /// Sorted keys, so that equal models have equal bytes.
    func encoded() throws(StoreError) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        do { return try encoder.encode(self) } catch { throw StoreError(.other, "the model cannot be described") }
    }

    init() {}

    /// Without entities that the model has only in another configuration.
    func limited(to layout: RecordedModel, or model: ResolvedModel) -> RecordedModel {
        var limited = self
        limited.indexes = layout.indexes
        limited.entities = entities.filter { layout.entities[$0.key] != nil || model.entity(named: $0.key) == nil }
        return limited
    }

    init(decoding data: Data) throws(StoreError) {
        do { self = try JSONDecoder().decode(RecordedModel.self, from: data) } catch {
            throw StoreError(.corrupt, "the description of the store's model cannot be read")
        }
    }
}

struct RecordedEntity: Codable, Equatable, Sendable {
    var number: Int64
    var superentity: String?
    /// Persistent properties declared by the entity itself.
    var properties: [String: RecordedProperty] = [:]
}

struct RecordedProperty: Codable, Equatable, Sendable {
    enum Kind: String, Codable {
        case attribute
        case toOne
        /// A to-many relationship with a to-one inverse, or without an inverse.
        case toManyByKey
        case toManyByTable
    }

    var kind: Kind
    var storage: StorageKind?
    var destination: String?
    var inverse: String?
    /// The attribute's or key's column, or this side's column of a join table.
    var column: String?
    var entityColumn: String?
    var orderColumn: String?
    var table: String?
    var otherColumn: String?

    init(_ kind: Kind) { self.kind = kind }

    /// - Returns: The reason why the other property cannot use this one's storage, or nil if it can.
    func difference(to other: RecordedProperty) -> String? {
        if kind != other.kind { return "was stored as \(kind.rawValue) and is now \(other.kind.rawValue)" }
        // Values get tags, and files, when a model begins to allow external storage.
        if storage != other.storage, (storage, other.storage) != (.blob, .external) {
            return "was stored as \(storage?.rawValue ?? "nothing") and is now \(other.storage?.rawValue ?? "nothing")"
        }
        if destination != other.destination {
            return "led to \(destination ?? "nothing") and now leads to \(other.destination ?? "nothing")"
        }
        if inverse != other.inverse, kind != .toOne {
            return "had the inverse \(inverse ?? "none") and now has \(other.inverse ?? "none")"
        }
        return nil
    }
}
