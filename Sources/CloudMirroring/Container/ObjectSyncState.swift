// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import MirroringCore
public import ObjectGraph

extension NSPersistentCloudKitContainer {
    /// Where one object stands between this device and the server.
    ///
    /// Differs: Apple's container tells of stores only.
    public enum ObjectSyncState: Hashable, Sendable {
        /// Its store is not synced, or it was not saved yet.
        case localOnly
        /// It was saved, and is sent when its turn comes.
        case waiting
        /// It is on its way, or was sent and the server has not answered yet.
        case uploading
        /// What is here is there.
        ///
        /// - Parameter since: When the server took the last change of the object, by its clock.
        case onServer(since: Date)
        /// The server refused it for good. It is tried again when it changes, and in each life of the app.
        ///
        /// - Parameter because: A sentence for people.
        case refused(because: String)
    }

    /// The state of one object, with all that was saved until now.
    ///
    /// - Throws: ``CocoaError`` for a file that cannot be read.
    public func syncState(of objectID: NSManagedObjectID) throws -> ObjectSyncState {
        try syncStates(of: [objectID])[objectID] ?? .localOnly
    }

    /// The states of many objects: one look at each store.
    ///
    /// - Throws: ``CocoaError`` for a file that cannot be read.
    public func syncStates(of objectIDs: [NSManagedObjectID]) throws -> [NSManagedObjectID: ObjectSyncState] {
        var states: [NSManagedObjectID: ObjectSyncState] = [:]
        for id in objectIDs { states[id] = .localOnly }
        for mirror in allMirrors {
            let ids = objectIDs.filter { !$0.isTemporaryID && $0.persistentStore === mirror.store }
            if ids.isEmpty { continue }
            let found = try mirror.translated { try mirror.file.states(of: ids.map(\.key)) }
            for id in ids { states[id] = found[id.key] }
        }
        return states
    }
}
