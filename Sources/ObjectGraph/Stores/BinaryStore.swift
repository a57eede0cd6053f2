// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// A store in one file that each save replaces atomically: it holds the old or the new state.
///
/// The file is a property list in Tarn's format; Apple's binary stores are archives of private classes, and neither
/// framework reads the other's.
final class BinaryStore: NSAtomicStore, @unchecked Sendable {
    private static let version = 1

    override var type: String { NSBinaryStoreType }

    override func newReferenceObject(for managedObject: NSManagedObject) -> Any {
        let last = (metadata[Key.last] as? NSNumber)?.int64Value ?? 0
        var changed = metadata ?? [:]
        changed[Key.last] = NSNumber(value: last + 1)
        metadata = changed
        return NSNumber(value: last + 1)
    }

    override func loadMetadata() throws {
        guard let url else {
            throw CocoaError(.persistentStoreOpen, sentence: "A binary store needs the address of a file.")
        }
        guard let contents = try Self.contents(of: url) else {
            metadata = [NSStoreUUIDKey: UUID().uuidString, NSStoreTypeKey: NSBinaryStoreType]
            if isReadOnly {
                throw CocoaError(.fileReadNoSuchFile, sentence: "No store exists at \(url.path), and a read-only store cannot be created.")
            }
            return
        }
        metadata = contents[Key.metadata] as? [String: Any] ?? [:]
    }

    override func load() throws {
        guard let url, let contents = try Self.contents(of: url) else {
            // Writes a new store's file right away, so that a read-only folder is reported now.
            return try save()
        }
        let entities = persistentStoreCoordinator?.managedObjectModel.entitiesByName ?? [:]
        let rows = contents[Key.rows] as? [[String: Any]] ?? []
        for row in rows {
            guard let entity = entities[row[Key.entity] as? String ?? ""], let reference = row[Key.reference] as? NSNumber else {
                throw Self.corrupt(url)
            }
            addCacheNodes([NSAtomicStoreCacheNode(objectID: objectID(for: entity, withReferenceObject: reference))])
        }
        for row in rows { try fill(row, entities, url) }
    }

    private func fill(_ row: [String: Any], _ entities: [String: NSEntityDescription], _ url: URL) throws {
        guard let node = try found(row, entities), let layout = layout(node.objectID.key) else { throw Self.corrupt(url) }
        let values = row[Key.values] as? [String: Any] ?? [:]
        for case .attribute(let attribute) in layout.entity.slots {
            let value = values[attribute.name].flatMap { BinaryValue.value($0, of: attribute) }
            node.setValue(value, forKey: attribute.name)
        }
        for relationship in layout.description.relationshipsByName.values {
            let members = try (values[relationship.name] as? [[String: Any]] ?? []).compactMap { try found($0, entities) }
            let value: Any? =
                relationship.isToMany ? (relationship.isOrdered ? NSOrderedSet(array: members) : NSSet(array: members)) : members.first
            node.setValue(value, forKey: relationship.name)
        }
    }

    private func found(_ row: [String: Any], _ entities: [String: NSEntityDescription]) throws -> NSAtomicStoreCacheNode? {
        guard let entity = entities[row[Key.entity] as? String ?? ""], let reference = row[Key.reference] as? NSNumber else { return nil }
        return cacheNode(for: objectID(for: entity, withReferenceObject: reference))
    }

    override func save() throws {
        guard let url else { return }
        let rows = cacheNodes().compactMap { node -> [String: Any]? in
            guard let layout = layout(node.objectID.key) else { return nil }
            var values: [String: Any] = [:]
            for case .attribute(let attribute) in layout.entity.slots where !attribute.isTransient {
                values[attribute.name] = node.value(forKey: attribute.name).flatMap { BinaryValue.archived($0, of: attribute) }
            }
            for name in layout.description.relationshipsByName.keys {
                let value = node.value(forKey: name)
                let members = (value as? NSAtomicStoreCacheNode).map { [$0.objectID.key] } ?? members(value)
                if !members.isEmpty { values[name] = members.compactMap(name(of:)) }
            }
            return name(of: node.objectID.key)?.merging([Key.values: values]) { $1 }
        }
        let contents: [String: Any] = [Key.version: Self.version, Key.metadata: metadata ?? [:], Key.rows: rows]
        try Self.write(contents, to: url)
    }

    /// The reference to a row from another row.
    private func name(of key: RowKey) -> [String: Any]? {
        guard let layout = layout(key), let reference = table.object(key.primaryKey) as? NSNumber else { return nil }
        return [Key.entity: layout.name, Key.reference: reference]
    }

    // MARK: The file

    override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
        guard let contents = try contents(of: url) else {
            throw CocoaError(.fileReadNoSuchFile, sentence: "No store exists at \(url.path).")
        }
        return contents[Key.metadata] as? [String: Any] ?? [:]
    }

    override class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
        guard var contents = try contents(of: url) else {
            throw CocoaError(.fileReadNoSuchFile, sentence: "No store exists at \(url.path).")
        }
        let storedMetadata = contents[Key.metadata] as? [String: Any] ?? [:]
        let own = [NSStoreUUIDKey, NSStoreTypeKey, Key.last, NSStoreModelVersionHashesKey]
        contents[Key.metadata] = (metadata ?? [:]).merging(storedMetadata.filter { own.contains($0.key) }) { given, _ in given }
        try write(contents, to: url)
    }

    private enum Key {
        static let version = "TarnBinaryStore"
        static let metadata = "metadata"
        static let rows = "rows"
        static let entity = "entity"
        static let reference = "reference"
        static let values = "values"
        static let last = "TarnLastReference"
    }

    /// - Returns: nil for a missing or empty file.
    private static func contents(of url: URL) throws -> [String: Any]? {
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        let data = try Data(contentsOf: url)
        if data.isEmpty { return nil }
        guard let list = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any],
            let version = list[Key.version] as? NSNumber
        else { throw corrupt(url) }
        guard version.intValue <= Self.version else {
            throw CocoaError(.fileReadCorruptFile, sentence: "The store at \(url.path) was made by a newer release; open it with that.")
        }
        return list
    }

    private static func write(_ contents: [String: Any], to url: URL) throws {
        do {
            try PropertyListSerialization.data(fromPropertyList: contents, format: .binary, options: 0).write(to: url, options: .atomic)
        } catch {
            throw CocoaError(
                .fileWriteUnknown, sentence: "The store at \(url.path) cannot be written: \(error.localizedDescription)",
                userInfo: [NSUnderlyingErrorKey: error])
        }
    }

    private static func corrupt(_ url: URL) -> CocoaError {
        CocoaError(.fileReadCorruptFile, sentence: "The file at \(url.path) isn't a binary store of Tarn, or it is damaged.")
    }
}

/// Attribute values as property-list values.
private enum BinaryValue {
    static func archived(_ value: Any, of attribute: Attribute) -> Any? {
        guard let stored = AttributeCoding.stored(value, as: attribute.type) else { return nil }
        return switch stored {
        case .null, .reference: nil
        case .int(let value): NSNumber(value: value)
        case .double(let value): NSNumber(value: value)
        // Dates as numbers keep every bit.
        case .date(let value): NSNumber(value: value)
        case .decimal(let value): NSDecimalNumber(decimal: value).stringValue
        case .string(let value), .url(let value): value
        case .data(let value): value
        case .uuid(let value): value.uuidString
        case .object(let box): AttributeTransformer(attribute).data(of: box.value)
        }
    }

    static func value(_ archived: Any, of attribute: Attribute) -> Any? {
        let stored: StoredValue? =
            switch attribute.type {
            case .integer16, .integer32, .integer64, .boolean: (archived as? NSNumber).map { .int($0.int64Value) }
            case .double, .float: (archived as? NSNumber).map { .double($0.doubleValue) }
            case .date: (archived as? NSNumber).map { .date($0.doubleValue) }
            case .decimal: (archived as? String).flatMap { Decimal(string: $0) }.map { .decimal($0) }
            case .string: (archived as? String).map { .string($0) }
            case .uri: (archived as? String).map { .url($0) }
            case .uuid: (archived as? String).flatMap { UUID(uuidString: $0) }.map { .uuid($0) }
            case .binaryData, .transformable: (archived as? Data).map { .data($0) }
            case .undefined, .objectID, .composite: nil
            }
        return stored.flatMap { AttributeCoding.value($0, of: attribute) }
    }
}
