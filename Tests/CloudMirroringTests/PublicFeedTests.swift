// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import Testing

/// The public database on a server that has a feed of it.
@Suite(.timeLimit(.minutes(10))) struct PublicFeedTests {
    private func publish(_ description: NSPersistentStoreDescription) { description.cloudKitContainerOptions?.databaseScope = .public }

    private func sync(_ devices: Device...) async throws {
        for device in devices { try await device.container.sync(timeout: .seconds(60)) }
    }

    @Test func deletionsTravelAndNoIndexIsNeeded() async throws {
        let cloud = try InProcessCloud()
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        let bo = try Device("bo's", try await cloud.addUser("bo", device: "phone"), describe: publish)
        let visitor = try Device("visitor's", cloud.addVisitor(device: "kiosk"), describe: publish)
        try mia.edit { context in
            for title in ["Deleted", "Kept"] { context.insert("Post", ["title": title]) }
            let tagged = context.insert("Post", ["title": "Tagged"])
            tagged.setValue(Set([context.insert("Tag", ["name": "game"])]), forKey: "tags")
        }
        try await sync(mia, bo, visitor)
        #expect(try bo.dump == mia.dump && visitor.dump == mia.dump && mia.dump.contains("Deleted"))
        try mia.edit { context in if let post = try context.post(titled: "Deleted") { context.delete(post) } }
        try await sync(mia, bo, visitor)
        #expect(try bo.dump == mia.dump && visitor.dump == mia.dump && !mia.dump.contains("Deleted"))
        #expect(!bo.transport.log.contains("records/query"))
        for device in [mia, bo, visitor] { try await device.discard() }
    }

    @Test func aStoreFollowsWhenTheServerGetsAFeedAndWhenItLosesIt() async throws {
        let cloud = try InProcessCloud(offered: [])
        for type in ["CD_Post", "CD_Tag", "CD_Attachment", "CD_ImageData", "CDMR"] {
            try await cloud.addIndexes(toType: type, fields: ["___recordID", "___modTime"], container: Device.containerIdentifier)
        }
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        let bo = try Device("bo's", try await cloud.addUser("bo", device: "phone"), describe: publish)
        try mia.edit { context in for title in ["Early", "Late", "Kept"] { context.insert("Post", ["title": title]) } }
        try await sync(mia, bo)
        try mia.edit { context in if let post = try context.post(titled: "Early") { context.delete(post) } }
        // What was never sent is not taken for gone.
        try bo.edit { $0.insert("Post", ["title": "Bo's"]) }
        try await sync(mia)
        #expect(try bo.dump.contains("Early"))

        try cloud.stop()
        try cloud.start(offering: Set(Capability.allCases))
        try await sync(bo, mia, bo)
        #expect(try bo.dump == "Post  title Bo's\nPost  title Kept\nPost  title Late" && mia.dump == bo.dump)

        try cloud.stop()
        try cloud.start(offering: [])
        try mia.edit { context in
            if let post = try context.post(titled: "Late") { context.delete(post) }
            context.insert("Post", ["title": "New"])
        }
        try await sync(mia, bo)
        #expect(try mia.dump == "Post  title Bo's\nPost  title Kept\nPost  title New")
        #expect(try bo.dump == "Post  title Bo's\nPost  title Kept\nPost  title Late\nPost  title New")
        for device in [mia, bo] { try await device.discard() }
    }
}
