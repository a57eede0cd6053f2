// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import ObjectGraph
import SQLiteStore
import Synchronization
import TestBasics
import Testing

/// What one device saved in one transaction becomes visible on another in one transaction, however many change pages carry it.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct WholeSaveTests {
    /// A server with change pages of 40 records.
    private static var limits: Limits {
        var limits = Limits()
        limits.recordsPerResponse = 40
        limits.recordsPerLargePage = 40
        return limits
    }

    private static func count(_ entity: String) -> @Sendable (NSManagedObjectContext) throws -> String {
        { context in "\(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: entity)))" }
    }

    /// How many posts have which content.
    private static func contents(_ context: NSManagedObjectContext) throws -> String {
        let contents = try context.all("Post").map { $0.value(forKey: "content") as? String ?? "" }
        return Dictionary(grouping: contents) { $0 }.map { "\($0.key) \($0.value.count)" }.sorted().joined(separator: ", ")
    }

    private func stage(_ bytes: Int) -> (inout SyncEnvironment) -> Void { { $0.stagingBytesMax = bytes } }

    /// A server, and a device that has sent objects to it.
    private func sent(
        model: Model = Posts.model, _ save: @Sendable (NSManagedObjectContext) throws -> Void
    ) async throws -> (cloud: InProcessCloud, tablet: Device) {
        let cloud = try InProcessCloud(limits: Self.limits)
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), model: model)
        try tablet.edit(save)
        try await tablet.container.sync(timeout: .seconds(600))
        return (cloud, tablet)
    }

    private func sent(posts count: Int) async throws -> (cloud: InProcessCloud, tablet: Device) {
        try await sent { context in for number in 0..<count { context.insert("Post", ["title": "\(number)"]) } }
    }

    /// In memory and in the file, which is where pages of large imports wait.
    @Test(arguments: [4_000_000, 0]) func insertsUpdatesAndDeletionsOfOneSaveAppearTogether(stagingBytesMax: Int) async throws {
        let cloud = try InProcessCloud(limits: Self.limits)
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), configure: stage(stagingBytesMax))
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        let views = Views(of: phone, Self.contents)
        try tablet.edit { context in for number in 0..<390 { context.insert("Post", ["title": "\(number)", "content": "new"]) } }
        try await phone.settles { try phone.dump == tablet.dump }
        try tablet.edit { context in for post in try context.all("Post") { post.setValue("changed", forKey: "content") } }
        try await phone.settles { try phone.dump == tablet.dump }
        try tablet.edit { context in for post in try context.all("Post") { context.delete(post) } }
        try await phone.settles { try phone.dump == tablet.dump }
        #expect(views.all == ["", "new 390", "changed 390", ""] || views.all == ["new 390", "changed 390", ""])
    }

    @Test(arguments: [4_000_000, 0]) func linksOfOneSaveAppearWithTheirObjectsOnANewDevice(stagingBytesMax: Int) async throws {
        let (cloud, tablet) = try await sent { context in
            let tags = (0..<5).map { context.insert("Tag", ["name": "\($0)"]) }
            for number in 0..<50 { context.insert("Post", ["title": "\(number)"]).setValue(Set(tags), forKey: "tags") }
        }
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), configure: stage(stagingBytesMax))
        let views = Views(of: phone) { context in
            let posts = try context.all("Post")
            return "\(posts.count) \(posts.reduce(0) { $0 + (($1.value(forKey: "tags") as? Set<NSManagedObject>)?.count ?? 0) })"
        }
        try await phone.container.sync(timeout: .seconds(600))
        #expect(views.all == ["50 250"])
        #expect(try phone.dump == tablet.dump)
    }

    /// History and contexts hear of one transaction, in which each object occurs once.
    @Test func oneImportIsOneHistoryTransactionAndOneMerge() async throws {
        let cloud = try InProcessCloud(limits: Self.limits)
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        phone.container.viewContext.automaticallyMergesChangesFromParent = true
        try tablet.edit { context in
            let tag = context.insert("Tag", ["name": "all"])
            for number in 0..<150 { context.insert("Post", ["title": "\(number)"]).setValue(Set([tag]), forKey: "tags") }
        }
        try await phone.settles { try phone.dump == tablet.dump }
        let transactions = try phone.read { context in
            let result =
                try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?))
                as? NSPersistentHistoryResult
            return (result?.result as? [NSPersistentHistoryTransaction] ?? []).map { transaction in
                (transaction.changes?.count ?? 0, Set(transaction.changes?.map(\.changedObjectID) ?? []).count, transaction.author)
            }
        }
        #expect(transactions.count == 1)
        #expect(transactions.first?.0 == 151)
        #expect(transactions.first?.1 == 151)
        #expect(transactions.first?.2 == "NSCloudKitMirroringDelegate.import")
    }

    /// A record that changes while pages are fetched moves behind them, and so do the other records of its save.
    @Test(arguments: [4_000_000, 0]) func savesDuringAnImportAppearWithIt(stagingBytesMax: Int) async throws {
        let (cloud, tablet) = try await sent { context in
            for number in 0..<200 { context.insert("Post", ["title": "\(number)", "content": "old"]) }
        }
        let transport = try await cloud.addDevice("phone", of: "mia")
        let answers = Mutex(0)
        let holding = Holding(transport) { path, _ in
            path.hasSuffix("changes/zone")
                && answers.withLock { count in
                    count += 1
                    return count == 3
                }
        }
        let phone = try Device("phone", transport, over: holding, configure: stage(stagingBytesMax))
        let views = Views(of: phone, Self.contents)
        try await holding.gate.reached()
        try tablet.edit { context in
            for post in try context.all("Post") where (post.value(forKey: "title") as? String)?.hasSuffix("7") == true {
                context.delete(post)
            }
            for post in try context.all("Post") where (post.value(forKey: "title") as? String)?.hasSuffix("3") == true {
                post.setValue("changed", forKey: "content")
            }
        }
        try await tablet.container.sync(timeout: .seconds(600))
        holding.gate.open()
        try await phone.container.sync(timeout: .seconds(600))
        #expect(views.all == ["changed 20, old 160"])
        #expect(try phone.dump == tablet.dump)
        // Objects that were created and deleted within one import are invisible to contexts and history.
        let deletions = try phone.read { context in
            let result =
                try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?))
                as? NSPersistentHistoryResult
            return (result?.result as? [NSPersistentHistoryTransaction] ?? []).flatMap { $0.changes ?? [] }.count {
                $0.changeType == .delete
            }
        }
        #expect(deletions == 0)
    }

    /// A device requests nothing while it is paused. Pages that it prefetched before would lack later saves.
    @Test func anImportAfterAPauseIsUpToDate() async throws {
        let (cloud, tablet) = try await sent(posts: 100)

        let gate = Gate()
        let faults = Faults(try await cloud.addDevice("phone", of: "mia"), gate: gate)
        let paused = Mutex<NSPersistentCloudKitContainer?>(nil)
        faults.plan(
            "changes/zone",
            .answer { page in
                paused.withLock { $0?.pauseSyncing() }
                return page
            })
        let phone = try Device("phone", faults.transport, over: faults)
        let views = Views(of: phone, Self.count("Post"))
        paused.withLock { $0 = phone.container }
        gate.open()
        try await phone.until { $0.activity == .paused }
        let requests = faults.log.count
        try tablet.edit { $0.insert("Post", ["title": "saved during the pause"]) }
        try await tablet.container.sync(timeout: .seconds(600))
        #expect(faults.log.count == requests)
        phone.container.resumeSyncing()
        try await phone.container.sync(timeout: .seconds(600))
        #expect(views.all == ["101"])
    }

    /// A device that was killed after it had staged five pages, and shown nothing of them.
    private func killedPhone(_ transport: InProcessTransport, changing statements: [String] = []) async throws -> Device {
        let faults = Faults(transport)
        let phone = try Device("phone", transport, over: faults, configure: stage(0))
        let views = Views(of: phone, Self.count("Post"))
        for request in 1...60 {
            faults.plan("changes/zone", request > 5 ? .fail(CKError(.networkUnavailable, "the network is gone")) : .pass)
        }
        try await phone.until { $0.activity == .offline }
        #expect(try phone.read { try $0.all("Post").count + $0.all("ImageData").count } == 0)
        #expect(views.all.allSatisfy { $0 == "0" })
        try FormatTests.change(phone, statements)
        try await phone.kill()
        return phone
    }

    /// The next version of the library cannot tell whether their values are decrypted. They are fetched again.
    @Test func stagedPagesOfAnEarlierFormatAreDropped() async throws {
        let (cloud, tablet) = try await sent { context in
            for number in 0..<300 { context.insert("Post", ["title": "\(number)"]) }
        }
        let transport = try await cloud.addDevice("phone", of: "mia")
        let killed = try await killedPhone(transport, changing: FormatTests.sixteenthFormat)
        #expect(Self.stagedFiles(of: killed.file).count == 5)
        let before = transport.log.count { $0 == "changes/zone" }
        let phone = try Device("phone", transport, file: killed.file, configure: stage(0))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == tablet.dump)
        #expect(transport.log.count { $0 == "changes/zone" } - before > 5, "pages are not fetched again")
        #expect(Self.stagedFiles(of: phone.file).isEmpty)
    }

    /// Pages and contents of assets that have arrived are not fetched again by the next process.
    @Test func aKilledImportResumes() async throws {
        let (cloud, tablet) = try await sent { context in
            for number in 0..<4 {
                context.insert("ImageData", ["data": Data(repeating: UInt8(number), count: number == 2 ? 5_000_000 : 1_500_000)])
            }
            for number in 0..<300 { context.insert("Post", ["title": "\(number)"]) }
        }

        let transport = try await cloud.addDevice("phone", of: "mia")
        var phone = try await killedPhone(transport)
        #expect(Self.stagedFiles(of: phone.file).count { $0.contains("-page-") } == 5)
        #expect(Self.stagedFiles(of: phone.file).count == 5 + 4, "and the assets")
        let before = transport.log.count
        let downloads = transport.log.count { $0 == "asset" }
        phone = try Device("phone", transport, file: phone.file, configure: stage(0))
        let second = Views(of: phone, Self.count("Post"))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(second.all == ["300"])
        #expect(try phone.dump == tablet.dump)
        #expect(transport.log.dropFirst(before).count { $0 == "changes/zone" } <= 5, "pages are fetched again")
        #expect(downloads == 4, "assets are downloaded again")
        #expect(transport.log.count { $0 == "asset" } == downloads, "assets are downloaded again")
        // Nothing stays behind in the file.
        let store = try #require(phone.container.persistentStoreCoordinator.persistentStores.first)
        let staged = try store.storage.read { reader in
            var count: Int64 = 0
            for table in ["TARN_STAGEDPAGE", "TARN_STAGEDASSET"] {
                try reader.query("SELECT COUNT(*) FROM \(table)") { count += $0.int(0) }
            }
            return count
        }
        #expect(staged == 0)
        #expect(Self.stagedFiles(of: phone.file).isEmpty)
    }

    private static func stagedFolder(of file: URL) -> URL {
        SQLiteStore.supportFolder(of: file).appendingPathComponent("_STAGED/\(file.lastPathComponent)")
    }

    private static func stagedFiles(of file: URL) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: stagedFolder(of: file).path)) ?? []
    }

    /// A process may end between its commit and the removal of files, or a file may be lost with a disk's cache.
    @Test func stagedFilesAndPagesMayDiffer() async throws {
        let (cloud, tablet) = try await sent { context in
            for number in 0..<4 { context.insert("ImageData", ["data": Data(repeating: UInt8(number), count: 1_500_000)]) }
            for number in 0..<300 { context.insert("Post", ["title": "\(number)"]) }
        }
        let transport = try await cloud.addDevice("phone", of: "mia")
        var phone = try await killedPhone(transport)
        let folder = Self.stagedFolder(of: phone.file)
        let files = Self.stagedFiles(of: phone.file).filter { !$0.contains("-page-") }
        #expect(files.count == 4)
        try FileManager.default.removeItem(at: folder.appendingPathComponent(try #require(files.first)))
        try Data("of a zone that is gone".utf8).write(to: folder.appendingPathComponent("7-ab"))
        phone = try Device("phone", transport, file: phone.file, configure: stage(0))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == tablet.dump)
        #expect(transport.log.count { $0 == "asset" } == 5, "one is downloaded again")
        #expect(Self.stagedFiles(of: phone.file).isEmpty)
    }

    enum Damage: CaseIterable { case removed, truncated, changed, ofEarlierPages, unreadable }

    /// The pages that arrived are fetched again. They are not flushed to the disk, and a power cut may take any of them.
    @Test(arguments: Damage.allCases) func aStagedPageIsLost(_ damage: Damage) async throws {
        let (cloud, tablet) = try await sent(posts: 300)
        let transport = try await cloud.addDevice("phone", of: "mia")
        var phone = try await killedPhone(transport)
        let pages = Self.stagedFiles(of: phone.file).filter { $0.contains("-page-") }.sorted()
        #expect(pages.count == 5)
        let page = Self.stagedFolder(of: phone.file).appendingPathComponent(pages[2])
        switch damage {
        case .removed: try FileManager.default.removeItem(at: page)
        case .truncated: try Data(contentsOf: page).dropLast(1).write(to: page)
        case .changed:
            let body = String(decoding: try Data(contentsOf: page), as: UTF8.self)
            try Data(body.replacing("CD_title", with: "CD_totle").utf8).write(to: page)
        case .ofEarlierPages:
            try FileManager.default.removeItem(at: page)
            try FileManager.default.copyItem(at: Self.stagedFolder(of: phone.file).appendingPathComponent(pages[1]), to: page)
        case .unreadable:
            try FileManager.default.removeItem(at: page)
            try FileManager.default.createDirectory(at: page, withIntermediateDirectories: false)
        }
        let before = transport.log.count { $0 == "changes/zone" }
        phone = try Device("phone", transport, file: phone.file, configure: stage(0))
        let views = Views(of: phone, Self.count("Post"))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(views.all == ["300"], "the import is whole")
        #expect(try phone.dump == tablet.dump)
        #expect(transport.log.count { $0 == "changes/zone" } - before > 8, "the rest, and all pages again")
        // The folder was never one of the mirror's files.
        #expect(Self.stagedFiles(of: phone.file) == (damage == .unreadable ? [pages[2]] : []))
    }

    /// Stores whose names differ in the extension alone share the support folder, and number their pages alike.
    @Test func storesOfOneNameStageApart() async throws {
        let (cloud, tablet) = try await sent(posts: 300)
        let transport = try await cloud.addDevice("phone", of: "mia")
        var phone = try await killedPhone(transport)
        let other = phone.file.deletingPathExtension().appendingPathExtension("store")
        let second = try Device("second", try await cloud.addDevice("second", of: "mia"), file: other, configure: stage(0))
        try await second.container.sync(timeout: .seconds(600))
        #expect(try second.dump == tablet.dump)
        #expect(Self.stagedFiles(of: phone.file).count == 5)
        let before = transport.log.count { $0 == "changes/zone" }
        phone = try Device("phone", transport, file: phone.file, configure: stage(0))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == tablet.dump)
        #expect(transport.log.count { $0 == "changes/zone" } - before <= 5, "no page was lost")
    }

    /// Another program deletes the files: the pages are not fetched again and again without a delay.
    @Test func stagedPagesThatAreLostAgainAndAgainWait() async throws {
        let (cloud, tablet) = try await sent(posts: 100)
        let transport = try await cloud.addDevice("phone", of: "mia")
        let gate = Gate()
        let faults = Faults(transport, gate: gate)
        let phone = try Device("phone", transport, over: faults, configure: stage(0))
        let (file, folder) = (phone.file, Self.stagedFolder(of: phone.file))
        // The last page of two attempts: three pages each. It is prefetched, so it may arrive before the others are staged.
        for _ in 0..<2 {
            faults.plan(
                "changes/zone", .pass, .pass,
                .answer { page in
                    try await until { Self.stagedFiles(of: file).count == 2 }
                    try FileManager.default.removeItem(at: folder)
                    return page
                })
        }
        gate.open()
        try await phone.until { if case .error = $0.activity { true } else { false } }
        #expect(faults.isSpent)
        #expect(faults.log.count { $0 == "changes/zone" } == 6)
        #expect(try phone.read { try $0.all("Post").isEmpty })
        phone.timers.advance(by: 600)
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == tablet.dump)
    }

    /// The value's file is the staged one.
    @Test func aLargeValueIsNotCopied() async throws {
        var model = Posts.model
        for (index, entity) in model.entities.enumerated() where entity.name == "ImageData" {
            model.entities[index].attributes[0].allowsExternalBinaryDataStorage = true
        }
        let (cloud, tablet) = try await sent(model: model) { context in
            // Of the same content, and so of the same asset.
            for _ in 0..<2 { context.insert("ImageData", ["data": Data(repeating: 7, count: 1_500_000)]) }
            for number in 0..<100 { context.insert("Post", ["title": "\(number)"]) }
        }
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), model: model, configure: stage(0))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == tablet.dump)
        let values = SQLiteStore.supportFolder(of: phone.file).appendingPathComponent("_EXTERNAL_DATA")
        let inodes = try FileManager.default.contentsOfDirectory(atPath: values.path).map { name in
            try FileManager.default.attributesOfItem(atPath: values.appendingPathComponent(name).path)[.systemFileNumber] as? Int
        }
        #expect(inodes.count == 2)
        #expect(Set(inodes).count == 1)
    }

    /// Changes with an expired token are fetched from the beginning, and shown once they are complete.
    @Test func aTokenThatExpiresBetweenPagesRestartsWithoutAPartialImport() async throws {
        let cloud = try await sent(posts: 300).cloud
        let transport = try await cloud.addDevice("phone", of: "mia")
        let faults = Faults(transport)
        faults.plan(
            "changes/zone", .pass, .pass, .pass,
            .refuse(status: 400, WireError(.badRequest, "the token has expired", nativeCode: .changeTokenExpired)))
        let phone = try Device("phone", transport, over: faults, configure: stage(0))
        let views = Views(of: phone, Self.count("Post"))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(views.all == ["300"])
        #expect(faults.isSpent)
    }

    /// The second attempt has one page, which is not staged.
    @Test func stagedPagesOfAnEarlierAttemptAreRemoved() async throws {
        let (cloud, tablet) = try await sent(posts: 300)
        let gate = Gate()
        let faults = Faults(try await cloud.addDevice("phone", of: "mia"), gate: gate)
        faults.plan(
            "changes/zone", .pass, .pass,
            .answer { page in
                faults.refuseAll("changes/zone", containing: "zones", status: 503, WireError(.tryAgainLater, "not now"))
                return page
            })
        let phone = try Device("phone", faults.transport, over: faults, configure: stage(0))
        gate.open()
        try await phone.until { if case .error = $0.activity { true } else { false } }
        #expect(Self.stagedFiles(of: phone.file).count == 3)
        try tablet.edit { context in for post in try context.all("Post").dropFirst(5) { context.delete(post) } }
        try await tablet.container.sync(timeout: .seconds(600))
        faults.plan(
            "changes/zone", .refuse(status: 400, WireError(.badRequest, "the token has expired", nativeCode: .changeTokenExpired)))
        faults.stopRefusing()
        phone.timers.advance(by: 600)
        try await phone.container.sync(timeout: .seconds(600))
        #expect(faults.isSpent)
        #expect(try phone.dump == tablet.dump)
        #expect(Self.stagedFiles(of: phone.file).isEmpty)
    }
}
