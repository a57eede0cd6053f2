// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import MirroringCore
public import ObjectGraph

extension NSPersistentCloudKitContainer {
    /// The sync state of one object.
    ///
    /// Differs: Apple's container has no state of single objects.
    public enum ObjectSyncState: Hashable, Sendable {
        /// The object's store does not sync, or the object was not saved yet.
        case localOnly
        /// The object was saved and is pending.
        case waiting
        /// The object's changes are in flight.
        case uploading
        /// The server has all changes of the object.
        ///
        /// - Parameter since: The time of the last change of the object, by the server's clock.
        case onServer(since: Date)
        /// The server rejected the object permanently. It is retried after its next change, and once at each launch.
        ///
        /// - Parameter because: A sentence for people.
        case refused(because: String)
    }

    /// Returns the sync state of one object, with all saves up to now.
    ///
    /// - Throws: `CocoaError` for a file that cannot be read.
    public func syncState(of objectID: NSManagedObjectID) throws -> ObjectSyncState {
        try syncStates(of: [objectID])[objectID] ?? .localOnly
    }

    /// Returns the sync states of several objects, with one read of each store.
    ///
    /// - Throws: `CocoaError` for a file that cannot be read.
    public func syncStates(of objectIDs: [NSManagedObjectID]) throws -> [NSManagedObjectID: ObjectSyncState] {
        var states: [NSManagedObjectID: ObjectSyncState] = [:]
        for id in objectIDs { states[id] = .localOnly }
        for mirror in allMirrors {
            let ids = objectIDs.filter { !$0.isTemporaryID && $0.persistentStore === mirror.store }
            if ids.isEmpty { continue }
            let found = try mirror.translated { try mirror.file.inspection.states(of: ids.map(\.key)) }
            for id in ids { states[id] = found[id.key] }
        }
        return states
    }
}
