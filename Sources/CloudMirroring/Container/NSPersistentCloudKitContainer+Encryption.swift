// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import MirroringCore
public import ObjectGraph

extension NSPersistentCloudKitContainer {
    /// The keys of a store's encrypted attributes as text, to be carried to the user's other devices or kept safe. It is a
    /// secret: whoever has it can read what the server stores.
    ///
    /// - Returns: Lines beginning with `tarn-key-1:`; empty as long as nothing was sealed here.
    /// - Throws: What reading the key file throws, or ``CocoaError`` for a store that is not synced.
    public func encryptionKeyText(of store: NSPersistentStore) throws -> String { try synced(store).cloud.sealer.keys.text() }

    /// Adds the keys of another device of the user, so that what was encrypted there can be read here. Syncing goes on by
    /// itself if it waited for them.
    ///
    /// - Parameter text: What ``encryptionKeyText(of:)`` gave there.
    /// - Throws: ``CocoaError`` for text without keys, for a store that is not synced, or for a file that cannot be written.
    public func addEncryptionKeys(_ text: String, to store: NSPersistentStore) throws {
        let mirror = try synced(store)
        try mirror.cloud.sealer.keys.add(text)
        mirror.send(.pushArrived)
    }

    func synced(_ store: NSPersistentStore) throws -> Mirror {
        guard let mirror = mirror(of: store) else {
            throw CocoaError(.persistentStoreOperation, sentence: "The store is not synced by this container.")
        }
        return mirror
    }
}
