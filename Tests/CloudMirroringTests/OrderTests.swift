// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import ObjectGraph
import SQLiteStore
import TestBasics
import Testing

/// Ordered relationships on several devices.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct OrderTests {
    /// A list of songs, and songs with tags in an order of the app's.
    private static let model = Model(entities: [
        Entity(
            name: "List", attributes: [Attribute(name: "name", type: .string)],
            relationships: [
                Relationship(name: "songs", destination: "Song", inverse: "list", isToMany: true, isOrdered: true, deleteRule: .cascade)
            ]),
        Entity(
            name: "Song", attributes: [Attribute(name: "name", type: .string)],
            relationships: [
                Relationship(name: "list", destination: "List", inverse: "songs"),
                Relationship(name: "tags", destination: "Tag", inverse: "songs", isToMany: true, isOrdered: true),
            ]),
        Entity(name: "Live", superentity: "Song", attributes: [Attribute(name: "place", type: .string)]),
        Entity(
            name: "Tag", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "songs", destination: "Song", inverse: "tags", isToMany: true, isOrdered: true)]),
    ])

    private func device(
        _ name: String, _ transport: InProcessTransport, file: URL? = nil,
        allowing allowed: NSPersistentCloudKitContainerOptions.ModelExtensions = [.orderedRelationships]
    ) throws -> Device {
        try Device(name, transport, file: file, model: Self.model, describe: { $0.cloudKitContainerOptions?.modelExtensions = allowed })
    }

    private struct Pair {
        let cloud: InProcessCloud
        let tablet: Device
        let phone: Device

        func sync() async throws {
            for device in [tablet, phone, tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        }
    }

    private func pair() async throws -> Pair {
        let cloud = try InProcessCloud()
        let tablet = try device("tablet", try await cloud.addUser("mia", device: "tablet"))
        return Pair(cloud: cloud, tablet: tablet, phone: try device("phone", try await cloud.addDevice("phone", of: "mia")))
    }

    private static func named(_ entity: String, _ name: String, _ context: NSManagedObjectContext) throws -> NSManagedObject {
        try #require(try context.all(entity).first { $0.value(forKey: "name") as? String == name })
    }

    /// The names of the members of a relationship, in order.
    private func names(_ device: Device, _ entity: String, _ name: String, _ relationship: String) throws -> String {
        try device.read { context in
            let object = try Self.named(entity, name, context)
            let members = try #require(object.value(forKey: relationship) as? NSOrderedSet)
            return members.compactMap { ($0 as? NSManagedObject)?.value(forKey: "name") as? String }.joined(separator: " ")
        }
    }

    private func songs(_ device: Device) throws -> String { try names(device, "List", "Mix", "songs") }

    /// Moves, inserts and removes songs of the list "Mix" until it reads like this.
    private func arrange(_ device: Device, _ names: String) throws {
        try device.edit { context in
            let list = try Self.named("List", "Mix", context)
            let songs = try names.split(separator: " ").map { name in
                let known = try context.all("Song").first { $0.value(forKey: "name") as? String == String(name) }
                return known ?? context.insert("Song", ["name": String(name)])
            }
            list.setValue(NSOrderedSet(array: songs), forKey: "songs")
        }
    }

    private func makeMix(_ pair: Pair, _ names: String) async throws {
        try pair.tablet.edit { context in context.insert("List", ["name": "Mix"]) }
        try arrange(pair.tablet, names)
        try await pair.sync()
        #expect(try songs(pair.phone) == names)
    }

    @Test func aListHasItsOrderOnTheOtherDevice() async throws {
        let pair = try await pair()
        try await makeMix(pair, "e b d a c")
        try arrange(pair.phone, "c e b d a")
        try await pair.sync()
        #expect(try songs(pair.tablet) == "c e b d a")
    }

    @Test func aMoveSendsTheMemberThatMovedAndNoOther() async throws {
        let pair = try await pair()
        try await makeMix(pair, "a b c d e f g h")
        let before = try await pair.cloud.records(ofType: "CD_Song")
        try arrange(pair.tablet, "b c d e f g a h")
        try await pair.sync()
        let after = try await pair.cloud.records(ofType: "CD_Song")
        #expect(after.count == 8)
        #expect(Set(before.map(\.recordChangeTag)).subtracting(after.map(\.recordChangeTag)).count == 1)
        #expect(try songs(pair.phone) == "b c d e f g a h")
    }

    @Test func insertionsAndMovesOfTwoDevicesBothCount() async throws {
        let pair = try await pair()
        try await makeMix(pair, "a b c d e")
        for device in [pair.tablet, pair.phone] { device.container.pauseSyncing() }
        try arrange(pair.tablet, "e a x b c d")
        try arrange(pair.phone, "a b c y d z e")
        for device in [pair.tablet, pair.phone] { device.container.resumeSyncing() }
        try await pair.sync()
        #expect(try songs(pair.tablet) == "e a x b c y d z")
        #expect(try songs(pair.phone) == songs(pair.tablet))
        #expect(try pair.tablet.container.conflicts().isEmpty)
        #expect(try pair.phone.container.conflicts().isEmpty)
    }

    @Test func ofTwoMovesOfOneMemberOneCountsEverywhere() async throws {
        let pair = try await pair()
        try await makeMix(pair, "a b c d e")
        for device in [pair.tablet, pair.phone] { device.container.pauseSyncing() }
        try arrange(pair.tablet, "b c a d e")
        try arrange(pair.phone, "b c d e a")
        pair.tablet.container.resumeSyncing()
        try await pair.tablet.container.sync(timeout: .seconds(600))
        pair.phone.container.resumeSyncing()
        try await pair.sync()
        // The phone's reached the server later.
        #expect(try songs(pair.tablet) == "b c d e a")
        #expect(try songs(pair.phone) == "b c d e a")
    }

    /// - Parameter isLater: Whether the move to another list is received last.
    @Test(arguments: [false, true]) func anItemMovedToAnotherListKeepsItsPosition(isLater: Bool) async throws {
        let pair = try await pair()
        try await makeMix(pair, "a b c")
        try pair.tablet.edit { context in
            let rest = context.insert("List", ["name": "Rest"])
            rest.setValue(NSOrderedSet(array: ["x", "y"].map { context.insert("Song", ["name": $0]) }), forKey: "songs")
        }
        try await pair.sync()
        let (first, last) = (pair.tablet, pair.phone)
        last.container.pauseSyncing()
        try arrange(isLater ? first : last, "c a b")
        try (isLater ? last : first).edit { context in
            let rest = try Self.named("List", "Rest", context)
            let songs = try ["x", "y", "c"].map { try Self.named("Song", $0, context) }
            rest.setValue(NSOrderedSet(array: songs), forKey: "songs")
        }
        try await first.container.sync(timeout: .seconds(600))
        last.container.resumeSyncing()
        try await pair.sync()
        for device in [first, last] {
            #expect(try songs(device) == "a b", "\(device.name)")
            #expect(try names(device, "List", "Rest", "songs") == "x y c", "\(device.name)")
        }
    }

    @Test func aMemberThatComesBeforeItsListAndHeirsStandInTheirPlaces() async throws {
        let pair = try await pair()
        try pair.tablet.edit { context in
            let list = context.insert("List", ["name": "Mix"])
            let songs = (0..<450).map { context.insert($0 % 3 == 0 ? "Live" : "Song", ["name": "\($0)"]) }
            list.setValue(NSOrderedSet(array: songs.reversed()), forKey: "songs")
        }
        try await pair.sync()
        let expected = (0..<450).reversed().map { "\($0)" }.joined(separator: " ")
        #expect(try songs(pair.phone) == expected)
        #expect(try songs(pair.tablet) == expected)
        // A song that joins by its own relationship comes last.
        try pair.phone.edit { context in context.insert("Song", ["name": "last", "list": try Self.named("List", "Mix", context)]) }
        try await pair.sync()
        #expect(try songs(pair.tablet) == expected + " last")
        #expect(try songs(pair.phone) == expected + " last")
    }

    @Test func pairsKeepTheirOrderOnBothSides() async throws {
        let pair = try await pair()
        try pair.tablet.edit { context in
            let tags = ["t1", "t2", "t3"].map { context.insert("Tag", ["name": $0]) }
            let songs = ["s1", "s2", "s3"].map { context.insert("Song", ["name": $0]) }
            for song in songs { song.setValue(NSOrderedSet(array: [tags[2], tags[0], tags[1]]), forKey: "tags") }
            tags[1].setValue(NSOrderedSet(array: [songs[1], songs[2], songs[0]]), forKey: "songs")
        }
        try await pair.sync()
        #expect(try names(pair.phone, "Song", "s2", "tags") == "t3 t1 t2")
        #expect(try names(pair.phone, "Tag", "t2", "songs") == "s2 s3 s1")
        let links = try await pair.cloud.records(ofType: "CDMR").map(\.recordName)
        try pair.phone.edit { context in
            let song = try Self.named("Song", "s2", context)
            song.setValue(NSOrderedSet(array: try ["t1", "t2", "t3"].map { try Self.named("Tag", $0, context) }), forKey: "tags")
        }
        try await pair.sync()
        for device in [pair.tablet, pair.phone] {
            #expect(try names(device, "Song", "s2", "tags") == "t1 t2 t3")
            #expect(try names(device, "Song", "s1", "tags") == "t3 t1 t2")
            #expect(try names(device, "Tag", "t2", "songs") == "s2 s3 s1")
        }
        // One pair moved: its record went, and another came.
        let moved = try await pair.cloud.records(ofType: "CDMR").map(\.recordName)
        #expect(links.count == 9)
        #expect(moved.count == 9)
        #expect(Set(links).intersection(moved).count == 8)
    }

    @Test func aPairThatTwoDevicesMovedStandsAtOnePlaceAndCanBeTakenApart() async throws {
        let pair = try await pair()
        try pair.tablet.edit { context in
            let tags = ["t1", "t2", "t3"].map { context.insert("Tag", ["name": $0]) }
            context.insert("Song", ["name": "s", "tags": NSOrderedSet(array: tags)])
        }
        try await pair.sync()
        for device in [pair.tablet, pair.phone] { device.container.pauseSyncing() }
        for (device, order) in [(pair.tablet, ["t2", "t1", "t3"]), (pair.phone, ["t2", "t3", "t1"])] {
            try device.edit { context in
                try Self.named("Song", "s", context).setValue(
                    NSOrderedSet(array: try order.map { try Self.named("Tag", $0, context) }), forKey: "tags")
            }
            device.container.resumeSyncing()
        }
        try await pair.sync()
        let order = try names(pair.tablet, "Song", "s", "tags")
        #expect(try names(pair.phone, "Song", "s", "tags") == order)
        #expect(["t2 t1 t3", "t2 t3 t1"].contains(order))
        try pair.tablet.edit { context in try Self.named("Song", "s", context).setValue(NSOrderedSet(), forKey: "tags") }
        try await pair.sync()
        #expect(try names(pair.phone, "Song", "s", "tags").isEmpty)
        #expect(try await pair.cloud.records(ofType: "CDMR").isEmpty)
    }

    @Test func aContextThatShowsTheListSeesTheNewOrder() async throws {
        let pair = try await pair()
        try await makeMix(pair, "a b c")
        let context = pair.phone.container.newBackgroundContext()
        // Used inside the context's queue only; held so that it stays registered.
        nonisolated(unsafe) let list = try context.performAndWait {
            context.automaticallyMergesChangesFromParent = true
            let list = try Self.named("List", "Mix", context)
            #expect((list.value(forKey: "songs") as? NSOrderedSet)?.count == 3)
            return list
        }
        try arrange(pair.tablet, "c a b")
        try await pair.sync()
        let shown = context.performAndWait {
            (list.value(forKey: "songs") as? NSOrderedSet)?.compactMap { ($0 as? NSManagedObject)?.value(forKey: "name") as? String }
        }
        #expect(shown == ["c", "a", "b"])
    }

    @Test func aStoreWithoutPositionKeysIsUpgraded() async throws {
        let pair = try await pair()
        try await makeMix(pair, "a b c")
        try await pair.tablet.kill()
        let file = pair.tablet.file
        let before = NSPersistentContainer(name: "Mix", managedObjectModel: NSManagedObjectModel(Self.model))
        before.persistentStoreDescriptions = [NSPersistentStoreDescription(url: file)]
        before.persistentStoreDescriptions[0].setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey)
        try before.load()
        let store = try #require(before.persistentStoreCoordinator.persistentStores.first)
        try store.storage.write { writer in
            for table in ["TARN_RANK", "TARN_LINKRANK"] { try writer.execute("DROP TABLE \(table)") }
            for statement in FormatTests.withoutSystemFields { try writer.execute(statement) }
            try writer.execute("UPDATE TARN_STATE SET value = 3 WHERE key = 'format'")
            try writer.execute("UPDATE TARN_STATE SET value = 'another' WHERE key = 'fingerprint'")
        }
        try before.persistentStoreCoordinator.remove(store)
        let again = try device("tablet", pair.tablet.transport, file: file)
        try await again.container.sync(timeout: .seconds(600))
        try arrange(again, "c a b")
        try await again.container.sync(timeout: .seconds(600))
        try await pair.phone.container.sync(timeout: .seconds(600))
        #expect(try songs(pair.phone) == "c a b")
        #expect(try songs(again) == "c a b")
    }

    // MARK: Consent of apps and servers

    @Test func withoutTheAppsConsentTheModelIsRefused() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let error = #expect(throws: CocoaError.self) { try device("tablet", transport, allowing: []) }
        #expect(error?.localizedDescription.contains("List.songs must not be ordered") == true)
    }

    @Test func withoutTheServersConsentNothingIsSentUntilItIsGiven() async throws {
        let cloud = try InProcessCloud(offered: Set(Capability.allCases).subtracting([.modelExtensions]))
        let tablet = try device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { context in context.insert("List", ["name": "Mix"]) }
        try await tablet.until { status in
            if case .error(let reason) = status.activity { return reason.contains("model-extensions") }
            return false
        }
        try arrange(tablet, "b a")
        try await tablet.until { $0.pendingCount == 3 }
        // It requested the present user, and nothing else.
        #expect(Set(tablet.transport.log).subtracting(["push/stream"]) == ["users/caller"])
        try cloud.stop()
        try cloud.start(offering: Set(Capability.allCases))
        tablet.timers.runFreely()
        try await tablet.settles()
        let phone = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try songs(phone) == "b a")
    }
}
