// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudWire
import EngineFixtures
import Foundation
import StorageFixtures
import TestBasics
import Testing

@Suite struct BackupTests {
    @Test func aCopyMadeWhileOthersWriteIsOfOneMomentAndCanBeRestored() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("first")))
        let copy = TemporaryFolder()
        let writing = Task {
            for number in 0..<100 {
                try await bench.modify(.init(.create, .plant("a\(number)")), .init(.create, .plant("b\(number)")))
            }
        }
        _ = try await bench.sqliteStore.backUp(to: copy.path)
        try await writing.value
        try await bench.modify(.init(.create, .plant("late")))
        let token = try #require(try await bench.zoneChanges(limit: 500).changes?.syncToken)

        let data = TemporaryFolder()
        try await SQLiteServerStore.restore(from: copy.path, to: data.path, now: Bench.start + 60_000)
        let restored = try Bench(place: ServerPlace(.sqlite, folder: data))
        #expect(try await restored.lookup("first", "late").map(\.word) == ["saved", "NOT_FOUND"])
        var names: Set<String> = []
        var since: String?
        while true {
            let page = try #require(try await restored.zoneChanges(since: since).changes)
            names.formUnion(page.records.map(\.recordName))
            since = page.syncToken
            guard page.moreComing else { break }
        }
        for number in 0..<100 {
            #expect(names.contains("a\(number)") == names.contains("b\(number)"), "a request is there whole or not at all")
        }
        let refused = try await restored.zoneChanges(since: token).error
        #expect(refused?.nativeCode == .changeTokenExpired)
        #expect(try await restored.modify(.init(.create, .plant("new")))[0].word == "saved")
    }

    @Test func filesOfAnInterruptedBackupAreRemovedByTheNext() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("first")))
        let copy = TemporaryFolder()
        let partial = copy.path + ".partial"
        defer { try? FileManager.default.removeItem(atPath: partial) }
        try FileManager.default.createDirectory(atPath: partial + "/assets/7", withIntermediateDirectories: true)
        try Data("half".utf8).write(to: URL(fileURLWithPath: partial + "/tarn.sqlite"))
        _ = try await bench.sqliteStore.backUp(to: copy.path + "/")
        #expect(!FileManager.default.fileExists(atPath: partial))
        let data = TemporaryFolder()
        try await SQLiteServerStore.restore(from: copy.path, to: data.path, now: Bench.start + 60_000)
        #expect(try await Bench(place: ServerPlace(.sqlite, folder: data)).lookup("first").map(\.word) == ["saved"])
        // A folder of another program is not touched.
        let other = TemporaryFolder()
        let own = other.path + ".partial"
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: own) }
        try Data().write(to: URL(fileURLWithPath: own + "/thesis"))
        await #expect(throws: StorageFailure(.nameTaken, "there is a file or folder of this name already")) {
            try await bench.sqliteStore.backUp(to: other.path)
        }
        #expect(FileManager.default.fileExists(atPath: own + "/thesis"))
    }

    @Test func foldersThatAreThereAreLeftAlone() async throws {
        let bench = try Bench()
        let copy = TemporaryFolder()
        let missing = await #expect(throws: StorageFailure.self) {
            try await SQLiteServerStore.restore(from: copy.path, to: copy.path + "-new", now: Bench.start + 60_000)
        }
        #expect(missing?.code == .unknownName)
        _ = try await bench.sqliteStore.backUp(to: copy.path)
        let taken = await #expect(throws: StorageFailure.self) { try await bench.sqliteStore.backUp(to: copy.path) }
        #expect(taken?.code == .nameTaken)
        let inPlace = await #expect(throws: StorageFailure.self) {
            try await SQLiteServerStore.restore(from: copy.path, to: bench.folder.path, now: Bench.start + 60_000)
        }
        #expect(inPlace?.code == .nameTaken)
    }
}
