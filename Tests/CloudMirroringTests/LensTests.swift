// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CoreData
import Foundation
import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore
import StatementPlans
import TestBasics
import Testing

@testable import CloudMirroring

/// Two versions of an app with different attributes for the same values.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct LensTests {
    /// A post has an author; in the later version two names.
    private static func model(_ version: Int) -> Model {
        var model = Posts.model
        model.entities[0].attributes.append(Attribute(name: "author", type: .string))
        if version == 1 { return model }
        model.entities[0].attributes += ["firstName", "lastName"].map { Attribute(name: $0, type: .string) }
        model.entities[0].userInfo["syncLens"] = "author -> firstName lastName"
        return model
    }

    private func sync(_ devices: Device...) async throws {
        for device in devices { try await device.container.sync(timeout: .seconds(600)) }
    }

    private func names(_ title: String, _ device: Device) throws -> [String?] {
        try device.read { context in
            let post = try #require(try context.post(titled: title))
            return [post.value(forKey: "firstName") as? String, post.value(forKey: "lastName") as? String]
        }
    }

    private func author(_ title: String, _ device: Device) throws -> String? {
        try device.read { try $0.post(titled: title)?.value(forKey: "author") as? String }
    }

    @Test func bothVersionsWorkSideBySide() async throws {
        let cloud = try InProcessCloud()
        let old = try Device("phone", try await cloud.addUser("mia", device: "phone"), model: Self.model(1))
        let new = try Device("tablet", try await cloud.addDevice("tablet", of: "mia"), model: Self.model(2))
        try old.edit { $0.insert("Post", ["title": "A", "author": "Ann Lee"]) }
        try new.edit { $0.insert("Post", ["title": "B", "firstName": "Mary Ann", "lastName": "Kay"]) }
        try await sync(old, new, old)
        #expect(try names("A", new) == ["Ann", "Lee"])
        #expect(try author("B", old) == "Mary Ann Kay")
        // Each edits something else of both, at the same time.
        for device in [old, new] { device.container.pauseSyncing() }
        try old.edit { context in
            try context.post(titled: "A")?.setValue("Ann Ray", forKey: "author")
            try context.post(titled: "B")?.setValue("Text", forKey: "content")
        }
        try new.edit { try $0.post(titled: "A")?.setValue("Eva", forKey: "firstName") }
        old.container.resumeSyncing()
        try await sync(old)
        new.container.resumeSyncing()
        try await sync(new, old)
        #expect(try names("A", new) == ["Eva", "Ray"])
        #expect(try author("A", old) == "Eva Ray")
        #expect(try names("B", new) == ["Mary Ann", "Kay"])
        for device in [old, new] { #expect(try device.container.conflicts().isEmpty) }
    }

    /// The device has an unsent edit and an unsent object. The app reads the later attributes immediately.
    @Test func anUpdatedDeviceFillsItsRows() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "phone")
        let phone = try Device("phone", transport, model: Self.model(1))
        let other = try Device("laptop", try await cloud.addDevice("laptop", of: "mia"), model: Self.model(1))
        try phone.edit { context in for title in ["A", "B"] { context.insert("Post", ["title": title, "author": "Ann Lee"]) } }
        try await sync(phone, other)
        phone.container.pauseSyncing()
        try phone.edit { context in
            try context.post(titled: "A")?.setValue("Eva Kay", forKey: "author")
            context.insert("Post", ["title": "C", "author": "Ida Ray"])
        }
        try await phone.kill()
        let updated = try Device("phone", transport, file: phone.file, model: Self.model(2))
        #expect(try names("A", updated) == ["Eva", "Kay"])
        #expect(try names("B", updated) == ["Ann", "Lee"])
        #expect(try names("C", updated) == ["Ida", "Ray"])
        try await sync(updated, other)
        #expect(try author("A", other) == "Eva Kay")
        #expect(try author("C", other) == "Ida Ray")
        // The rows were filled by no save of the app.
        try updated.edit { try $0.post(titled: "B")?.setValue("Kay", forKey: "lastName") }
        try await sync(updated, other, updated)
        #expect(try author("B", other) == "Ann Kay")
        #expect(try names("A", updated) == ["Eva", "Kay"])
        for device in [updated, other] { #expect(try device.container.conflicts().isEmpty) }
    }

    /// The third version has another name for the entity's attributes, and one more lens. The row still has the first form.
    @Test func aClearedValueStaysClearedInTheNextVersion() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "phone")
        let phone = try Device("phone", transport, model: Self.model(1))
        try phone.edit { $0.insert("Post", ["title": "A", "author": "Ann Lee", "content": "5"]) }
        try await sync(phone)
        try await phone.kill()
        let second = try Device("phone", transport, file: phone.file, model: Self.model(2))
        #expect(try names("A", second) == ["Ann", "Lee"])
        try second.edit { context in
            let post = try context.post(titled: "A")
            for name in ["firstName", "lastName"] { post?.setValue(nil, forKey: name) }
        }
        try await sync(second)
        try await second.kill()
        var model = Self.model(2)
        for index in model.entities[0].attributes.indices where model.entities[0].attributes[index].name == "author" {
            model.entities[0].attributes[index].name = "writer"
            model.entities[0].attributes[index].renamingIdentifier = "author"
        }
        model.entities[0].attributes.append(Attribute(name: "number", type: .integer32))
        model.entities[0].userInfo["syncLens"] = "writer -> firstName lastName; content -> number"
        let third = try Device("phone", transport, file: phone.file, model: model)
        #expect(try names("A", third) == [nil, nil])
        #expect(try third.read { try $0.post(titled: "A")?.value(forKey: "number") as? Int } == 5)
        try await sync(third)
        #expect(try names("A", third) == [nil, nil])
    }

    /// The list of lenses is read, and no transaction waits for the process that writes.
    @Test func aLaunchWithoutANewLensWaitsForNoWriter() async throws {
        let cloud = try InProcessCloud()
        let phone = try Device("phone", try await cloud.addUser("mia", device: "phone"), model: Self.model(2))
        try phone.edit { $0.insert("Post", ["title": "A", "firstName": "Ann"]) }
        try await sync(phone)
        await phone.container.stopSyncing()
        let file = try #require(phone.container.allMirrors.first).file
        let writer = try PlanCheck(path: phone.file.path, broadColumns: [])
        try writer.execute("BEGIN IMMEDIATE")
        try file.lensValues.fill()
        try writer.execute("ROLLBACK")
    }

    /// A text that is stored as an asset has no parts. It stays until a user edits a later attribute.
    @Test func aTextInAnAssetIsNotTranslated() async throws {
        let cloud = try InProcessCloud()
        let old = try Device("phone", try await cloud.addUser("mia", device: "phone"), model: Self.model(1))
        let new = try Device("tablet", try await cloud.addDevice("tablet", of: "mia"), model: Self.model(2))
        let long = "Ann " + String(repeating: "e", count: 800_000)
        try old.edit { $0.insert("Post", ["title": "A", "author": long]) }
        try await sync(old, new)
        #expect(try names("A", new) == [nil, nil])
        #expect(try author("A", new) == long)
        try new.edit { try $0.post(titled: "A")?.setValue("Text", forKey: "content") }
        try await sync(new, old)
        #expect(try author("A", old) == long)
        try new.edit { try $0.post(titled: "A")?.setValue("Eva", forKey: "firstName") }
        try await sync(new, old)
        #expect(try author("A", old) == "Eva")
        #expect(try names("A", new) == ["Eva", nil])
        #expect(try old.container.conflicts().isEmpty)
    }

    /// The device with the earlier version lost a name as a whole, and was updated since.
    @Test func aLosingValueOfTheEarlierVersionIsRestored() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "phone")
        let phone = try Device("phone", transport, model: Self.model(1))
        let other = try Device("laptop", try await cloud.addDevice("laptop", of: "mia"), model: Self.model(1))
        try phone.edit { $0.insert("Post", ["title": "A", "author": "Ann Lee"]) }
        try await sync(phone, other)
        phone.container.pauseSyncing()
        try other.edit { try $0.post(titled: "A")?.setValue("Eva Kay", forKey: "author") }
        try await sync(other)
        try phone.edit { try $0.post(titled: "A")?.setValue("Ida Ray", forKey: "author") }
        phone.container.resumeSyncing()
        try await sync(phone)
        try await phone.kill()
        let updated = try Device("phone", transport, file: phone.file, model: Self.model(2))
        #expect(try names("A", updated) == ["Ida", "Ray"])
        let conflict = try #require(try updated.container.conflicts().first)
        #expect(conflict.losingValue as? String == "Eva Kay")
        try updated.edit { context in _ = try updated.container.restoreLosingValue(of: conflict, in: context) }
        try await sync(updated, other)
        #expect(try names("A", updated) == ["Eva", "Kay"])
        #expect(try author("A", other) == "Eva Kay")
    }

    @Test func aLensInCodeTranslates() async throws {
        var model = Posts.model
        model.entities[0].attributes.append(Attribute(name: "minutes", type: .integer32))
        let cloud = try InProcessCloud()
        let old = try Device("phone", try await cloud.addUser("mia", device: "phone"), model: model)
        model.entities[0].attributes.append(Attribute(name: "seconds", type: .integer32))
        let new = try Device("tablet", try await cloud.addDevice("tablet", of: "mia"), model: model) { description in
            description.cloudKitContainerOptions?.attributeLenses = [
                .init(
                    entityName: "Post", from: ["minutes"], to: ["seconds"], upgrade: { [($0[0] as? Int).map { $0 * 60 }] },
                    downgrade: { [($0[0] as? Int).map { $0 / 60 }] })
            ]
        }
        try old.edit { $0.insert("Post", ["title": "A", "minutes": 2]) }
        try await sync(old, new)
        try new.edit { context in
            let post = try context.post(titled: "A")
            #expect(post?.value(forKey: "seconds") as? Int == 120)
            post?.setValue(190, forKey: "seconds")
        }
        try await sync(new, old)
        #expect(try old.read { try $0.post(titled: "A")?.value(forKey: "minutes") as? Int } == 3)
        // The earlier version edits something else: 190 seconds stay.
        try old.edit { try $0.post(titled: "A")?.setValue("Text", forKey: "content") }
        try await sync(old, new)
        #expect(try new.read { try $0.post(titled: "A")?.value(forKey: "seconds") as? Int } == 190)
    }

    @Test func aStoreWithALensOfUnknownAttributesIsNotLoaded() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "phone")
        let error = #expect(throws: CocoaError.self) {
            _ = try Device("phone", transport) { description in
                description.cloudKitContainerOptions?.attributeLenses = [
                    .init(entityName: "Post", from: ["content"], to: ["text"], upgrade: { $0 }, downgrade: { $0 })
                ]
            }
        }
        #expect(error?.localizedDescription.contains("Post has a lens of text, which isn't a mirrored attribute") == true)
    }
}
