// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import Testing
import TestBasics

extension Device {
    /// A device with a store for the user's own objects and one for objects that others share.
    ///
    /// - Parameters:
    ///   - itemsMax: How many items a request has.
    ///   - requestsMax: How many requests carry a batch.
    ///   - keys: The file with encryption keys; nil for the user's.
    static func sharing(
        _ name: String, _ transport: InProcessTransport, over wire: (any CloudTransport)? = nil, file: URL? = nil,
        model: Model = Posts.model,
        extensions: NSPersistentCloudKitContainerOptions.ModelExtensions = [], itemsMax: Int = Limits().operationsPerRequest,
        requestsMax: Int = 1,
        keys: URL? = nil
    ) throws -> Device {
        let file = file ?? TestScope.temporaryFolder().appendingPathComponent("Posts.sqlite")
        let shared = description(of: file.deletingLastPathComponent().appendingPathComponent("Shared.sqlite"))
        shared.cloudKitContainerOptions?.databaseScope = .shared
        shared.cloudKitContainerOptions?.modelExtensions = extensions
        if let keys { shared.cloudKitContainerOptions?.encryptionKeys = .file(keys) }
        return try Device(
            name, transport, over: wire, file: file, model: model, beside: [shared],
            describe: {
                $0.cloudKitContainerOptions?.modelExtensions = extensions
                if let keys { $0.cloudKitContainerOptions?.encryptionKeys = .file(keys) }
            },
            configure: { environment in
                environment.limits.operationsPerRequest = itemsMax
                environment.requestsPerBatch = requestsMax
                let way = wire ?? transport
                environment.container = { identifier in
                    CKContainer(
                        identifier: identifier, connection: OwnConnection(Connection(environment: .development, transport: way)))
                }
            })
    }

    var account: CKContainer {
        CKContainer(
            identifier: Self.containerIdentifier, connection: OwnConnection(Connection(environment: .development, transport: transport)))
    }

    private func store(_ name: String) throws -> NSPersistentStore {
        try #require(container.persistentStoreCoordinator.persistentStores.first { $0.url?.lastPathComponent == name })
    }

    var own: NSPersistentStore { get throws { try store("Posts.sqlite") } }
    var others: NSPersistentStore { get throws { try store("Shared.sqlite") } }

    func sync() async throws { try await container.sync(timeout: .seconds(600)) }

    func postID(_ title: String) throws -> NSManagedObjectID { try read { try #require(try $0.post(titled: title)?.objectID) } }

    func objects(_ ids: [NSManagedObjectID]) -> [NSManagedObject] {
        let context = container.newBackgroundContext()
        return context.performAndWait { ids.map { context.object(with: $0) } }
    }

    func set(_ title: String, _ key: String, _ value: String) throws {
        try edit { try #require(try $0.post(titled: title)).setValue(value, forKey: key) }
    }

    /// Shares a post with all users that have the link.
    @discardableResult
    func share(_ title: String, _ permission: CKShare.ParticipantPermission = .readWrite) async throws -> CKShare {
        let id = try postID(title)
        let (_, share, _) = try await container.share(objects([id]), to: nil)
        share.publicPermission = permission
        share[CKShare.SystemFieldKey.title] = title
        return try await container.persistUpdatedShare(share, in: own)
    }

    func join(_ share: CKShare) async throws {
        let metadata = try await account.shareMetadata(for: try #require(share.url))
        let accepted = try await container.acceptShareInvitations(from: [metadata], into: others)
        #expect(accepted == [metadata])
    }
}

extension NSManagedObjectContext {
    /// The tag of the trip: an object that gets it is connected with the trip.
    var holiday: NSManagedObject { get throws { try #require(try all("Tag").first { $0.value(forKey: "name") as? String == "holiday" }) } }
}

/// Two users, one of them with two devices.
struct Sharers {
    let cloud: InProcessCloud
    let mia: Device
    let phone: Device
    let bo: Device

    init(model: Model = Posts.model, extensions: NSPersistentCloudKitContainerOptions.ModelExtensions = []) async throws {
        let cloud = try InProcessCloud()
        let mia = try Device.sharing("tablet", try await cloud.addUser("mia", device: "tablet"), model: model, extensions: extensions)
        try await self.init(cloud, mia: mia, phone: model, extensions: extensions)
    }

    /// - Parameters:
    ///   - model: Of all devices but the first.
    ///   - extensions: Of all devices but the first.
    init(
        _ cloud: InProcessCloud, mia: Device, phone model: Model = Posts.model,
        extensions: NSPersistentCloudKitContainerOptions.ModelExtensions = []
    ) async throws {
        self.cloud = cloud
        self.mia = mia
        phone = try Device.sharing("phone", try await cloud.addDevice("phone", of: "mia"), model: model, extensions: extensions)
        bo = try Device.sharing("bo's", try await cloud.addUser("bo", device: "bo's"), model: model, extensions: extensions)
        try await cloud.introduce("bo", givenName: "Bo", emailAddress: "bo@example.org")
    }

    /// A trip with all kinds of relationships, and something that has nothing to do with it.
    func plan() async throws {
        try mia.edit { context in
            let post = context.insert("Post", ["title": "Trip", "content": "Sea"])
            post.setValue(Set([context.insert("Tag", ["name": "holiday"])]), forKey: "tags")
            let image = context.insert("ImageData", ["data": Data(repeating: 9, count: 800_000)])
            context.insert("Attachment", ["post": post, "imageData": image, "thumbnail": Data([1, 2])])
            let diary = context.insert("Post", ["title": "Diary"])
            diary.setValue(Set([context.insert("Tag", ["name": "mine"])]), forKey: "tags")
        }
        try await sync()
    }

    /// Until everybody knows what everybody did.
    func sync() async throws { for _ in 0..<2 { for device in [mia, phone, bo] { try await device.sync() } } }
}
