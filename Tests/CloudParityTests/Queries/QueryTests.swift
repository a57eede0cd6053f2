// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Synchronization
import Testing

private func plants() async throws -> (database: CKDatabase, zoneID: CKRecordZone.ID) {
    let (database, zoneID) = try await garden()
    let rows: [(String, Int, Double, [String])] = [
        ("Basil", 3, 0.5, ["herb"]), ("Mint", 5, 1.5, ["herb", "hardy"]), ("Rose", 1, 2.5, ["flower", "hardy"]),
        ("Sage", 8, 3.5, ["herb", "hardy"]),
    ]
    let records = rows.map { name, count, height, tags in
        let record = plant(name, in: zoneID)
        record["name"] = name
        record["count"] = count
        record["height"] = height
        record["tags"] = tags
        record["planted"] = Date(timeIntervalSince1970: Double(count) * 86_400)
        return record
    }
    _ = try await database.modifyRecords(saving: records, deleting: [])
    return (database, zoneID)
}

@Suite struct QueryTests {
    @Test(arguments: [
        ("name != 'x' AND TRUEPREDICATE", ["Basil", "Mint", "Rose", "Sage"]), ("name == 'Mint'", ["Mint"]),
        ("name != 'Mint'", ["Basil", "Rose", "Sage"]), ("count > 3", ["Mint", "Sage"]), ("count >= 3", ["Basil", "Mint", "Sage"]),
        ("count < 3", ["Rose"]), ("count <= 3", ["Basil", "Rose"]), ("3 < count", ["Mint", "Sage"]),
        ("count BETWEEN {3, 5}", ["Basil", "Mint"]), ("name BEGINSWITH 'S'", ["Sage"]),
        ("name IN {'Sage', 'Rose'}", ["Rose", "Sage"]), ("NOT (name IN {'Sage', 'Rose'})", ["Basil", "Mint"]),
        ("tags CONTAINS 'hardy'", ["Mint", "Rose", "Sage"]), ("ANY tags == 'flower'", ["Rose"]),
        ("'flower' IN tags", ["Rose"]), ("NOT (tags CONTAINS 'herb')", ["Rose"]),
        ("tags CONTAINS 'herb' AND count > 3 AND height < 3", ["Mint"]), ("height == 1.5", ["Mint"]),
    ])
    func predicatesFindRecords(_ format: String, _ names: [String]) async throws {
        let (database, zoneID) = try await plants()
        let query = CKQuery(recordType: "Plant", predicate: NSPredicate(format: format))
        query.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        let page: (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?)
        page = try await database.records(matching: query, inZoneWith: zoneID)
        #expect(page.matchResults.map(\.0.recordName) == names)
        #expect(page.queryCursor == nil)
    }

    @Test(arguments: [
        ("name == 'a' OR name == 'b'", "OR"), ("name ENDSWITH 'x'", "ENDSWITH"), ("name LIKE 'x*'", "LIKE"),
        ("name MATCHES 'x'", "MATCHES"), ("bed.name == 'x'", "bed.name"), ("count == height", "height"),
        ("ALL tags == 'x'", "ALL"), ("count + 1 == 2", "count + 1"), ("name == nil", "name"), ("FALSEPREDICATE", "FALSE"),
    ])
    func unsupportedPartsOfAPredicateAreNamed(_ format: String, _ part: String) async throws {
        let (database, zoneID) = try await garden()
        let query = CKQuery(recordType: "Plant", predicate: NSPredicate(format: format))
        let error = await failure {
            try await database.records(matching: query, inZoneWith: zoneID)
                as (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?)
        }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.contains(part) == true, "\(error?.localizedDescription ?? "")")
    }

    @Test func argumentsAreValuesOfFields() async throws {
        let (database, zoneID) = try await plants()
        let bed = CKRecord.ID(recordName: "bed", zoneID: zoneID)
        let sage = try await database.record(for: CKRecord.ID(recordName: "Sage", zoneID: zoneID))
        sage["bed"] = CKRecord.Reference(recordID: bed, action: .none)
        try await database.save(sage)
        for predicate in [
            NSPredicate(format: "bed == %@", CKRecord.Reference(recordID: bed, action: .none)),
            NSPredicate(format: "bed == %@", bed), NSPredicate(format: "%K == %d", "count", 8),
            NSPredicate(format: "planted > %@", Date(timeIntervalSince1970: 6 * 86_400) as NSDate),
            NSPredicate(format: "name IN %@", ["Sage", "Thyme"]),
            NSCompoundPredicate(andPredicateWithSubpredicates: [
                NSPredicate(format: "height > %f", 2.75), NSPredicate(format: "name BEGINSWITH %@", "Sa"),
            ]),
        ] {
            let fetched = try await database.perform(CKQuery(recordType: "Plant", predicate: predicate), inZoneWith: zoneID)
            #expect(fetched.map(\.recordID.recordName) == ["Sage"], "\(predicate)")
        }
    }

    @Test func locationSortDescriptorsStoreTheirLocation() {
        let sort = CKLocationSortDescriptor(key: "spot", relativeLocation: CLLocation(latitude: 46.9, longitude: 7.4))
        let copy = sort.copy() as? CKLocationSortDescriptor
        #expect(copy?.relativeLocation.coordinate.latitude == 46.9)
        #expect(sort.key == "spot")
        #expect(sort.ascending)
    }

    @Test func pagesFollowEachOther() async throws {
        let (database, zoneID) = try await plants()
        let query = CKQuery(recordType: "Plant", predicate: NSPredicate(format: "count > 0"))
        query.sortDescriptors = [NSSortDescriptor(key: "count", ascending: false)]
        var names: [String] = []
        let first = try await database.records(matching: query, inZoneWith: zoneID, desiredKeys: ["name"], resultsLimit: 3)
        names += first.matchResults.map(\.0.recordName)
        #expect(try first.matchResults.first?.1.get().allKeys() == ["name"])
        let cursor = try #require(first.queryCursor)
        let stored = try #require(try archived(cursor))
        let second = try await database.records(continuingMatchFrom: stored, resultsLimit: 3)
        names += second.matchResults.map(\.0.recordName)
        #expect(second.queryCursor == nil)
        #expect(names == ["Sage", "Mint", "Basil", "Rose"])
    }

    @Test func queryOperationsReportEachMatch() async throws {
        let (database, zoneID) = try await plants()
        let query = CKQuery(recordType: "Plant", predicate: NSPredicate(format: "count > 2"))
        query.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        let log = CallbackLog()
        let next = Mutex<CKQueryOperation.Cursor?>(nil)
        let operation = CKQueryOperation(query: query)
        operation.zoneID = zoneID
        operation.resultsLimit = 2
        operation.recordMatchedBlock = { id, result in
            if case .success = result { log.add(id.recordName) }
        }
        operation.queryResultBlock = { result in
            if case .success(let cursor) = result { next.withLock { $0 = cursor } }
        }
        await finish(operation, on: database)
        let cursor = try #require(next.withLock { $0 })
        let rest = CKQueryOperation(cursor: cursor)
        rest.recordFetchedBlock = { log.add($0.recordID.recordName) }
        rest.queryCompletionBlock = { cursor, error in log.add("\(cursor == nil) \(error == nil)") }
        await finish(rest, on: database)
        #expect(log.all == ["Basil", "Mint", "Sage", "true true"])
    }

    @Test func queriesAreRoundTrippedByArchives() throws {
        let query = CKQuery(recordType: "Plant", predicate: NSPredicate(format: "count > 3 AND name BEGINSWITH 'S'"))
        query.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)]
        let restored = try #require(try archived(query))
        #expect(restored.recordType == "Plant")
        #expect(restored.predicate == query.predicate)
        #expect(restored.sortDescriptors?.first?.key == "name")
        #expect(restored.sortDescriptors?.first?.ascending == false)
    }

    @Test func systemFieldsNeedAnIndex() async throws {
        let (database, zoneID) = try await plants()
        for predicate in [
            NSPredicate(value: true), NSPredicate(format: "recordID == %@", CKRecord.ID(recordName: "Sage", zoneID: zoneID)),
            NSPredicate(format: "creationDate > %@", Date(timeIntervalSince1970: 0) as NSDate),
            NSPredicate(format: "modificationDate > %@", Date(timeIntervalSince1970: 0) as NSDate),
        ] {
            let query = CKQuery(recordType: "Plant", predicate: predicate)
            let error = await failure { try await database.perform(query, inZoneWith: zoneID) }
            #expect(error?.code == .invalidArguments)
        }
    }
}
