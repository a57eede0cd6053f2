// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import CoreData
import Foundation
import Synchronization
import Testing

/// A container with a cloud of its own behind it. On Apple's platforms: the app's container.
func testContainer() async throws -> CKContainer { try await TestCloud().device("device").container }

/// The containers of two people, on a device each.
func twoAccounts() async throws -> (owner: CKContainer, guest: CKContainer) {
    let cloud = try TestCloud()
    return (
        try await cloud.device("phone", account: "mia").container, try await cloud.device("tablet", account: "ben").container
    )
}

/// The containers of people, on a device each.
func accounts(_ names: String...) async throws -> [CKContainer] {
    let cloud = try TestCloud()
    var containers: [CKContainer] = []
    for name in names { containers.append(try await cloud.device(name, account: name).container) }
    return containers
}

/// The containers of two devices of one person.
func twoDevices() async throws -> (phone: CKContainer, tablet: CKContainer) {
    let cloud = try TestCloud()
    return (try await cloud.device("phone").container, try await cloud.device("tablet").container)
}

/// By which the guest of `twoAccounts` is found.
let guestAddress = TestCloud.emailAddress(of: "ben")

/// The container of a device without a network.
func offlineContainer() async throws -> CKContainer {
    let device = try await TestCloud().device("phone")
    device.goOffline()
    return device.container
}

/// The folders of mirrored stores, which are removed when the process exits.
private let storeFolders: Mutex<[URL]> = {
    atexit { for folder in storeFolders.withLock({ $0 }) { try? FileManager.default.removeItem(at: folder) } }
    return Mutex([])
}()

/// A container with a mirrored store of the private database, and the device's view of that database.
func mirroredContainer(_ model: NSManagedObjectModel) async throws -> (container: NSPersistentCloudKitContainer, database: CKDatabase) {
    let device = try await TestCloud().device("phone")
    let container = NSPersistentCloudKitContainer(name: "Mirrored", managedObjectModel: model)
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    storeFolders.withLock { $0.append(folder) }
    let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("private.sqlite"))
    description.cloudKitContainerOptions = NSPersistentCloudKitContainerOptions(container: device.container)
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    return (container, device.container.privateCloudDatabase)
}

/// Waits until everything is sent.
func settle(_ container: NSPersistentCloudKitContainer) async throws { try await container.sync(timeout: .seconds(600)) }
