// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
import Foundation
import ManagedModel
import MirroringCore
public import ObjectGraph

extension NSPersistentCloudKitContainer {
    /// A change that the server rejected permanently: the user has no permission for it, or the schema has no field for it.
    ///
    /// It remains on this device, and is sent again after the next change of the object, and once at each launch. To revert it, call
    /// ``NSPersistentCloudKitContainer/discardRejectedChanges(of:)``.
    ///
    /// Differs: Apple's container has the error of the export event only.
    public struct RejectedChange: Hashable, Sendable {
        /// The kind of the change.
        public enum Kind: Hashable, Sendable {
            /// The object isn't on the server.
            case insertion
            /// The object differs from its record. Later values of the changed attributes stay hidden.
            case update
            /// The object is on the server. The next import restores it.
            case deletion
        }

        /// The object; for a deletion, the deleted object's ID.
        public let objectID: NSManagedObjectID
        /// The identifier of the object's record.
        public let recordID: CKRecord.ID
        /// The kind of the change.
        public let kind: Kind
        /// The many-to-many relationship of a rejected link; nil for the object's own values.
        public let relationshipName: String?
        /// The server's reason, a sentence.
        public let reason: String
    }

    /// Returns changes that the server rejected permanently and that are still on this device, in no particular order.
    ///
    ///     for change in try container.rejectedChanges() { print(change.objectID, change.reason) }
    ///
    /// There is no request to the server. ``SyncStatus/rejectedCount`` has their number.
    ///
    /// - Parameter store: nil for all synced stores.
    /// - Throws: `CocoaError` for a store that isn't synced, or for a file that cannot be read.
    public func rejectedChanges(in store: NSPersistentStore? = nil) throws -> [RejectedChange] {
        try (store.map { [try synced($0)] } ?? allMirrors).flatMap { mirror in
            try mirror.translated { try mirror.file.rejectedChanges.all() }.map { rejected in
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

    /// Replaces changes that the server rejected permanently by the server's state. The objects follow the server again.
    ///
    /// A changed object takes the server's values and relationships; an object that the server does not have is deleted from the store.
    /// Discarded values are in ``conflicts(in:)``. Objects without rejected changes stay unchanged. Save the objects first: unsaved changes
    /// of a context are merged as with any import.
    ///
    /// Rejected deletions need no call: sync restores their objects, as new objects with the server's values.
    ///
    /// - Throws: `CKError` if the server cannot be reached; changes of objects in other stores or zones may have been discarded then.
    ///   `CocoaError` for a file that cannot be read or written.
    ///
    /// Differs: Apple's container has no such call.
    public func discardRejectedChanges(of objectIDs: [NSManagedObjectID]) async throws {
        for mirror in allMirrors {
            let keys = objectIDs.filter { !$0.isTemporaryID && $0.persistentStore === mirror.store }.map(\.key)
            if keys.isEmpty { continue }
            do {
                try await RejectedChangeReverter(sync: mirror).discardRejectedChanges(of: keys)
            } catch {
                throw Self.told(error)
            }
        }
    }
}
