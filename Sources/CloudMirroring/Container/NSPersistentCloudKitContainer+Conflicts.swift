// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore
public import ObjectGraph
import SQLiteStore

extension NSPersistentCloudKitContainer {
    /// Returns the losing values of concurrent changes, oldest first.
    ///
    /// - Parameter store: nil for all stores that sync.
    /// - Throws: `CocoaError` for a store that does not sync, or a file that cannot be read.
    public func conflicts(in store: NSPersistentStore? = nil) throws -> [Conflict] {
        let mirrors = try store.map { [try synced($0)] } ?? allMirrors
        do {
            return try mirrors.flatMap { mirror in
                try mirror.file.store.read { reader in try ConflictLogReader(mirror.file, reader).conflicts(persistentStoreCoordinator) }
            }
        } catch let error as StoreError {
            throw CocoaError(error)
        }
    }

    /// Restores a losing value in a context. The app saves the context, and the value is sent like any other change.
    ///
    /// A deleted object is inserted again, with all its values in the log. The log keeps the entries:
    /// see ``forgetConflicts(_:)``.
    ///
    /// - Parameters:
    ///   - conflict: An entry of ``conflicts(in:)``.
    ///   - context: A context of this container. The call is made on its queue.
    /// - Returns: The object.
    /// - Throws: `CocoaError` 134070 for an asset that is not on this device, or a property that the model no longer has;
    ///   `managedObjectReferentialIntegrity` for a relationship to a deleted object. The context is unchanged then.
    @discardableResult
    public func restoreLosingValue(of conflict: Conflict, in context: NSManagedObjectContext) throws -> NSManagedObject {
        let losing = try losingValue(of: conflict, in: context)
        if let id = conflict.objectID, let object = try? context.existingObject(with: id) {
            restore(conflict, losing, of: object)
            return object
        }
        guard let entity = persistentStoreCoordinator.managedObjectModel.entitiesByName[conflict.entityName] else {
            throw Self.unrestorable(conflict)
        }
        let siblings = try conflicts().filter {
            $0.id.store == conflict.id.store && $0.recordName == conflict.recordName && $0.winner != .valueSetHere
                && $0.winner != .valueSetElsewhere
        }
        let object = NSEntityDescription.insertNewObject(forEntityName: conflict.entityName, into: context)
        if let store = allMirrors.first(where: { $0.store.number == conflict.id.store })?.store, entity.isAbstract == false {
            context.assign(object, to: store)
        }
        for sibling in siblings where sibling.id != conflict.id {
            // One value that is not here must not keep the others from coming back.
            if let value = try? losingValue(of: sibling, in: context) { restore(sibling, value, of: object) }
        }
        restore(conflict, losing, of: object)
        return object
    }

    /// Deletes entries of the log.
    ///
    /// - Throws: `CocoaError` for a file that cannot be written.
    public func forgetConflicts(_ conflicts: [Conflict]) throws {
        for (number, ids) in Dictionary(grouping: conflicts.map(\.id), by: \.store) {
            guard let mirror = allMirrors.first(where: { $0.store.number == number }) else { continue }
            do {
                try mirror.file.store.write { writer in
                    for id in ids { try ConflictTable.remove(id.row, writer) }
                }
            } catch let error as StoreError {
                throw CocoaError(error)
            }
        }
    }

    private func losingValue(of conflict: Conflict, in context: NSManagedObjectContext) throws -> Any? {
        switch conflict.content {
        case .attribute(let value, let attribute): AttributeCoding.value(value, of: attribute)
        case .target(let id): try id.map { try context.existingObject(with: $0) }
        case .unknown: throw Self.unrestorable(conflict)
        }
    }

    private func restore(_ conflict: Conflict, _ losing: Any?, of object: NSManagedObject) {
        object.setValue(losing, forKeyPath: conflict.propertyName)
        if case .attribute(let value, _) = conflict.content { restoreLaterForm(of: value, conflict, of: object) }
    }

    /// Sets the attributes that replaced the one of a conflict, which an earlier version of the app wrote.
    private func restoreLaterForm(of value: StoredValue, _ conflict: Conflict, of object: NSManagedObject) {
        guard let mapping = allMirrors.first(where: { $0.store.number == conflict.id.store })?.file.mapping,
            let entity = mapping.model.entity(named: object.entity.name ?? ""),
            let lens = mapping.entities[entity.index]?.lens(ofEarlier: conflict.propertyName)
        else { return }
        let attributes = lens.laterAttributes
        let now = attributes.map { AttributeCoding.stored(object.value(forKey: $0.name), as: $0.type) ?? .null }
        for (attribute, value) in zip(attributes, lens.setting(conflict.propertyName, to: value, now: now) ?? []) {
            object.setValue(AttributeCoding.value(value, of: attribute), forKey: attribute.name)
        }
    }

    private static func unrestorable(_ conflict: Conflict) -> CocoaError {
        CocoaError(
            .persistentStoreOperation,
            sentence: "The value of \(conflict.entityName).\(conflict.propertyName) that lost is not on this device, or not in this model.")
    }
}

/// Reads the conflict log, inside one transaction of the store.
private struct ConflictLogReader {
    let file: MirrorFile
    let reader: StoreReader

    init(_ file: MirrorFile, _ reader: StoreReader) {
        self.file = file
        self.reader = reader
    }

    func conflicts(_ coordinator: NSPersistentStoreCoordinator) throws -> [NSPersistentCloudKitContainer.Conflict] {
        guard try ZoneTable.exists(reader) else { return [] }
        let metadata = file.reader(reader)
        return try ConflictTable.rows(reader).compactMap { row in
            guard let winner = NSPersistentCloudKitContainer.Conflict.Winner(rawValue: row.entry.winner.rawValue) else { return nil }
            let entry = row.entry
            let state = try metadata.recordAnywhere(named: entry.recordName)
            let entity = file.mapping.entity(syncName: entry.entity)
            let property = entity.flatMap { file.mapping.entities[$0.index]?.mapping(of: entry.property) }
            return NSPersistentCloudKitContainer.Conflict(
                id: .init(store: file.store.number, row: row.id), date: Date(timeIntervalSinceReferenceDate: row.noted),
                entityName: entity?.name ?? entry.entity,
                propertyName: property?.modelName ?? entry.property, winner: winner,
                losingDate: entry.losingStamp.map { Date(timeIntervalSince1970: Double($0.timestamp) / 1000) },
                objectID: state.flatMap { $0.stage == .needsDelete ? nil : coordinator.objectID(for: $0.key) },
                recordName: entry.recordName,
                content: try content(entry.losing, of: property, metadata, coordinator))
        }
    }

    private func content(
        _ losing: FieldValue?, of property: PropertyMapping?, _ bookkeeping: SyncMetadataReader, _ coordinator: NSPersistentStoreCoordinator
    ) throws -> NSPersistentCloudKitContainer.Conflict.Content {
        guard let property else { return .unknown }
        switch property.kind {
        case .attribute(let attribute): return property.restored(losing).map { .attribute($0, attribute) } ?? .unknown
        case .rank, .merged: return .unknown
        case .toOne:
            guard case .string(let name)? = losing else { return .target(nil) }
            return .target(try bookkeeping.recordAnywhere(named: name).map { coordinator.objectID(for: $0.key) })
        }
    }
}
