// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CoreData
import Foundation
import ManagedModel
import MirroringCore

extension TarnMirror {
    /// A value on the server that could not be imported: the server does not have the asset that the record names, for example after an
    /// incomplete restore. The object has the value from before, or none if it is new; its other attributes sync.
    public struct UnreadableValue: Hashable, Sendable {
        /// The object.
        public let objectID: NSManagedObjectID
        /// The name of the attribute.
        public let attributeName: String
        /// The name of the record on the server.
        public let recordName: String
    }

    /// Returns the values on the server that could not be imported, without a request to the server.
    ///
    /// They are retried when their record changes, once after each ``start()``, and once a day. The next change of the attribute, on any
    /// device, replaces the value.
    ///
    /// - Throws: ``Failure`` with `.metadata` if the file can't be read, and `.operationCancelled` after ``stop()``.
    public func unreadableValues() async throws -> [UnreadableValue] { try await onMetadata { try $0.unreadableValues() } }
}

extension MirroredStore {
    func quarantinedCount() throws -> Int { try transaction { try metadata.quarantinedCount() } }

    func quarantinedNames() throws -> [String] {
        try transaction { try metadata.quarantinedCount() == 0 ? [] : metadata.quarantinedRecords().map(\.name) }
    }

    func unreadableValues() throws -> [TarnMirror.UnreadableValue] {
        try transaction {
            try metadata.quarantinedRecords().compactMap { try $0.state(mapping) }.flatMap { state -> [TarnMirror.UnreadableValue] in
                guard state.stage != .needsDelete, let id = try keys.objectID(of: state.key),
                    let entity = mapping.entities[state.key.entityIndex]
                else { return [] }
                return state.fieldStates.quarantined.map { field, _ in
                    let attribute = entity.properties.first { $0.fieldName == field }?.modelName ?? field
                    return TarnMirror.UnreadableValue(objectID: id, attributeName: attribute, recordName: state.recordName)
                }
            }
        }
    }
}
