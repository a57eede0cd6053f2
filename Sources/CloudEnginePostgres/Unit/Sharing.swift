// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Crypto
import Foundation

/// The tables of shares, their members and records, links to them, and of news for other partitions. And of references with actions.
enum SharingRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS shares (
            part bigint NOT NULL, zone bigint NOT NULL, name text COLLATE "C" NOT NULL, root text COLLATE "C",
            public_permission text COLLATE "C" NOT NULL, PRIMARY KEY (part, zone, name))
        """,
        "CREATE INDEX IF NOT EXISTS shares_root ON shares (part, zone, root)",
        """
        CREATE TABLE IF NOT EXISTS share_members (
            part bigint NOT NULL, zone bigint NOT NULL, share text COLLATE "C" NOT NULL, user_name text COLLATE "C" NOT NULL,
            can_write boolean NOT NULL, administrator boolean NOT NULL, by_link boolean NOT NULL,
            PRIMARY KEY (part, zone, share, user_name))
        """,
        "CREATE INDEX IF NOT EXISTS share_members_user ON share_members (part, zone, user_name)",
        """
        CREATE TABLE IF NOT EXISTS share_generations (
            part bigint NOT NULL, zone bigint NOT NULL, user_name text COLLATE "C" NOT NULL, generation bigint NOT NULL,
            PRIMARY KEY (part, zone, user_name))
        """,
        """
        CREATE TABLE IF NOT EXISTS record_parents (
            part bigint NOT NULL, zone bigint NOT NULL, name text COLLATE "C" NOT NULL, parent text COLLATE "C" NOT NULL,
            PRIMARY KEY (part, zone, name))
        """,
        "CREATE INDEX IF NOT EXISTS record_parents_by_parent ON record_parents (part, zone, parent, name) WHERE parent >= ''",
        """
        CREATE TABLE IF NOT EXISTS shared_records (
            part bigint NOT NULL, zone bigint NOT NULL, name text COLLATE "C" NOT NULL, share text COLLATE "C" NOT NULL,
            change bigint NOT NULL, gone boolean NOT NULL, PRIMARY KEY (part, zone, name, share))
        """,
        "CREATE INDEX IF NOT EXISTS shared_records_by_change ON shared_records (part, zone, share, change) WHERE change >= 0",
        """
        CREATE TABLE IF NOT EXISTS share_links (
            part bigint NOT NULL, zone bigint NOT NULL, name text COLLATE "C" NOT NULL, link bigint NOT NULL, PRIMARY KEY (part, zone, name))
        """,
        "CREATE INDEX IF NOT EXISTS share_links_link ON share_links (link)",
        """
        CREATE TABLE IF NOT EXISTS share_news (
            part bigint NOT NULL, user_name text COLLATE "C" NOT NULL, zone_name text COLLATE "C" NOT NULL, gone boolean NOT NULL,
            change bigint NOT NULL, PRIMARY KEY (part, user_name, zone_name))
        """,
        """
        CREATE TABLE IF NOT EXISTS record_references (
            part bigint NOT NULL, zone bigint NOT NULL, target text COLLATE "C" NOT NULL, action text COLLATE "C" NOT NULL,
            source text COLLATE "C" NOT NULL, PRIMARY KEY (part, zone, target, action, source))
        """,
    ]

    static let copyReferences = """
        INSERT INTO record_references (part, zone, target, action, source)
        SELECT part, zone, $4, action, source FROM record_references WHERE part = $1 AND zone = $2 AND target = $3 ON CONFLICT DO NOTHING
        """
    static let deleteReferences = "DELETE FROM record_references WHERE part = $1 AND zone = $2 AND target = $3"

    /// Whether a member row `m` of a share row `s` grants access, and whether it grants writing. Members that joined by the
    /// link have the current permission of the link.
    static let isGranted = "(NOT m.by_link OR s.public_permission IN ('READ_ONLY', 'READ_WRITE'))"
    static let canWrite = "CASE WHEN m.by_link THEN s.public_permission = 'READ_WRITE' ELSE m.can_write END"
    static let members = "share_members m JOIN shares s ON s.part = m.part AND s.zone = m.zone AND s.name = m.share"

    /// - Parameter row: Begins with name, root and public permission.
    static func share(_ row: PostgresRow) -> StoredShare {
        StoredShare(name: row[0], root: row[1], publicPermission: SharePermission(rawValue: row[2]) ?? .none)
    }
}

extension PostgresUnit {
    func hasShares(inZone zone: Int64) throws -> Bool {
        try !rows("SELECT 1 FROM shares WHERE part = $1 AND zone = $2 LIMIT 1", [part, zone], from: .shares, isRepeated: true).isEmpty
    }

    func share(named name: String, in zone: Int64) throws -> StoredShare? {
        try rows(
            "SELECT name, root, public_permission FROM shares WHERE part = $1 AND zone = $2 AND name = $3", [part, zone, name],
            from: .shares
        ).first.map(SharingRows.share)
    }

    func share(ofRoot root: String?, in zone: Int64) throws -> StoredShare? {
        let columns = "SELECT name, root, public_permission FROM shares WHERE part = $1 AND zone = $2"
        let found =
            if let root {
                try rows(columns + " AND root = $3", [part, zone, root], from: .shares)
            } else {
                try rows(columns + " AND root IS NULL", [part, zone], from: .shares)
            }
        return found.first.map(SharingRows.share)
    }

    func members(ofShare name: String, in zone: Int64) throws -> [ShareMember] {
        try rows(
            """
            SELECT user_name, can_write, administrator, by_link FROM share_members WHERE part = $1 AND zone = $2 AND share = $3
            ORDER BY user_name
            """, [part, zone, name], from: .shares
        ).map {
            let (canWrite, isPublic): (Bool, Bool) = ($0[1], $0[3])
            return ShareMember(user: $0[0], permission: isPublic ? nil : canWrite ? .readWrite : .readOnly, isAdministrator: $0[2])
        }
    }

    func memberships(ofUser user: String, in zone: Int64) throws -> [Membership] {
        try rows(
            """
            SELECT s.name, s.root, s.public_permission, \(SharingRows.canWrite), m.administrator FROM \(SharingRows.members)
            WHERE m.part = $1 AND m.zone = $2 AND m.user_name = $3 AND \(SharingRows.isGranted) ORDER BY s.name
            """, [part, zone, user], from: .shares
        ).map { Membership(share: SharingRows.share($0), canWrite: $0[3], isAdministrator: $0[4]) }
    }

    func members(inZone zone: Int64) throws -> Set<String> {
        Set(
            try rows(
                "SELECT DISTINCT m.user_name FROM \(SharingRows.members) WHERE m.part = $1 AND m.zone = $2 AND \(SharingRows.isGranted)",
                [part, zone], from: .shares
            ).map { $0[0] })
    }

    func generation(ofUser user: String, in zone: Int64) throws -> Int64 {
        try rows(
            "SELECT generation FROM share_generations WHERE part = $1 AND zone = $2 AND user_name = $3", [part, zone, user], from: .shares
        ).first.map { $0[0] } ?? 0
    }

    func parent(of name: String, in zone: Int64) throws -> String? {
        try rows("SELECT parent FROM record_parents WHERE part = $1 AND zone = $2 AND name = $3", [part, zone, name], from: .parents)
            .first.map { $0[0] }
    }

    func children(of name: String, in zone: Int64) throws -> [String] {
        try rows(
            "SELECT name FROM record_parents WHERE part = $1 AND zone = $2 AND parent = $3 AND parent >= '' ORDER BY name",
            [part, zone, name], from: .parents
        ).map { $0[0] }
    }

    func shareNames(ofRecords names: [String], in zone: Int64) throws -> [String: String] {
        guard !names.isEmpty else { return [:] }
        let found = try rows(
            "SELECT found.* "
                + LookUps.each(
                    of: 3,
                    "SELECT name, share FROM shared_records WHERE part = $1 AND zone = $2 AND name = \(LookUps.value) AND NOT gone"),
            [part, zone] + .texts(names), from: .sharedRecords)
        return Dictionary(found.map { ($0[0] as String, $0[1] as String) }, uniquingKeysWith: { first, _ in first })
    }

    func sharedRecords(
        _ slice: ChangeSlice, in zone: Int64, shares: [String], includingDeleted: Bool, limit: Int, bytesMax: Int
    ) throws -> [StoredRecord] {
        guard !shares.isEmpty, bytesMax > 0 else { return [] }
        var (slice, left, bytes) = (slice, limit, 0)
        var found: [StoredRecord] = []
        var page = min(RecordRows.firstPage, left)
        // A record that left one share for another that the user sees, too, comes once: as it is in the other.
        let order = "change\(slice.isNewestFirst ? " DESC" : "") LIMIT $5"
        let changes = LookUps.each(
            of: 6,
            """
            SELECT s.change, s.gone, s.name, r.body FROM shared_records s LEFT JOIN \(LookUps.record(of: "s")) ON true
            WHERE s.part = $1 AND s.zone = $2 AND s.share = \(LookUps.value)
            AND s.change > $3 AND s.change < $4 AND s.change >= 0\(includingDeleted ? "" : " AND NOT s.gone AND NOT r.deleted")
            AND (NOT s.gone OR NOT EXISTS (
                SELECT 1 FROM shared_records o WHERE o.part = s.part AND o.zone = s.zone AND o.name = s.name
                AND NOT o.gone AND o.share = ANY ($6)))
            ORDER BY s.\(order)
            """)
        let sql = "SELECT found.* \(changes) ORDER BY found.\(order)"
        while page > 0 {
            let rows = try rows(
                sql, [part, zone, slice.after, slice.before, page] + .texts(shares), from: .sharedRecords, .records)
            let before = bytes
            for row in rows {
                var record = Record(recordName: row[2], isDeleted: true)
                if let body: [UInt8] = row[3] {
                    bytes += body.count
                    let stored = try Self.decode(Record.self, body)
                    let isGone: Bool = row[1]
                    if !isGone, !stored.isDeleted { record = stored } else { record.recordType = stored.recordType }
                }
                found.append(StoredRecord(record: record, change: row[0]))
                guard bytes < bytesMax else { return found }
            }
            guard let last = rows.last, rows.count == page else { return found }
            if slice.isNewestFirst { slice.before = last[0] } else { slice.after = last[0] }
            left -= rows.count
            page = min(max(1, RecordRows.pageBytes * rows.count / max(1, bytes - before)), 8 * page, RecordRows.pageMax, left)
        }
        return found
    }

    // MARK: Writing

    func save(_ share: StoredShare, in zone: Int64) throws {
        try run(
            """
            INSERT INTO shares (part, zone, name, root, public_permission) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (part, zone, name) DO UPDATE SET root = excluded.root, public_permission = excluded.public_permission
            """, [part, zone, share.name, share.root, share.publicPermission.rawValue], changing: .shares)
    }

    func removeShare(named name: String, in zone: Int64) throws {
        try run("DELETE FROM share_members WHERE part = $1 AND zone = $2 AND share = $3", [part, zone, name], changing: .shares)
        try run(
            "DELETE FROM shared_records WHERE part = $1 AND zone = $2 AND share = $3 AND change >= 0", [part, zone, name],
            changing: .sharedRecords)
        try run("DELETE FROM shares WHERE part = $1 AND zone = $2 AND name = $3", [part, zone, name], changing: .shares)
    }

    func setMembers(_ members: [ShareMember], ofShare name: String, in zone: Int64) throws {
        try run("DELETE FROM share_members WHERE part = $1 AND zone = $2 AND share = $3", [part, zone, name], changing: .shares)
        for member in members {
            try run(
                """
                INSERT INTO share_members (part, zone, share, user_name, can_write, administrator, by_link)
                VALUES ($1, $2, $3, $4, $5, $6, $7)
                """,
                [part, zone, name, member.user, member.permission == .readWrite, member.isAdministrator, member.permission == nil],
                changing: .shares)
        }
    }

    func raiseGeneration(ofUsers users: Set<String>, in zone: Int64) throws {
        for user in users.sorted() {
            try run(
                """
                INSERT INTO share_generations (part, zone, user_name, generation) VALUES ($1, $2, $3, 1)
                ON CONFLICT (part, zone, user_name) DO UPDATE SET generation = share_generations.generation + 1
                """, [part, zone, user], changing: .shares)
        }
    }

    func setParent(_ parent: String?, of name: String, in zone: Int64) throws {
        guard let parent else {
            return try run(
                "DELETE FROM record_parents WHERE part = $1 AND zone = $2 AND name = $3", [part, zone, name], changing: .parents)
        }
        try run(
            """
            INSERT INTO record_parents (part, zone, name, parent) VALUES ($1, $2, $3, $4)
            ON CONFLICT (part, zone, name) DO UPDATE SET parent = excluded.parent
            """, [part, zone, name, parent], changing: .parents)
    }

    func place(_ name: String, inShare share: String, hasLeft: Bool, change: Int64, in zone: Int64) throws {
        try run(
            """
            INSERT INTO shared_records (part, zone, name, share, change, gone) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (part, zone, name, share) DO UPDATE SET change = excluded.change, gone = excluded.gone
            """, [part, zone, name, share, change, hasLeft], changing: .sharedRecords)
    }

    func removeSharing(ofZone zone: Int64) throws {
        for (table, cached) in [
            ("shares", .shares), ("share_members", .shares), ("share_generations", .shares), ("shared_records", .sharedRecords),
            ("record_parents", .parents),
        ] as [(String, PostgresTable)] {
            try run("DELETE FROM \(table) WHERE part = $1 AND zone = $2", [part, zone], changing: cached)
        }
    }

    /// The number is a hash: no sequence gives it. Of two links with one number the later one gets another.
    func link(to name: String, in zone: Int64) throws -> Int64 {
        let known = try rows("SELECT link FROM share_links WHERE part = $1 AND zone = $2 AND name = $3", [part, zone, name], from: .shares)
        if let row = known.first { return row[0] }
        for attempt in 0... {
            let hash = SHA256.hash(data: Data("\(part) \(zone) \(attempt) \(name)".utf8))
            let link = Int64(hash.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) } >> 1)
            guard try rows("SELECT 1 FROM share_links WHERE link = $1", [link], from: .shares).isEmpty else { continue }
            try run(
                "INSERT INTO share_links (part, zone, name, link) VALUES ($1, $2, $3, $4)", [part, zone, name, link], changing: .shares)
            return link
        }
        throw StorageFailure(.corrupt, "no number is left for a link")
    }

    func post(_ news: [ShareNews]) throws {
        for item in news {
            try run(
                """
                INSERT INTO share_news (part, user_name, zone_name, gone, change) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (part, user_name, zone_name) DO UPDATE SET gone = excluded.gone, change = excluded.change
                """, [part, item.user, item.zoneName, item.isGone, item.change], changing: .news)
        }
    }

    /// News that were replaced by newer ones stay.
    func removeNews(_ news: [ShareNews]) throws {
        for item in news {
            try run(
                "DELETE FROM share_news WHERE part = $1 AND user_name = $2 AND zone_name = $3 AND change = $4",
                [part, item.user, item.zoneName, item.change], changing: .news)
        }
    }

    // MARK: References

    func sources(
        ofReferencesTo recordName: String, _ action: RecordReference.Action, in zone: Int64, after name: String, limit: Int
    ) throws -> [String] {
        try rows(
            """
            SELECT source FROM record_references WHERE part = $1 AND zone = $2 AND target = $3 AND action = $4 AND source > $5
            ORDER BY source LIMIT $6
            """, [part, zone, recordName, action.rawValue, name, limit], from: .references
        ).map { $0[0] }
    }

    func apply(_ changes: [ReferenceChange], in zone: Int64) throws {
        for change in changes {
            try run(
                change.isAdded
                    ? """
                    INSERT INTO record_references (part, zone, target, action, source) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
                    """
                    : """
                    DELETE FROM record_references WHERE part = $1 AND zone = $2 AND target = $3 AND action = $4 AND source = $5
                    """,
                [part, zone, change.target, change.action.rawValue, change.source], changing: .references)
        }
    }
}
