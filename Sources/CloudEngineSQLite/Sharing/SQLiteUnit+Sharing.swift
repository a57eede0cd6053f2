// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
import CloudWire
import Foundation
import GRDB

extension SQLiteUnit {
    func hasShares(inZone zone: Int64) throws -> Bool {
        guard let part else { return false }
        return try remembered(.hasShares(part: part, zone: zone)) {
            try !rows("SELECT 1 FROM shares WHERE part = ? AND zone = ? LIMIT 1", [part, zone]).isEmpty
        }
    }

    /// - Parameter row: Begins with name, root and public permission.
    private static func share(_ row: StoredRow) -> StoredShare {
        StoredShare(name: row[0], root: row[1], publicPermission: SharePermission(rawValue: row[2]) ?? .none)
    }

    /// Whether a member row `m` of a share row `s` grants access, and whether it grants writing. Members that joined by the
    /// link have the current permission of the link.
    private static let isGranted = "(m.by_link = 0 OR s.public_permission IN ('READ_ONLY', 'READ_WRITE'))"
    private static let canWrite = "CASE WHEN m.by_link THEN s.public_permission = 'READ_WRITE' ELSE m.can_write END"
    private static let memberTables = """
        share_members m JOIN shares s ON s.part = m.part AND s.zone = m.zone AND s.name = m.share
        """

    func share(named name: String, in zone: Int64) throws -> StoredShare? {
        guard let part else { return nil }
        return try rows("SELECT name, root, public_permission FROM shares WHERE part = ? AND zone = ? AND name = ?", [part, zone, name])
            .first.map(Self.share)
    }

    func share(ofRoot root: String?, in zone: Int64) throws -> StoredShare? {
        guard let part else { return nil }
        return try rows(
            "SELECT name, root, public_permission FROM shares INDEXED BY shares_root WHERE part = ? AND zone = ? AND root IS ?",
            [part, zone, root]
        )
        .first.map(Self.share)
    }

    func members(ofShare name: String, in zone: Int64) throws -> [ShareMember] {
        guard let part else { return [] }
        return try rows(
            "SELECT user, can_write, administrator, by_link FROM share_members WHERE part = ? AND zone = ? AND share = ? ORDER BY user",
            [part, zone, name]
        ).map {
            let (canWrite, isPublic): (Bool, Bool) = ($0[1], $0[3])
            return ShareMember(user: $0[0], permission: isPublic ? nil : canWrite ? .readWrite : .readOnly, isAdministrator: $0[2])
        }
    }

    func memberships(ofUser user: String, in zone: Int64) throws -> [Membership] {
        guard let part else { return [] }
        // For the order of names SQLite would read all shares of the zone, or all members.
        return try rows(
            """
            SELECT s.name, s.root, s.public_permission, \(Self.canWrite), m.administrator
            FROM share_members m INDEXED BY share_members_user
            CROSS JOIN shares s ON s.part = m.part AND s.zone = m.zone AND s.name = m.share
            WHERE m.part = ? AND m.zone = ? AND m.user = ? AND \(Self.isGranted) ORDER BY s.name
            """, [part, zone, user]
        ).map { Membership(share: Self.share($0), canWrite: $0[3], isAdministrator: $0[4]) }
    }

    func members(inZone zone: Int64) throws -> Set<String> {
        guard let part else { return [] }
        return Set(
            try rows(
                "SELECT DISTINCT m.user FROM \(Self.memberTables) WHERE m.part = ? AND m.zone = ? AND \(Self.isGranted)",
                [part, zone]
            ).map { $0[0] })
    }

    func generation(ofUser user: String, in zone: Int64) throws -> Int64 {
        guard let part else { return 0 }
        return try rows(
            "SELECT generation FROM share_generations WHERE part = ? AND zone = ? AND user = ?", [part, zone, user]
        ).first.map { $0[0] } ?? 0
    }

    func parent(of name: String, in zone: Int64) throws -> String? {
        guard let part else { return nil }
        return try rows("SELECT parent FROM record_parents WHERE part = ? AND zone = ? AND name = ?", [part, zone, name])
            .first.map { $0[0] }
    }

    func children(of name: String, in zone: Int64) throws -> [String] {
        guard let part else { return [] }
        return try rows("SELECT name FROM record_parents WHERE part = ? AND zone = ? AND parent = ?", [part, zone, name])
            .map { $0[0] }
    }

    func shareNames(ofRecords names: [String], in zone: Int64) throws -> [String: String] {
        guard let part else { return [:] }
        var found: [String: String] = [:]
        for name in names {
            found[name] = try row(
                "SELECT share FROM shared_records WHERE part = ? AND zone = ? AND name = ? AND gone = 0", [part, zone, name]
            ).map { $0[0] }
        }
        return found
    }

    func sharedRecords(
        _ slice: ChangeSlice, in zone: Int64, shares: [String], includingDeleted: Bool, limit: Int, bytesMax: Int
    ) throws -> [StoredRecord] {
        guard let part, !shares.isEmpty else { return [] }
        let places = databaseQuestionMarks(count: shares.count)
        // A record that left one share for another that the user sees, too, comes once: as it is in the other.
        let statement = try db.cachedStatement(
            sql: """
                SELECT s.change, s.gone, s.name, r.deleted, r.body FROM shared_records s
                LEFT JOIN records r ON r.part = s.part AND r.zone = s.zone AND r.name = s.name
                WHERE s.part = ? AND s.zone = ? AND s.share IN (\(places)) AND s.change > ? AND s.change < ?
                \(includingDeleted ? "" : " AND s.gone = 0 AND r.deleted = 0")
                AND (s.gone = 0 OR NOT EXISTS (
                    SELECT 1 FROM shared_records o WHERE o.part = s.part AND o.zone = s.zone AND o.name = s.name
                    AND o.gone = 0 AND o.share IN (\(places))))
                ORDER BY s.change\(slice.isNewestFirst ? " DESC" : "") LIMIT ?
                """)
        var arguments: StatementArguments = [part, zone]
        arguments += StatementArguments(shares)
        arguments += [slice.after, slice.before]
        arguments += StatementArguments(shares)
        arguments += [limit]
        let cursor = try Row.fetchCursor(statement, arguments: arguments)
        var found: [StoredRecord] = []
        var bytes = 0
        while bytes < bytesMax, let row = try cursor.next() {
            let number: Int64 = row[0]
            let body: Data? = row[4]
            var record = Record(recordName: row[2], isDeleted: true)
            if let body {
                bytes += body.count
                let stored = try Self.decode(Record.self, [UInt8](body))
                if row[1] == 0, !stored.isDeleted { record = stored } else { record.recordType = stored.recordType }
            }
            found.append(StoredRecord(record: record, change: number))
        }
        return found
    }

    // MARK: Writing

    func save(_ share: StoredShare, in zone: Int64) throws {
        try run(
            "INSERT OR REPLACE INTO shares (part, zone, name, root, public_permission) VALUES (?, ?, ?, ?, ?)",
            [writtenPart, zone, share.name, share.root, share.publicPermission.rawValue])
    }

    func removeShare(named name: String, in zone: Int64) throws {
        for table in ["share_members", "shared_records"] {
            try run("DELETE FROM \(table) WHERE part = ? AND zone = ? AND share = ?", [writtenPart, zone, name])
        }
        try run("DELETE FROM shares WHERE part = ? AND zone = ? AND name = ?", [writtenPart, zone, name])
    }

    func setMembers(_ members: [ShareMember], ofShare name: String, in zone: Int64) throws {
        try run("DELETE FROM share_members WHERE part = ? AND zone = ? AND share = ?", [writtenPart, zone, name])
        for member in members {
            try run(
                """
                INSERT INTO share_members (part, zone, share, user, can_write, administrator, by_link)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    writtenPart, zone, name, member.user, member.permission == .readWrite, member.isAdministrator,
                    member.permission == nil,
                ])
        }
    }

    func raiseGeneration(ofUsers users: Set<String>, in zone: Int64) throws {
        for user in users.sorted() {
            try run(
                """
                INSERT INTO share_generations (part, zone, user, generation) VALUES (?, ?, ?, 1)
                ON CONFLICT (part, zone, user) DO UPDATE SET generation = generation + 1
                """, [writtenPart, zone, user])
        }
    }

    func setParent(_ parent: String?, of name: String, in zone: Int64) throws {
        guard let parent else {
            return try run("DELETE FROM record_parents WHERE part = ? AND zone = ? AND name = ?", [writtenPart, zone, name])
        }
        try run(
            "INSERT OR REPLACE INTO record_parents (part, zone, name, parent) VALUES (?, ?, ?, ?)",
            [writtenPart, zone, name, parent])
    }

    func place(_ name: String, inShare share: String, hasLeft: Bool, change: Int64, in zone: Int64) throws {
        try run(
            "INSERT OR REPLACE INTO shared_records (part, zone, name, share, change, gone) VALUES (?, ?, ?, ?, ?, ?)",
            [writtenPart, zone, name, share, change, hasLeft])
    }

    func removeSharing(ofZone zone: Int64) throws {
        for table in ["shares", "share_members", "share_generations", "shared_records", "record_parents"] {
            try run("DELETE FROM \(table) WHERE part = ? AND zone = ?", [writtenPart, zone])
        }
    }

    func link(to name: String, in zone: Int64) throws -> Int64 {
        try run(
            "INSERT OR IGNORE INTO share_links (part, zone, name) VALUES (?, ?, ?)", [writtenPart, zone, name])
        let row = try rows("SELECT link FROM share_links WHERE part = ? AND zone = ? AND name = ?", [writtenPart, zone, name])
        guard let link = row.first else { throw StorageFailure(.corrupt, "a link was not stored") }
        return link[0]
    }

    func post(_ news: [ShareNews]) throws {
        for item in news {
            try run(
                "INSERT OR REPLACE INTO share_news (part, user, zone_name, gone, change) VALUES (?, ?, ?, ?, ?)",
                [writtenPart, item.user, item.zoneName, item.isGone, item.change])
        }
    }

    /// News that were overtaken by newer ones stay.
    func removeNews(_ news: [ShareNews]) throws {
        for item in news {
            try run(
                "DELETE FROM share_news WHERE part = ? AND user = ? AND zone_name = ? AND change = ?",
                [writtenPart, item.user, item.zoneName, item.change])
        }
    }
}

extension SQLiteServerStore {
    package func target(ofLink link: Int64) async throws -> LinkTarget? {
        try await reading { db in
            try Row.fetchOne(
                db,
                sql: """
                    SELECT p.container, p.environment, p.owner, z.name, l.name FROM share_links l
                    JOIN partitions p ON p.part = l.part
                    JOIN zones z ON z.part = l.part AND z.zone = l.zone AND z.deleted = 0
                    WHERE l.link = ? AND p.scope = 'private'
                    """, arguments: [link]
            ).flatMap { row in
                CloudEnvironment(rawValue: row[1]).map {
                    LinkTarget(
                        partition: Partition(containerIdentifier: row[0], environment: $0, owner: row[2]), zoneName: row[3],
                        recordName: row[4])
                }
            }
        }
    }

    package func zonesToEmpty(limit: Int) async throws -> [ZoneToEmpty] {
        try await reading { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT p.container, p.environment, p.scope, p.owner, z.zone, z.at FROM zones z INDEXED BY zones_deleted
                    CROSS JOIN partitions p ON p.part = z.part
                    WHERE z.deleted = 1 AND (SELECT 1 FROM records r WHERE r.part = z.part AND r.zone = z.zone LIMIT 1) = 1 LIMIT ?
                    """, arguments: [limit]
            ).compactMap { row in
                guard let environment = CloudEnvironment(rawValue: row[1]), let scope = DatabaseScope(rawValue: row[2]) else { return nil }
                let partition = Partition(containerIdentifier: row[0], environment: environment, scope: scope, owner: row[3])
                return ZoneToEmpty(partition: partition, key: row[4], time: row[5])
            }
        }
    }

    package func pendingNews(limit: Int) async throws -> [(partition: Partition, news: ShareNews)] {
        try await reading { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT p.container, p.environment, p.owner, n.user, n.zone_name, n.gone, n.change FROM share_news n
                    JOIN partitions p ON p.part = n.part LIMIT ?
                    """, arguments: [limit]
            ).compactMap { row in
                CloudEnvironment(rawValue: row[1]).map {
                    (
                        Partition(containerIdentifier: row[0], environment: $0, owner: row[2]),
                        ShareNews(user: row[3], zoneName: row[4], isGone: row[5], change: row[6])
                    )
                }
            }
        }
    }
}
