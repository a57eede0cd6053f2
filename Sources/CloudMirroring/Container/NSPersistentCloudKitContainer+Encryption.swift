// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import MirroringCore
public import ObjectGraph

extension NSPersistentCloudKitContainer {
    /// Returns the keys of a store's encrypted attributes as text, for the user's other devices or for safekeeping. The text is a secret:
    /// it decrypts the server's data.
    ///
    /// - Returns: Lines that begin with `tarn-key-1:`; empty before the first value was encrypted here.
    /// - Throws: `CocoaError` for a store that does not sync; the error of reading the key file.
    public func encryptionKeyText(of store: NSPersistentStore) throws -> String { try synced(store).cloud.sealer.keys.text() }

    /// Adds the keys of another device of the user, which decrypt its values. A sync that waited for them resumes.
    ///
    /// - Parameter text: The result of ``encryptionKeyText(of:)`` on that device.
    /// - Throws: `CocoaError` for text without keys, for a store that is not synced, or for a file that cannot be written.
    public func addEncryptionKeys(_ text: String, to store: NSPersistentStore) throws {
        let mirror = try synced(store)
        try mirror.cloud.sealer.keys.add(text)
        mirror.send(.pushArrived)
    }

    func synced(_ store: NSPersistentStore) throws -> StoreSync {
        guard let mirror = mirror(of: store) else {
            throw CocoaError(.persistentStoreOperation, sentence: "The store is not synced by this container.")
        }
        return mirror
    }
}
