// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudMirroring
import CoreData
import Foundation
import StatementPlans
import TestBasics
import Testing

/// Plans of the statements on the mirror's tables: none reads more rows than its answer needs.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct StatementPlanTests {
    /// A store that was synced, with as many rows in the mirror's tables as matter to statistics.
    private func check(_ body: (PlanCheck) throws -> Void) async throws {
        let cloud = try InProcessCloud()
        let device = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try device.edit { $0.insert("Post", ["title": "One"]) }
        try await device.container.sync(timeout: .seconds(600))
        try await device.kill()
        let check = try PlanCheck(path: device.file.path, broadColumns: ["zone"])
        for statement in Self.rows { try check.execute(statement) }
        try body(check)
    }

    private static let rows: [String] = {
        func numbers(_ count: Int) -> String { "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))" }
        return [
            "INSERT OR IGNORE INTO TARN_ZONE (number, name, owner, generation, isFullFetch, needsFetch, receives, listing, shareGeneration) "
                + "VALUES (1, 'share-1', 'bo', 1, 0, 0, 0, 1, 0), (2, 'share-2', 'cy', 1, 0, 0, 0, 1, 0)",
            """
            INSERT OR REPLACE INTO TARN_RECORD (zone, name, entity, pk, tag, stage, mark, generation) \(numbers(12_000)) \
            SELECT i % 50 = 0, 'record-' || i, CASE i % 3 WHEN 0 THEN 'Tag' ELSE 'Post' END, i, i, i % 200 = 0, i / 100, 1 FROM n
            """,
            "UPDATE TARN_RECORD SET stage = 2 WHERE pk % 800 = 0", "UPDATE TARN_RECORD SET stage = 3 WHERE pk % 900 = 0",
            "UPDATE TARN_RECORD SET isUnreadable = 1 WHERE pk % 1100 = 0", "UPDATE TARN_RECORD SET failure = 'refused' WHERE pk % 1000 = 0",
            "UPDATE TARN_RECORD SET isRelocated = 1 WHERE pk % 700 = 0",
            """
            INSERT OR REPLACE INTO TARN_LINK (zone, name, entities, relationships, first, second, tag, stage, mark, generation) \(numbers(20_000)) \
            SELECT i % 50 = 0, 'link-' || i, 'Post:Tag', 'tags:posts', 'record-' || (i % 8000), 'record-' || (i % 97 * 3), i, i % 200 = 0, i / 100, 1 FROM n
            """,
            "UPDATE TARN_LINK SET failure = 'refused' WHERE mark = 7",
            "INSERT INTO TARN_PARKED (zone, source, relationship, destination) \(numbers(2000)) SELECT i % 50 = 0, 'record-' || i, 'post', 'away-' || (i % 500) FROM n",
            "INSERT INTO TARN_INCOMPLETE (zone, name, record, generation) \(numbers(1000)) SELECT i % 50 = 0, 'lacks-' || i, x'00', 1 FROM n",
            "INSERT INTO TARN_LACKING (zone, target, name) \(numbers(1000)) SELECT i % 50 = 0, 'away-' || (i % 100), 'lacks-' || i FROM n",
            "INSERT INTO TARN_MERGED (zone, name, successor) \(numbers(1000)) SELECT i % 50 = 0, 'gone-' || i, 'record-' || (i % 700) FROM n",
            "UPDATE TARN_MERGED SET isReferenced = 1 WHERE successor IN ('record-7', 'record-70')",
            "INSERT INTO TARN_RANK (entity, pk, relationship, rank) \(numbers(5000)) SELECT 'Post', i, 'list', hex(i) FROM n",
            "INSERT INTO TARN_LINKRANK (name, firstRank) \(numbers(5000)) SELECT 'link-' || i, hex(i) FROM n",
            "INSERT INTO TARN_DELETED (name) \(numbers(5000)) SELECT 'deleted-' || i FROM n",
            "INSERT INTO TARN_EVENT (identifier, type, started, ended) \(numbers(1000)) SELECT 'event-' || i, i % 3, i, i FROM n",
            """
            INSERT INTO TARN_CONFLICT (noted, entity, record, property, winner) \(numbers(5000)) \
            SELECT i, 'Post', 'record-' || i, 'title', 1 FROM n
            """,
        ]
    }()

    @Test func everyStatementSearchesByAllColumnsItsConditionsCompare() async throws {
        try await check { check in
            let problems = try StatementList(.mirror).problems(check, exceptions: Self.exceptions, unrecorded: Self.unrecorded)
            #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
        }
    }

    /// `make statements` runs this after the tests.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["TARN_STATEMENTS_RECORDED"] != nil)) func recordedStatementsAreListed() throws {
        let log = URL(fileURLWithPath: ProcessInfo.processInfo.environment["TARN_STATEMENTS_RECORDED"] ?? "")
        for kind in [StatementList.Kind.mirror, .server] { try StatementList.update(kind, from: log) }
    }

    /// Statements as an import ran them, each of which read all links of the zone.
    @Test(arguments: [
        "SELECT name FROM TARN_LINK WHERE zone = ? AND first = ? AND second = ? AND entities = ? AND relationships = ? ORDER BY name",
        "SELECT name FROM TARN_LINK WHERE zone = ?2 AND first = ?1 OR zone = ?2 AND second = ?1 ORDER BY name",
        "SELECT name FROM TARN_LINK WHERE zone = ? AND entities = ?", "SELECT COUNT(*) FROM TARN_LINK WHERE mark = ?",
        "SELECT MAX(mark) FROM TARN_LINK", "DELETE FROM TARN_LINK WHERE zone = ?1 AND (first = ?2 OR second = ?2)",
        "SELECT r.name FROM json_each(?1) j JOIN TARN_RECORD r ON r.entity = ?2 AND r.pk = j.value",
        "SELECT name FROM TARN_RECORD WHERE zone = ? ORDER BY tag LIMIT 1",
    ]) func aPlanThatReadsMoreThanItsAnswerNeedsIsReported(_ statement: String) async throws {
        try await check { check in
            try check.setStatistics(false)
            #expect(!check.problems(statement).isEmpty)
        }
    }

    // MARK: Exceptions

    private static let exceptions: [PlanException] = {
        var exceptions = [
            PlanException("", "SCAN TARN_ZONE", because: "It has a row for each share that the user sees."),
            PlanException("", "SCAN TARN_STATE", because: "It has a row for each of a dozen values."),
            PlanException("", "SCAN TARN_OUTBOX", because: "It has two rows at most."),
            PlanException("", "SCAN TARN_EVENT", because: "It keeps 1,000 rows."),
            PlanException("", "SCAN TARN_CONFLICT", because: "The app asks for all of them; it keeps 10,000 rows."),
            PlanException(
                "SELECT source, relationship, destination FROM TARN_PARKED WHERE zone = ? AND EXISTS…",
                because: "Once an import, of the references of a share, or of the home zone if there are shares, that wait for targets."),
            PlanException("DELETE FROM TARN_LINK WHERE zone = ?1 AND (first NOT IN…", because: "The home zone was reset, with all rows."),
            PlanException("UPDATE TARN_RECORD SET tag = NULL, failure…", because: "A zone was reset: everything is sent again."),
            PlanException("UPDATE TARN_RECORD SET ancestor = NULL", because: "Damage that the simulator plants."),
            PlanException(
                "SELECT DISTINCT source FROM TARN_PARKED WHERE zone = ?",
                because: "Records of a share, once after the server was restored."),
            PlanException(
                "SELECT name FROM TARN_RECORD WHERE zone = ? AND +isRelocated = 0 AND creator…",
                because: "Records of a share, once after the server was restored."),
            PlanException("UPDATE TARN_RECORD SET tag = NULL, ancestor…", because: "A zone was reset: everything is sent again."),
            PlanException(
                "UPDATE OR REPLACE TARN_RECORD SET zone = ?, failure = NULL WHERE zone = ?",
                because: "A zone was deleted: what was never sent goes home."),
            PlanException("UPDATE OR IGNORE TARN_LINK SET zone = ?1…", because: "A zone was deleted: what was never sent goes home."),
            PlanException("UPDATE OR REPLACE TARN_MERGED SET zone = ?1…", because: "A zone was deleted: what was never sent goes home."),
            PlanException("UPDATE TARN_LINK SET stage = CASE WHEN tag…", because: "A zone was deleted before it had received all links."),
            PlanException(
                "SELECT entity, ancestor, unapplied FROM TARN_RECORD",
                because: "Once, for a store of an earlier release whose model has renamed parts."),
            PlanException(
                "SELECT entity, pk FROM TARN_RECORD WHERE…",
                because: "A zone was deleted or reset, an account changed, or history is missing: all rows are the answer."),
            PlanException(
                "SELECT name FROM TARN_RECORD WHERE zone = ?2 AND (tag…",
                because: "Once at the end of a full fetch, which brought all of them."),
            PlanException(
                "SELECT name FROM TARN_RECORD WHERE zone = ? AND isRelocated = 0 AND instr…",
                because: "The records of a share, once at the end of a full fetch of the home zone."),
            PlanException(
                "UPDATE TARN_MERGED AS g SET isReferenced = 1 WHERE zone = ? AND isReferenced = 0…",
                because: "A zone was deleted, or the model changed."),
            PlanException("UPDATE TARN_RECORD SET isRelocated = 1, pk = -pk…", because: "Migration of format 12."),
            PlanException("UPDATE TARN_RECORD SET stage = 0 WHERE stage = 1", because: "Damage that the simulator plants."),
            PlanException("UPDATE TARN_RANK SET rank = 'V'", because: "Damage that the simulator plants."),
            PlanException(
                "SELECT COUNT(*) FROM TARN_RECORD WHERE zone = ?",
                because: "Objects of a shared store that belong to no share: an error, and few."),
            PlanException("SELECT COUNT(*) FROM TARN_INCOMPLETE", because: "Withheld objects, for the status."),
            PlanException(
                "SELECT i.name, i.record, i.generation, l.target FROM TARN_INCOMPLETE…",
                because: "Withheld objects of a share, of which edits of their source records may complete some."),
            PlanException("SELECT entity, stage, COUNT(*)…", because: "Diagnostics on request."),
            PlanException("SELECT relationships, stage, COUNT(*)…", because: "Diagnostics on request."),
            PlanException("SELECT '', NULL, COUNT(*)…", because: "Diagnostics on request."),
        ]
        exceptions += [
            PlanException("UPDATE TARN_LINK SET tag = NULL, failure = NULL…", because: "A zone was reset: everything is sent again."),
            PlanException(
                "SELECT name, entities…", "TARN_LINK_FIRST (zone=? AND first=? AND second=?)",
                because: "A pair of objects has few relationships."),
            PlanException(
                "SELECT name, entity, pk…", "TARN_RECORD_DELETION (zone=?)", because: "The index has deletions; few of them were refused."),
        ]
        for table in ["TARN_LINK", "TARN_RECORD"] {
            exceptions += [
                PlanException(
                    "DELETE FROM \(table) WHERE zone = ? AND (tag IS NOT NULL…", because: "The home zone was reset, with all rows."),
                PlanException(
                    "SELECT COUNT(*) FROM \(table) WHERE stage IN (1, 2)", because: "The account changed: how much would be lost."),
                PlanException("UPDATE \(table) SET tag = NULL, stage = 1…", because: "The home zone was reset: everything is sent again."),
            ]
        }
        exceptions += [
            PlanException(
                "SELECT asked, generation, token, deletes FROM TARN_STAGEDPAGE…", because: "All pages of the zone are the answer.")
        ]
        for table in [
            "TARN_INCOMPLETE", "TARN_LACKING", "TARN_LINK", "TARN_MERGED", "TARN_PARKED", "TARN_RECORD", "TARN_STAGEDASSET",
            "TARN_STAGEDPAGE",
        ] {
            exceptions.append(PlanException("DELETE FROM \(table) WHERE zone = ?", because: "The zone was deleted, with all rows."))
        }
        return exceptions
    }()

    private static let unrecorded = [
        StatementList.Unrecorded("INSERT INTO…(zone,…) SELECT", because: "Migration of the first formats, from tables that it drops.")
    ]
}
