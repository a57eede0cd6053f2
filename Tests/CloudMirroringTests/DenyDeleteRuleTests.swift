// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import TestBasics
import Testing

/// Relationships with the delete rule Deny in a mirrored store.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct DenyDeleteRuleTests {
    /// Posts with attachments, and tags with posts, are not deleted.
    private static var model: Model {
        var model = Posts.model
        model.entities[0].relationships[0].deleteRule = .deny
        model.entities[1].relationships[0].deleteRule = .deny
        return model
    }

    private func device(_ name: String, _ transport: InProcessTransport) throws -> Device {
        try Device(name, transport, model: Self.model) { $0.cloudKitContainerOptions?.modelExtensions = [.denyDeleteRule] }
    }

    @Test func theRuleIsCheckedAtTheSaveAndADeletionElsewhereWins() async throws {
        // A server without the capability for extensions: the rule needs nothing of it.
        let cloud = try InProcessCloud(offered: [])
        let tablet = try device("tablet", try await cloud.addUser("mia", device: "tablet"))
        let phone = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        try tablet.edit { context in
            let post = context.insert("Post", ["title": "full"])
            post.setValue(Set([context.insert("Tag", ["name": "used"]), context.insert("Tag", ["name": "given up"])]), forKey: "tags")
            context.insert("Attachment", ["post": post])
            context.insert("Post", ["title": "empty"])
        }
        for device in [tablet, phone] { try await device.sync() }
        // On both devices the rule holds.
        for device in [tablet, phone] {
            let error = #expect(throws: CocoaError.self) {
                try device.edit { context in context.delete(try #require(try context.post(titled: "full"))) }
            }
            #expect(error?.code == .validationRelationshipDeniedDelete)
        }
        // One device deletes an object that is empty there, while the other one fills it.
        try tablet.edit { context in context.delete(try #require(try context.post(titled: "empty"))) }
        try phone.edit { context in
            let post = try #require(try context.post(titled: "empty"))
            context.insert("Attachment", ["post": post])
            post.setValue(Set([context.insert("Tag", ["name": "late"])]), forKey: "tags")
        }
        for device in [tablet, phone, tablet, phone] { try await device.sync() }
        #expect(try tablet.dump == phone.dump)
        #expect(try phone.read { try $0.post(titled: "empty") == nil })
        #expect(try tablet.read { try $0.all("Attachment").count } == 2)
        #expect(try tablet.read { try $0.all("Tag").count } == 3)
    }
}
