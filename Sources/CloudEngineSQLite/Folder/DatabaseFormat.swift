// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Foundation
import GRDB

/// Versions of the server's database. They only grow; a case is never reused.
enum DatabaseFormat: Int, CaseIterable {
    /// First format.
    case initial = 1
    /// Security roles: grants by record type, custom roles and their members.
    case roles = 2
    /// Fields have index words; indexes of records' fields.
    case indexes = 3
    /// Passwords and profiles of accounts, web sessions, API tokens, server-to-server keys.
    case credentials = 4
    /// Shares, hierarchies, links to shares, and news for other partitions.
    case sharing = 5
    /// References with actions, by their targets; query subscriptions on the public database, by type.
    case references = 6
    /// Reasons of zone deletions; users with restricted data.
    case restrictions = 7
    /// What zones and databases take of quotas.
    case usage = 8
    /// What records were.
    case history = 9
    /// Client change tokens of devices.
    case clientTokens = 10
    /// Members of shares that joined by the link have the link's permission instead of a copy of it.
    case publicPermissions = 11
    /// Requests of a group that wait for the last one.
    case saveGroups = 12
    /// Where a restore from a backup cut the history of a partition.
    case restores = 13
    /// Devices and web sessions have a last use; device tokens expire; web sessions name the device that made them; an audit log.
    case accesses = 14
    /// An index lists a record with very many values or words under one key. Entries of older formats are made again when needed.
    case boundedIndexes = 15
    /// Password hashes name all of their parameters; second factors with recovery codes; identities at an OpenID provider; API
    /// tokens and server-to-server keys expire.
    case signIn = 16
    /// A database knows how many bytes its stored answers have.
    case answerUsage = 17
    /// A log of the changes of records, by request.
    case changeLog = 18
    /// The logs of changes and of answers have fewer indexes, since each save pays for them.
    case fewerIndexes = 19
    /// Requests of save groups are files.
    case stagedFiles = 20
    /// The log of changes has row IDs, so that rows are appended.
    case appendedChangeLog = 21
    /// Partitions know the numbers in the names of their objects.
    case objectParts = 22
    /// Uploads without a complete file, and deleted zones, are found by indexes.
    case partialIndexes = 23
    /// Networks from which owners of accounts signed in.
    case passwordNetworks = 24
    /// A database knows how many tombstones it has, and sizes of records count owners, participants and short elements.
    case tombstones = 25
    /// Assets know whether their bytes are in an S3-compatible store.
    case assetPlaces = 26

    static let current = DatabaseFormat.allCases[DatabaseFormat.allCases.count - 1]

    /// What brings a database of the format before to this one.
    private var step: String {
        switch self {
        case .initial: Self.initialTables
        case .roles: Self.roleTables
        case .indexes: Self.indexTables
        case .credentials: Self.credentialTables
        case .sharing: Self.sharingTables
        case .references: Self.referenceTables
        case .restrictions: Self.restrictionTables
        case .usage: Self.usageColumns
        case .history: Self.historyTables
        case .clientTokens: Self.clientTokenTable
        case .publicPermissions: Self.publicPermissionColumns
        case .saveGroups: Self.stagedRequestTable
        case .restores: Self.restoreTable
        case .accesses: Self.accessColumns + SQLiteServerStore.auditTable
        case .boundedIndexes: Self.indexReset
        case .signIn: Self.signInTables
        case .answerUsage: Self.answerUsageColumn
        case .changeLog: SQLiteUnit.changeLogTable
        case .fewerIndexes: "DROP INDEX answers_at; " + SQLiteUnit.changeLogDays
        case .stagedFiles: "DROP TABLE staged_requests;"
        case .appendedChangeLog: SQLiteUnit.appendedChangeLog
        case .objectParts: ObjectParts.table
        case .partialIndexes: Self.partialIndexStatements
        case .passwordNetworks: SQLiteServerStore.networkTable
        case .tombstones: Self.tombstoneCount
        case .assetPlaces: "ALTER TABLE assets ADD COLUMN in_store INTEGER NOT NULL DEFAULT 0;"
        }
    }

    private static let partialIndexStatements = """
        CREATE INDEX uploads_open ON uploads (part, created) WHERE checksum IS NULL;
        CREATE INDEX zones_deleted ON zones (part, zone) WHERE deleted = 1;
        """

    /// `TARN`, so that another program's database is not taken for ours.
    private static let applicationID = 0x5441_524E

    /// Creates the current format in an empty database, brings an older one to it, and checks that any other is one of ours.
    ///
    /// - Throws: `StorageFailure` with `.newerFormat` or `.corrupt`.
    static func prepare(_ db: Database) throws {
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        let application = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let tables = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema WHERE type = 'table'") ?? 0
        if version == 0, application == 0, tables == 0 { return try create(db) }
        guard application == applicationID else {
            throw StorageFailure(.corrupt, "the database is not one of this server")
        }
        guard version <= current.rawValue else {
            throw StorageFailure(.newerFormat, "the database was written by a newer version")
        }
        guard DatabaseFormat(rawValue: version) != nil else {
            throw StorageFailure(.corrupt, "the database has a format that never was")
        }
        if version < current.rawValue { try advance(db, after: version) }
    }

    /// Statements that create the current format. Each `ALTER TABLE` of a step reads the whole schema, so new databases skip the steps:
    /// a database in memory takes them once in a process.
    private static let schema = Result<[String], any Error> {
        try DatabaseQueue().writeWithoutTransaction { db in
            try advance(db, after: 0)
            return try String.fetchAll(
                db, sql: "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
        }
    }

    private static func create(_ db: Database) throws {
        try db.inTransaction(.immediate) {
            for statement in try schema.get() { try db.execute(sql: statement) }
            try mark(db)
            return .commit
        }
    }

    private static func mark(_ db: Database) throws {
        try db.execute(sql: "PRAGMA application_id = \(applicationID)")
        try db.execute(sql: "PRAGMA user_version = \(current.rawValue)")
    }

    /// Takes the steps from a version to the current one, all or none.
    private static func advance(_ db: Database, after version: Int) throws {
        try db.inTransaction(.immediate) {
            for format in allCases where format.rawValue > version {
                try db.execute(sql: format.step)
                if format == .usage { try measure(db) }
                if format == .tombstones, version >= DatabaseFormat.usage.rawValue { try addUncountedBytes(db) }
                if format == .publicPermissions { try derivePublicPermissions(db) }
            }
            try mark(db)
            return .commit
        }
    }

    /// Triggers count, so that no statement that deletes answers can forget to.
    private static let answerUsageColumn = """
        ALTER TABLE partitions ADD COLUMN answer_bytes INTEGER NOT NULL DEFAULT 0;
        UPDATE partitions SET answer_bytes = (
            SELECT coalesce(sum(length(a.key) + length(a.body)), 0) FROM answers a WHERE a.part = partitions.part);
        CREATE TRIGGER answers_are_added AFTER INSERT ON answers BEGIN
            UPDATE partitions SET answer_bytes = answer_bytes + length(NEW.key) + length(NEW.body) WHERE part = NEW.part;
        END;
        CREATE TRIGGER answers_are_changed AFTER UPDATE ON answers BEGIN
            UPDATE partitions SET answer_bytes = answer_bytes + length(NEW.body) - length(OLD.body) WHERE part = NEW.part;
        END;
        CREATE TRIGGER answers_are_deleted AFTER DELETE ON answers BEGIN
            UPDATE partitions SET answer_bytes = answer_bytes - length(OLD.key) - length(OLD.body) WHERE part = OLD.part;
        END;
        """

    private static let restoreTable = """
        CREATE TABLE restores (
            part INTEGER NOT NULL PRIMARY KEY, epoch INTEGER NOT NULL, counter INTEGER NOT NULL, next_epoch INTEGER NOT NULL);
        """

    private static let accessColumns = """
        ALTER TABLE devices ADD COLUMN expires INTEGER;
        ALTER TABLE devices ADD COLUMN last_used INTEGER;
        ALTER TABLE devices ADD COLUMN network TEXT;
        ALTER TABLE devices ADD COLUMN platform TEXT;
        CREATE INDEX devices_device ON devices (account, device);
        ALTER TABLE web_sessions ADD COLUMN device TEXT;
        ALTER TABLE web_sessions ADD COLUMN last_used INTEGER;
        ALTER TABLE web_sessions ADD COLUMN network TEXT;
        ALTER TABLE web_sessions ADD COLUMN platform TEXT;
        CREATE INDEX web_sessions_account ON web_sessions (account, device);
        """

    private static let indexReset = """
        DROP TABLE index_entries;
        DROP TABLE record_indexes;
        CREATE TABLE record_indexes (
            part INTEGER NOT NULL, type TEXT NOT NULL, field TEXT NOT NULL, kind INTEGER NOT NULL, number INTEGER NOT NULL,
            built INTEGER NOT NULL DEFAULT 0, zone INTEGER, name TEXT, PRIMARY KEY (part, type, field, kind)) WITHOUT ROWID;
        CREATE TABLE index_entries (
            part INTEGER NOT NULL, zone INTEGER NOT NULL, number INTEGER NOT NULL, key BLOB NOT NULL, name TEXT NOT NULL,
            PRIMARY KEY (part, zone, number, key, name)) WITHOUT ROWID;
        """

    private static let publicPermissionColumns = """
        ALTER TABLE shares ADD COLUMN public_permission TEXT NOT NULL DEFAULT 'NONE';
        ALTER TABLE share_members ADD COLUMN by_link INTEGER NOT NULL DEFAULT 0;
        """

    /// Derives the link's permission and the members that joined by it from the share records.
    private static func derivePublicPermissions(_ db: Database) throws {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT s.part, s.zone, s.name, r.body FROM shares s
                JOIN records r ON r.part = s.part AND r.zone = s.zone AND r.name = s.name AND r.deleted = 0
                """)
        for row in rows {
            let key: StatementArguments = [row[0] as Int64, row[1] as Int64, row[2] as String]
            let record = try SQLiteUnit.decode(CloudWire.Record.self, [UInt8](row[3] as Data))
            guard let details = record.sharing.details else { continue }
            try db.execute(
                sql: "UPDATE shares SET public_permission = ? WHERE part = ? AND zone = ? AND name = ?",
                arguments: [details.publicPermission.rawValue] + key)
            for participant in details.participants where participant.kind == .publicUser {
                try db.execute(
                    sql: "UPDATE share_members SET by_link = 1 WHERE part = ? AND zone = ? AND share = ? AND user = ?",
                    arguments: key + [participant.identity.userRecordName])
            }
        }
    }

    private static let clientTokenTable = """
        CREATE TABLE client_tokens (
            part INTEGER NOT NULL, zone INTEGER NOT NULL, user TEXT NOT NULL, device TEXT NOT NULL, token BLOB NOT NULL,
            PRIMARY KEY (part, zone, user, device)) WITHOUT ROWID;
        """

    private static let stagedRequestTable = """
        CREATE TABLE staged_requests (
            part INTEGER NOT NULL, user TEXT NOT NULL, device TEXT NOT NULL, save TEXT NOT NULL, number INTEGER NOT NULL,
            parts INTEGER NOT NULL, at INTEGER NOT NULL, size INTEGER NOT NULL, body BLOB NOT NULL,
            PRIMARY KEY (part, user, device, save, number));
        CREATE INDEX staged_requests_at ON staged_requests (at);
        """

    private static let historyTables = """
        CREATE TABLE record_versions (
            part INTEGER NOT NULL, zone INTEGER NOT NULL, name TEXT NOT NULL, at INTEGER NOT NULL, replaced INTEGER NOT NULL,
            body BLOB NOT NULL);
        CREATE INDEX record_versions_place ON record_versions (part, zone, replaced);
        CREATE INDEX record_versions_replaced ON record_versions (replaced);
        CREATE TABLE kept_assets (
            part INTEGER NOT NULL, checksum TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (part, checksum)) WITHOUT ROWID;
        """

    private static let usageColumns = """
        ALTER TABLE zones ADD COLUMN record_bytes INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE zones ADD COLUMN asset_bytes INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE partitions ADD COLUMN record_bytes INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE partitions ADD COLUMN asset_bytes INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE accounts ADD COLUMN quota INTEGER;
        UPDATE zones SET asset_bytes = (
            SELECT coalesce(sum(a.size), 0) FROM asset_links l JOIN assets a ON a.part = l.part AND a.checksum = l.checksum
            WHERE l.part = zones.part AND l.zone = zones.zone AND l.fields > 0);
        """

    /// Counts the stored rows once; from then on every write counts its own.
    private static func measure(_ db: Database) throws {
        try countRecordBytes(db)
        try db.execute(
            sql: """
                UPDATE partitions SET asset_bytes = (SELECT coalesce(sum(asset_bytes), 0) FROM zones z WHERE z.part = partitions.part)
                """)
    }

    private static let restrictionTables = """
        ALTER TABLE zones ADD COLUMN reason TEXT NOT NULL DEFAULT 'deleted';
        CREATE TABLE restrictions (
            container TEXT NOT NULL, environment TEXT NOT NULL, user TEXT NOT NULL, since INTEGER NOT NULL,
            PRIMARY KEY (container, environment, user)) WITHOUT ROWID;
        """

    private static let sharingTables = """
        CREATE TABLE shares (
            part INTEGER NOT NULL, zone INTEGER NOT NULL, name TEXT NOT NULL, root TEXT,
            PRIMARY KEY (part, zone, name)) WITHOUT ROWID;
        CREATE INDEX shares_root ON shares (part, zone, root);
        CREATE TABLE share_members (
            part INTEGER NOT NULL, zone INTEGER NOT NULL, share TEXT NOT NULL, user TEXT NOT NULL,
            can_write INTEGER NOT NULL, administrator INTEGER NOT NULL,
            PRIMARY KEY (part, zone, share, user)) WITHOUT ROWID;
        CREATE INDEX share_members_user ON share_members (part, zone, user);
        CREATE TABLE share_generations (
            part INTEGER NOT NULL, zone INTEGER NOT NULL, user TEXT NOT NULL, generation INTEGER NOT NULL,
            PRIMARY KEY (part, zone, user)) WITHOUT ROWID;
        CREATE TABLE record_parents (
            part INTEGER NOT NULL, zone INTEGER NOT NULL, name TEXT NOT NULL, parent TEXT NOT NULL,
            PRIMARY KEY (part, zone, name)) WITHOUT ROWID;
        CREATE INDEX record_parents_parent ON record_parents (part, zone, parent);
        CREATE TABLE shared_records (
            part INTEGER NOT NULL, zone INTEGER NOT NULL, name TEXT NOT NULL, share TEXT NOT NULL,
            change INTEGER NOT NULL, gone INTEGER NOT NULL, PRIMARY KEY (part, zone, name, share)) WITHOUT ROWID;
        CREATE INDEX shared_records_change ON shared_records (part, zone, share, change);
        CREATE TABLE share_links (
            link INTEGER PRIMARY KEY, part INTEGER NOT NULL, zone INTEGER NOT NULL, name TEXT NOT NULL,
            UNIQUE (part, zone, name));
        CREATE TABLE share_news (
            part INTEGER NOT NULL, user TEXT NOT NULL, zone_name TEXT NOT NULL, gone INTEGER NOT NULL,
            change INTEGER NOT NULL, PRIMARY KEY (part, user, zone_name)) WITHOUT ROWID;
        """

    private static let credentialTables = """
        ALTER TABLE accounts ADD COLUMN salt BLOB;
        ALTER TABLE accounts ADD COLUMN password BLOB;
        ALTER TABLE accounts ADD COLUMN rounds INTEGER;
        ALTER TABLE accounts ADD COLUMN given_name TEXT;
        ALTER TABLE accounts ADD COLUMN family_name TEXT;
        ALTER TABLE accounts ADD COLUMN email TEXT;
        ALTER TABLE accounts ADD COLUMN phone TEXT;
        ALTER TABLE accounts ADD COLUMN discoverable INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE accounts ADD COLUMN operator INTEGER NOT NULL DEFAULT 0;
        CREATE UNIQUE INDEX accounts_email ON accounts (email) WHERE email IS NOT NULL;
        CREATE UNIQUE INDEX accounts_phone ON accounts (phone) WHERE phone IS NOT NULL;
        CREATE TABLE api_tokens (
            token INTEGER PRIMARY KEY, token_hash BLOB NOT NULL UNIQUE, container TEXT NOT NULL,
            environment TEXT NOT NULL, label TEXT NOT NULL, callback TEXT, origins TEXT NOT NULL,
            created INTEGER NOT NULL);
        CREATE TABLE web_sessions (
            id_hash BLOB NOT NULL PRIMARY KEY, account INTEGER NOT NULL REFERENCES accounts, container TEXT NOT NULL,
            environment TEXT NOT NULL, kept INTEGER NOT NULL, started INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE server_keys (
            id TEXT NOT NULL PRIMARY KEY, container TEXT NOT NULL, environment TEXT NOT NULL, name TEXT NOT NULL,
            public_key BLOB NOT NULL, label TEXT NOT NULL, created INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE used_marks (mark BLOB NOT NULL PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX used_marks_until ON used_marks (until);
        """

    private static let roleTables = """
        CREATE TABLE grants (
            container TEXT NOT NULL, environment TEXT NOT NULL, type TEXT NOT NULL, role TEXT NOT NULL,
            permissions INTEGER NOT NULL, PRIMARY KEY (container, environment, type, role)) WITHOUT ROWID;
        CREATE TABLE roles (
            container TEXT NOT NULL, environment TEXT NOT NULL, role TEXT NOT NULL,
            PRIMARY KEY (container, environment, role)) WITHOUT ROWID;
        CREATE TABLE role_members (
            container TEXT NOT NULL, environment TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL,
            PRIMARY KEY (container, environment, name, role)) WITHOUT ROWID;
        """

    /// The partition is the first column of every key of partitioned data; `change` numbers come from its counter.
    private static let initialTables = """
        CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

        CREATE TABLE accounts (
            account INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, created INTEGER NOT NULL);
        CREATE TABLE devices (
            token_hash BLOB NOT NULL PRIMARY KEY, account INTEGER NOT NULL REFERENCES accounts, device TEXT NOT NULL,
            label TEXT NOT NULL, created INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE user_names (
            container TEXT NOT NULL, account INTEGER NOT NULL REFERENCES accounts, name TEXT NOT NULL,
            PRIMARY KEY (container, account), UNIQUE (container, name)) WITHOUT ROWID;

        CREATE TABLE partitions (
            part INTEGER PRIMARY KEY, container TEXT NOT NULL, environment TEXT NOT NULL, scope TEXT NOT NULL,
            owner TEXT NOT NULL, epoch INTEGER NOT NULL DEFAULT 1, counter INTEGER NOT NULL DEFAULT 0,
            floor INTEGER NOT NULL DEFAULT 0, UNIQUE (container, environment, scope, owner));
        CREATE TABLE zones (
            part INTEGER NOT NULL, zone INTEGER NOT NULL, name TEXT NOT NULL, change INTEGER NOT NULL,
            deleted INTEGER NOT NULL, floor INTEGER NOT NULL, at INTEGER NOT NULL,
            PRIMARY KEY (part, zone), UNIQUE (part, name)) WITHOUT ROWID;
        CREATE INDEX zones_change ON zones (part, change);

        CREATE TABLE records (
            part INTEGER NOT NULL, zone INTEGER NOT NULL, name TEXT NOT NULL, change INTEGER NOT NULL,
            deleted INTEGER NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (part, zone, name));
        CREATE UNIQUE INDEX records_change ON records (part, zone, change);
        CREATE INDEX records_deleted ON records (at) WHERE deleted = 1;

        CREATE TABLE schema_types (
            container TEXT NOT NULL, environment TEXT NOT NULL, type TEXT NOT NULL,
            PRIMARY KEY (container, environment, type)) WITHOUT ROWID;
        CREATE TABLE schema_fields (
            container TEXT NOT NULL, environment TEXT NOT NULL, type TEXT NOT NULL, field TEXT NOT NULL,
            holds TEXT NOT NULL, encrypted INTEGER NOT NULL,
            PRIMARY KEY (container, environment, type, field)) WITHOUT ROWID;

        CREATE TABLE subscriptions (
            part INTEGER NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (part, id)) WITHOUT ROWID;

        CREATE TABLE uploads (
            part INTEGER NOT NULL, id TEXT NOT NULL, record TEXT NOT NULL, field TEXT NOT NULL,
            created INTEGER NOT NULL, checksum TEXT, size INTEGER, PRIMARY KEY (part, id)) WITHOUT ROWID;
        CREATE TABLE assets (
            part INTEGER NOT NULL, checksum TEXT NOT NULL, size INTEGER NOT NULL, since INTEGER NOT NULL,
            PRIMARY KEY (part, checksum)) WITHOUT ROWID;
        CREATE TABLE asset_links (
            part INTEGER NOT NULL, zone INTEGER NOT NULL, checksum TEXT NOT NULL, fields INTEGER NOT NULL,
            PRIMARY KEY (part, zone, checksum)) WITHOUT ROWID;
        CREATE INDEX asset_links_checksum ON asset_links (part, checksum);

        CREATE TABLE answers (
            part INTEGER NOT NULL, key TEXT NOT NULL, fingerprint INTEGER NOT NULL, at INTEGER NOT NULL,
            body BLOB NOT NULL, PRIMARY KEY (part, key));
        CREATE INDEX answers_at ON answers (at);
        """

    /// Fields that there are get the index words that they would get by use; see `FieldIndexes.byUse`. Entries come when
    /// a query first needs an index.
    private static let indexTables = """
        ALTER TABLE schema_fields ADD COLUMN indexes INTEGER NOT NULL DEFAULT 0;
        UPDATE schema_fields SET indexes = CASE holds
            WHEN 'STRING' THEN 7 WHEN 'INT64' THEN 3 WHEN 'DOUBLE' THEN 3 WHEN 'TIMESTAMP' THEN 3 WHEN 'LOCATION' THEN 3
            WHEN 'REFERENCE' THEN 1 WHEN 'STRING_LIST' THEN 5 WHEN 'INT64_LIST' THEN 1 WHEN 'DOUBLE_LIST' THEN 1
            WHEN 'TIMESTAMP_LIST' THEN 1 WHEN 'REFERENCE_LIST' THEN 1 WHEN 'LOCATION_LIST' THEN 1 ELSE 0 END
            WHERE encrypted = 0;

        CREATE TABLE record_indexes (
            part INTEGER NOT NULL, type TEXT NOT NULL, field TEXT NOT NULL, kind INTEGER NOT NULL, number INTEGER NOT NULL,
            built INTEGER NOT NULL DEFAULT 0, zone INTEGER, name TEXT, PRIMARY KEY (part, type, field, kind)) WITHOUT ROWID;
        CREATE TABLE index_entries (
            part INTEGER NOT NULL, zone INTEGER NOT NULL, number INTEGER NOT NULL, key BLOB NOT NULL, name TEXT NOT NULL,
            PRIMARY KEY (part, zone, number, key, name)) WITHOUT ROWID;
        """

    /// References and subscriptions that there are are taken in.
    private static let referenceTables = """
        CREATE TABLE record_references (
            part INTEGER NOT NULL, zone INTEGER NOT NULL, target TEXT NOT NULL, action TEXT NOT NULL, source TEXT NOT NULL,
            PRIMARY KEY (part, zone, target, action, source)) WITHOUT ROWID;
        INSERT OR IGNORE INTO record_references
            SELECT r.part, r.zone, json_extract(f.value, '$.value.recordName'), json_extract(f.value, '$.value.action'), r.name
            FROM records r, json_each(CAST(r.body AS TEXT), '$.fields') f
            WHERE r.deleted = 0 AND json_extract(f.value, '$.type') = 'REFERENCE'
                AND json_extract(f.value, '$.value.action') IN ('DELETE_SELF', 'VALIDATE');
        INSERT OR IGNORE INTO record_references
            SELECT r.part, r.zone, json_extract(e.value, '$.recordName'), json_extract(e.value, '$.action'), r.name
            FROM records r, json_each(CAST(r.body AS TEXT), '$.fields') f, json_each(f.value, '$.value') e
            WHERE r.deleted = 0 AND json_extract(f.value, '$.type') = 'REFERENCE_LIST'
                AND json_extract(e.value, '$.action') IN ('DELETE_SELF', 'VALIDATE');

        CREATE TABLE public_subscriptions (
            container TEXT NOT NULL, environment TEXT NOT NULL, type TEXT NOT NULL, part INTEGER NOT NULL, id TEXT NOT NULL,
            PRIMARY KEY (container, environment, type, part, id)) WITHOUT ROWID;
        CREATE INDEX public_subscriptions_id ON public_subscriptions (part, id);
        INSERT INTO public_subscriptions
            SELECT p.container, p.environment, json_extract(CAST(s.body AS TEXT), '$.query.recordType'), s.part, s.id
            FROM subscriptions s JOIN partitions p ON p.part = s.part
            WHERE p.scope = 'public' AND json_extract(CAST(s.body AS TEXT), '$.subscriptionType') = 'query';
        """
}
