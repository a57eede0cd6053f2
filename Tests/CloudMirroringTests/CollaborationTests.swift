// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudCollaboration
import CloudInProcess
import CoreData
import Foundation
import ManagedModel
import TestBasics
import Testing

/// The example of the talk *Using Core Data With CloudKit* (2019): two devices write in the same post at the same time.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct CollaborationTests {
    private static var model: Model {
        var model = Posts.model
        model.entities[0].relationships.append(
            Relationship(name: "contents", destination: "PostContent", inverse: "post", isToMany: true, deleteRule: .cascade))
        model.entities.append(
            Entity(
                name: "PostContent",
                attributes: [Attribute(name: "text", type: .string), Attribute(name: "author", type: .string)]
                    + ["clock", "offset", "count"].map { Attribute(name: $0, type: .integer64) },
                relationships: [
                    Relationship(name: "post", destination: "Post", inverse: "contents"),
                    Relationship(name: "parent", destination: "PostContent", inverse: "children"),
                    Relationship(name: "children", destination: "PostContent", inverse: "parent", isToMany: true),
                ]))
        return model
    }

    private func pair() async throws -> [Device] {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), model: Self.model)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), model: Self.model)
        try tablet.edit { $0.insert("Post", ["title": "Let's talk about collaboration"]) }
        try await tablet.container.sync(timeout: .seconds(600))
        try await phone.container.sync(timeout: .seconds(600))
        return [tablet, phone]
    }

    private func exchange(_ devices: [Device]) async throws {
        for _ in 0..<2 { for device in devices { try await device.container.sync(timeout: .seconds(600)) } }
    }

    @Test func aFlatValueKeepsOneOfTwoTexts() async throws {
        let devices = try await pair()
        for device in devices { device.container.pauseSyncing() }
        for (device, text) in zip(devices, ["Collaboration is great", "everyone should do it"]) {
            try device.edit { try $0.all("Post").first?.setValue(text, forKey: "content") }
        }
        for device in devices { device.container.resumeSyncing() }
        try await exchange(devices)
        let texts = try devices.map { device in try device.read { try $0.all("Post").first?.value(forKey: "content") as? String ?? "" } }
        #expect(texts[0] == texts[1])
        #expect(["Collaboration is great", "everyone should do it"].contains(texts[0]))
        let losers = try devices.flatMap { try $0.container.conflicts() }
        #expect(losers.count == 1)
        #expect(losers.first?.losingValue as? String != texts[0])
    }

    @Test func contributionsKeepBothTextsWhole() async throws {
        let devices = try await pair()
        func text(_ device: Device) throws -> String {
            try device.read { ContributedText(of: try #require(try $0.all("Post").first), "contents", by: device.name).string }
        }
        for device in devices { device.container.pauseSyncing() }
        for (device, words) in zip(devices, [["Collab", "oration is", " great. "], ["Every", "one should", " do it. "]]) {
            // Saved as it is typed.
            for word in words {
                try device.edit { context in
                    let text = ContributedText(of: try #require(try context.all("Post").first), "contents", by: device.name)
                    text.string += word
                }
            }
        }
        for device in devices { device.container.resumeSyncing() }
        try await exchange(devices)
        let texts = try devices.map(text)
        #expect(texts[0] == texts[1])
        #expect(texts[0].contains("Collaboration is great. "))
        #expect(texts[0].contains("Everyone should do it. "))
        #expect(texts[0].count == 47)
        #expect(try devices.allSatisfy { try $0.container.conflicts().isEmpty })
    }
}
