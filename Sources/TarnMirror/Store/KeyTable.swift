// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import ManagedModel
import MirroringCore

/// The numbers of objects: decisions of sync name rows by number, Core Data names them by object ID.
///
/// A number is stored with the object's record. An object without a record gets one for as long as this table remembers it.
///
/// Unchecked: used on the metadata context's queue only.
final class KeyTable: @unchecked Sendable {
    /// The number of the mirrored store in row keys: a mirror has one.
    static let store: UInt16 = 0
    /// Objects that are remembered between operations.
    private static let countMax = 50_000

    private let coordinator: NSPersistentStoreCoordinator
    private let metadata: MetadataFile
    private let model: ResolvedModel
    private var keys: [String: RowKey] = [:]
    private var uris: [RowKey: String] = [:]
    private var last: Int64?

    init(coordinator: NSPersistentStoreCoordinator, metadata: MetadataFile, model: ResolvedModel) {
        self.coordinator = coordinator
        self.metadata = metadata
        self.model = model
    }

    /// Forgets all objects, between operations: an operation that failed may have remembered numbers that no record has.
    func trim(always: Bool = false) {
        guard always || keys.count > Self.countMax else { return }
        (keys, uris, last) = ([:], [:], nil)
    }

    /// Loads the numbers of objects by one query instead of one for each.
    func load(_ ids: [NSManagedObjectID]) throws {
        let unknown = ids.map { Self.uri(of: $0) }.filter { keys[$0] == nil }
        for columns in try metadata.records(ofObjects: unknown) {
            guard let entity = entityIndex(ofRecord: columns) else { continue }
            remember(RowKey(store: Self.store, entity: entity, primaryKey: columns.key), columns.uri)
        }
    }

    /// - Returns: nil for an entity that the model of this mirror lacks.
    func key(of id: NSManagedObjectID) throws -> RowKey? {
        let uri = Self.uri(of: id)
        if let key = keys[uri] { return key }
        guard let entity = id.entity.name.flatMap({ model.entity(named: $0) }) else { return nil }
        if let columns = try metadata.records(ofObjects: [uri]).first {
            return remember(RowKey(store: Self.store, entity: entity.index, primaryKey: columns.key), uri)
        }
        return remember(RowKey(store: Self.store, entity: entity.index, primaryKey: try nextNumber()), uri)
    }

    /// Returns a key for a row without an object.
    func keyWithoutObject(entity: Int) throws -> RowKey { RowKey(store: Self.store, entity: entity, primaryKey: try nextNumber()) }

    private func nextNumber() throws -> Int64 {
        let number = try (last ?? metadata.maximum(of: "key", in: .record)) + 1
        last = number
        return number
    }

    /// Returns the URI of an object; empty for a row without one.
    func uri(of key: RowKey) throws -> String {
        if let uri = uris[key] { return uri }
        guard let columns = try metadata.record(numbered: key.primaryKey) else { return "" }
        remember(key, columns.uri)
        return columns.uri
    }

    /// - Returns: nil for an object of another store.
    func objectID(of key: RowKey) throws -> NSManagedObjectID? {
        guard let url = URL(string: try uri(of: key)) else { return nil }
        return coordinator.managedObjectID(forURIRepresentation: url)
    }

    @discardableResult
    private func remember(_ key: RowKey, _ uri: String) -> RowKey {
        keys[uri] = key
        uris[key] = uri
        return key
    }

    private func entityIndex(ofRecord columns: RecordColumns) -> Int? {
        guard let id = URL(string: columns.uri).flatMap({ coordinator.managedObjectID(forURIRepresentation: $0) }) else { return nil }
        return id.entity.name.flatMap { model.entity(named: $0)?.index }
    }

    static func uri(of id: NSManagedObjectID) -> String { id.uriRepresentation().absoluteString }

    /// Returns the URI of the same row under another name of its entity; nil for a text that isn't a URI of this coordinator's stores.
    ///
    ///     x-coredata://STORE/Entity/p12
    func uri(_ uri: String, renamedTo entity: String) -> String? {
        var parts = uri.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
        guard parts.count == 5, let name = entity.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) else { return nil }
        parts[3] = name
        guard let url = URL(string: parts.joined(separator: "/")) else { return nil }
        return coordinator.managedObjectID(forURIRepresentation: url).map { Self.uri(of: $0) }
    }
}
