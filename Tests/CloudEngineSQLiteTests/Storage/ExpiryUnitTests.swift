// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import Testing

/// Housekeeping divides the removal of any number of rows into units of work, and others have their turns between them.
@Suite struct ExpiryUnitTests {
    private static let mia = Partition(containerIdentifier: "iCloud.org.example.notes", environment: .development, owner: "_mia")
    private static let day: Int64 = 24 * 60 * 60 * 1000
    private static let start: Int64 = 1000
    /// Rows of each kind, more than one unit removes.
    private static let count = UnitOfWork.removedRowsMax + 1
    /// Change numbers: those of the deleted records begin at 2.
    private static let lastDeletion = Int64(count) + 1
    private static let lastChange = lastDeletion + 2

    private static func fill(_ unit: any PartitionWriter) throws {
        _ = try unit.raiseCounter(by: Int(lastChange))
        try unit.save(StoredZone(key: 1, name: "Garden", change: lastDeletion + 1), at: start)
        try unit.save(StoredZone(key: lastChange, name: "Gone", change: lastChange, isDeleted: true), at: start)
        let deletions = (2...lastDeletion).map { change in
            StoredRecord(record: Record(recordName: "r\(change)", recordType: "Plant", isDeleted: true), change: change)
        }
        let plant = Record(recordName: "alive", recordType: "Plant")
        try unit.save(deletions + [StoredRecord(record: plant, change: lastDeletion + 1)], in: 1, at: start)
        try unit.save((0..<count).map { StoredUpload(id: "u\($0)", recordName: "r", fieldName: "f", created: start) })
        for number in 0..<count {
            try unit.remember(StoredAnswer(fingerprint: 1, body: [1]), forKey: "\(number)", at: start)
            let change = ChangeLogEntry.Change(number: Int64(number) + 1, previous: nil, kind: .created)
            let entry = ChangeLogEntry(time: start, author: "", deviceID: "", requestUUID: "", changes: [change])
            try unit.append(entry, bytesMax: 1_000_000_000)
        }
    }

    @Test(arguments: StorageKind.installed)
    func expiredRowsAreRemovedInSeveralUnits(_ kind: StorageKind) async throws {
        let test = try kind.make()
        let storage = try test.storage
        try await storage.write(Self.mia) { try Self.fill($0) }
        let commits = storage.commits
        try await storage.removeExpired(now: Self.start + Self.day / 2)
        let idleCommits = storage.commits - commits
        let (last, upload) = try await storage.read(Self.mia) { view in
            (try view.changeLog(at: 1)?.changes.first?.number, try view.upload(id: "u0")?.id)
        }
        #expect(last == 1)
        #expect(upload == "u0")
        try await storage.removeExpired(now: Self.start + 91 * Self.day)
        #expect(storage.commits - commits - idleCommits >= idleCommits + 2)
        try await storage.read(Self.mia) { view in
            #expect(try view.state().answerBytes == 0)
            #expect(try view.state().floor == Self.lastChange)
            #expect(try view.changeLog(at: 1) == nil)
            for number in [0, Self.count - 1] {
                #expect(try view.answer(toKey: "\(number)") == nil)
                #expect(try view.upload(id: "u\(number)") == nil)
            }
            let records = try view.records(ChangeSlice(after: 0), in: 1, includingDeleted: true, limit: 10, bytesMax: .max)
            #expect(records.map(\.record.recordName) == ["alive"])
            #expect(try view.zone(named: "Garden")?.floor == Self.lastDeletion)
            #expect(try view.zone(named: "Gone") == nil)
        }
        try test.end()
    }

    /// A server that is started without history has the versions of all users from before.
    @Test(arguments: StorageKind.installed)
    func versionsAreRemovedInSeveralUnitsOnceNoneAreKept(_ kind: StorageKind) async throws {
        let test = try kind.make()
        let storage = try test.storage
        try await storage.keepHistory(milliseconds: Self.day, now: Self.start)
        try await storage.write(Self.mia) { unit in
            _ = try unit.raiseCounter(by: 2 * Self.count)
            try unit.save(StoredZone(key: 1, name: "Garden", change: Int64(2 * Self.count)), at: Self.start)
            for round in 0..<2 {
                let records = (1...Self.count).map { number in
                    StoredRecord(
                        record: Record(recordName: "r\(number)", recordType: "Plant"), change: Int64(round * Self.count + number))
                }
                try unit.save(records, in: 1, at: Self.start + Int64(round))
            }
        }
        func versionCount() async throws -> Int {
            try await storage.read(Self.mia) { try $0.records(ofZone: 1, at: Self.start).count }
        }
        #expect(try await versionCount() == Self.count)
        try await storage.keepHistory(milliseconds: 0, now: Self.start + 2)
        #expect(try await versionCount() == Self.count)
        #expect(try await storage.read(Self.mia) { try $0.historyStart(now: Self.start + 2) } == nil)
        let before = storage.commits
        try await storage.removeExpired(now: Self.start + 2)
        let after = storage.commits
        try await storage.removeExpired(now: Self.start + 2)
        #expect(after - before > storage.commits - after)
        #expect(try await versionCount() == 0)
    }

    /// Clients choose which change numbers the log has: none here is one at which PostgreSQL trims it.
    @Test(arguments: StorageKind.installed)
    func theChangeLogIsBounded(_ kind: StorageKind) async throws {
        let test = try kind.make()
        let storage = try test.storage
        try await storage.write(Self.mia) { unit in
            _ = try unit.raiseCounter(by: 20)
            for number in Int64(1)...20 {
                let change = ChangeLogEntry.Change(number: number, previous: nil, kind: .created)
                let entry = ChangeLogEntry(
                    time: Self.start, author: "", deviceID: "", requestUUID: String(repeating: "r", count: 1_000_000), changes: [change])
                try unit.append(entry, bytesMax: ChangeLogEntry.logBytesMax)
            }
        }
        try await storage.removeExpired(now: Self.start + Self.day)
        let numbers = try await storage.read(Self.mia) { view in
            try [view.changeLog(at: 1), view.changeLog(at: 20)].map { $0?.changes.first?.number }
        }
        #expect(numbers == [5, 20], "the newest ones with 16,000,000 bytes")
        try test.end()
    }

    /// The records are found by its row. Otherwise nothing would remove them.
    @Test(arguments: StorageKind.installed)
    func aDeletedZoneIsKeptWhileItHasRecords(_ kind: StorageKind) async throws {
        let test = try kind.make()
        let storage = try test.storage
        try await storage.write(Self.mia) { unit in
            _ = try unit.raiseCounter(by: 3)
            try unit.save([StoredRecord(record: Record(recordName: "left", recordType: "Plant"), change: 2)], in: 1, at: Self.start)
            try unit.save(StoredZone(key: 1, name: "Gone", change: 3, isDeleted: true), at: Self.start)
        }
        let later = Self.start + 91 * Self.day
        try await storage.removeExpired(now: later)
        let zones = try await storage.zonesToEmpty(limit: 10)
        #expect(zones.map(\.key) == [1])
        for zone in zones { try await storage.empty(zone) }
        try await storage.removeExpired(now: later + Self.day)
        let zone = try await storage.read(Self.mia) { try $0.zone(named: "Gone") }
        #expect(zone == nil)
        try test.end()
    }
}
