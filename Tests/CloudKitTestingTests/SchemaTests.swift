// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Testing

@Suite struct SchemaTests {
    @Test func anImportedSchemaBringsIndexes() async throws {
        let cloud = try TestCloud()
        let database = try await cloud.device("phone").container.privateCloudDatabase
        let record = CKRecord(recordType: "Note")
        record["text"] = "green tea"
        try await database.save(record)
        let all = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        let refused = await error { try await database.perform(all, inZoneWith: nil) }
        #expect(refused?.code == .invalidArguments)
        try await cloud.importSchema(
            """
            DEFINE SCHEMA
                RECORD TYPE Note (
                    "___recordID" REFERENCE QUERYABLE,
                    "___createTime" TIMESTAMP QUERYABLE SORTABLE,
                    text STRING QUERYABLE SEARCHABLE SORTABLE
                );
            """)
        all.sortDescriptors = [NSSortDescriptor(key: "creationDate", ascending: false)]
        #expect(try await database.perform(all, inZoneWith: nil).map(\.recordID) == [record.recordID])
        let words = CKQuery(recordType: "Note", predicate: NSPredicate(format: "self CONTAINS %@", "tea"))
        #expect(try await database.perform(words, inZoneWith: nil).count == 1)
        let named = CKQuery(recordType: "Note", predicate: NSPredicate(format: "recordID == %@", record.recordID))
        #expect(try await database.perform(named, inZoneWith: nil).count == 1)
        await #expect(throws: (any Error).self) { try await cloud.importSchema("DEFINE NOTHING") }
    }
}
