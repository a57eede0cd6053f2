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

    @Test func recordsAreFoundByTheirAuthor() async throws {
        let cloud = try TestCloud()
        let mia = try await cloud.device("phone", account: "mia").container
        let ben = try await cloud.device("tablet", account: "ben").container
        let zone = try await mia.privateCloudDatabase.save(CKRecordZone(zoneName: "Notes"))
        let own = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "own", zoneID: zone.zoneID))
        own["text"] = "tea"
        try await mia.privateCloudDatabase.save(own)
        for container in [mia, ben] {
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: container === mia ? "mia" : "ben"))
            record["text"] = "hello"
            try await container.publicCloudDatabase.save(record)
        }
        try await cloud.importSchema(
            #"DEFINE SCHEMA RECORD TYPE Note ("___createdBy" REFERENCE QUERYABLE, text STRING QUERYABLE, GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator");"#
        )
        let user = try await mia.userRecordID()
        for (whose, name) in [
            (user, "mia"), (try await ben.userRecordID(), "ben"), (CKRecord.ID(recordName: CKCurrentUserDefaultName), "mia"),
        ] {
            let arguments: [NSObject] = [whose, CKRecord.Reference(recordID: whose, action: .none)]
            for argument in arguments {
                let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "creatorUserRecordID == %@", argument))
                #expect(try await mia.publicCloudDatabase.perform(query, inZoneWith: nil).map(\.recordID.recordName) == [name])
                let notes = try await mia.privateCloudDatabase.perform(query, inZoneWith: zone.zoneID)
                #expect(notes.map(\.recordID.recordName) == (name == "mia" ? ["own"] : []))
            }
        }
    }
}
