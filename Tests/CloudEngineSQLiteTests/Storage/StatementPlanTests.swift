// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
import Foundation
import StatementPlans
import Testing

/// Plans of the statements on the server's database: none reads more rows than its answer needs.
@Suite(.timeLimit(.minutes(10))) struct ServerStatementPlanTests {
    /// A database with as many rows as matter to statistics.
    private func check(_ body: (PlanCheck) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("plans-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try SQLiteServerStore(path: folder.path, use: .server).close()
        // What all rows of a zone, a database or a container share.
        let check = try PlanCheck(
            path: folder.appendingPathComponent("tarn.sqlite").path,
            broadColumns: ["part", "zone", "container", "environment", "scope", "number", "deleted", "gone"])
        for statement in Self.rows { try check.execute(statement) }
        try body(check)
    }

    private static let rows: [String] = {
        func numbers(_ count: Int) -> String { "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))" }
        return [
            "INSERT INTO accounts (account, name, created) \(numbers(500)) SELECT i, 'user-' || i, i FROM n",
            "INSERT INTO devices (token_hash, account, device, label, created) \(numbers(1000)) SELECT 'hash-' || i, i % 500 + 1, i, '', i FROM n",
            "INSERT INTO user_names (container, account, name) \(numbers(500)) SELECT 'app', i, 'name-' || i FROM n",
            "INSERT INTO partitions (part, container, environment, scope, owner) \(numbers(500)) SELECT i, 'app', 'production', 'private', 'name-' || i FROM n",
            "INSERT INTO zones (part, zone, name, change, deleted, floor, at) \(numbers(2000)) SELECT i % 500 + 1, i / 500, 'zone-' || i, i, i % 40 = 0, 0, i FROM n",
            "INSERT INTO records (part, zone, name, change, deleted, at, body) \(numbers(20_000)) SELECT i % 20 + 1, i % 40 / 20, 'record-' || i, i, i % 50 = 0, i, x'00' FROM n",
            "INSERT INTO index_entries (part, zone, number, key, name) \(numbers(10_000)) SELECT i % 20 + 1, i % 40 / 20, i % 3, hex(i % 4000), 'record-' || i FROM n",
            "INSERT INTO record_references (part, zone, target, action, source) \(numbers(5000)) SELECT i % 20 + 1, 1, 'record-' || (i % 700), 'DELETE_SELF', 'record-' || i FROM n",
            "INSERT INTO record_parents (part, zone, name, parent) \(numbers(5000)) SELECT i % 20 + 1, 1, 'record-' || i, 'record-' || (i % 300) FROM n",
            "INSERT INTO shares (part, zone, name, root) \(numbers(500)) SELECT i % 20 + 1, i % 2, 'share-' || i, 'record-' || i FROM n",
            "INSERT INTO share_members (part, zone, share, user, can_write, administrator) \(numbers(2000)) SELECT i % 20 + 1, 1, 'share-' || (i % 500), 'name-' || i, 1, 0 FROM n",
            "INSERT INTO shared_records (part, zone, name, share, change, gone) \(numbers(10_000)) SELECT i % 20 + 1, 1, 'record-' || i, 'share-' || (i % 500), i, 0 FROM n",
            "INSERT INTO share_news (part, user, zone_name, gone, change) \(numbers(500)) SELECT i % 20 + 1, 'name-' || i, 'zone', 0, i FROM n",
            "INSERT INTO record_versions (part, zone, name, at, replaced, body) \(numbers(5000)) SELECT i % 20 + 1, 1, 'record-' || i, i, i, x'00' FROM n",
            "INSERT INTO change_log (part, last, at, author, device, request, total, changes) \(numbers(20_000)) SELECT i % 20 + 1, i, i, 'name-' || (i % 500), 'd', 'r', i, x'00' FROM n",
            "INSERT INTO change_log_days (part, day) \(numbers(5000)) SELECT i % 500 + 1, i / 500 FROM n",
            "INSERT INTO answers (part, key, fingerprint, at, body) \(numbers(5000)) SELECT i % 500 + 1, 'key-' || i, i, i, x'00' FROM n",
            "INSERT INTO uploads (part, id, record, field, created, checksum, size) \(numbers(2000)) SELECT i % 50 + 1, 'upload-' || i, 'r', 'f', i, 'sum-' || i, i FROM n",
            "INSERT INTO assets (part, checksum, size, since) \(numbers(5000)) SELECT i % 50 + 1, 'sum-' || i, i, i FROM n",
            "INSERT INTO asset_links (part, zone, checksum, fields) \(numbers(5000)) SELECT i % 50 + 1, 1, 'sum-' || i, 1 FROM n",
            "INSERT INTO subscriptions (part, id, body) \(numbers(1000)) SELECT i % 500 + 1, 'subscription-' || i, x'00' FROM n",
            "INSERT INTO web_sessions (id_hash, account, container, environment, kept, started) \(numbers(1000)) SELECT 'id-' || i, i % 500 + 1, 'app', 'production', 0, i FROM n",
            "INSERT INTO password_networks (owner, network, at) \(numbers(1000)) SELECT i / 4, i, i FROM n",
            "INSERT INTO used_marks (mark, until) \(numbers(1000)) SELECT 'mark-' || i, i FROM n",
            "INSERT INTO client_tokens (part, zone, user, device, token) \(numbers(2000)) SELECT i % 500 + 1, 1, 'name-' || i, 'd', x'00' FROM n",
        ]
    }()

    @Test func everyStatementSearchesByAllColumnsItsConditionsCompare() throws {
        try check { check in
            let problems = try StatementList(.server).problems(check, exceptions: Self.exceptions, unrecorded: Self.unrecorded)
            #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
        }
    }

    private static let exceptions: [PlanException] = {
        var exceptions = [
            PlanException(
                "INSERT OR REPLACE INTO restores…", "SCAN partitions",
                because: "A restore from a backup cuts the history of every partition, once."),
            PlanException(
                "UPDATE partitions SET epoch = MAX…", "SCAN partitions", because: "A restore begins a history for every partition, once."),
            PlanException(
                "SELECT r.part, r.zone, r.body FROM records r JOIN…",
                because: "Migration from a format without usage, or with smaller sizes of records."),
            PlanException(
                "UPDATE partitions SET tombstones = 0", "SCAN partitions",
                because: "A move from PostgreSQL counts the tombstones of every partition, once."),
            PlanException(
                "UPDATE zones SET record_bytes = 0…", "SCAN zones",
                because: "A move from PostgreSQL counts the sizes of all records, if its server has not."),
            PlanException(
                "UPDATE assets SET in_store = 0…", "SCAN assets", because: "A backup has the files of all assets in its folder."),
            PlanException("", "SCAN server_keys", because: "It has a row for each server-to-server key that an operator made."),
            PlanException("", "SCAN api_tokens", because: "It has a row for each API token that an operator made."),
            PlanException("", "SCAN meta", because: "A move copies the values of the server, of which there are some tens."),
            PlanException("", "SCAN n", because: "The outbox of news for other partitions is read from its start."),
            PlanException("DELETE FROM web_sessions WHERE account = ?1 AND device IS ?2…", because: "A device has 100 sessions at most."),
            PlanException(
                "SELECT container, environment, user FROM restrictions…", because: "At the start, and after an operator's change."),
            PlanException(
                "INSERT OR IGNORE INTO object_parts…", because: "A move of the server begins, or stops it: all partitions, or new ones."),
            PlanException("UPDATE partitions SET record_bytes = (SELECT…", because: "Migration from a format without usage."),
            PlanException("UPDATE partitions SET asset_bytes = (SELECT…", because: "Migration from a format without usage."),
            PlanException("SELECT 1 FROM accounts WHERE operator…", because: "At the start, to the first operator."),
            PlanException("SELECT id FROM subscriptions WHERE part = ?", because: "A database has 200 subscriptions at most."),
            PlanException(
                "SELECT body FROM subscriptions WHERE part = ? AND json_extract…", because: "A database has 200 subscriptions at most."),
            PlanException("SELECT DISTINCT json_extract…", because: "A database has 200 subscriptions at most."),
            PlanException(
                "SELECT body FROM subscriptions WHERE part = ? ORDER BY id", because: "All subscriptions of a database are the answer."),
            PlanException("SELECT DISTINCT m.user…", because: "All members of a zone are the answer."),
            PlanException("SELECT s.part, s.zone, s.name, r.body…", because: "Migration from a format without public participants."),
            PlanException("SELECT role FROM roles…", because: "All roles of a container are the answer."),
            PlanException("SELECT type FROM schema_types…", because: "All types of a container are the answer."),
            PlanException("SELECT scope, owner FROM partitions…", because: "All databases of a container are the answer."),
            PlanException(
                "SELECT zone, name, change, deleted, floor, reason…", "zones_2 (part=?)", because: "All zones of a database are the answer."
            ),
            PlanException(
                "INSERT INTO record_versions (part, zone, name, at, replaced, body) SELECT part…", "(part=? AND zone=?)",
                because: "The zone was deleted, with all rows."),
            PlanException("SELECT name, body FROM record_versions…", because: "A zone is restored, with all rows."),
            PlanException(
                "UPDATE partitions SET epoch = epoch + 1…", because: "A backup was restored, or the development environment reset."),
            PlanException("SELECT part, checksum, EXISTS (…", because: "A backup is made or checked."),
            PlanException("SELECT count(*) FROM accounts", because: "A backup is checked."),
            PlanException("SELECT count(*) FROM records WHERE deleted = 0", because: "A backup is checked."),
            PlanException("SELECT name, given_name, family_name…", because: "An operator lists all accounts."),
            PlanException("SELECT a.name, d.label FROM…", because: "An operator lists all devices."),
            PlanException("SELECT a.name, p.container…", because: "An operator lists what all accounts store."),
            PlanException("SELECT coalesce(sum(record_bytes), 0)…", because: "An operator sees what the server stores."),
            PlanException(
                "SELECT container, environment, count(*), coalesce…", because: "An operator lists all containers with their sizes."),
            PlanException("SELECT container FROM partitions UNION…", because: "An operator lists all containers."),
            PlanException("DELETE FROM grants WHERE…", because: "An operator removes a role; a container has some grants."),
            PlanException("DELETE FROM role_members WHERE…", because: "An operator removes a role."),
            PlanException(
                "SELECT coalesce(sum(size), 0) FROM (…",
                because: "Uploads of a database that no record names; they are removed after a day."),
            PlanException("UPDATE record_indexes SET built…", because: "A database has some indexes for each type of record."),
            PlanException("DELETE FROM user_names WHERE account = ?", because: "An account is removed."),
            PlanException("SELECT container, name FROM user_names WHERE account = ?", because: "An account is exported or removed."),
            PlanException("SELECT part, zone, user, device FROM client_tokens WHERE user…", because: "An account is removed, by a reader."),
            PlanException("SELECT part, zone, user FROM share_generations WHERE user…", because: "An account is removed, by a reader."),
            PlanException("SELECT part, zone, share, user FROM share_members WHERE user…", because: "An account is removed, by a reader."),
            PlanException("SELECT part, user, zone_name FROM share_news WHERE user…", because: "An account is removed, by a reader."),
            PlanException("SELECT part, id FROM subscriptions WHERE instr…", because: "An account is removed, by a reader."),
            PlanException("SELECT rowid FROM record_versions WHERE instr…", because: "An account is removed, by a reader."),
            PlanException("SELECT id FROM uploads WHERE part = ?", because: "An account is removed; uploads are removed after a day."),
            PlanException(
                "SELECT time, actor, network, action, subject, outcome FROM audit WHERE actor…", because: "An account is exported."),
            PlanException(
                "SELECT rowid, key, length(key) + length(body) FROM answers…",
                because: "Answers exceed their limit: a part of them is deleted, so that it is rare."),
            PlanException("INSERT INTO record_indexes…", because: "A database has some indexes for each type of record."),
        ]
        for table in [
            "record_parents", "records", "share_generations", "share_members", "shared_records", "shares",
        ] {
            exceptions.append(
                PlanException("DELETE FROM \(table) WHERE part = ? AND zone = ?", because: "The zone was deleted, with all rows."))
        }
        for table in [
            "answers", "asset_links", "change_log", "change_log_days", "client_tokens", "index_entries", "kept_assets",
            "public_subscriptions",
            "record_indexes",
            "record_references",
            "record_versions", "records", "subscriptions", "uploads", "zones",
        ] {
            exceptions.append(
                PlanException(
                    "DELETE FROM \(table) WHERE part IN (SELECT…", because: "The development environment was reset, with all rows."))
        }
        let owned = [
            "answers", "asset_links", "assets", "change_log", "change_log_days", "client_tokens", "index_entries", "kept_assets",
            "public_subscriptions",
            "record_indexes",
            "record_parents",
            "record_references", "record_versions", "records", "share_generations", "share_links", "share_members", "share_news",
            "shared_records", "shares",
            "subscriptions", "uploads", "zones",
        ]
        exceptions += owned.map {
            PlanException("DELETE FROM \($0) WHERE part = ?", because: "An account is removed, and its rows were deleted before.")
        }
        return exceptions
    }()

    private static let unrecorded = [
        StatementList.Unrecorded("INSERT INTO…(…) VALUES (…);", because: "The triggers of a move have it."),
        StatementList.Unrecorded("DELETE FROM…WHERE number = ?", because: "The table of a move's changes is made by the move."),
        StatementList.Unrecorded("SELECT number, tbl,", because: "The table of a move's changes is made by the move."),
    ]
}
