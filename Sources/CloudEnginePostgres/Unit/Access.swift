// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudStorageSupport
import CloudWire

/// The tables of grants, custom roles and their members.
enum AccessRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS grants (
            container text COLLATE "C" NOT NULL, environment text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL,
            role text COLLATE "C" NOT NULL, permissions bigint NOT NULL, PRIMARY KEY (container, environment, type, role))
        """,
        """
        CREATE TABLE IF NOT EXISTS roles (
            container text COLLATE "C" NOT NULL, environment text COLLATE "C" NOT NULL, role text COLLATE "C" NOT NULL,
            PRIMARY KEY (container, environment, role))
        """,
        """
        CREATE TABLE IF NOT EXISTS role_members (
            container text COLLATE "C" NOT NULL, environment text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
            role text COLLATE "C" NOT NULL, PRIMARY KEY (container, environment, name, role))
        """,
    ]

    static let removeMember = "DELETE FROM role_members WHERE name = $1"
}

extension PostgresUnit {
    func grants(ofType recordType: String) throws -> SecurityGrants? {
        // As for the schema of such a type.
        guard !recordType.utf8.contains(0) else { return nil }
        let rows = try rows(
            "SELECT role, permissions FROM grants WHERE container = $1 AND environment = $2 AND type = $3", place + [recordType],
            from: .grants, isRepeated: true)
        guard !rows.isEmpty else { return nil }
        var grants = SecurityGrants(byRole: [:])
        for row in rows { grants.add(role: row[0], RolePermissions(rawValue: row[1])) }
        return grants
    }

    func roles() throws -> [String] {
        try rows("SELECT role FROM roles WHERE container = $1 AND environment = $2 ORDER BY role", place, from: .roles).map { $0[0] }
    }

    func roles(ofUser userRecordName: String) throws -> Set<String> {
        Set(
            try rows(
                "SELECT role FROM role_members WHERE container = $1 AND environment = $2 AND name = $3", place + [userRecordName],
                from: .roles, isRepeated: true
            ).map { $0[0] })
    }

    func userSince(_ userRecordName: String) throws -> Int64? {
        try rows(
            """
            SELECT a.created FROM user_names n JOIN accounts a ON a.account = n.account WHERE n.container = $1 AND n.name = $2
            UNION ALL SELECT created FROM server_keys WHERE container = $1 AND name = $2
            """, [partition.containerIdentifier, userRecordName], from: .accounts
        ).first.map { $0[0] }
    }

    func quota(ofUser userRecordName: String) throws -> Int64? {
        try rows(
            "SELECT a.quota FROM user_names n JOIN accounts a ON a.account = n.account WHERE n.container = $1 AND n.name = $2",
            [partition.containerIdentifier, userRecordName], from: .accounts, isRepeated: true
        ).first.flatMap { $0[0] }
    }

    func setGrants(_ grants: SecurityGrants, ofType recordType: String) throws {
        try forgetGrants(ofType: recordType)
        for (role, permissions) in [("", RolePermissions())] + grants.byRole.sorted(by: { $0.key < $1.key }) {
            try run(
                "INSERT INTO grants (container, environment, type, role, permissions) VALUES ($1, $2, $3, $4, $5)",
                place + [recordType, role, permissions.rawValue], changing: .grants)
        }
    }

    func forgetGrants(ofType recordType: String) throws {
        try run("DELETE FROM grants WHERE container = $1 AND environment = $2 AND type = $3", place + [recordType], changing: .grants)
    }

    func addRole(_ role: String) throws {
        try run(
            "INSERT INTO roles (container, environment, role) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", place + [role], changing: .roles)
    }

    func removeRole(_ role: String) throws {
        for (table, cached) in [("roles", .roles), ("role_members", .roles), ("grants", .grants)] as [(String, PostgresTable)] {
            try run("DELETE FROM \(table) WHERE container = $1 AND environment = $2 AND role = $3", place + [role], changing: cached)
        }
    }

    func setRoles(_ roles: Set<String>, ofUser userRecordName: String) throws {
        try run(
            "DELETE FROM role_members WHERE container = $1 AND environment = $2 AND name = $3", place + [userRecordName], changing: .roles)
        for role in roles.sorted() {
            try run(
                "INSERT INTO role_members (container, environment, name, role) VALUES ($1, $2, $3, $4)", place + [userRecordName, role],
                changing: .roles)
        }
    }
}
