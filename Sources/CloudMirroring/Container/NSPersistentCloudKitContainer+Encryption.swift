// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
import CloudWire
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

    /// Returns the keys of a store's encrypted attributes in a form for paper: a line for each key, in groups of five characters, with a
    /// checksum. Print it and store it with the user's documents: it is a secret, and decrypts the server's data.
    ///
    /// ``addEncryptionKeys(_:to:)`` reads it. Case, hyphens and spaces between characters do not matter, and O, I and L are read as digits.
    /// Print it again after a rotation.
    ///
    /// - Returns: Lines that begin with `TARN1-`; empty before the first value was encrypted here.
    /// - Throws: `CocoaError` for a store that does not sync; the error of reading the key file.
    public func encryptionRecoveryText(of store: NSPersistentStore) throws -> String {
        try synced(store).cloud.sealer.keys.text { RecoveryLine.text(of: $0) }
    }

    /// Adds the keys of another device of the user, which decrypt its values. A sync that waited for them resumes.
    ///
    /// The text has to be of a device of the user. Keys from the owner of a share are added with ``addEncryptionKeys(_:for:in:)``: a key of
    /// another user that encrypts this user's own values, or those of a third user's share, would let that user read them.
    ///
    /// - Parameter text: The result of ``encryptionKeyText(of:)`` or ``encryptionRecoveryText(of:)`` on that device.
    /// - Throws: `CocoaError` for text without keys or with a typing error, which it names by its line; for a store that is not synced; for a
    ///   store of the shared database and a new key; or for a file that cannot be written.
    public func addEncryptionKeys(_ text: String, to store: NSPersistentStore) throws {
        let mirror = try synced(store)
        try mirror.cloud.sealer.keys.add(text, mayBeNew: mirror.file.scope != .shared)
        mirror.send(.pushArrived)
    }

    /// Adds the keys of another user's share, which its owner gave to this user. A sync that waited for them resumes.
    ///
    /// They decrypt and encrypt the values of this share only. A text with a key of any other zone is refused: the owner of one share could
    /// give this user a key of their own for the share of another owner, and read the values that this user writes there.
    ///
    /// - Parameters:
    ///   - text: The result of ``encryptionKeyText(for:in:)`` on a device of the share's owner.
    ///   - share: The share whose owner the text is from, as this container fetched it.
    ///   - store: The store of the shared database that the share was accepted into.
    /// - Throws: `CocoaError` for text without keys or with a typing error, which it names by its line; for a key of another share; for a share
    ///   that is not in the store; or for a file that cannot be written.
    ///
    /// Differs: Apple's container has no such call.
    public func addEncryptionKeys(_ text: String, for share: CKShare, in store: NSPersistentStore) throws {
        let mirror = try synced(store)
        let zone = share.recordID.zoneID.wire
        guard mirror.file.scope == .shared, let owner = zone.ownerRecordName,
            try mirror.translated({ try mirror.file.zones.zone(zone) }) != nil
        else {
            throw CocoaError(
                .persistentStoreOperation,
                sentence:
                    "The share is not one that another user shares with this store: accept it first, and fetch it with fetchShares(in:).")
        }
        try mirror.cloud.sealer.keys.add(text, ofShare: zone.zoneName, of: owner)
        mirror.send(.pushArrived)
    }

    /// Creates a key that encrypts from now on, for example after a device was lost.
    ///
    /// Earlier keys go on decrypting. Values of this store that the server has are encrypted again and sent, unless they are quarantined.
    /// Other devices need the new key: carry it to them with ``encryptionKeyText(of:)`` and ``addEncryptionKeys(_:to:)``. Until then the new
    /// values are quarantined there. A device that has the key encrypts with it. If the process ends before the call returns, call it again:
    /// the key may exist, and present values not be marked.
    ///
    /// - Parameter reencrypting: Whether present values are encrypted again; else each one is with its next change.
    /// - Throws: `CocoaError` for a store that is not synced, for keys that the app gave, or for a file that cannot be written. `CKError` on a
    ///   device without any key while another device's key is missing.
    ///
    /// Differs: Apple's container has no such call.
    public func rotateEncryptionKey(of store: NSPersistentStore, reencrypting: Bool = true) async throws {
        let mirror = try synced(store)
        do {
            try mirror.cloud.sealer.keys.rotate()
            if reencrypting { try await mirror.onQueue { [file = mirror.file] in try file.unreadableValues.encryptAgain() } }
        } catch {
            throw Self.told(error)
        }
        mirror.storeChanged()
    }

    /// Creates a key for the zone of one share, and encrypts its present values again. Values of other zones do not open with it.
    ///
    /// Call it once the share is saved, to give its participants this key instead of all keys, and again after a participant was removed.
    /// Give the result of ``encryptionKeyText(for:in:)`` to the participants, and all keys to the user's other devices: until then they have
    /// the values quarantined.
    ///
    /// - Parameter store: The owner's store of the private database.
    /// - Throws: `CocoaError` for a store that is not synced, for a share that this container did not make, for keys that the app gave, or for
    ///   a file that cannot be written.
    ///
    /// Differs: Apple's container has no such call.
    public func createEncryptionKey(for share: CKShare, in store: NSPersistentStore) async throws {
        let mirror = try synced(store)
        let zone = share.recordID.zoneID.wire
        guard mirror.file.scope == .private, zone.zoneName.hasPrefix(MirrorNames.shareZonePrefix) else {
            throw CocoaError(.persistentStoreOperation, sentence: "The owner creates the key, for a share that this container made.")
        }
        do {
            try mirror.cloud.sealer.keys.rotate(ofShare: zone.zoneName)
            try await mirror.onQueue { [file = mirror.file] in try file.unreadableValues.encryptAgain(in: zone) }
        } catch {
            throw Self.told(error)
        }
        mirror.storeChanged()
    }

    /// Returns the keys of one share as text, for its participants, who add it with ``addEncryptionKeys(_:for:in:)`` to their store of the
    /// shared database. The text is a secret: it decrypts the values of the share.
    ///
    /// - Returns: Lines that begin with `tarn-key-3:`; empty for a share without a key of its own, see
    ///   ``createEncryptionKey(for:in:)``.
    /// - Throws: `CocoaError` for a store that does not sync; the error of reading the key file.
    public func encryptionKeyText(for share: CKShare, in store: NSPersistentStore) throws -> String {
        let mirror = try synced(store)
        let zone = share.recordID.zoneID.wire
        return try mirror.cloud.sealer.keys.text(
            ofShare: zone.zoneName, of: mirror.file.scope == .shared ? zone.ownerRecordName : nil)
    }

    func synced(_ store: NSPersistentStore) throws -> StoreSync {
        guard let mirror = mirror(of: store) else {
            throw CocoaError(.persistentStoreOperation, sentence: "The store is not synced by this container.")
        }
        return mirror
    }
}
