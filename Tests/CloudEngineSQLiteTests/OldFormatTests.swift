// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudStorageSupport
import CloudWire
import EngineFixtures
import Foundation
import GRDB
import StorageFixtures
import TestBasics
import Testing

/// Every released format has a sample that today's server opens, queries and writes to.
///
/// The first was written by the server of its time; each later one is the one before it, brought up by its own version's
/// statements, with rows of what that version brought.
@Suite struct OldFormatTests {
    /// In each sample user `mia` has the zone `Garden` with the plants p1 and p2, a deleted p3 and bed-7.
    @Test(arguments: ((1...15) + [17, 18, 19, 20]).map { "format\($0)" })
    func anOldDataFolderIsBroughtToTheCurrentFormatAndCanBeQueried(_ sample: String) async throws {
        let bench = try await Self.open(sample)
        let owner = try await bench.store.userRecordName(
            account: 1, containerIdentifier: "iCloud.org.example.notes", proposal: "_new")
        #expect(owner != "_new")
        let mia = bench.call(user: owner)

        let name = Query.plants(QueryFilter(.field("name"), .beginsWith, .string("S")))
        #expect(try await bench.names(name, as: mia).names == ["p1"])
        let word = Query.plants(QueryFilter(.field("tags"), .listContains, .string("herb")))
        #expect(try await bench.names(word, as: mia).names == ["p1"])
        let secret = Query.plants(QueryFilter(.field("secret"), .equals, .string("x")))
        #expect(await refusal { try await bench.names(secret, as: mia) }?.code == .badRequest)

        try await bench.modify(.init(.forceUpdate, .plant("p2", ["name": .string("Savory")])), as: mia)
        #expect(try await bench.names(name, as: mia).names == ["p1", "p2"])

        // Usage that is counted from then on agrees with the stored records.
        let (kept, measured) = try await bench.read(mia) { _, view, _ in
            let zone = try #require(try view.zone(named: "Garden"))
            let records = try view.records(ChangeSlice(after: 0), in: zone.key, includingDeleted: false, limit: 100, bytesMax: .max)
            return (try view.state().usage.records, records.reduce(0) { $0 + Int64(RecordSize.bytes(of: $1.record)) })
        }
        #expect(kept == measured)
        #expect(kept > 0)
        try bench.store.close()
    }

    @Test(arguments: ((5...15) + [17, 18, 19, 20]).map { "format\($0)" })
    func sharesAndReferencesOfOldFoldersHold(_ sample: String) async throws {
        let bench = try await Self.open(sample)
        let owner = try await bench.store.userRecordName(account: 1, containerIdentifier: "iCloud.org.example.notes", proposal: "")
        let mia = bench.call(user: owner)
        var bo = mia
        bo.caller = Caller(userRecordName: "_" + String(repeating: "b", count: 32), deviceID: "phone")
        let zoneID = ZoneID(zoneName: "Garden", ownerRecordName: owner)
        let request = LookupRecordsRequest(recordNames: ["bed-7", "sprig", "p1"], zoneID: zoneID)
        let seen = try await bench.read(bo) { try $0.records.lookup(request, in: $1, $2).results.map(\.word) }
        #expect(seen == ["saved", "saved", "NOT_FOUND"])
        let write = ModifyRecordsRequest(operations: [.init(.forceUpdate, .plant("sprig", ["n": .int64(1)]))], zoneID: zoneID)
        #expect(try await bench.write(bo) { try $0.records.modify(write, in: $1, $2).response.results.map(\.word) } == ["ACCESS_DENIED"])
        // The reference deletes its source, though it was stored before references were listed.
        try await bench.modify(.init(.forceDelete, Record(recordName: "bed-7")), as: mia)
        #expect(try await bench.lookup("bed-7", "sprig", "share", as: mia).map(\.word) == ["NOT_FOUND", "NOT_FOUND", "NOT_FOUND"])
        try bench.store.close()
    }

    /// Up to format 10 a member had a copy of the link's permission. In the sample the owner has lowered the link to reading,
    /// and the copy of a public participant still says writing.
    @Test func publicParticipantsOfOldFoldersHaveTheLinksPermission() async throws {
        let bench = try await Self.open("format10")
        let owner = try await bench.store.userRecordName(account: 1, containerIdentifier: "iCloud.org.example.notes", proposal: "")
        var cay = bench.call(user: owner)
        cay.caller = Caller(userRecordName: "_" + String(repeating: "c", count: 32), deviceID: "phone")
        let zoneID = ZoneID(zoneName: "Garden", ownerRecordName: owner)
        let request = LookupRecordsRequest(recordNames: ["sprig", "share"], zoneID: zoneID)
        let seen = try await bench.read(cay) { try $0.records.lookup(request, in: $1, $2).results }
        #expect(seen.map(\.word) == ["saved", "saved"])
        guard case .record(let share) = seen[1] else { return }
        #expect(share.sharing.details?.currentParticipant?.permission == .readOnly)
        let write = ModifyRecordsRequest(operations: [.init(.forceUpdate, .plant("sprig", ["n": .int64(1)]))], zoneID: zoneID)
        #expect(try await bench.write(cay) { try $0.records.modify(write, in: $1, $2).response.results.map(\.word) } == ["ACCESS_DENIED"])
        try bench.store.close()
    }

    @Test func answersOfOldFoldersAreCounted() async throws {
        let bench = try await Self.open("format15-answers")
        let owner = try await bench.store.userRecordName(account: 1, containerIdentifier: "iCloud.org.example.notes", proposal: "")
        let mia = bench.call(user: owner)
        // The key has 7 bytes and the answer 100.
        #expect(try await bench.read(mia) { _, view, _ in try view.state().answerBytes } == 107)
        try await bench.store.removeExpired(now: .max / 2)
        #expect(try await bench.read(mia) { _, view, _ in try view.state().answerBytes } == 0)
        try bench.store.close()
    }

    /// In each sample p3 is deleted.
    @Test(arguments: ["format1", "format24", "format25"]) func tombstonesOfOldFoldersAreCounted(_ sample: String) async throws {
        let bench = try await Self.open(sample)
        let owner = try await bench.store.userRecordName(account: 1, containerIdentifier: "iCloud.org.example.notes", proposal: "")
        let mia = bench.call(user: owner)
        #expect(try await bench.read(mia) { _, view, _ in try view.state().tombstones } == 1)
        try await bench.modify(.init(.forceDelete, .plant("p2")), as: mia)
        #expect(try await bench.read(mia) { _, view, _ in try view.state().tombstones } == 2)
        try await bench.store.removeExpired(now: .max / 2)
        #expect(try await bench.read(mia) { _, view, _ in try view.state().tombstones } == 0)
        try bench.store.close()
    }

    /// The sample of format 25 has a file.
    @Test func filesOfOldFoldersAreInTheFolder() async throws {
        let bench = try await Self.open("format25")
        let checksum = String(repeating: "ab", count: 32)
        #expect(try await bench.sqliteStore.hasAsset(checksum: checksum, part: 1))
        #expect(try await bench.sqliteStore.place(ofAsset: checksum, part: 1) == .folder)
        try bench.store.close()
    }

    /// Format 24 did not count short elements: the deletion of the record would subtract more than its save added.
    @Test func sizesOfFormat24AreCompleted() async throws {
        let folder = TemporaryFolder()
        let former = try Bench(place: ServerPlace(.sqlite, folder: folder))
        try await former.makeZone(Bench.garden)
        let words = FieldValue.list(Array(repeating: .string(""), count: 4000), of: .string)
        try await former.modify(.init(.create, .plant("p1", ["words": words])), .init(.create, .plant("p2", ["n": .int64(1)])))
        let stored = try await former.read { _, view, _ in try view.state().usage }
        try former.store.close()
        let queue = try DatabaseQueue(path: "\(folder.path)/tarn.sqlite")
        try await queue.write { db in
            for table in ["zones", "partitions"] {
                try db.execute(sql: "UPDATE \(table) SET record_bytes = record_bytes - 8 * 4000 + 4096 WHERE record_bytes > 0")
            }
            try db.execute(sql: "DROP TRIGGER tombstones_are_removed")
            try db.execute(sql: "ALTER TABLE partitions DROP COLUMN tombstones")
            try db.execute(sql: "ALTER TABLE assets DROP COLUMN in_store")
            try db.execute(sql: "PRAGMA user_version = 24")
        }
        try queue.close()
        let bench = try Bench(place: ServerPlace(.sqlite, folder: folder))
        #expect(try await bench.read { _, view, _ in try view.state().usage } == stored)
        try await bench.modify(.init(.forceDelete, .plant("p1")), .init(.forceDelete, .plant("p2")))
        #expect(try await bench.read { _, view, _ in try view.state().usage } == StoredBytes())
        let usage = try await bench.read { _, view, _ in try view.zone(named: Bench.garden.zoneName)?.usage }
        #expect(usage == StoredBytes())
        try bench.store.close()
    }

    /// New databases skip the steps of the formats.
    @Test func aNewDatabaseHasTheSchemaOfAMigratedOne() async throws {
        func schema(_ bench: Bench) throws -> Set<String> {
            try bench.store.close()
            let queue = try DatabaseQueue(path: "\(bench.folder.path)/tarn.sqlite")
            return try queue.read { db in
                #expect(try Int.fetchOne(db, sql: "PRAGMA user_version") == 26)
                return Set(try String.fetchAll(db, sql: "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"))
            }
        }
        let new = try schema(try Bench()), migrated = try schema(try await Self.open("format1"))
        #expect(new.count > 60)
        #expect(new.symmetricDifference(migrated) == [])
    }

    @Test func migratedDatabasesHaveTheColumnsOfLaterFormats() async throws {
        let bench = try await Self.open("format8")
        let owner = try await bench.store.userRecordName(account: 1, containerIdentifier: "iCloud.org.example.notes", proposal: "")
        let mia = bench.call(user: owner)
        let (roles, grants, quota) = try await bench.read(mia) { _, view, _ in
            (try view.roles(ofUser: owner), try view.grants(ofType: "Plant"), try view.quota(ofUser: owner))
        }
        #expect(roles == ["gardener"])
        #expect(grants?.byRole == ["_icloud": .create])
        #expect(quota == 1_000_000)
        #expect(try await bench.store.profiles().map(\.emailAddress) == ["mia@example.org"])
        #expect(try await bench.store.target(ofLink: 1)?.recordName == "bed-7")
        let refused = await refusal { try await bench.lookup("x", in: ZoneID(zoneName: "Old"), as: mia) }
        #expect(refused?.nativeCode == .userDeletedZone)
        try bench.store.close()
    }

    /// Format 18 named the owner in each row, and had an index of times; up to format 20 the table had no row IDs.
    @Test(arguments: ["format18", "format20", "format21", "format22", "format23", "format24", "format25"])
    func changeLogsOfOldFoldersKeepTheirAuthorsAndExpire(_ sample: String) async throws {
        let bench = try await Self.open(sample)
        let owner = try await bench.store.userRecordName(account: 1, containerIdentifier: "iCloud.org.example.notes", proposal: "")
        let guest = "_" + String(repeating: "b", count: 32)
        let mia = bench.call(user: owner)
        #expect(try await bench.biography("p1", as: mia).events.map(\.userRecordName) == [owner])
        #expect(try await bench.biography("p2", as: mia).events.map(\.userRecordName) == [guest])
        let stored = try await bench.read(mia) { _, view, _ in (try view.changeLog(at: 2)?.author, try view.changeLog(at: 3)?.author) }
        #expect(stored == ("", guest))
        let day: Int64 = 24 * 60 * 60 * 1000, written: Int64 = 1_795_281_371_283
        try await bench.store.removeExpired(now: written + 90 * day)
        #expect(try await bench.biography("p1", as: mia).events.count == 1)
        try await bench.store.removeExpired(now: written + 90 * day + 1)
        #expect(try await bench.biography("p1", as: mia).events.isEmpty)
        try bench.store.close()
    }

    /// The log begins with the new format: a record of an old folder has a history from its next change on.
    @Test func historiesOfOldRecordsBeginWithTheirNextChange() async throws {
        let bench = try await Self.open("format17")
        let owner = try await bench.store.userRecordName(account: 1, containerIdentifier: "iCloud.org.example.notes", proposal: "")
        let mia = bench.call(user: owner)
        let before = try await bench.biography("p2", as: mia)
        #expect(before.events.isEmpty)
        #expect(before.isCut)
        try await bench.modify(.init(.forceUpdate, .plant("p2", ["name": .string("Savory")])), as: mia)
        let after = try await bench.biography("p2", as: mia)
        #expect(after.events.map(\.change.kind) == [.saved])
        #expect(after.isCut)
        #expect(after.events.first?.change.fields == ["name"])
        try bench.store.close()
    }

    /// Its hash has one lane; new ones have three.
    @Test func passwordOfAnOldFolderSignsIn() async throws {
        let bench = try await Self.open("format15")
        #expect(try await bench.store.account(named: "mia", password: "correct horse") == 1)
        #expect(try await bench.store.account(named: "mia", password: "wrong horse") == nil)
        #expect(try await bench.store.apiTokens().map(\.expires) == [nil])
        #expect(try await bench.store.secondFactor(ofAccount: 1) == nil)
        try bench.store.close()
    }

    private static func open(_ sample: String) async throws -> Bench {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = try #require(Bundle.module.url(forResource: sample, withExtension: "sqlite", subdirectory: "Samples"))
        try FileManager.default.copyItem(at: file, to: URL(filePath: folder.path + "/tarn.sqlite"))
        return try Bench(place: ServerPlace(.sqlite, folder: folder))
    }
}
