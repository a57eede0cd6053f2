// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import CoreData
import Foundation
import ManagedModel
import MirroringCore

extension TarnMirror {
    /// The losing value of two concurrent changes. The log keeps it until the app forgets it, or until 10,000 newer ones follow.
    public struct Conflict: Identifiable, Sendable {
        /// The change that the losing value lost against.
        public enum Winner: Int, Hashable, Sendable {
            /// A value of this device, which reached the server later.
            case valueSetHere = 0
            /// The object was deleted on another device; the losing value was set here.
            case deletionElsewhere = 1
            /// The object was deleted here; the losing value came from another device.
            case deletionHere = 2
            /// A value of another device, by the attribute's `syncPolicy`; the losing value was set here.
            case valueSetElsewhere = 3

            var isDeletion: Bool { self == .deletionElsewhere || self == .deletionHere }
        }

        /// The number of the entry in the log.
        public let id: Int64
        /// When the conflict was found, by this device's clock.
        public let date: Date
        /// The name of the object's entity.
        public let entityName: String
        /// The name of the attribute or the relationship.
        public let propertyName: String
        /// The change that won.
        public let winner: Winner
        /// When the losing value reached the server, by its clock; nil for a value that was never sent.
        public let losingDate: Date?
        /// The object; nil if it is deleted.
        public let objectID: NSManagedObjectID?
        let content: Content
        /// The other values of a deleted object, by the names of their properties.
        let companions: [String: Content]

        enum Content: Sendable {
            case attribute(StoredValue, AttributeType)
            /// nil for a relationship that was cleared, or for a deleted target.
            case target(NSManagedObjectID?)
            /// A property that the model lost.
            case unknown
        }

        /// The value as `value(forKey:)` returns it; the object's ID for a relationship; nil if the losing side had cleared the property.
        public var losingValue: Any? {
            switch content {
            case .attribute(let value, let type): AttributeValues.value(value, as: type)
            case .target(let id): id
            case .unknown: nil
            }
        }
    }

    /// Returns the losing values of concurrent changes, oldest first.
    ///
    /// - Throws: ``Failure`` with `.metadata` if the file can't be read, and `.operationCancelled` after ``stop()``.
    public func conflicts() async throws -> [Conflict] {
        try await onMetadata { try $0.conflicts() }
    }

    /// Restores a losing value in a context. The app saves the context, and the value is sent like any other change.
    ///
    /// A deleted object is inserted again, with all its values in the log. The log keeps the entries: see ``forgetConflicts(_:)``.
    ///
    ///     let conflict = try await mirror.conflicts()[0]
    ///     try context.performAndWait {
    ///         try mirror.restoreLosingValue(of: conflict, in: context)
    ///         try context.save()
    ///     }
    ///
    /// - Parameters:
    ///   - conflict: An entry of ``conflicts()``.
    ///   - context: A context of the mirror's container. The call is made on its queue.
    /// - Returns: The object.
    /// - Throws: ``Failure`` with `.unrestorableValue` for a property that the model no longer has, and for a relationship to an object that
    ///   is deleted. The context is unchanged then.
    @discardableResult
    public func restoreLosingValue(of conflict: Conflict, in context: NSManagedObjectContext) throws -> NSManagedObject {
        func value(_ content: Conflict.Content) throws -> Any? {
            switch content {
            case .attribute(let value, let type): return AttributeValues.value(value, as: type)
            case .target(let id):
                guard let id else { return nil }
                if let target = try? context.existingObject(with: id) { return target }
            case .unknown: break
            }
            throw Failure(
                .unrestorableValue,
                "The value of \(conflict.entityName).\(conflict.propertyName) that lost is of a deleted object, or not in this model.")
        }
        let losing = try value(conflict.content)
        if let id = conflict.objectID, let object = try? context.existingObject(with: id) {
            object.setValue(losing, forKey: conflict.propertyName)
            return object
        }
        let object = NSEntityDescription.insertNewObject(forEntityName: conflict.entityName, into: context)
        context.assign(object, to: session.mirrored.store)
        for (property, content) in conflict.companions {
            // One value that cannot be restored must not keep the others from being restored.
            if let companion = try? value(content) { object.setValue(companion, forKey: property) }
        }
        object.setValue(losing, forKey: conflict.propertyName)
        return object
    }

    /// Deletes entries of the log.
    ///
    /// - Throws: ``Failure`` with `.metadata` if the file can't be written, and `.operationCancelled` after ``stop()``.
    public func forgetConflicts(_ conflicts: [Conflict]) async throws {
        let numbers = conflicts.map(\.id)
        try await onMetadata { mirrored in try mirrored.transaction { try mirrored.metadata.removeConflicts(numbers) } }
        await session.conflictsChanged()
    }
}

extension MirroredStore {
    func conflictCount() throws -> Int { try transaction { try metadata.conflictCount() } }

    func conflicts() throws -> [TarnMirror.Conflict] {
        try transaction {
            let entries = try metadata.conflicts()
            var values: [String: [String: TarnMirror.Conflict.Content]] = [:]
            for (_, entry) in entries where TarnMirror.Conflict.Winner(rawValue: entry.winner)?.isDeletion == true {
                guard let property = property(of: entry) else { continue }
                values[entry.record, default: [:]][property.modelName] = try content(entry, property)
            }
            return try entries.compactMap { number, entry in
                guard let winner = TarnMirror.Conflict.Winner(rawValue: entry.winner) else { return nil }
                let entity = mapping.entity(syncName: entry.entity)
                let property = property(of: entry)
                return TarnMirror.Conflict(
                    id: number, date: Date(timeIntervalSinceReferenceDate: entry.noted), entityName: entity?.name ?? entry.entity,
                    propertyName: property?.modelName ?? entry.property, winner: winner,
                    losingDate: entry.losingStamp.map { Date(timeIntervalSince1970: Double($0) / 1000) },
                    objectID: try objectID(ofRecord: entry.record), content: try content(entry, property),
                    companions: winner.isDeletion ? values[entry.record] ?? [:] : [:])
            }
        }
    }

    private func property(of entry: ConflictColumns) -> PropertyMapping? {
        mapping.entity(syncName: entry.entity).flatMap { mapping.entities[$0.index]?.mapping(of: entry.property) }
    }

    private func objectID(ofRecord name: String) throws -> NSManagedObjectID? {
        guard let state = try records(named: [name]).first, state.stage != .needsDelete else { return nil }
        return try keys.objectID(of: state.key)
    }

    private func content(_ entry: ConflictColumns, _ property: PropertyMapping?) throws -> TarnMirror.Conflict.Content {
        guard let property else { return .unknown }
        let losing = try entry.losingValue
        switch property.kind {
        case .attribute(let attribute): return property.restored(losing).map { .attribute($0, attribute.type) } ?? .unknown
        case .rank, .merged: return .unknown
        case .toOne:
            guard case .string(let name)? = losing else { return .target(nil) }
            return .target(try objectID(ofRecord: name))
        }
    }
}
