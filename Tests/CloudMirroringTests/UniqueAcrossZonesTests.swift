// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import TestBasics
import Testing

/// Unique values in the zone of a share and in the home zone: the two objects are not merged, which would reveal one to others.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct UniqueAcrossZonesTests {
    private static var model: Model {
        var model = Posts.model
        for index in model.entities.indices where model.entities[index].name == "Tag" {
            model.entities[index].uniquenessConstraints = [["name"]]
        }
        return model
    }

    /// A trip that is shared, with a tag "holiday", and a diary that is not, with a tag "mine".
    private static func sharers() async throws -> Sharers {
        let all = try await Sharers(model: model, extensions: [.uniquenessConstraints])
        try await all.plan()
        try await all.bo.join(try await all.mia.share("Trip"))
        try await all.sync()
        return all
    }

    private static func tag(_ name: String, _ context: NSManagedObjectContext) throws -> NSManagedObject {
        try #require(try context.all("Tag").first { $0.value(forKey: "name") as? String == name })
    }

    private static func addTag(_ name: String, at device: Device) throws {
        try device.edit { context in
            let trip = try #require(try context.post(titled: "Trip"))
            let tag = context.insert("Tag", ["name": name])
            context.assign(tag, to: try #require(trip.objectID.persistentStore))
            trip.mutableSetValue(forKey: "tags").add(tag)
        }
    }

    private static func rename(_ name: String, _ other: String, at device: Device) throws {
        try device.edit { try tag(name, $0).setValue(other, forKey: "name") }
    }

    private func expectTags(
        _ trip: [String], _ diary: [String], hidden: Int, at devices: [Device], at location: SourceLocation = #_sourceLocation
    ) throws {
        for device in devices {
            let shown = try device.read { context in
                try ["Trip", "Diary"].map { title in
                    ((try context.post(titled: title)?.value(forKey: "tags") as? Set<NSManagedObject>) ?? []).compactMap {
                        $0.value(forKey: "name") as? String
                    }.sorted()
                }
            }
            #expect(shown == [trip, diary], "\(device.name)", sourceLocation: location)
            let status = device.container.syncStatus
            #expect(status.incompleteCount == hidden, "\(device.name)", sourceLocation: location)
            #expect(status.activity == .idle, "\(device.name)", sourceLocation: location)
            #expect(status.pendingCount == 0, "\(device.name)", sourceLocation: location)
        }
    }

    @Test func aSharedObjectWithAUsedUniqueValueIsWithheld() async throws {
        let all = try await Self.sharers()
        let own = [all.mia, all.phone]
        try Self.addTag("mine", at: all.bo)
        try Self.addTag("sun", at: all.bo)
        try await all.sync()
        // The rest arrives, and nothing stands still.
        try expectTags(["holiday", "sun"], ["mine"], hidden: 1, at: own)
        try expectTags(["holiday", "mine", "sun"], [], hidden: 0, at: [all.bo])
        #expect(try await all.cloud.records(ofType: "CD_Tag").filter { !$0.isDeleted }.count == 4)
        // Free again, here and on the other device.
        try Self.rename("mine", "private", at: all.mia)
        try await all.sync()
        try expectTags(["holiday", "mine", "sun"], ["private"], hidden: 0, at: own)
        try expectTags(["holiday", "mine", "sun"], [], hidden: 0, at: [all.bo])
    }

    @Test func aWithheldObjectArrivesWithAnotherValueOrIsDeleted() async throws {
        let all = try await Self.sharers()
        let own = [all.mia, all.phone]
        try Self.addTag("mine", at: all.bo)
        try await all.sync()
        try expectTags(["holiday"], ["mine"], hidden: 1, at: own)
        try Self.rename("mine", "ours", at: all.bo)
        try await all.sync()
        try expectTags(["holiday", "ours"], ["mine"], hidden: 0, at: own)
        // Something that is shown gets a value that is taken, and is deleted then.
        try Self.rename("ours", "mine", at: all.bo)
        try await all.sync()
        try expectTags(["holiday"], ["mine"], hidden: 1, at: own)
        try all.bo.edit { $0.delete(try Self.tag("mine", $0)) }
        try await all.sync()
        try expectTags(["holiday"], ["mine"], hidden: 0, at: own)
        try expectTags(["holiday"], [], hidden: 0, at: [all.bo])
    }

    /// The object with the value is deleted, and a device that was off reads everything again.
    @Test func aWithheldObjectArrivesAfterTheOtherIsDeleted() async throws {
        let all = try await Self.sharers()
        try Self.addTag("sun", at: all.bo)
        try await all.sync()
        all.phone.container.pauseSyncing()
        // An edit that was not sent is in the log when the object it was made to is hidden.
        try Self.rename("sun", "dawn", at: all.phone)
        try Self.rename("sun", "mine", at: all.bo)
        for device in [all.bo, all.mia] { try await device.sync() }
        try expectTags(["holiday"], ["mine"], hidden: 1, at: [all.mia])
        try all.mia.edit { $0.delete(try Self.tag("mine", $0)) }
        try await all.mia.sync()
        try expectTags(["holiday", "mine"], [], hidden: 0, at: [all.mia])
        all.phone.container.resumeSyncing()
        try await all.sync()
        let name = try all.bo.read { try $0.all("Tag").compactMap { $0.value(forKey: "name") as? String }.filter { $0 != "holiday" } }
        #expect(name.count == 1)
        try expectTags((["holiday"] + name).sorted(), [], hidden: 0, at: [all.mia, all.phone, all.bo])
        let losing = try all.phone.container.conflicts().compactMap { $0.losingValue as? String }
        #expect(name == ["dawn"] || losing.contains("dawn"))
    }
}
