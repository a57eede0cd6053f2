// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CoreData
import Foundation
import ObjectGraph
import SQLiteStore
import TestBasics
import Testing

/// Stores that were synced by earlier versions of the library, and by later ones.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct FormatTests {
    /// Restores the tables of the format before encrypted values had versions.
    static let withoutEncryptedFields =
        ["DROP INDEX TARN_RECORD_UNREADABLE"]
        + ["encrypted", "isUnreadable"].map { "ALTER TABLE TARN_RECORD DROP COLUMN \($0)" }

    /// Restores the tables of the format before zones had the tokens of their exports.
    static let withoutExportedTokens = withoutEncryptedFields + ["ALTER TABLE TARN_ZONE DROP COLUMN exportedToken"]

    private static let thirteenthFormat = withoutExportedTokens + ["UPDATE TARN_STATE SET value = 13 WHERE key = 'format'"]

    /// Restores the tables of the format before relocated records, lists of zones in progress and redirects had their own columns.
    static let withoutRelocatedRecords =
        withoutExportedTokens + [
            "DROP INDEX TARN_RECORD_CURRENT", "DROP INDEX TARN_RECORD_RELOCATED", "UPDATE TARN_RECORD SET pk = -pk WHERE isRelocated = 1",
            "ALTER TABLE TARN_RECORD DROP COLUMN isRelocated", "CREATE UNIQUE INDEX TARN_RECORD_ROW ON TARN_RECORD (entity, pk)",
            "DROP INDEX TARN_MERGED_REFERENCED", "ALTER TABLE TARN_MERGED DROP COLUMN isReferenced",
            "UPDATE TARN_STATE SET value = -value WHERE key = 'listing' AND (SELECT value FROM TARN_STATE WHERE key = 'isZoneListingInProgress') = 1",
            "DELETE FROM TARN_STATE WHERE key = 'isZoneListingInProgress'",
        ]

    private static let twelfthFormat = withoutRelocatedRecords + ["UPDATE TARN_STATE SET value = 12 WHERE key = 'format'"]

    /// Restores the tables of the format before events and zones.
    private static let firstFormat =
        withoutRelocatedRecords + [
            "CREATE TABLE R (name TEXT PRIMARY KEY NOT NULL, entity TEXT NOT NULL, pk INTEGER NOT NULL, tag TEXT, ancestor BLOB, unapplied BLOB, digests TEXT, stage INTEGER NOT NULL, mark INTEGER NOT NULL, failure TEXT, generation INTEGER NOT NULL)",
            "INSERT INTO R SELECT name, entity, pk, tag, ancestor, unapplied, digests, stage, mark, failure, generation FROM TARN_RECORD",
            "CREATE TABLE L (name TEXT PRIMARY KEY NOT NULL, entities TEXT NOT NULL, relationships TEXT NOT NULL, first TEXT NOT NULL, second TEXT NOT NULL, tag TEXT, stage INTEGER NOT NULL, mark INTEGER NOT NULL, failure TEXT, generation INTEGER NOT NULL)",
            "INSERT INTO L SELECT name, entities, relationships, first, second, tag, stage, mark, failure, generation FROM TARN_LINK",
            "CREATE TABLE P (source TEXT NOT NULL, relationship TEXT NOT NULL, destination TEXT NOT NULL, PRIMARY KEY (source, relationship)) WITHOUT ROWID",
            "INSERT INTO TARN_STATE SELECT 'token', token FROM TARN_ZONE",
            "INSERT INTO TARN_STATE SELECT 'generation', generation FROM TARN_ZONE",
            "INSERT INTO TARN_STATE SELECT 'isFullFetch', isFullFetch FROM TARN_ZONE", "DROP TABLE TARN_RECORD", "DROP TABLE TARN_LINK",
            "DROP TABLE TARN_PARKED", "DROP TABLE TARN_MERGED", "DROP TABLE TARN_ZONE", "DROP TABLE TARN_EVENT", "DROP TABLE TARN_DELETED",
            "ALTER TABLE R RENAME TO TARN_RECORD",
            "ALTER TABLE L RENAME TO TARN_LINK", "ALTER TABLE P RENAME TO TARN_PARKED",
            "CREATE UNIQUE INDEX TARN_RECORD_ROW ON TARN_RECORD (entity, pk)",
            "CREATE INDEX TARN_RECORD_PENDING ON TARN_RECORD (mark, name) WHERE stage <> 0",
            "UPDATE TARN_STATE SET value = 1 WHERE key = 'format'",
        ]

    /// The tables before system fields were stored.
    static let withoutSystemFields =
        withoutRelocatedRecords + ["created", "parent", "share"].map { "ALTER TABLE TARN_RECORD DROP COLUMN \($0)" }

    /// The format before deletions were stored.
    private static let thirdFormat =
        withoutSystemFields + ["DROP TABLE TARN_DELETED", "UPDATE TARN_STATE SET value = 3 WHERE key = 'format'"]

    /// The format before deletions had their own indexes.
    private static let ninthFormat =
        withoutSystemFields + [
            "DROP INDEX TARN_RECORD_DELETION", "DROP INDEX TARN_LINK_DELETION", "DROP INDEX TARN_LACKING_NAME",
            "UPDATE TARN_STATE SET value = 9 WHERE key = 'format'",
        ]

    /// The format before staged pages had forms.
    static let sixteenthFormat = ["ALTER TABLE TARN_STAGEDPAGE DROP COLUMN form", "UPDATE TARN_STATE SET value = 16 WHERE key = 'format'"]

    static func change(_ device: Device, _ statements: [String]) throws {
        let store = try #require(device.container.persistentStoreCoordinator.persistentStores.first)
        try store.storage.write { writer in for statement in statements { try writer.execute(statement) } }
    }

    @Test(arguments: [firstFormat, thirdFormat, ninthFormat, twelfthFormat, thirteenthFormat, sixteenthFormat])
    func aStoreOfAnEarlierFormatResumesSync(_ statements: [String]) async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let first = try Device("tablet", transport)
        try first.edit { context in for title in ["Old", "Gone"] { context.insert("Post", ["title": title]) } }
        try await first.container.sync(timeout: .seconds(600))
        await first.container.stopSyncing()
        try Self.change(first, statements)
        try await first.kill()
        let again = try Device("tablet", transport, file: first.file)
        try again.edit { context in
            try context.post(titled: "Old")?.setValue("edited", forKey: "content")
            if let gone = try context.post(titled: "Gone") { context.delete(gone) }
        }
        try await again.container.sync(timeout: .seconds(600))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == "Post  content edited  title Old")
        #expect(try again.dump == phone.dump)
        // It knew how far it was, and which record was which.
        #expect(try again.container.fetchShares(in: nil).isEmpty)
        #expect(try again.read { try $0.all("Post").count } == 1)
        #expect(try again.container.conflicts().isEmpty)
        var indexes: Set<String> = []
        try again.container.persistentStoreCoordinator.persistentStores.first?.storage.read { reader in
            try reader.query("SELECT name FROM sqlite_master WHERE type = 'index'") { row in
                if let name = row.text(0) { indexes.insert(name) }
            }
        }
        #expect(indexes.isSuperset(of: ["TARN_RECORD_DELETION", "TARN_LINK_DELETION", "TARN_LACKING_NAME"]))
    }

    @Test func aStoreOfALaterFormatIsLeftAloneWithASentence() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let first = try Device("tablet", transport)
        try await first.container.sync(timeout: .seconds(600))
        await first.container.stopSyncing()
        try Self.change(first, ["UPDATE TARN_STATE SET value = 99 WHERE key = 'format'"])
        try await first.kill()
        let again = try Device("tablet", transport, file: first.file)
        try again.edit { $0.insert("Post", ["title": "Kept here"]) }
        try await again.until { status in
            guard case .error(let reason) = status.activity else { return false }
            return reason.contains("newer version of this library")
        }
        #expect(try again.dump == "Post  title Kept here")
    }
}
