// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Testing

/// Words and beginnings of texts.
@Suite struct WordTests {
    private func notes() async throws -> (database: CKDatabase, zoneID: CKRecordZone.ID) {
        let (database, zoneID) = try await garden()
        for (name, text) in [("a", "Above the tree line"), ("b", "Trees in a line"), ("c", "Under the bridge")] {
            let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
            note["text"] = text
            try await database.save(note)
        }
        return (database, zoneID)
    }

    @Test(arguments: [
        ("self CONTAINS 'tree line'", ["a"]), ("allTokens TOKENMATCHES[cdl] 'LINE'", ["a", "b"]),
        ("allTokens tokenmatches 'tree above'", ["a"]),
    ])
    func wordsAreFound(_ format: String, _ names: [String]) async throws {
        let (database, zoneID) = try await notes()
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: format))
        let fetched = try await database.records(matching: query, inZoneWith: zoneID).matchResults
        #expect(fetched.map(\.0.recordName).sorted() == names)
    }

    @Test(arguments: ["text BEGINSWITH[c] 'above'", "text BEGINSWITH[cd] 'above'", "ANY tags BEGINSWITH[c] 'x'"])
    func prefixesAreComparedCaseSensitively(_ format: String) async throws {
        let (database, zoneID) = try await notes()
        let error = await failure {
            try await database.records(matching: CKQuery(recordType: "Note", predicate: NSPredicate(format: format)), inZoneWith: zoneID)
        }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.contains("[cd]") == true)
    }
}
