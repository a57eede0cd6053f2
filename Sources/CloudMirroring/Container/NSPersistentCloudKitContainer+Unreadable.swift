// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
import Foundation
import MirroringCore
public import ObjectGraph

extension NSPersistentCloudKitContainer {
    /// A value on the server that this device cannot import: an encrypted one that it does not accept, or one with an asset that the server
    /// does not have. The object has the value from before, or none if it is new; its other attributes sync.
    ///
    /// Differs: Apple's container has no such list.
    public struct UnreadableValue: Hashable, Sendable {
        /// Why the value is not imported.
        public enum Reason: Hashable, Sendable {
            /// The key is not on this device; see ``NSPersistentCloudKitContainer/addEncryptionKeys(_:to:)``. The value is imported once the
            /// key arrives. Until then the attribute is not sent.
            case missingKey
            /// The value is damaged or forged, or belongs to another record, attribute, zone or environment. The next change of the
            /// attribute, on any device, replaces it.
            case damaged
            /// The server returned a value that is older than the one of this device, or left it out. The next change of the attribute, on
            /// any device, replaces it.
            case stale
            /// The server does not have the asset that the record names, for example after an incomplete restore. The attribute need not be
            /// encrypted. The value is imported once the server has the asset; the next change of the attribute, on any device, replaces it.
            case missingAsset
        }

        /// The object.
        public let objectID: NSManagedObjectID
        /// The name of the attribute; that of the field on the server for an attribute that only a later version of the model has.
        public let attributeName: String
        /// The record on the server.
        public let recordID: CKRecord.ID
        /// Why the value is not imported.
        public let reason: Reason
    }

    /// What becomes of quarantined values.
    public enum UnreadableValueResolution: Hashable, Sendable {
        /// The values of this device are sent in their place. A value that only lacks its key, or its asset, is lost on the server.
        case replace
        /// Older values are imported, such as those of a backup that the operator restored on purpose. Damaged values, and those without
        /// their key or their asset, stay quarantined.
        case acceptOlder
    }

    /// Returns the values on the server that this device cannot import, without a request to the server.
    ///
    /// They are retried when their record changes, when their key arrives, once at each launch, and once a day. ``SyncStatus/unreadableCount``
    /// has the number of their objects, and the import event that found them has an error that names them.
    ///
    /// - Parameter store: nil for all synced stores.
    /// - Throws: `CocoaError` for a store that isn't synced, or for a file that cannot be read.
    public func unreadableValues(in store: NSPersistentStore? = nil) throws -> [UnreadableValue] {
        try (store.map { [try synced($0)] } ?? allMirrors).flatMap { mirror in
            try mirror.translated { try mirror.file.unreadableValues.all() }.compactMap { value in
                guard let key = value.key else { return nil }
                let reason: UnreadableValue.Reason =
                    switch value.reason {
                    case .missingKey: .missingKey
                    case .damaged: .damaged
                    case .stale: .stale
                    case .missingAsset: .missingAsset
                    }
                return UnreadableValue(
                    objectID: persistentStoreCoordinator.objectID(for: key), attributeName: value.attribute,
                    recordID: CKRecord.ID(recordName: value.recordName, zoneID: CKRecordZone.ID(value.zone, scope: mirror.file.scope)),
                    reason: reason)
            }
        }
    }

    /// Decides about all quarantined values of objects. Objects without any stay unchanged.
    ///
    /// - Throws: `CKError` if the server cannot be reached. `CocoaError` for a file that cannot be read or written.
    ///
    /// Differs: Apple's container has no such call.
    public func resolveUnreadableValues(of objectIDs: [NSManagedObjectID], by resolution: UnreadableValueResolution) async throws {
        for mirror in allMirrors {
            let keys = objectIDs.filter { !$0.isTemporaryID && $0.persistentStore === mirror.store }.map(\.key)
            if keys.isEmpty { continue }
            do {
                let records = try await mirror.onQueue { [file = mirror.file] in
                    try file.unreadableValues.resolve(keys, isReplacing: resolution == .replace)
                }
                if !records.isEmpty { try await UnreadableRetry(sync: mirror).fetch(records, try mirror.openDatabase()) }
                mirror.storeChanged()
            } catch {
                throw Self.told(error)
            }
        }
    }
}
