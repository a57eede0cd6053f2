// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudMirroring
import CoreData
import Foundation
import ManagedModel
import TestBasics
import Testing

/// Ordered relationships of objects that are relocated to a share.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct SharedOrderTests {
    private static let model = Model(entities: [
        Entity(
            name: "List", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "songs", destination: "Song", inverse: "list", isToMany: true, isOrdered: true)]),
        Entity(
            name: "Song", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "list", destination: "List", inverse: "songs")]),
    ])

    private func songs(_ device: Device) throws -> String {
        try device.read { context in
            let list = try #require(try context.all("List").first)
            let songs = try #require(list.value(forKey: "songs") as? NSOrderedSet)
            return songs.compactMap { ($0 as? NSManagedObject)?.value(forKey: "name") as? String }.joined(separator: " ")
        }
    }

    /// The edit reaches the source record of a song that the other device has relocated. Storing that record removed the position key of
    /// the song's row.
    @Test func forwardedEditKeepsThePositionInAList() async throws {
        let all = try await Sharers(model: Self.model, extensions: [.orderedRelationships])
        try all.mia.edit { context in
            let list = context.insert("List", ["name": "Mix"])
            list.setValue(NSOrderedSet(array: ["a", "b", "c"].map { context.insert("Song", ["name": $0]) }), forKey: "songs")
        }
        try await all.sync()
        #expect(try songs(all.phone) == "a b c")
        all.mia.container.pauseSyncing()
        let list = try all.mia.read { try #require(try $0.all("List").first?.objectID) }
        _ = try await all.mia.container.share(all.mia.objects([list]), to: nil)
        try all.phone.edit {
            try #require(try $0.all("Song").first { $0.value(forKey: "name") as? String == "a" }).setValue("first", forKey: "name")
        }
        try await all.phone.sync()
        all.mia.container.resumeSyncing()
        for _ in 0..<2 { try await all.sync() }
        for device in [all.mia, all.phone] { #expect(try songs(device) == "first b c") }
    }
}
