// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
@testable import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import MirroringCore
import Synchronization
import TestBasics
import Testing

/// Assets that the server lost: everything else of their zone arrives.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct MissingAssetTests {
    private static let long = String(repeating: "x", count: 800_000)
    private static let longer = String(repeating: "y", count: 800_001)

    private struct Stage {
        let cloud: InProcessCloud
        let tablet: Device
        let phone: Device
        /// Between the phone and the server.
        let wire: Faults

        init(
            model: Model = Posts.model, limits: Limits = Limits(), describe: (NSPersistentStoreDescription) throws -> Void = { _ in },
            configure: (inout SyncEnvironment) -> Void = { _ in }
        ) async throws {
            cloud = try InProcessCloud(limits: limits)
            tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), model: model, describe: describe)
            let transport = try await cloud.addDevice("phone", of: "mia")
            wire = Faults(transport)
            phone = try Device("phone", transport, over: wire, model: model, describe: describe, configure: configure)
        }

        /// The phone after a relaunch.
        func relaunched() async throws -> Device {
            try await phone.kill()
            return try Device("phone-again", try await cloud.addDevice("phone-again", of: "mia"), file: phone.file)
        }

        /// Changes objects on the tablet. The server loses all assets before the phone fetches the change.
        func loseAssets(ofEdit edit: @Sendable (NSManagedObjectContext) throws -> Void) async throws {
            phone.container.pauseSyncing()
            try tablet.edit(edit)
            try await tablet.container.sync(timeout: .seconds(600))
            try loseAssets()
            phone.container.resumeSyncing()
        }

        func loseAssets() throws { try Self.loseAssets(of: cloud) }
        func restoreAssets() throws { try Self.restoreAssets(of: cloud) }

        /// - Parameter isWholeFolder: Whether the folder is missing, too, as if its volume were not mounted.
        static func loseAssets(of cloud: InProcessCloud, isWholeFolder: Bool = false) throws {
            try FileManager.default.moveItem(atPath: cloud.path + "/assets", toPath: cloud.path + "/lost")
            if isWholeFolder { return }
            try FileManager.default.createDirectory(atPath: cloud.path + "/assets/1000", withIntermediateDirectories: true)
        }

        static func restoreAssets(of cloud: InProcessCloud) throws {
            if FileManager.default.fileExists(atPath: cloud.path + "/assets") {
                try FileManager.default.removeItem(atPath: cloud.path + "/assets")
            }
            try FileManager.default.moveItem(atPath: cloud.path + "/lost", toPath: cloud.path + "/assets")
        }

        func post(_ title: String) async throws -> Record {
            let records = try await cloud.databases(of: Device.containerIdentifier).flatMap(\.zones).flatMap(\.records)
            return try #require(records.first { $0.fields["CD_title"]?.value == .string(title) })
        }
    }

    private func sync(_ devices: Device...) async throws {
        for device in devices { try await device.container.sync(timeout: .seconds(600)) }
    }

    private func errors(_ device: Device) throws -> [String] {
        try device.read { context in
            let request = NSPersistentCloudKitContainerEventRequest.fetchEvents(after: Date.distantPast)
            let result = try context.execute(request) as? NSPersistentCloudKitContainerEventResult
            let events = result?.result as? [NSPersistentCloudKitContainer.Event] ?? []
            return events.filter { $0.type == .import }.compactMap { $0.error?.localizedDescription }
        }
    }

    @Test func theRestArrivesAndTheValueOnceItsFileIsBack() async throws {
        let stage = try await Stage()
        let (tablet, phone) = (stage.tablet, stage.phone)
        try await stage.loseAssets(ofEdit: { context in
            context.insert("Post", ["title": "a", "content": Self.long])
            context.insert("Post", ["title": "b"])
        })
        try await sync(phone)
        #expect(try phone.read { try $0.post(titled: "b") != nil })
        #expect(try phone.read { try $0.post(titled: "a") != nil })
        #expect(try phone.text("content", of: "a") == nil)
        #expect(try phone.unreadable == ["content missingAsset"])
        let status = phone.container.syncStatus
        #expect(status.unreadableCount == 1)
        #expect(status.description == "idle, 1 unreadable")
        let record = try await stage.post("a").recordName
        let error = try #require(try errors(phone).first { $0.contains("Post.content") })
        #expect(error.contains(record))
        #expect(!error.contains("xxx"))

        // Later changes of the zone arrive, and edits of other attributes leave the asset on the server alone.
        try tablet.edit { $0.insert("Post", ["title": "c"]) }
        try phone.set("title", of: "a", to: "a2")
        try await sync(tablet, phone)
        #expect(try phone.read { try $0.post(titled: "c") != nil })
        #expect(try await stage.post("a2").fields["CD_content_ckAsset"] != nil)
        #expect(try phone.unreadable == ["content missingAsset"])

        try stage.restoreAssets()
        let again = try await stage.relaunched()
        try await sync(again, tablet)
        #expect(try again.text("content", of: "a2") == Self.long)
        #expect(try again.unreadable == [])
        #expect(again.container.syncStatus.unreadableCount == 0)
        #expect(try again.container.conflicts().isEmpty)
        #expect(try again.dump == tablet.dump)
    }

    /// The present addresses are requested in parts.
    @Test func aPageMayLackMoreAssetsThanALookUpReturns() async throws {
        var limits = Limits()
        limits.recordsPerResponse = 4
        let stage = try await Stage(limits: limits)
        let phone = stage.phone
        try await stage.loseAssets(ofEdit: { context in
            for number in 0..<10 {
                context.insert("Post", ["title": "\(number)", "content": String(repeating: "x", count: 800_000 + number)])
            }
            context.insert("Post", ["title": "b"])
        })
        try await sync(phone)
        #expect(try phone.read { try $0.all("Post").count } == 11)
        #expect(try phone.unreadable == Array(repeating: "content missingAsset", count: 10))
        try stage.restoreAssets()
        let again = try await stage.relaunched()
        try await sync(again)
        #expect(try again.dump == stage.tablet.dump)
        #expect(try again.unreadable == [])
    }

    @Test func importsOfTheSameDayDoNotRequestTheAssetAgain() async throws {
        let stage = try await Stage()
        let (tablet, phone) = (stage.tablet, stage.phone)
        try await stage.loseAssets(ofEdit: { $0.insert("Post", ["title": "a", "content": Self.long]) })
        try await sync(phone)
        #expect(phone.container.syncStatus.unreadableCount == 1)
        let before = stage.wire.log.count
        try tablet.edit { $0.insert("Post", ["title": "b"]) }
        try await sync(tablet, phone)
        #expect(try phone.read { try $0.post(titled: "b") != nil })
        let requests = Set(stage.wire.log[before...])
        #expect(!requests.contains("asset"))
        #expect(!requests.contains("records/lookup"))
        #expect(phone.container.syncStatus.unreadableCount == 1)
    }

    /// A device keeps the value from before, and does not send it in place of the missing one.
    @Test func theFormerValueStaysAndAChangeOfTheRecordIsARetry() async throws {
        let stage = try await Stage()
        let (tablet, phone) = (stage.tablet, stage.phone)
        try tablet.edit { $0.insert("Post", ["title": "a", "content": Self.long]) }
        try await sync(tablet, phone)
        try await stage.loseAssets(ofEdit: { context in
            let post = try context.post(titled: "a")
            post?.setValue(Self.longer, forKey: "content")
            post?.setValue("a2", forKey: "title")
        })
        try await sync(phone)
        #expect(try phone.text("content", of: "a2") == Self.long)
        #expect(try phone.unreadable == ["content missingAsset"])
        try stage.restoreAssets()
        try tablet.set("title", of: "a2", to: "a3")
        try await sync(tablet, phone, tablet)
        #expect(try phone.text("content", of: "a3") == Self.longer)
        #expect(try phone.unreadable == [])
        #expect(try tablet.dump == phone.dump)
    }

    @Test func anEditOfTheAttributeReplacesTheMissingAsset() async throws {
        let stage = try await Stage()
        let (tablet, phone) = (stage.tablet, stage.phone)
        try await stage.loseAssets(ofEdit: { $0.insert("Post", ["title": "a", "content": Self.long]) })
        try await sync(phone)
        try phone.set("content", of: "a", to: "short")
        try await sync(phone, tablet)
        #expect(try phone.unreadable == [])
        #expect(phone.container.syncStatus.unreadableCount == 0)
        #expect(try tablet.text("content", of: "a") == "short")
        let fields = try await stage.post("a").fields
        #expect(fields["CD_content"]?.value == .string("short"))
        #expect(fields["CD_content_ckAsset"]?.value == nil)
    }

    /// The tablet has accepted its own value, with the number of the lost one.
    @Test func anEditThatReplacesTheMissingAssetOfAnEncryptedValueIsAccepted() async throws {
        let keys = EncryptedPosts.keyFile()
        let stage = try await Stage(
            model: EncryptedPosts.model,
            describe: { description -> Void in description.cloudKitContainerOptions?.encryptionKeys = .file(keys) })
        let (tablet, phone) = (stage.tablet, stage.phone)
        try tablet.edit { $0.insert("Post", ["title": "a", "content": "first"]) }
        try await sync(tablet, phone)
        try await stage.loseAssets(ofEdit: { context -> Void in
            try context.post(titled: "a")?.setValue(Self.long, forKey: "content")
        })
        try await sync(phone)
        #expect(try phone.unreadable == ["content missingAsset"])
        for text in ["short", "shorter"] {
            try phone.set("content", of: "a", to: text)
            try await sync(phone, tablet)
            for device in [tablet, phone] {
                #expect(try device.unreadable == [])
                #expect(try device.text("content", of: "a") == text)
            }
        }
    }

    /// At the end of an import, a day after the last attempt.
    @Test func theValueIsFetchedAgainOnceADay() async throws {
        let clock = WallClock()
        let stage = try await Stage(configure: { $0.now = { clock.now } })
        let phone = stage.phone
        try await sync(phone)
        try await stage.loseAssets(ofEdit: { $0.insert("Post", ["title": "a", "content": Self.long]) })
        try await sync(phone)
        try stage.restoreAssets()
        clock.advance(seconds: 86_000)
        try await sync(phone)
        #expect(try phone.unreadable == ["content missingAsset"])
        clock.advance(seconds: 86_400)
        try await sync(phone)
        #expect(try phone.unreadable == [])
        #expect(try phone.text("content", of: "a") == Self.long)
        #expect(phone.container.syncStatus.unreadableCount == 0)
    }

    @Test func anAddressThatIsGoneIsThatOfAMissingAsset() async throws {
        let stage = try await Stage()
        let (tablet, phone) = (stage.tablet, stage.phone)
        try await sync(phone)
        let gone = Faults.Fault.refuse(status: 410, WireError(.notFound, "gone"))
        // At the address of the page, and at the present one.
        stage.wire.plan("asset", gone, gone)
        try tablet.edit { $0.insert("Post", ["title": "a", "content": Self.long]) }
        try await sync(tablet, phone)
        #expect(stage.wire.isSpent)
        #expect(try phone.unreadable == ["content missingAsset"])
        #expect(try errors(phone).contains { $0.contains("Post.content") })
        try tablet.set("title", of: "a", to: "a2")
        try await sync(tablet, phone)
        #expect(try phone.text("content", of: "a2") == Self.long)
    }

    /// Its record in the zone of the share could not have the value.
    @Test func anObjectWithAMissingAssetIsNotSharedAndStaysInItsZone() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { context in
            context.insert("Post", ["title": "a", "content": Self.long])
            context.insert("Post", ["title": "b"])
        }
        try await sync(tablet)
        try Stage.loseAssets(of: cloud)
        let phone = try Device.sharing("phone", try await cloud.addDevice("phone", of: "mia"))
        try await sync(phone)
        #expect(try phone.unreadable == ["content missingAsset"])
        let refusal = await #expect(throws: CKError.self) { _ = try await phone.share("a") }
        #expect(refusal?.code == .invalidArguments)
        #expect(refusal?.localizedDescription.contains("does not have an asset") == true)

        try await phone.share("b")
        try phone.edit { context in
            let posts = try ["a", "b"].compactMap { try context.post(titled: $0) }
            context.insert("Tag", ["name": "both"]).setValue(Set(posts), forKey: "posts")
        }
        try await sync(phone)
        #expect(try await Self.zone(ofPost: "a", cloud) == "com.apple.coredata.cloudkit.zone")
        #expect(try await Self.zone(ofPost: "b", cloud) != "com.apple.coredata.cloudkit.zone")
        #expect(try phone.unreadable == ["content missingAsset"])
        try Stage.restoreAssets(of: cloud)
        try await phone.kill()
        let again = try Device.sharing("again", try await cloud.addDevice("again", of: "mia"), file: phone.file)
        try await sync(again)
        #expect(try again.unreadable == [])
        #expect(try again.text("content", of: "a") == Self.long)
    }

    private static func zone(ofPost title: String, _ cloud: InProcessCloud) async throws -> String? {
        try await cloud.databases(of: Device.containerIdentifier).flatMap(\.zones).first { zone in
            zone.records.contains { $0.fields["CD_title"]?.value == .string(title) }
        }?.name
    }

    @Test func anObjectThatRequiresTheValueIsWithheldUntilItArrives() async throws {
        var model = Posts.model
        model.entities[0].attributes[1].isOptional = false
        let stage = try await Stage(model: model) { $0.cloudKitContainerOptions?.modelExtensions = [.requiredValues] }
        let (tablet, phone) = (stage.tablet, stage.phone)
        try await stage.loseAssets(ofEdit: { context in
            context.insert("Post", ["title": "a", "content": Self.long])
            context.insert("Post", ["title": "b", "content": "short"])
        })
        try await sync(phone)
        #expect(try phone.read { try $0.post(titled: "a") == nil })
        #expect(try phone.read { try $0.post(titled: "b") != nil })
        #expect(phone.container.syncStatus.incompleteCount == 1)
        #expect(try errors(phone).contains { $0.contains("Post.content") })
        try stage.restoreAssets()
        try await phone.kill()
        let again = try Device(
            "phone-again", try await stage.cloud.addDevice("phone-again", of: "mia"), file: phone.file, model: model,
            describe: { $0.cloudKitContainerOptions?.modelExtensions = [.requiredValues] })
        try await sync(again)
        #expect(try again.text("content", of: "a") == Self.long)
        #expect(again.container.syncStatus.incompleteCount == 0)
        #expect(try again.dump == tablet.dump)
    }

    /// An expired address, a server without an address, a network failure, a busy server: these downloads are retried.
    @Test func onlyTheFailureOfAMissingAssetCountsAsOne() {
        for code in AppErrorCode.allCases.compactMap({ CKError.Code(rawValue: $0.rawValue) }) {
            #expect(!CloudFailure(CKError(code, "r")).isAssetMissing, "\(code)")
        }
        let missing = CKError(.assetNotAvailable, "r", userInfo: [CKError.assetMissingKey: NSNumber(value: true)])
        #expect(CloudFailure(missing).isAssetMissing)
    }

    /// A volume that is not mounted: no value is quarantined until the next day.
    @Test func aServerWithoutItsFolderOfAssetsIsRetried() async throws {
        let stage = try await Stage()
        let (tablet, phone) = (stage.tablet, stage.phone)
        phone.timers.runFreely(upTo: 60)
        phone.container.pauseSyncing()
        try tablet.edit { $0.insert("Post", ["title": "a", "content": Self.long]) }
        try await sync(tablet)
        try Stage.loseAssets(of: stage.cloud, isWholeFolder: true)
        phone.container.resumeSyncing()
        try await until { stage.wire.log.count(where: { $0 == "asset" }) >= 3 }
        #expect(try phone.unreadable == [])
        #expect(try phone.read { try $0.post(titled: "a") == nil })
        try stage.restoreAssets()
        try await phone.settles { try phone.text("content", of: "a") == Self.long }
        #expect(try errors(phone).allSatisfy { !$0.contains("Post.content") })
        #expect(try phone.dump == tablet.dump)
    }

    /// Only a missing asset is quarantined, and only at the address that its record has now.
    @Test func otherFailuresAreRetried() async throws {
        let stage = try await Stage()
        let (tablet, phone) = (stage.tablet, stage.phone)
        phone.timers.runFreely(upTo: 10)
        try tablet.edit { $0.insert("Post", ["title": "a", "content": Self.long]) }
        stage.wire.plan(
            "asset", .refuse(status: 403, WireError(.accessDenied, "the address of the asset has expired")),
            .refuse(status: 503, WireError(.tryAgainLater, "busy")), .fail(CKError(.networkFailure)), .fail(CKError(.networkFailure)),
            // An address that does not exist any more, and is replaced by the present one.
            .refuse(status: 404, WireError(.notFound, "gone")))
        try await sync(tablet, phone)
        try await phone.settles { try phone.text("content", of: "a") == Self.long }
        #expect(stage.wire.isSpent)
        #expect(try phone.unreadable == [])
        #expect(try errors(phone).allSatisfy { !$0.contains("Post.content") })
    }
}

/// The time of a device, which a test moves.
private final class WallClock: Sendable {
    private let time = Mutex(Date(timeIntervalSince1970: 1_900_000_000))

    var now: Date { time.withLock { $0 } }

    func advance(seconds: Double) { time.withLock { $0 += seconds } }
}
