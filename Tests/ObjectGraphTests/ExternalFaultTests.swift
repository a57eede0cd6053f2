// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CFaultyDisk
import Foundation
import ManagedModel
import SQLiteStore
import Testing

extension DiskFaultTests {
    static let large = 200_000

    private func scans() throws -> ResolvedModel {
        var scan = Attribute(name: "scan", type: .binaryData)
        scan.allowsExternalBinaryDataStorage = true
        return try ResolvedModel(Model(entities: [Entity(name: "Page", attributes: [scan])]))
    }

    func openScans(_ url: URL) throws -> SQLiteStore {
        try SQLiteStore(
            url: url, model: scans(), number: 1, options: SQLiteStore.Options(clock: { 1000 }, makeIdentifier: { UUID() }))
    }

    /// A large value is replaced. After any failure, the old or the new one is readable, from an existing file.
    @Test(arguments: [false, true]) func aLargeValue(_ isLasting: Bool) throws {
        faulty_disk_install()
        defer { faulty_disk_clear() }
        let (old, new) = (Data(repeating: 1, count: Self.large), Data(repeating: 2, count: Self.large + 1))
        func values(_ url: URL) throws -> [StoredValue] {
            let store = try openScans(url)
            defer { store.close() }
            return try store.read { try $0.fetch(StoreQuery(entity: 0)) }.map { $0.values[0] }
        }
        var (hasFailed, met) = (0, Set<[StoredValue]>())
        for step in 1...400 {
            let folder = FileManager.default.temporaryDirectory.appending(path: "external-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let (place, left) = (folder.appending(path: "run"), folder.appending(path: "left"))
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            let url = place.appending(path: "a.sqlite")
            let operations = Int32(
                FaultyDiskWrite.rawValue | FaultyDiskSync.rawValue | FaultyDiskGrowth.rawValue | FaultyDiskTruncate.rawValue)
            faulty_disk_plan(place.path, operations, 0)
            let store = try openScans(url)
            let key = try store.write { writer in
                let key = try writer.allocateKeys(for: 0, count: 1)[0]
                var changes = StoreChanges()
                changes.inserts = [Row(key: key, version: 1, values: [.data(old)])]
                try writer.apply(changes)
                return key
            }
            faulty_disk_plan(place.path, operations, Int32(isLasting ? -step : step))
            do {
                try store.write { writer in
                    var changes = StoreChanges()
                    changes.updates = [RowUpdate(key: key, expectedVersion: 1, values: [.data(new)], changedSlots: [0])]
                    try writer.apply(changes)
                }
            } catch { hasFailed += 1 }
            let wasReached = faulty_disk_count() >= step
            // A power cut: no clean-up runs.
            try FileManager.default.copyItem(at: place, to: left)
            store.close()
            faulty_disk_clear()
            for place in [left, place] {
                let url = place.appending(path: "a.sqlite")
                let found = try values(url)
                #expect(found == [.data(old)] || found == [.data(new)], "operation \(step) failed")
                met.insert(found)
                let rules = Set(try StoreCheck.run(on: url).violations.map(\.rule))
                #expect(rules.isSubset(of: [.externalFileUnused]), "operation \(step) failed: \(rules)")
            }
            if !wasReached { break }
            #expect(step < 400)
        }
        #expect(hasFailed > 0)
        #expect(met.count == 2)
    }

    @Test func aDiskWithoutRoomForALargeValue() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "no-room-\(ProcessInfo.processInfo.processIdentifier)")
        setenv("TARN_TEST_NO_ROOM", folder.path, 1)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        await #expect(processExitsWith: .success) {
            guard let path = ProcessInfo.processInfo.environment["TARN_TEST_NO_ROOM"] else { exit(1) }
            let (tests, url) = (DiskFaultTests(), URL(filePath: path).appending(path: "a.sqlite"))
            let store = try tests.openScans(url)
            func save(_ count: Int) throws {
                try store.write { writer in
                    let key = try writer.allocateKeys(for: 0, count: 1)[0]
                    var changes = StoreChanges()
                    changes.inserts = [Row(key: key, version: 1, values: [.data(Data(repeating: 3, count: count))])]
                    try writer.apply(changes)
                }
            }
            try save(DiskFaultTests.large)
            // No file may be longer than this from now on.
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 2_000_000, rlim_max: 2_000_000)
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            do {
                try save(3_000_000)
                exit(2)
            } catch let error as StoreError {
                if error.code != .diskFull { exit(3) }
            }
            try save(10)
            let names = try FileManager.default.contentsOfDirectory(atPath: path + "/.a_SUPPORT/_EXTERNAL_DATA")
            if names.count != 1 { exit(4) }
            store.close()
            if try !StoreCheck.run(on: url).violations.isEmpty { exit(5) }
            let again = try tests.openScans(url)
            exit(try again.read { try $0.count(StoreQuery(entity: 0)) } == 2 ? 0 : 6)
        }
    }
}
