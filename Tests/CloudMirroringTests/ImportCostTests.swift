// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudMirroring
import CoreData
import Foundation
import ManagedModel
import ObjectGraph
import SQLiteStore
import StatementPlans
import TestBasics
import Testing

/// The cost of an import on the importing device, in instructions of SQLite's virtual machine: proportional to its changes.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct ImportCostTests {
    private static let lists = Model(entities: [
        Entity(
            name: "List", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "songs", destination: "Song", inverse: "list", isToMany: true, isOrdered: true)]),
        Entity(
            name: "Song", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "list", destination: "List", inverse: "songs")]),
    ])

    private static let topics = {
        var topic = Entity(name: "Topic", attributes: [Attribute(name: "name", type: .string)])
        topic.uniquenessConstraints = [["name"]]
        return Model(entities: [topic])
    }()

    /// Instructions for each of so many objects that another device saves once `before` is there.
    ///
    /// - Parameter prepare: Changes the importing device before the import.
    private func stepsForEach(
        _ count: Int, model: Model = Posts.model, before: @Sendable (NSManagedObjectContext) -> Void = { _ in },
        prepare: (Device) throws -> Void = { _ in }, save: @Sendable (NSManagedObjectContext) -> Void
    ) async throws -> Double {
        let cloud = try InProcessCloud()
        func allow(_ description: NSPersistentStoreDescription) {
            if model == Self.lists { description.cloudKitContainerOptions?.modelExtensions = .orderedRelationships }
            if model == Self.topics { description.cloudKitContainerOptions?.modelExtensions = .uniquenessConstraints }
        }
        let folder = TestScope.temporaryFolder()
        let recording = StatementRecording(folder)
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), model: model, describe: allow)
        let phone = try Device(
            "phone", try await cloud.addDevice("phone", of: "mia"), file: folder.appendingPathComponent("Posts.sqlite"), model: model,
            describe: allow)
        try tablet.edit(before)
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        phone.container.pauseSyncing()
        try prepare(phone)
        try tablet.edit(save)
        try await tablet.container.sync(timeout: .seconds(600))
        let steps = recording.steps
        phone.container.resumeSyncing()
        try await phone.container.sync(timeout: .seconds(600))
        let cost = Double(recording.steps - steps) / Double(count)
        for device in [tablet, phone] { try await device.discard() }
        return cost
    }

    @Test func membersOfAnOrderedListCostTheSameHoweverLongItIs() async throws {
        func steps(_ count: Int) async throws -> Double {
            try await stepsForEach(count, model: Self.lists) { context in
                let list = context.insert("List", ["name": "all"])
                for number in 0..<count { context.insert("Song", ["name": "\(number)", "list": list]) }
            }
        }
        let (few, many) = (try await steps(200), try await steps(800))
        #expect(many < 1.2 * few, "\(few) and \(many) instructions for each object")
    }

    /// Tagged objects cost the same however many links there are, of the same tags and of others.
    @Test func taggedObjectsCostTheSameHoweverManyLinksThereAre() async throws {
        func steps(existing: Int) async throws -> Double {
            try await stepsForEach(200) { context in
                let tags = (0..<20).map { context.insert("Tag", ["name": "\($0)"]) }
                for number in 0..<existing {
                    context.insert("Post", ["title": "old \(number)"]).setValue(Set(tags.suffix(5)), forKey: "tags")
                }
            } save: { context in
                let tags = (try? context.all("Tag")) ?? []
                for number in 0..<200 {
                    let post = context.insert("Post", ["title": "new \(number)"])
                    post.setValue(Set([tags[number % tags.count]]), forKey: "tags")
                    context.insert("Attachment", ["post": post])
                }
            }
        }
        let (few, many) = (try await steps(existing: 20), try await steps(existing: 1000))
        #expect(many < 1.2 * few, "\(few) and \(many) instructions for each object")
    }

    /// Redirects of merged duplicates that nothing names are not read. With the flag set they are, which the measure has to show.
    @Test func importsCostTheSameHoweverManyDuplicatesWereMerged() async throws {
        func steps(redirects: Int, isReferenced: Bool = false) async throws -> Double {
            let insertion = """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(redirects)) \
                INSERT INTO TARN_MERGED (zone, name, successor, isReferenced) SELECT 0, 'merged-' || i, 'absent', \(isReferenced ? 1 : 0) FROM n
                """
            return try await stepsForEach(
                20, model: Self.topics,
                prepare: { phone in
                    try phone.container.persistentStoreCoordinator.persistentStores.first?.storage.write { try $0.execute(insertion) }
                },
                save: { context in for number in 0..<20 { context.insert("Topic", ["name": "\(number)"]) } })
        }
        // The insertion of the redirects itself is not counted: the recording begins after it.
        let few = try await steps(redirects: 10), many = try await steps(redirects: 20_000)
        #expect(many < 1.2 * few, "\(few) and \(many) instructions for each object")
        let flagged = try await steps(redirects: 20_000, isReferenced: true)
        #expect(flagged > 2 * few, "\(few) and \(flagged) instructions for each object")
    }
}
