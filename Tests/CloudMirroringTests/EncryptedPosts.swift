// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import TestBasics

/// Posts of which everything but the title is encrypted.
enum EncryptedPosts {
    static var model: Model {
        var model = Posts.model
        model.entities[0].attributes = [
            Attribute(name: "title", type: .string), Attribute(name: "content", type: .string), Attribute(name: "rank", type: .integer64),
            Attribute(name: "weight", type: .double), Attribute(name: "timestamp", type: .date),
            Attribute(name: "photo", type: .binaryData),
        ]
        for index in model.entities[0].attributes.indices where model.entities[0].attributes[index].name != "title" {
            model.entities[0].attributes[index].allowsCloudEncryption = true
        }
        return model
    }

    static func keyFile() -> URL { TestScope.temporaryFolder().appendingPathComponent("my.keys") }

    static let zone = ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")
}

/// A user's devices, and a hostile server.
final class HostileStage: Sendable {
    let cloud: InProcessCloud
    let transport: InProcessTransport
    let keys: URL

    /// - Parameter limits: nil for a server without snapshots.
    init(snapshots limits: Limits? = nil) async throws {
        cloud = if let limits { try InProcessCloud(limits: limits, hasSnapshots: true) } else { try InProcessCloud() }
        transport = try await cloud.addUser("mia", device: "tablet")
        keys = EncryptedPosts.keyFile()
    }

    /// - Parameter keys: nil for those that the devices share.
    func device(
        _ name: String, keys: URL? = nil, file: URL? = nil, configure: (inout SyncEnvironment) -> Void = { _ in }
    ) async throws -> Device {
        let describe = { [own = self.keys] (description: NSPersistentStoreDescription) -> Void in
            description.cloudKitContainerOptions?.encryptionKeys = .file(keys ?? own)
        }
        return try Device(
            name, try await cloud.addDevice(name, of: "mia"), file: file, model: EncryptedPosts.model, describe: describe,
            configure: configure)
    }

    var client: CloudDatabaseClient {
        CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: transport)
    }

    /// The posts of the server by title.
    func posts() async throws -> [String: Record] {
        let answer = try await client.zoneChanges(ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: EncryptedPosts.zone)]))
        guard case .changes(let changes)? = answer.zones.first else { return [:] }
        var posts: [String: Record] = [:]
        for record in changes.records {
            if record.recordType == "CD_Post", !record.isDeleted, case .string(let title)? = record.fields["CD_title"]?.value {
                posts[title] = record
            }
        }
        return posts
    }

    func post(_ title: String) async throws -> Record {
        guard let post = try await posts()[title] else { throw CocoaError(.fileNoSuchFile) }
        return post
    }

    /// Gives a record other fields, as another save would.
    func write(_ fields: [String: Field], to title: String) async throws {
        var record = try await post(title)
        record.fields = fields
        let answer = try await client.modifyRecords(
            ModifyRecordsRequest(operations: [RecordOperation(.update, record)], zoneID: EncryptedPosts.zone),
            idempotencyKey: UUID().uuidString)
        for case .failure(_, let error, _) in answer.results { throw error }
    }
}

extension Device {
    func set(_ key: String, of title: String, to value: (any Sendable)?) throws {
        try edit { try $0.post(titled: title)?.setValue(value, forKey: key) }
    }

    func text(_ key: String, of title: String) throws -> String? { try read { try $0.post(titled: title)?.value(forKey: key) as? String } }

    /// Quarantined values, such as `content stale`.
    var unreadable: [String] {
        get throws { try container.unreadableValues().map { "\($0.attributeName) \($0.reason)" }.sorted() }
    }
}
