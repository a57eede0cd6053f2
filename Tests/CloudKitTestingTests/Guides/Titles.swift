// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Testing

/// Saves a title. If another client saved the record in between, the title is set in the server's version.
func save(title: String, of record: CKRecord, in database: CKDatabase) async throws -> CKRecord {
    record["title"] = title
    do {
        return try await database.save(record)
    } catch let error as CKError where error.code == .serverRecordChanged {
        guard let latest = error.serverRecord else { throw error }
        return try await save(title: title, of: latest, in: database)
    }
}

@Suite struct TitlesTests {
    @Test func aTitleIsSavedAfterAConflict() async throws {
        let cloud = try TestCloud()
        let phone = try await cloud.device("phone", account: "mia")
        let database = phone.container.privateCloudDatabase
        let recipe = try await save(title: "Soup", of: CKRecord(recordType: "Recipe"), in: database)
        phone.fail(.conflict, operation: "records/modify")
        #expect(try await save(title: "Stew", of: recipe, in: database)["title"] as? String == "Stew")
        #expect(try await database.record(for: recipe.recordID)["title"] as? String == "Stew")
        #expect(phone.requests.filter { $0 == "records/modify" }.count >= 3)
    }
}
