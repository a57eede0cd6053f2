// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Testing

@Suite struct NameTests {
    @Test(arguments: ["recordID", "recordType", "creationDate", "modificationDate", "creatorUserRecordID", "parent", "share"])
    func fieldsCannotHaveNamesOfSystemFields(_ key: String) async throws {
        let (database, zoneID) = try await garden()
        let sage = plant("sage", in: zoneID)
        sage[key] = "x"
        let error = await failure { try await database.save(sage) }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.contains(key) == true)
        sage[key] = nil
        let mint = plant("mint", in: zoneID)
        mint["recordName"] = "a name like any other"
        try await database.save(mint)
    }

    @Test func recordsHaveNames() async throws {
        let (database, zoneID) = try await garden()
        let error = await failure { try await database.save(plant("", in: zoneID)) }
        #expect(error?.code == .invalidArguments)
    }

    @Test func encryptedValuesAreRejectedInThePublicDatabase() async throws {
        let container = try await testContainer()
        let note = CKRecord(recordType: "Note")
        note.encryptedValues["secret"] = "x"
        let error = await failure { try await container.publicCloudDatabase.save(note) }
        #expect(error?.code == .invalidArguments)
        try await container.privateCloudDatabase.save(note)
    }
}
