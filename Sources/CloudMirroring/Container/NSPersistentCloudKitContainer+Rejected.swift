// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
import Foundation
import ManagedModel
import MirroringCore
public import ObjectGraph

extension NSPersistentCloudKitContainer {
    /// A change of an object that the server rejected permanently: the user may not make it, or the schema has no place for it.
    ///
    /// It stays on this device, and is sent again when the object changes, and once at each launch. See
    /// ``NSPersistentCloudKitContainer/discardRejectedChanges(of:)`` for a way back.
    ///
    /// Differs: Apple's container has the error of the export event only.
    public struct RejectedChange: Hashable, Sendable {
        public enum Kind: Hashable, Sendable {
            /// The object isn't on the server.
            case insertion
            /// The object differs from its record. Later values of the attributes that were changed here stay hidden.
            case update
            /// The object is on the server. It comes back by itself.
            case deletion
        }

        public let objectID: NSManagedObjectID
        public let recordID: CKRecord.ID
        public let kind: Kind
        /// A many-to-many relationship of the object of which one pair was rejected; nil for the object's own values.
        public let relationshipName: String?
        /// The server's sentence.
        public let reason: String
    }

    /// Changes that the server rejected permanently and that are still on this device, in no particular order.
    ///
    ///     for change in try container.rejectedChanges() { print(change.objectID, change.reason) }
    ///
    /// Nothing is fetched. ``SyncStatus/rejectedCount`` says how many there are.
    ///
    /// - Parameter store: nil for all synced stores.
    /// - Throws: ``CocoaError`` for a store that isn't synced, or for a file that cannot be read.
    public func rejectedChanges(in store: NSPersistentStore? = nil) throws -> [RejectedChange] {
        try (store.map { [try synced($0)] } ?? allMirrors).flatMap { mirror in
            try mirror.translated { try mirror.file.rejected() }.map { rejected in
                let kind: RejectedChange.Kind =
                    switch rejected.change.kind {
                    case .insertion: .insertion
                    case .update: .update
                    case .deletion: .deletion
                    }
                return RejectedChange(
                    objectID: persistentStoreCoordinator.objectID(for: rejected.key),
                    recordID: CKRecord.ID(
                        recordName: rejected.change.recordName, zoneID: CKRecordZone.ID(rejected.zone, scope: mirror.file.scope)),
                    kind: kind, relationshipName: rejected.relationshipName, reason: rejected.change.reason)
            }
        }
    }

    /// Gives up changes that the server rejected permanently, and puts what the server has in their place. The objects follow the server
    /// again from then on.
    ///
    /// An object that was changed takes the server's values and relationships; an object that the server doesn't accept at all is
    /// deleted from the store. Values that are given up are in ``conflicts(in:)``. Objects without rejected changes stay as they are.
    /// Save the objects first: unsaved changes of a context are merged as with any import.
    ///
    /// Rejected deletions need no call: their objects come back by themselves, as new objects with the server's values.
    ///
    /// - Throws: ``CKError`` if the server cannot be asked; changes of objects in other stores or zones may have been discarded then.
    ///   ``CocoaError`` for a file that cannot be read or written.
    ///
    /// Differs: Apple's container has no such call.
    public func discardRejectedChanges(of objectIDs: [NSManagedObjectID]) async throws {
        for mirror in allMirrors {
            let keys = objectIDs.filter { !$0.isTemporaryID && $0.persistentStore === mirror.store }.map(\.key)
            if keys.isEmpty { continue }
            do {
                try await mirror.discardRejectedChanges(of: keys)
            } catch {
                throw Self.told(error)
            }
        }
    }
}
