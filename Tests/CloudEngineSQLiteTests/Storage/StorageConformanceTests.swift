// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import Foundation
import Testing

#if TARN_POSTGRES
    import TemporaryPostgres
#endif

/// The engine's requirements on any storage.
@Suite struct StorageConformanceTests {
    private static let mia = Partition(containerIdentifier: "iCloud.org.example.notes", environment: .development, owner: "_mia")
    private static let bo = Partition(containerIdentifier: "iCloud.org.example.notes", environment: .development, owner: "_bo")
    private static let everybody = Partition(
        containerIdentifier: "iCloud.org.example.notes", environment: .development, scope: .public, owner: Partition.publicOwner)

    private func with(_ kind: StorageKind, _ body: (any StorageUnderTest) async throws -> Void) async throws {
        let storage = try kind.make()
        try await body(storage)
        try storage.end()
    }

    private static func record(_ name: String, _ change: Int64, isDeleted: Bool = false, bytes: Int = 1) -> StoredRecord {
        var record = Record(recordName: name, recordType: "Plant", recordChangeTag: String(change, radix: 36), isDeleted: isDeleted)
        if !isDeleted { record.fields["name"] = Field(.string(String(repeating: "x", count: bytes))) }
        return StoredRecord(record: record, change: change)
    }

    /// Zone 1 with a…e, of which c is deleted; changes 2 to 6.
    private func fill(_ storage: any EngineStorage, _ partition: Partition = mia) async throws {
        try await storage.write(partition) { unit in
            let number = try unit.raiseCounter(by: 1)
            let records = ["a", "b", "c", "d", "e"].enumerated().map {
                Self.record($0.element, number + 1 + Int64($0.offset), isDeleted: $0.element == "c")
            }
            let last = try unit.raiseCounter(by: 5)
            try unit.save(records, in: number, at: 1000)
            try unit.save(StoredZone(key: number, name: "Garden", change: last), at: 1000)
        }
    }

    private func names(_ records: [StoredRecord]) -> String {
        records.map { ($0.record.isDeleted ? "-" : "") + $0.record.recordName }.joined(separator: " ")
    }

    #if TARN_POSTGRES
        @Test func anInstalledPostgreSQLStarts() { #expect(TemporaryPostgres.failure == nil) }
    #endif

    @Test(arguments: StorageKind.installed)
    func aPartitionThatWasNeverWrittenToIsEmptyAndReadingMakesNone(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            let storage = try test.storage
            let state = try await storage.read(Self.mia) { view in
                #expect(try view.zones().isEmpty)
                #expect(try view.zones(changedAfter: 0, limit: 10).isEmpty)
                #expect(try view.records(named: ["a"], in: 1).isEmpty)
                #expect(try view.zone(named: "Garden") == nil)
                #expect(try view.records(ChangeSlice(after: 0), in: 1, includingDeleted: true, limit: 10, bytesMax: 10).isEmpty)
                #expect(try view.subscriptions().isEmpty)
                #expect(try view.answer(toKey: "k") == nil)
                #expect(try view.asset(checksum: "x") == nil)
                return try view.state()
            }
            #expect(state == PartitionState())
            #expect(try await storage.partitions(containerIdentifier: Self.mia.containerIdentifier, environment: .development).isEmpty)
        }
    }

    /// PostgreSQL refuses the character in any text.
    @Test(arguments: StorageKind.installed)
    func aNameWithTheCharacterZeroIsUnknown(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            let storage = try test.storage
            try await fill(storage)
            let (names, hasSchema, hasGrants) = try await storage.read(Self.mia) { view in
                (
                    try view.records(named: ["a", "a\u{0}b"], in: 1).keys.sorted(), try view.schema(ofType: "Pl\u{0}ant") != nil,
                    try view.grants(ofType: "Pl\u{0}ant") != nil
                )
            }
            #expect(names == ["a"])
            #expect(!hasSchema)
            #expect(!hasGrants)
        }
    }

    /// Both add the engine's numbers. SQLite subtracts with a trigger; PostgreSQL counts again in its housekeeping.
    @Test(arguments: StorageKind.installed)
    func tombstonesAreCounted(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            let storage = try test.storage
            func tombstones() async throws -> Int64 { try await storage.read(Self.mia) { try $0.state().tombstones } }
            try await fill(storage)
            try await storage.write(Self.mia) { try $0.addTombstones(1) }
            #expect(try await tombstones() == 1)
            try await storage.write(Self.mia) { unit in
                let last = try unit.raiseCounter(by: 2)
                try unit.save([Self.record("a", last - 1, isDeleted: true), Self.record("b", last, isDeleted: true)], in: 1, at: 1000)
                try unit.addTombstones(2)
            }
            #expect(try await tombstones() == 3)
            try await storage.write(Self.mia) { unit in
                try unit.save([Self.record("c", try unit.raiseCounter(by: 1))], in: 1, at: 1000)
                try unit.addTombstones(-1)
            }
            #expect(try await tombstones() == 2)
            try await storage.removeExpired(now: 1000 + 91 * 86_400_000)
            #expect(try await tombstones() == 0)
        }
    }

    @Test(arguments: StorageKind.installed)
    func aUnitIsWholeOrNothing(_ kind: StorageKind) async throws {
        struct Refusal: Error {}
        try await with(kind) { test in
            let storage = try test.storage
            try await fill(storage)
            await #expect(throws: Refusal.self) {
                try await storage.write(Self.mia) { unit in
                    _ = try unit.raiseCounter(by: 10)
                    try unit.save([Self.record("z", 99)], in: 1, at: 2000)
                    try unit.save(Subscription(subscriptionID: "s", kind: .database))
                    try unit.learn(["f": FieldSchema(type: "STRING", isEncrypted: false)], ofType: "Other")
                    try unit.addUsage(StoredBytes(records: 5, assets: 6))
                    #expect(try unit.records(named: ["z"], in: 1).count == 1, "a unit sees what it wrote")
                    throw Refusal()
                }
            }
            let (state, isThere) = try await storage.read(Self.mia) { view in
                #expect(try view.subscriptions().isEmpty)
                #expect(try view.recordTypes().isEmpty)
                return (try view.state(), try !view.records(named: ["z"], in: 1).isEmpty)
            }
            #expect(state.counter == 6)
            #expect(state.usage == StoredBytes())
            #expect(!isThere)
        }
    }

    /// Short or long reads, with any number of concurrent ones.
    @Test(arguments: StorageKind.installed)
    func aBriefReadSeesWhatAnyReadSees(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            let storage = try test.storage
            let empty = try await storage.readBriefly(Self.mia, .maintenance) { try $0.state() }
            #expect(empty == PartitionState())
            try await storage.write(Self.mia) { unit in
                let number = try unit.raiseCounter(by: 40)
                try unit.save((1...40).map { Self.record("r\($0)", $0, bytes: 20_000) }, in: 1, at: 1000)
                try unit.save(StoredZone(key: 1, name: "Garden", change: number), at: 1000)
            }
            @Sendable func names(_ view: any PartitionReader, limit: Int) throws -> [String] {
                let records = try view.records(ChangeSlice(after: 0), in: 1, includingDeleted: true, limit: limit, bytesMax: .max)
                var texts = 0
                try view.recordTexts(ChangeSlice(after: 0), in: 1, includingDeleted: true) { _, _ in
                    texts += 1
                    return texts < limit
                }
                guard texts == records.count else { return [] }
                return records.map(\.record.recordName)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for reader in 0..<64 {
                    let limit = reader.isMultiple(of: 2) ? 2 : 40
                    group.addTask {
                        let found = try await storage.readBriefly(Self.mia, .maintenance) { try names($0, limit: limit) }
                        #expect(found == (1...limit).map { "r\($0)" })
                    }
                }
                try await group.waitForAll()
            }
            struct Refusal: Error {}
            await #expect(throws: Refusal.self) { try await storage.readBriefly(Self.mia, .maintenance) { _ in throw Refusal() } }
            let change = try await storage.readBriefly(Self.mia, .maintenance) { try $0.zone(named: "Garden")?.change }
            #expect(change == 40)
        }
    }

    @Test(arguments: StorageKind.installed)
    func numbersGrowInTheOrderOfCommitsWithoutGapsThatReadersCouldMiss(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            let storage = try test.storage
            let numbers = try await withThrowingTaskGroup(of: Int64.self) { group in
                for writer in 0..<40 {
                    group.addTask {
                        try await storage.write(Self.mia) { unit in
                            let number = try unit.raiseCounter(by: 1)
                            try unit.save([Self.record("r\(writer)", number)], in: 1, at: 1)
                            return number
                        }
                    }
                }
                group.addTask {
                    // A concurrent reader sees all numbers up to the counter.
                    for _ in 0..<50 {
                        let (counter, seen) = try await storage.read(Self.mia) { view in
                            let records = try view.records(ChangeSlice(after: 0), in: 1, includingDeleted: true, limit: 100, bytesMax: .max)
                            return (try view.state().counter, records.map(\.change))
                        }
                        #expect(seen == Array(1..<(counter + 1)))
                    }
                    return 0
                }
                return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
            }
            #expect(numbers == Set(0...40))
        }
    }

    @Test(arguments: StorageKind.installed)
    func partitionsDoNotSeeEachOther(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            let storage = try test.storage
            var production = Self.mia
            production.environment = .production
            for partition in [Self.mia, Self.bo, production] { try await fill(storage, partition) }
            _ = try await storage.write(Self.bo) { unit in
                try unit.save([Self.record("only bo's", 7)], in: 1, at: 1)
                return try unit.raiseCounter(by: 1)
            }
            for partition in [Self.mia, production] {
                #expect(try await storage.read(partition) { try $0.records(named: ["only bo's"], in: 1).isEmpty })
                #expect(try await storage.read(partition) { try $0.state().counter } == 6)
            }
            let known = try await storage.partitions(containerIdentifier: Self.mia.containerIdentifier, environment: .development)
            #expect(Set(known.map(\.owner)) == ["_mia", "_bo"])
            try await storage.erase(containerIdentifier: Self.mia.containerIdentifier, environment: .development)
            #expect(try await storage.read(Self.mia) { try $0.zones().isEmpty && $0.state().epoch == 2 })
            #expect(try await storage.read(production) { try !$0.zones().isEmpty && $0.state().epoch == 1 })
        }
    }

    @Test(arguments: StorageKind.installed)
    func changesComeInTheirOrderByBothEndsAndPages(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            let storage = try test.storage
            try await fill(storage)
            func read(_ slice: ChangeSlice, deleted: Bool = true, limit: Int = 10, bytes: Int = .max) async throws -> String {
                names(
                    try await storage.read(Self.mia) {
                        try $0.records(slice, in: 1, includingDeleted: deleted, limit: limit, bytesMax: bytes)
                    })
            }
            #expect(try await read(ChangeSlice(after: 0)) == "a b -c d e")
            #expect(try await read(ChangeSlice(after: 0), deleted: false) == "a b d e")
            #expect(try await read(ChangeSlice(after: 3), limit: 2) == "-c d")
            #expect(try await read(ChangeSlice(after: 2, before: 5)) == "b -c")
            #expect(try await read(ChangeSlice(after: 2, before: 6, isNewestFirst: true), limit: 2) == "d -c")
            #expect(try await read(ChangeSlice(after: 0), bytes: 1) == "a", "one comes in any case")
            let count = try await storage.read(Self.mia) {
                (
                    try $0.count(ChangeSlice(after: 1), in: 1, shares: nil, includingDeleted: false, atMost: 100),
                    try $0.count(ChangeSlice(after: 1), in: 1, shares: nil, includingDeleted: true, atMost: 3)
                )
            }
            #expect(count == (4, 3))
            // A record that changes again stands once, at its last change.
            _ = try await storage.write(Self.mia) { unit in
                try unit.save([Self.record("a", try unit.raiseCounter(by: 1))], in: 1, at: 2000)
            }
            #expect(try await read(ChangeSlice(after: 0)) == "b -c d e a")
        }
    }

    @Test(arguments: StorageKind.installed)
    func namesAreComparedByTheirBytes(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            let storage = try test.storage
            let names = ["a", "A", "a ", "a\u{7F}", "%", "_", "a'; DROP TABLE records; --", "0", "00", String(repeating: "n", count: 255)]
            try await storage.write(Self.mia) { unit in
                let last = try unit.raiseCounter(by: names.count)
                try unit.save(
                    names.enumerated().map { Self.record($0.element, last - Int64($0.offset)) }, in: 1, at: 1)
            }
            let found = try await storage.read(Self.mia) { try $0.records(named: names + ["n", "aa"], in: 1) }
            #expect(Set(found.keys) == Set(names))
            #expect(found.allSatisfy { $0.key == $0.value.record.recordName })
        }
    }

    @Test(arguments: StorageKind.installed)
    func zonesAreFoundByNameAndChangeAndKeepWhatTheyTake(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            try await test.storage.write(Self.mia) { unit in
                for (number, name) in ["One", "Two", "Three"].enumerated() {
                    let change = try unit.raiseCounter(by: 1)
                    var zone = StoredZone(key: change, name: name, change: change, isDeleted: number == 1)
                    zone.deletionReason = number == 1 ? .purged : .deleted
                    zone.usage = StoredBytes(records: Int64(number), assets: 10)
                    try unit.save(zone, at: 1)
                }
                try unit.save(StoredZone(key: StoredZone.defaultKey, name: ZoneID.defaultZoneName, change: 4), at: 1)
                try unit.addUsage(StoredBytes(records: 3, assets: 30))
                try unit.addUsage(StoredBytes(records: -1, assets: 0))
            }
            try test.restart()
            try await test.storage.read(Self.mia) { view in
                #expect(try view.zones().map(\.name) == ["One", "Three", ZoneID.defaultZoneName])
                #expect(try view.zones(changedAfter: 1, limit: 1).map(\.name) == ["Two"])
                #expect(try view.zones(changedAfter: 1, limit: 9).map(\.name) == ["Two", "Three"], "not the default zone")
                let two = try #require(try view.zone(named: "Two"))
                #expect(two.isDeleted)
                #expect(two.deletionReason == .purged)
                #expect(two.usage == StoredBytes(records: 1, assets: 10))
                #expect(try view.state().usage == StoredBytes(records: 2, assets: 30))
            }
        }
    }

    @Test(arguments: StorageKind.installed)
    func indexesAreWalkedInTheOrderOfTheirKeys(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            let storage = try test.storage
            try await fill(storage)
            let index = try await storage.write(Self.mia) { unit in
                let index = try unit.makeIndex(RecordIndex(recordType: "Plant", field: "name", kind: .values))
                #expect(try unit.makeIndex(index.index) == index)
                #expect(!index.isBuilt)
                let keys: [(String, [UInt8])] = [("a", [1, 5]), ("b", [1]), ("d", [1, 5, 0]), ("e", [0xFF])]
                try unit.apply(keys.map { IndexChange(index: index.id, recordName: $0.0, added: [$0.1, [0]]) }, in: 1)
                try unit.setBuilt(index.id, upTo: RecordPlace(zone: 1, recordName: "b"))
                #expect(try unit.indexes(ofType: "Plant").first?.builtUpTo == RecordPlace(zone: 1, recordName: "b"))
                try unit.setBuilt(index.id, upTo: nil)
                return index
            }
            try await storage.read(Self.mia) { (view) throws -> Void in
                func walk(_ range: KeyRange, after: IndexPlace? = nil, descending: Bool = false, most: Int = 9) throws -> [String] {
                    var names: [String] = []
                    try view.scan(IndexScan(index: index.id, zone: 1, range: range, after: after, descending: descending)) { row in
                        names.append(row.record.record.recordName)
                        return names.count < most
                    }
                    return names
                }
                let all = KeyRange(lower: [1], upper: [0xFF, 0xFF])
                #expect(try view.indexes(ofType: "Plant").map(\.isBuilt) == [true])
                #expect(try walk(all) == ["b", "a", "d", "e"])
                #expect(try walk(all, descending: true) == ["e", "d", "a", "b"])
                #expect(try walk(all, most: 2) == ["b", "a"])
                #expect(try walk(KeyRange(lower: [1, 5], upper: [1, 5, 0])) == ["a"], "from the lower, below the upper")
                #expect(try walk(all, after: IndexPlace(key: [1, 5], recordName: "a")) == ["d", "e"])
                #expect(try walk(KeyRange(lower: [0], upper: [1])) == ["a", "b", "d", "e"], "one key, by name")
                #expect(try view.count(IndexScan(index: index.id, zone: 1, range: all), atMost: 3) == 3)
            }
        }
    }

    private static func entry(_ numbers: ClosedRange<Int64>) -> ChangeLogEntry {
        ChangeLogEntry(
            time: 7, author: "_mia", deviceID: "phone", requestUUID: "R",
            changes: numbers.map { ChangeLogEntry.Change(number: $0, previous: 1, kind: .saved, fields: ["b", "a"], fieldsOmitted: 2) })
    }

    @Test(arguments: StorageKind.installed)
    func theChangeLogIsFoundByNumberAndBounded(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            try await test.storage.write(Self.mia) { unit in
                try unit.append(Self.entry(2...4), bytesMax: 1_000_000)
                try unit.append(Self.entry(9...9), bytesMax: 1_000_000)
            }
            try await test.storage.write(Self.bo) { try $0.append(Self.entry(3...3), bytesMax: 1_000_000) }
            try test.restart()
            try await test.storage.write(Self.mia) { unit in
                #expect(try unit.changeLog(at: 3) == Self.entry(2...4))
                #expect(try unit.changeLog(at: 5) == Self.entry(9...9), "the next entry, which does not have the number")
                #expect(try unit.changeLog(at: 10) == nil)
                // Room for some of these entries, and not for all: the oldest go.
                for number in 10..<Int64(60) { try unit.append(Self.entry(number...number), bytesMax: 2000) }
                let numbers = try (Int64(1)..<60).filter { number in
                    try unit.changeLog(at: number)?.changes.contains { $0.number == number } == true
                }
                #expect(numbers.count > 1)
                #expect(numbers.count < 40)
                #expect(numbers == Array(60 - Int64(numbers.count)..<60), "the newest ones, without gaps")
            }
            let other = try await test.storage.read(Self.bo) { try $0.changeLog(at: 1) }
            #expect(other == Self.entry(3...3), "each database has its own")
        }
    }

    @Test(arguments: StorageKind.installed)
    func answersSubscriptionsAndSchemaLastAndAreReplaced(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            let answer = StoredAnswer(fingerprint: .max, body: [0, 255, 10])
            let subscription = Subscription(subscriptionID: "s", kind: .zone(ZoneID(zoneName: "Garden")), notification: .silent)
            try await test.storage.write(Self.mia) { unit in
                try unit.remember(answer, forKey: "k", at: 1)
                try unit.setClientToken([1], ofUser: "_mia", device: "phone", in: 1)
                try unit.setClientToken([0, 255], ofUser: "_mia", device: "phone", in: 1)
                try unit.setClientToken([2], ofUser: "_mia", device: "phone", in: 2)
                for number in 0...StoredClientTokens.devicesMax {
                    try unit.setClientToken([3], ofUser: "_bo", device: "d\(number)", in: 1)
                }
                try unit.save(subscription)
                try unit.learn(["f": FieldSchema(type: "STRING", isEncrypted: false)], ofType: "Plant")
                try unit.learn(
                    ["f": FieldSchema(type: "INT64", isEncrypted: true), "g": FieldSchema(type: "BYTES", isEncrypted: true)],
                    ofType: "Plant")
                try unit.learn([:], ofType: "Bare")
            }
            try test.restart()
            try await test.storage.write(Self.mia) { unit in
                #expect(try unit.answer(toKey: "k") == answer)
                #expect(try unit.answer(toKey: "K") == nil)
                #expect(try unit.clientToken(ofUser: "_mia", device: "phone", in: 1) == [0, 255], "the last one counts")
                #expect(try unit.clientToken(ofUser: "_mia", device: "tablet", in: 1) == nil)
                #expect(try unit.clientToken(ofUser: "_bo", device: "d0", in: 1) == nil, "of too many devices the last one has a token")
                #expect(try unit.clientToken(ofUser: "_bo", device: "d\(StoredClientTokens.devicesMax)", in: 1) == [3])
                #expect(try unit.removeContents(ofZone: 1, atMost: 10, at: 2))
                #expect(try unit.clientToken(ofUser: "_mia", device: "phone", in: 1) == nil)
                #expect(try unit.clientToken(ofUser: "_mia", device: "phone", in: 2) == [2])
                #expect(try unit.subscriptions() == [subscription])
                #expect(try unit.subscription(id: "s") == subscription)
                let fields = try unit.schema(ofType: "Plant")?.fields
                #expect(fields?["f"]?.type == "STRING", "what is known stays")
                #expect(fields?["g"]?.isEncrypted == true, "what is known stays")
                #expect(try unit.schema(ofType: "Bed") == nil)
                #expect(try unit.recordTypes() == ["Bare", "Plant"])
                #expect(try unit.schema(ofType: "Bare") == RecordTypeSchema(), "a type without fields is known")
                try unit.removeSubscription(id: "s")
                try unit.save(nil, ofType: "Plant")
                try unit.save(nil, ofType: "Bare")
            }
            let isEmpty = try await test.storage.read(Self.bo) { try $0.subscriptions().isEmpty && $0.recordTypes().isEmpty }
            #expect(isEmpty)
        }
    }

    @Test(arguments: StorageKind.installedWithObjects)
    func assetsAreCountedByReference(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            try await test.storage.write(Self.mia) { try $0.save([StoredUpload(id: "u", recordName: "a", fieldName: "f", created: 1)]) }
            let bytes = [UInt8](repeating: 7, count: 300_000)
            let stored = try await test.storage.receive(
                Pieces(pieces: [bytes, [1]]), forUpload: "u", in: Self.mia, bytesMax: 300_001, bytesExpected: 300_001, digest: nil, at: 5)
            let asset = try #require(stored)
            #expect(asset.size == 300_001)
            let unknown = try await test.storage.receive(
                Pieces(pieces: [[1]]), forUpload: "u", in: Self.bo, bytesMax: 10, bytesExpected: nil, digest: nil, at: 5)
            #expect(unknown == nil, "an upload is its owner's")
            try await test.storage.write(Self.mia) { unit in
                #expect(try unit.upload(id: "u")?.asset == asset)
                #expect(try unit.asset(checksum: asset.checksum) == asset)
                let differences = try [2, -1, -1, 1].map { try unit.addLinks([asset.checksum: $0], in: 1, at: 5) }
                #expect(differences == [300_001, 0, -300_001, 300_001])
                #expect(try unit.links(toAssets: [asset.checksum, "x"], in: 1) == [asset.checksum: 1])
                #expect(try unit.links(toAssets: [asset.checksum], in: 2).isEmpty)
                #expect(try unit.hasAssets(inZone: 1))
                #expect(try !unit.hasAssets(inZone: 2))
            }
            try test.restart()
            let reader = try #require(try await test.storage.open(checksum: asset.checksum, in: Self.mia))
            #expect(reader.size == 300_001)
            #expect(try await reader.read(at: 299_999, count: 10) == [7, 1])
            let others = try await test.storage.open(checksum: asset.checksum, in: Self.bo)
            #expect(others == nil)
            for (most, expected) in [(3, Int64?.none), (10, 5)] as [(Int64, Int64?)] {
                try await test.storage.write(Self.mia) {
                    try $0.save([StoredUpload(id: "v\(most)", recordName: "a", fieldName: "f", created: 1)])
                }
                await #expect(throws: WireError.self) {
                    try await test.storage.receive(
                        Pieces(pieces: [[1, 2], [3, 4]]), forUpload: "v\(most)", in: Self.mia, bytesMax: most, bytesExpected: expected,
                        digest: nil, at: 5)
                }
            }
        }
    }

    @Test(arguments: StorageKind.installedWithObjects)
    func uploadsInPartsGoOn(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            try await test.storage.write(Self.mia) { try $0.save([StoredUpload(id: "u", recordName: "a", fieldName: "f", created: 1)]) }
            #expect(try await test.storage.progress(ofUpload: "u", in: Self.mia) == .partial(0))
            #expect(try await test.storage.progress(ofUpload: "u", in: Self.bo) == nil)
            func send(_ bytes: [UInt8], at offset: Int64, isLast: Bool) async throws -> UploadProgress? {
                try await test.storage.receive(
                    Pieces(pieces: [bytes]), as: UploadPart(offset: offset, isLast: isLast), forUpload: "u", in: Self.mia, bytesMax: 10,
                    at: 5)
            }
            #expect(try await send([1, 2, 3], at: 0, isLast: false) == .partial(3))
            try test.restart()
            #expect(try await send([9], at: 2, isLast: false) == .misplaced(3))
            #expect(try await test.storage.progress(ofUpload: "u", in: Self.mia) == .partial(3))
            guard case .complete(let asset)? = try await send([4], at: 3, isLast: true) else {
                Issue.record("the upload is not complete")
                return
            }
            let reader = try #require(try await test.storage.open(checksum: asset.checksum, in: Self.mia))
            #expect(try await reader.read(at: 0, count: 9) == [1, 2, 3, 4])
        }
    }

    @Test(arguments: StorageKind.installed)
    func sharedRecordsAreListedByTheirChangesInTheShare(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            let storage = try test.storage
            try await fill(storage)
            try await storage.write(Self.mia) { unit in
                try unit.save(StoredShare(name: "share", root: "a"), in: 1)
                try unit.setMembers([ShareMember(user: "_bo", permission: .readOnly, isAdministrator: false)], ofShare: "share", in: 1)
                for (name, change, hasLeft) in [("a", 2, false), ("b", 3, true), ("d", 9, false)] as [(String, Int64, Bool)] {
                    try unit.place(name, inShare: "share", hasLeft: hasLeft, change: change, in: 1)
                }
                try unit.setParent("a", of: "d", in: 1)
                try unit.raiseGeneration(ofUsers: ["_bo"], in: 1)
                try unit.post([ShareNews(user: "_bo", zoneName: "Garden", isGone: false, change: 9)])
                #expect(try unit.link(to: "a", in: 1) == unit.link(to: "a", in: 1))
            }
            try await storage.read(Self.mia) { (view) throws -> Void in
                func read(_ slice: ChangeSlice, deleted: Bool) throws -> String {
                    names(try view.sharedRecords(slice, in: 1, shares: ["share"], includingDeleted: deleted, limit: 9, bytesMax: .max))
                }
                #expect(try read(ChangeSlice(after: 0), deleted: true) == "a -b d")
                #expect(try read(ChangeSlice(after: 0), deleted: false) == "a d")
                #expect(try read(ChangeSlice(after: 2, isNewestFirst: true), deleted: true) == "d -b")
                #expect(try view.memberships(ofUser: "_bo", in: 1).map(\.share) == [StoredShare(name: "share", root: "a")])
                #expect(try view.shareNames(ofRecords: ["a", "b", "d"], in: 1) == ["a": "share", "d": "share"])
                #expect(try view.children(of: "a", in: 1) == ["d"])
                #expect(try view.generation(ofUser: "_bo", in: 1) == 1)
            }
            let news = try await storage.pendingNews(limit: 9)
            #expect(news.map(\.news.user) == ["_bo"])
            #expect(news.first?.partition == Self.mia)
            try await storage.write(Self.mia) { try $0.removeNews(news.map(\.news)) }
            #expect(try await storage.pendingNews(limit: 9).isEmpty)
        }
    }

    @Test(arguments: StorageKind.installed)
    func publicQuerySubscriptionsAreFoundByTheirType(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            let storage = try test.storage
            var own = Self.everybody
            own.owner = "_bo"
            let query = QuerySubscription(query: Query(recordType: "Plant"), firesOn: [.create])
            let subscription = Subscription(subscriptionID: "s", kind: .query(query))
            try await storage.write(own) { try $0.save(subscription) }
            let found = try await storage.write(Self.everybody) { unit in
                let found = try unit.publicQuerySubscriptions(ofType: "Plant")
                #expect(try unit.publicQuerySubscriptions(ofType: "Bed").isEmpty)
                for one in found { try unit.retire(one) }
                return found
            }
            #expect(found == [OwnedSubscription(owner: "_bo", subscription: subscription)])
            #expect(try await storage.read(own) { try $0.subscriptions().isEmpty })
        }
    }

    @Test(arguments: StorageKind.installed)
    func accountsHaveOneNameInEachContainerAndRestrictionsLast(_ kind: StorageKind) async throws {
        try await with(kind) { test in
            let token = try await test.storage.addUser(name: "mia", deviceLabel: "tablet", now: 1)
            let device = try #require(try await test.storage.device(forToken: token, now: 0))
            let container = Self.mia.containerIdentifier
            for proposal in ["_mia", "_other"] {
                let name = try await test.storage.userRecordName(
                    account: device.account, containerIdentifier: container, proposal: proposal)
                #expect(name == "_mia")
            }
            try await test.storage.setQuota(7, ofUser: "mia")
            try await test.storage.setRestricted(true, user: "_mia", containerIdentifier: container, environment: .development, now: 1)
            try test.restart()
            let storage = try test.storage
            #expect(try await storage.read(Self.mia) { try $0.quota(ofUser: "_mia") == 7 && $0.quota(ofUser: "_bo") == nil })
            #expect(try await storage.quota(ofUser: "mia") == 7)
            #expect(try await storage.quota(ofUser: "bo") == nil)
            #expect(try await storage.isRestricted(user: "_mia", containerIdentifier: container, environment: .development))
            #expect(try await !storage.isRestricted(user: "_mia", containerIdentifier: container, environment: .production))
            try await storage.setRestricted(false, user: "_mia", containerIdentifier: container, environment: .development, now: 1)
            #expect(try await !storage.isRestricted(user: "_mia", containerIdentifier: container, environment: .development))
            #expect(try await storage.device(forToken: "tarn_other", now: 0) == nil)
            let uses = [try await storage.isFirstUse(of: [1], until: 5), try await storage.isFirstUse(of: [1], until: 5)]
            #expect(uses == [true, false])
        }
    }
}

struct Pieces: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    struct Iterator: AsyncIteratorProtocol {
        var rest: ArraySlice<[UInt8]>

        mutating func next() async throws -> [UInt8]? { rest.popFirst() }
    }

    let pieces: [[UInt8]]

    func makeAsyncIterator() -> Iterator { Iterator(rest: pieces[...]) }
}
