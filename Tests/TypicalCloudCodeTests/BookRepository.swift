// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation

// Code as apps have it, of the time of async functions.

struct Book: Codable, Hashable {
    var id: UUID
    var title: String
    var pages: Int
    var rating: Double?
}

extension Book {
    static let zoneID = CKRecordZone.ID(zoneName: "Books", ownerName: CKCurrentUserDefaultName)

    var recordID: CKRecord.ID { CKRecord.ID(recordName: id.uuidString, zoneID: Self.zoneID) }

    func populate(_ record: CKRecord) {
        record["title"] = title
        record["pages"] = pages
        record.encryptedValues["rating"] = rating
    }

    init?(_ record: CKRecord) {
        guard let id = UUID(uuidString: record.recordID.recordName), let title: String = record["title"] else { return nil }
        self.init(id: id, title: title, pages: record["pages"] ?? 0, rating: record.encryptedValues["rating"])
    }
}

actor BookRepository {
    private let database: CKDatabase
    private var changeToken: CKServerChangeToken?
    private(set) var books: [UUID: Book] = [:]

    init(container: CKContainer) {
        database = container.privateCloudDatabase
    }

    func prepare() async throws {
        do {
            _ = try await database.recordZone(for: Book.zoneID)
        } catch let error as CKError where error.code == .zoneNotFound || error.code == .userDeletedZone {
            _ = try await database.modifyRecordZones(saving: [CKRecordZone(zoneID: Book.zoneID)], deleting: [])
        }
    }

    func store(_ changed: [Book], removing removed: [Book.ID]) async throws -> [CKRecord.ID: CKError] {
        let records = changed.map { book in
            let record = CKRecord(recordType: "Book", recordID: book.recordID)
            book.populate(record)
            return record
        }
        let gone = removed.map { CKRecord.ID(recordName: $0.uuidString, zoneID: Book.zoneID) }
        let (saveResults, deleteResults) = try await database.modifyRecords(
            saving: records, deleting: gone, savePolicy: .allKeys, atomically: false)
        var errors: [CKRecord.ID: CKError] = [:]
        for (id, result) in saveResults {
            switch result {
            case .success(let record): if let book = Book(record) { books[book.id] = book }
            case .failure(let error): errors[id] = error as? CKError
            }
        }
        for (id, result) in deleteResults {
            if case .failure(let error) = result { errors[id] = error as? CKError }
        }
        return errors
    }

    func long() async throws -> [Book] {
        let query = CKQuery(recordType: "Book", predicate: NSPredicate(format: "pages > %d", 300))
        query.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
        var found: [Book] = []
        var (results, cursor) = try await database.records(matching: query, inZoneWith: Book.zoneID, resultsLimit: 1)
        found += results.compactMap { _, result in (try? result.get()).flatMap { Book($0) } }
        while let next = cursor {
            (results, cursor) = try await database.records(continuingMatchFrom: next)
            found += results.compactMap { _, result in (try? result.get()).flatMap { Book($0) } }
        }
        return found
    }

    func sync() async throws {
        var moreComing = true
        while moreComing {
            let changes = try await database.recordZoneChanges(inZoneWith: Book.zoneID, since: changeToken)
            for (_, result) in changes.modificationResultsByID {
                if let book = Book(try result.get().record) { books[book.id] = book }
            }
            for deletion in changes.deletions {
                if let id = UUID(uuidString: deletion.recordID.recordName) { books[id] = nil }
            }
            changeToken = changes.changeToken
            moreComing = changes.moreComing
        }
    }

    func rate(_ id: UUID, _ rating: Double) async throws {
        let recordID = CKRecord.ID(recordName: id.uuidString, zoneID: Book.zoneID)
        var record = try await database.record(for: recordID)
        while true {
            record.encryptedValues["rating"] = rating
            do {
                let saved = try await database.save(record)
                books[id] = Book(saved)
                return
            } catch let error as CKError where error.code == .serverRecordChanged {
                guard let server = error.serverRecord else { throw error }
                record = server
            }
        }
    }
}

extension Book {
    typealias ID = UUID
}
