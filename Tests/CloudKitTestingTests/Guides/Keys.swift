// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CoreData
import Foundation

// The code of Documentation/Encryption.md. `EncryptionTests` and `DeviceApprovalTests` run the same calls.

func resolveUnreadableValues(of container: NSPersistentCloudKitContainer, restored ids: [NSManagedObjectID]) async throws {
    for value in try container.unreadableValues() { print(value.objectID, value.attributeName, value.reason) }
    try await container.resolveUnreadableValues(of: ids, by: .replace)  // send this device's values
    try await container.resolveUnreadableValues(of: ids, by: .acceptOlder)  // the operator restored them on purpose
}

func carryKeys(
    from tablet: NSPersistentCloudKitContainer, _ tabletStore: NSPersistentStore, to phone: NSPersistentCloudKitContainer,
    _ store: NSPersistentStore
) throws {
    let text = try tablet.encryptionKeyText(of: tabletStore)  // carry it over: a file, a QR code, a password manager
    try phone.addEncryptionKeys(text, to: store)  // sync continues automatically
}

func provideKeys(_ secret: String, to options: NSPersistentCloudKitContainerOptions) throws {
    options.encryptionKeys = try .text(secret)
    options.encryptionKeys = .file(URL(fileURLWithPath: "/run/secrets/notes.keys"))
}

func rotateKeys(of container: NSPersistentCloudKitContainer, _ store: NSPersistentStore) async throws {
    try await container.rotateEncryptionKey(of: store)  // and encrypt present values again
    try await container.rotateEncryptionKey(of: store, reencrypting: false)  // later values only
}

func giveShareAKey(
    _ share: CKShare, of container: NSPersistentCloudKitContainer, _ store: NSPersistentStore,
    to participant: NSPersistentCloudKitContainer, _ sharedStore: NSPersistentStore, _ acceptedShare: CKShare
) async throws {
    try await container.createEncryptionKey(for: share, in: store)  // the values of its zone are encrypted again
    let text = try container.encryptionKeyText(for: share, in: store)  // for the participants
    // On a participant's device, with the share that this device fetched:
    try participant.addEncryptionKeys(text, for: acceptedShare, in: sharedStore)
}

func approveDevice(
    phone: NSPersistentCloudKitContainer, _ store: NSPersistentStore, tablet: NSPersistentCloudKitContainer,
    _ tabletStore: NSPersistentStore
) async throws {
    let request = try await phone.requestEncryptionKeys(for: store, deviceName: "Mia's phone")  // on the new device
    let approval = try await tablet.pendingEncryptionKeyRequest(for: tabletStore)  // on one with the keys
    try await approval?.refresh()  // .compare(code: "4711 0815"), once the new device has answered; call it once a second
    try await request.refresh()  // .compare(code: "4711 0815")
    await request.confirm()  // the user: both show the same code
    try await approval?.approve()  // sends the keys
    try await request.refresh()  // .approved
}
