// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import EngineFixtures
import Foundation
import StorageFixtures
import TestBasics
import Testing

@Suite struct StoreTests {
    private struct Thrown: Error {}

    @Test func unitsThatArriveTogetherShareCommitsAndAreAllThere() async throws {
        let bench = try await Bench.withGarden()
        let before = bench.sqliteStore.commits
        try await withThrowingTaskGroup { group in
            for index in 0..<200 {
                group.addTask { _ = try await bench.modify(.init(.create, .plant("p\(index)"))) }
            }
            try await group.waitForAll()
        }
        #expect(bench.sqliteStore.commits - before < 200)
        var records: [Record] = []
        var token: String?
        repeat {
            let changes = try #require(try await bench.zoneChanges(since: token, limit: 50).changes)
            records += changes.records
            token = changes.moreComing ? changes.syncToken : nil
        } while token != nil
        #expect(Set(records.map(\.recordName)).count == 200)
        #expect(Set(records.map(\.recordChangeTag)).count == 200, "no two changes have one number")
    }

    @Test func aUnitThatThrowsIsUndoneAlone() async throws {
        let bench = try await Bench.withGarden()
        let outcomes = await withTaskGroup { group in
            for index in 0..<60 {
                group.addTask {
                    let outcome: Bool? = try? await bench.write { engine, unit, call in
                        let request = ModifyRecordsRequest(
                            operations: [.init(.create, .plant("p\(index)"))], zoneID: Bench.garden)
                        _ = try engine.records.modify(request, in: unit, call)
                        if index.isMultiple(of: 3) { throw Thrown() }
                        return true
                    }
                    return outcome != nil
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(outcomes == 40)
        let names = try await bench.zoneChanges().changes?.records.map(\.recordName)
        #expect(Set(names ?? []) == Set((0..<60).filter { !$0.isMultiple(of: 3) }.map { "p\($0)" }))
    }

    /// Answers expire in the order of their rows: neither a replaced one nor those of a clock that was set keep others.
    @Test func answersExpireInTheOrderOfTheirRows() async throws {
        let bench = try await Bench.withGarden()
        let day: Int64 = 24 * 60 * 60 * 1000, start = Bench.start
        try await bench.write { _, unit, _ in
            func remember(_ key: String, at time: Int64) throws {
                try unit.remember(StoredAnswer(fingerprint: 1, body: [1, 2, 3]), forKey: key, at: time)
            }
            for number in 0..<100 { try remember("set \(number)", at: start + 400 * day) }
            for number in 0..<2500 { try remember("\(number)", at: start) }
            for number in 0..<1200 { try remember("\(number)", at: start + 2 * day) }
        }
        func bytes() async throws -> Int64 { try await bench.read { _, view, _ in try view.state().answerBytes } }
        let all = try await bytes()
        try await bench.store.removeExpired(now: start + day)
        #expect(try await bytes() == all)
        try await bench.store.removeExpired(now: start + day + 1)
        let kept = try await bench.read { _, view, _ in
            (try view.answer(toKey: "set 7") != nil, try view.answer(toKey: "0") != nil, try view.answer(toKey: "2499") != nil)
        }
        #expect(kept == (true, true, false))
        try await bench.store.removeExpired(now: start + 402 * day)
        #expect(try await bytes() == 0)
    }

    /// Entries behind one of a clock that was ahead are removed with it.
    @Test func changesOfAClockThatWasSetExpire() async throws {
        let bench = try await Bench.withGarden()
        let day: Int64 = 24 * 60 * 60 * 1000, start = Bench.start
        try await bench.write { _, unit, _ in
            for (number, time) in [(1000, start + 30 * day), (1001, start), (1002, start + day)] as [(Int64, Int64)] {
                let change = ChangeLogEntry.Change(number: number, previous: nil, kind: .created)
                try unit.append(
                    ChangeLogEntry(time: time, author: "", deviceID: "", requestUUID: "", changes: [change]), bytesMax: 1_000_000)
            }
        }
        func isThere() async throws -> Bool { try await bench.read { _, view, _ in try view.changeLog(at: 1000) != nil } }
        try await bench.store.removeExpired(now: start + 119 * day)
        #expect(try await isThere())
        try await bench.store.removeExpired(now: start + 121 * day)
        #expect(try await !isThere())
    }

    @Test func acknowledgedWritesAreInTheFiles() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1", ["name": .string("Sage")])))
        // The server is still running: a kill at this moment would leave this state.
        let copy = TemporaryFolder()
        try FileManager.default.copyItem(atPath: bench.folder.path, toPath: copy.path)
        let survivor = try Bench(place: ServerPlace(.sqlite, folder: copy))
        #expect(try await survivor.lookup("p1")[0].record?.fields["name"] == Field(.string("Sage")))
    }

    @Test func aRestartKeepsRecordsTokensAndAccounts() async throws {
        let folder = TemporaryFolder()
        var token: String?
        var deviceToken = ""
        do {
            let bench = try Bench(place: ServerPlace(.sqlite, folder: folder))
            try await bench.makeZone(Bench.garden)
            try await bench.modify(.init(.create, .plant("p1")))
            token = try await bench.zoneChanges().changes?.syncToken
            deviceToken = try await bench.store.addUser(name: "mia", deviceLabel: "tablet", now: Bench.start)
            try bench.store.close()
        }
        let bench = try Bench(place: ServerPlace(.sqlite, folder: folder))
        try await bench.modify(.init(.create, .plant("p2")))
        #expect(try await bench.zoneChanges(since: token).picture == "+p2")
        #expect(try await bench.store.device(forToken: deviceToken, now: 0) != nil)
        #expect(try await bench.store.device(forToken: deviceToken + "0", now: 0) == nil)
    }

    @Test func accountsWorkBesideARunningServer() async throws {
        let bench = try Bench()
        let beside = try SQLiteServerStore(path: bench.folder.path, use: .command)
        let first = try await beside.addUser(name: "mia", deviceLabel: "tablet", now: Bench.start)
        let second = try await beside.addToken(userName: "mia", deviceLabel: "phone", now: Bench.start + 1)
        try beside.close()
        let devices = [
            try #require(try await bench.store.device(forToken: first, now: 0)),
            try #require(try await bench.store.device(forToken: second, now: 0)),
        ]
        #expect(devices[0].account == devices[1].account)
        #expect(devices[0].deviceID != devices[1].deviceID)
        #expect(try await bench.store.users() == [Account(name: "mia", devices: ["tablet", "phone"])])
        let taken = await #expect(throws: StorageFailure.self) {
            try await bench.store.addUser(name: "mia", deviceLabel: "", now: 0)
        }
        #expect(taken?.code == .nameTaken)
        let unknown = await #expect(throws: StorageFailure.self) {
            try await bench.store.addToken(userName: "bo", deviceLabel: "", now: 0)
        }
        #expect(unknown?.code == .unknownName)
    }

    @Test func aUserHasAnotherNameInEachContainerAndKeepsIt() async throws {
        let bench = try Bench()
        _ = try await bench.store.addUser(name: "mia", deviceLabel: "tablet", now: Bench.start)
        func name(_ container: String, _ proposal: String) async throws -> String {
            try await bench.store.userRecordName(account: 1, containerIdentifier: container, proposal: proposal)
        }
        #expect(try await name("a", "_1") == "_1")
        #expect(try await name("a", "_2") == "_1")
        #expect(try await name("b", "_2") == "_2")
    }

    enum Broken: CaseIterable { case inUse, garbage, foreign, newer, notAFolder }

    @Test(arguments: Broken.allCases)
    func aFolderThatCannotBeUsedIsRefusedWithItsReason(_ item: Broken) async throws {
        let folder = TemporaryFolder()
        var path = folder.path
        var held: SQLiteServerStore?
        var expected: StorageFailure.Code
        switch item {
        case .inUse:
            held = try SQLiteServerStore(path: path, use: .server)
            expected = .inUse
        case .garbage:
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try Data(repeating: 0x41, count: 10_000).write(to: URL(filePath: path + "/tarn.sqlite"))
            expected = .corrupt
        case .foreign, .newer:
            try SQLiteServerStore(path: path, use: .server).close()
            // Offsets 60 and 68 of an SQLite file hold the user version and the application identifier.
            let file = try FileHandle(forUpdating: URL(filePath: path + "/tarn.sqlite"))
            try file.seek(toOffset: item == .newer ? 60 : 68)
            try file.write(contentsOf: Data([0, 0, 0x7F, 0xFF]))
            try file.close()
            expected = item == .newer ? .newerFormat : .corrupt
        case .notAFolder:
            path = "/dev/null/data"
            expected = .notWritable
        }
        let failure = #expect(throws: StorageFailure.self) { try SQLiteServerStore(path: path, use: .server) }
        #expect(failure?.code == expected)
        try held?.close()
    }
}
