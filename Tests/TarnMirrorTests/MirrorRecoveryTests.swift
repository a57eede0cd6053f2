// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudWire
import CoreData
import Foundation
import ManagedModel
import MirroringCore
import TestBasics
import Testing

@testable import TarnMirror

/// Stores, models, accounts and histories that a mirror refuses, or recovers from.
@Suite(.closesFixtures, .timeLimit(.minutes(5))) struct MirrorRecoveryTests {
    private func device(_ model: Model = Library.model, describe: (NSPersistentStoreDescription) -> Void = { _ in }) async throws
        -> MirrorDevice
    {
        let cloud = try InProcessCloud()
        return try MirrorDevice(try await cloud.addUser("mia", device: "phone"), model: model, starts: false, describe: describe)
    }

    private func code(_ body: () async throws -> Void) async -> TarnMirror.Failure.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? TarnMirror.Failure)?.code
        }
    }

    // MARK: Requirements

    @Test(arguments: [NSPersistentHistoryTrackingKey, NSPersistentStoreRemoteChangeNotificationPostOptionKey])
    func aStoreNeedsHistoryAndRemoteChangeNotifications(_ key: String) async throws {
        let refused = await code { _ = try await device { $0.setOption(nil, forKey: key) } }
        #expect(refused == .unsupportedStore)
    }

    @Test func aModelIsCheckedByTheRulesOfMirroring() async throws {
        func model(_ attribute: Attribute) -> Model { Model(entities: [Entity(name: "Book", attributes: [attribute])]) }
        var encrypted = Attribute(name: "title", type: .string)
        encrypted.allowsCloudEncryption = true
        for attribute in [
            Attribute(name: "title", type: .string, isOptional: false), Attribute(name: "cover", type: .transformable), encrypted,
        ] {
            let refused = await code { _ = try await device(model(attribute)) }
            #expect(refused == .unsupportedModel, "\(attribute.name) \(attribute.type)")
        }
    }

    @Test(arguments: [
        "http://cloud.example.org", "cloud.example.org", "https://", "ftp://example.org", "https://a:b@example.org",
        "https://example.org:70000", "https://example.org:0",
    ])
    func anAddressThatWouldLeakTheTokenIsRefused(_ address: String) async throws {
        let device = try await device()
        let options = TarnMirror.Options(containerIdentifier: "iCloud.a", server: address, token: "token")
        #expect(await code { _ = try TarnMirror(container: device.container, options: options) } == .invalidOptions)
    }

    @Test(arguments: [("", nil), ("../a", nil), ("iCloud/a", nil), ("iCloud.a", ""), ("iCloud.a", "my phone"), ("iCloud.a", "Gerät")])
    func anIdentifierThatTheServerRejectsIsRefused(_ container: String, _ device: String?) async throws {
        let phone = try await self.device()
        var options = TarnMirror.Options(containerIdentifier: container, server: "https://example.org", token: "token")
        options.deviceIdentifier = device
        let sent = options
        #expect(await code { _ = try TarnMirror(container: phone.container, options: sent) } == .invalidOptions)
    }

    @Test func aStoreHasOneMirror() async throws {
        let device = try await device()
        let options = TarnMirror.Options(containerIdentifier: "iCloud.a", server: "https://example.org", token: "token")
        func another() throws -> TarnMirror { try TarnMirror(container: device.container, options: options) }
        #expect(await code { _ = try another() } == .unsupportedStore)
        await device.mirror.stop()
        var first: TarnMirror? = try another()
        await first?.stop()
        let second = try another()
        // The end of a stopped mirror says nothing about the present one.
        first = nil
        #expect(await code { _ = try another() } == .unsupportedStore)
        await second.stop()
        await (try another()).stop()
        _ = first
    }

    @Test func aStoppedMirrorReadsNoMetadata() async throws {
        let device = try await device()
        let id = try device.read { $0.insert("Book", [:]).objectID }
        #expect(try await device.mirror.conflicts().isEmpty)
        await device.mirror.stop()
        #expect(await code { _ = try await device.mirror.conflicts() } == .operationCancelled)
        #expect(await code { _ = try await device.mirror.recordName(for: id) } == .operationCancelled)
        #expect(await code { try await device.mirror.forgetConflicts([]) } == .operationCancelled)
    }

    @Test func optionsDoNotShowTheToken() {
        let options = TarnMirror.Options(containerIdentifier: "iCloud.a", server: "https://example.org", token: "secret token")
        var dumped = ""
        dump(options, to: &dumped)
        #expect(!"\(options) \(String(reflecting: options)) \(dumped)".contains("secret"))
    }

    @Test func aMirrorThatIsNotStartedDoesNotWait() async throws {
        let device = try await device()
        #expect(await code { try await device.sync() } == .notStarted)
        #expect(device.mirror.status.activity == .stopped)
    }

    // MARK: Accounts and zones

    @Test func aStoreOfAnotherAccountStaysAsItIs() async throws {
        let pair = try await Pair()
        try pair.phone.edit { $0.insert("Book", ["title": "mia's"]) }
        try await pair.converge()
        try await pair.phone.kill()
        let other = try MirrorDevice(try await pair.cloud.addUser("noa", device: "phone of noa"), file: pair.phone.file)
        #expect(await code { try await other.sync() } == .badContainer)
        #expect(try other.dump == "Book  pages 0  title mia's")
        #expect(try await pair.cloud.databases(of: Pair.containerIdentifier).filter { !$0.zones.isEmpty }.count == 1)
    }

    /// Each launch stops, also with another version of the model, which begins a full fetch.
    @Test(arguments: [ZoneDeletionReason.deleted, .purged])
    func dataThatTheUserDeletedElsewhereIsNotSentAgain(_ reason: ZoneDeletionReason) async throws {
        var later = Library.model
        later.entities[1].attributes.append(Attribute(name: "color", type: .string))
        let pair = try await Pair()
        try pair.phone.edit { $0.insert("Book", ["title": "here"]) }
        try await pair.converge()
        try await pair.cloud.deleteZone(MirrorNames.zone, of: "mia", because: reason, container: Pair.containerIdentifier)
        var phone = pair.phone
        for model in [nil, Library.model, later, later] {
            if let model {
                try await phone.kill()
                phone = try MirrorDevice(phone.transport, file: phone.file, model: model)
            }
            let device = phone
            #expect(await code { try await device.sync() } == .badContainer)
            #expect(try phone.dump == "Book  pages 0  title here")
            #expect(try await pair.records(ofType: "CD_Book").isEmpty)
        }
    }

    @Test func withoutItsMetadataAStoreIsSentAgain() async throws {
        let pair = try await Pair()
        try pair.phone.edit { $0.insert("Book", ["title": "here"]) }
        try await pair.converge()
        try await pair.cloud.deleteZone(MirrorNames.zone, of: "mia", because: .deleted, container: Pair.containerIdentifier)
        #expect(await code { try await pair.phone.sync() } == .badContainer)
        try await pair.phone.kill()
        for end in ["", "-wal", "-shm"] {
            let file = URL(fileURLWithPath: pair.phone.file.path + ".tarn-mirror" + end)
            if FileManager.default.fileExists(atPath: file.path) { try FileManager.default.removeItem(at: file) }
        }
        let phone = try MirrorDevice(pair.phone.transport, file: pair.phone.file)
        try await phone.sync()
        #expect(try phone.dump == "Book  pages 0  title here")
        #expect(try await pair.records(ofType: "CD_Book").count == 1)
    }

    @Test func savesAfterTheBackupOfARestoredServerAreSentAgain() async throws {
        let pair = try await Pair()
        try pair.phone.edit { $0.insert("Book", ["title": "before"]) }
        try await pair.converge()
        let backup = TestScope.temporaryFolder("tarn-backup").path
        try await pair.cloud.backUp(to: backup)
        try pair.phone.edit { context in
            context.insert("Book", ["title": "after"]).setValue(Set([context.insert("Tag", ["title": "tag"])]), forKey: "tags")
            try context.object("Book", "before").setValue("edited", forKey: "summary")
        }
        let everything = try await pair.converge()
        try await pair.cloud.restore(from: backup)
        #expect(try await pair.records(ofType: "CD_Book").count == 1)
        #expect(try await pair.converge() == everything)
        #expect(try await pair.records(ofType: "CD_Book").count == 2)
        #expect(try await pair.records(ofType: "CDMR").count == 1)
    }

    @Test func aZoneThatWasDeletedWithTheKeysIsSentAgain() async throws {
        let pair = try await Pair()
        try pair.phone.edit { context in
            context.insert("Book", ["title": "here"]).setValue(Set([context.insert("Tag", ["title": "tag"])]), forKey: "tags")
        }
        try await pair.converge()
        try await pair.cloud.deleteZone(MirrorNames.zone, of: "mia", because: .encryptedDataReset, container: Pair.containerIdentifier)
        try await pair.phone.sync()
        #expect(try await pair.records(ofType: "CD_Book").count == 1)
        #expect(try await pair.converge() == "Book  pages 0  title here  tags [\"tag\"]\nTag  title tag  books [\"here\"]")
    }

    // MARK: Tokens and history

    @Test func anExpiredChangeTokenIsFollowedByAFullFetch() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { context in for title in ["kept", "deleted"] { context.insert("Book", ["title": title]) } }
        try await pair.converge()
        try pair.tablet.edit { context in context.delete(try context.object("Book", "deleted")) }
        try await pair.tablet.sync()
        try await pair.phone.kill()
        try pair.phone.changeState { $0.token = "not a token of this server" }
        let phone = try MirrorDevice(pair.phone.transport, file: pair.phone.file)
        #expect(try await pair.converge(phone) == "Book  pages 0  title kept")
    }

    @Test func changesWhoseHistoryWasDeletedAreFoundByComparison() async throws {
        let pair = try await Pair()
        try pair.phone.edit { context in
            for title in ["kept", "deleted"] {
                context.insert("Book", ["title": title]).setValue(
                    Set([context.insert("Tag", ["title": "tag of \(title)"])]), forKey: "tags")
            }
        }
        try await pair.converge()
        try await pair.phone.kill()
        // Without a mirror, and its history is deleted.
        let phone = try MirrorDevice(
            pair.phone.transport, file: pair.phone.file,
            prepare: { context in
                try context.object("Book", "kept").setValue("edited", forKey: "summary")
                context.delete(try context.object("Book", "deleted"))
                context.insert("Book", ["title": "new"]).setValue(Set([try context.object("Tag", "tag of kept")]), forKey: "tags")
                try context.save()
                context.insert("Tag", ["title": "last"])
                try context.save()
                try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date(timeIntervalSinceReferenceDate: 1e12)))
            })
        let dump = try await pair.converge(phone)
        #expect(
            dump.split(separator: "\n") == [
                "Book  pages 0  summary edited  title kept  tags [\"tag of kept\"]", "Book  pages 0  title new  tags [\"tag of kept\"]",
                "Tag  title last", "Tag  title tag of deleted", "Tag  title tag of kept  books [\"kept\", \"new\"]",
            ])
        #expect(try await phone.mirror.conflicts().isEmpty)
    }

    @Test func aFileOfALaterVersionIsRefused() async throws {
        let pair = try await Pair()
        try await pair.converge()
        try await pair.phone.kill()
        try pair.phone.changeState { $0.format = 1000 }
        let phone = try MirrorDevice(pair.phone.transport, file: pair.phone.file)
        for await status in phone.mirror.statusUpdates {
            guard case .error(let reason) = status.activity else { continue }
            #expect(reason.contains("later version"))
            break
        }
    }

    @Test func theNameOfARecordIsThatOfTheServer() async throws {
        let pair = try await Pair()
        try pair.phone.edit { $0.insert("Book", ["title": "one"]) }
        try await pair.converge()
        let id = try pair.phone.read { try $0.object("Book", "one").objectID }
        let name = try await pair.phone.mirror.recordName(for: id)
        #expect(try await pair.records(ofType: "CD_Book").map(\.recordName) == [name])
    }
}

extension MirrorDevice {
    /// Changes the sync metadata of a killed device.
    fileprivate func changeState(_ change: (inout MirrorState) -> Void) throws {
        let store = NSPersistentContainer(name: "Library", managedObjectModel: NSManagedObjectModel(Library.model))
        let description = NSPersistentStoreDescription(url: file)
        description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey)
        store.persistentStoreDescriptions = [description]
        try store.load()
        let coordinator = store.persistentStoreCoordinator
        let metadata = try MetadataFile(beside: try #require(coordinator.persistentStores.first), at: nil)
        try metadata.context.performAndWait {
            var state = try metadata.state()
            change(&state)
            try metadata.set(state)
            try metadata.save()
        }
        try metadata.close()
        for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
}
