// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import TarnMirror
import TestBasics
import Testing

/// Rejected changes: sync of all other changes continues.
@Suite(.closesFixtures, .timeLimit(.minutes(2))) struct MirrorRejectionTests {
    private struct Stage {
        let cloud: InProcessCloud
        let tablet: ContainerDevice
        let phone: MirrorDevice
        let faults = Refusals()

        init(limits: Limits = Limits()) async throws {
            cloud = try InProcessCloud(limits: limits)
            tablet = try ContainerDevice(try await cloud.addUser("mia", device: "tablet"))
            phone = try MirrorDevice(try await cloud.addDevice("phone", of: "mia"), faults: faults)
            try await tablet.sync()
            try await phone.sync()
        }

        /// A change of another device arrives with the next poll.
        func expectPoll(_ title: String) async throws {
            try tablet.edit { $0.insert("Book", ["title": title]) }
            try await tablet.sync()
            phone.delays.endPoll()
            await phone.until { _ in (try? phone.dump.contains("title \(title)")) == true }
        }
    }

    @Test func pollingContinuesBesideARejectedChange() async throws {
        let stage = try await Stage()
        stage.faults.refuse("records/modify", containing: "poison", status: 400, WireError(.badRequest, "this is no good"))
        try stage.phone.edit { context in for title in ["poison", "good", "better"] { context.insert("Book", ["title": title]) } }
        await stage.phone.until { $0.rejectedCount == 1 && $0.pendingCount == 0 }
        #expect(stage.phone.mirror.status.activity == .error(reason: "the server refused an object: this is no good"))
        try await stage.tablet.sync()
        #expect(try stage.tablet.dump == "Book  pages 0  title better\nBook  pages 0  title good")
        for title in ["first", "second"] { try await stage.expectPoll(title) }
        #expect(stage.phone.mirror.status.rejectedCount == 1)
        // The next change of the object is sent.
        try stage.phone.edit { try $0.object("Book", "poison").setValue("harmless", forKey: "title") }
        #expect(try await Pair.converge([stage.tablet, stage.phone]).contains("harmless"))
        #expect(stage.phone.mirror.status.rejectedCount == 0)
        #expect(stage.phone.mirror.status.activity == .idle)
    }

    /// A gateway gives up on the server, or the server on its database, and the request is executed: with another key, the device would
    /// merge its own value.
    @Test(arguments: [(502, "<html>"), (504, "<html>"), (503, #"{"serverErrorCode":"TRY_AGAIN_LATER","reason":"r","nativeErrorCode":34}"#)])
    func aSaveInDoubtCountsOnce(_ status: Int, _ body: String) async throws {
        var model = Library.model
        model.entities[0].attributes[2].userInfo["syncPolicy"] = "counter"
        let cloud = try InProcessCloud()
        let faults = Refusals()
        let phone = try MirrorDevice(try await cloud.addUser("mia", device: "phone"), model: model, faults: faults)
        try phone.edit { $0.insert("Book", ["title": "one", "pages": 1]) }
        try await phone.sync()
        faults.giveUpOnce("records/modify", status: status, body: body)
        try phone.edit { try $0.object("Book", "one").setValue(2, forKey: "pages") }
        await phone.until { status in
            switch status.activity {
            case .offline, .error: true
            default: false
            }
        }
        try phone.edit { try $0.object("Book", "one").setValue(3, forKey: "pages") }
        try await phone.sync()
        #expect(try phone.dump == "Book  pages 3  title one")
        #expect(phone.mirror.status.conflictCount == 0)
    }

    @Test func pollingContinuesWhileTheQuotaIsExceeded() async throws {
        var limits = Limits()
        limits.userBytes = 1_000_000
        let stage = try await Stage(limits: limits)
        try stage.phone.edit { $0.insert("Note", ["title": "large", "scan": Data(repeating: 1, count: 600_000)]) }
        try await stage.phone.sync()
        try stage.phone.edit { $0.insert("Note", ["title": "larger", "scan": Data(repeating: 2, count: 700_000)]) }
        await stage.phone.until { if case .error(let reason) = $0.activity { reason.contains("quota") } else { false } }
        #expect(stage.phone.mirror.status.pendingCount == 1)
        try await stage.expectPoll("elsewhere")
        // A deletion frees storage.
        try stage.phone.edit { context in context.delete(try context.object("Note", "large")) }
        let dump = try await Pair.converge([stage.tablet, stage.phone])
        #expect(dump.contains("title larger"))
        #expect(!dump.contains("title large\n"))
        #expect(stage.phone.mirror.status.pendingCount == 0)
    }

    @Test func anImportThatTheAppRejectsNamesTheProperty() async throws {
        var model = Library.model
        model.entities[0].attributes[0].maximum = 5
        let cloud = try InProcessCloud()
        let tablet = try ContainerDevice(try await cloud.addUser("mia", device: "tablet"))
        let phone = try MirrorDevice(try await cloud.addDevice("phone", of: "mia"), model: model)
        try await phone.sync()
        try tablet.edit { context in for title in ["a long title", "short"] { context.insert("Book", ["title": title]) } }
        try await tablet.sync()
        let sync = Task { try await phone.sync() }
        var reason = ""
        await phone.until { status in
            guard case .error(let text) = status.activity else { return false }
            reason = text
            return true
        }
        #expect(reason.hasPrefix("Book.title from another device fails the app's validation"))
        #expect(!reason.contains("long"))
        // Neither direction syncs.
        #expect(try phone.dump.isEmpty)
        try tablet.edit { try $0.object("Book", "a long title").setValue("long", forKey: "title") }
        try await tablet.sync()
        #expect(try await Pair.converge([tablet, phone]) == "Book  pages 0  title long\nBook  pages 0  title short")
        try await sync.value
    }

    @Test func anObjectThatIsSharedElsewhereIsDeletedAndItsEditsAreLogged() async throws {
        let stage = try await Stage()
        try stage.tablet.edit { context in for title in ["shared", "private"] { context.insert("Book", ["title": title]) } }
        _ = try await Pair.converge([stage.tablet, stage.phone])
        stage.phone.transport.goOffline()
        try stage.phone.edit { try $0.object("Book", "shared").setValue("unsent", forKey: "summary") }
        let context = stage.tablet.container.newBackgroundContext()
        let shared = try await context.perform { try context.object("Book", "shared").objectID }
        _ = try await stage.tablet.cloudContainer.share([await context.perform { context.object(with: shared) }], to: nil)
        try await stage.tablet.sync()
        stage.phone.transport.goOnline()
        try await stage.phone.sync()
        #expect(try stage.phone.dump == "Book  pages 0  title private")
        let entries = try await stage.phone.mirror.conflicts()
        #expect(entries.map(\.winner) == [.deletionElsewhere])
        #expect(entries.first?.losingValue as? String == "unsent")
        try await stage.tablet.sync()
        #expect(try stage.tablet.dump.contains("title shared"))
    }
}
