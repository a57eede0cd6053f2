// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudStorageSupport
import CloudWire
import GRDB

extension SQLiteUnit {
    private var place: Arguments { [partition.containerIdentifier, partition.environment.rawValue] }

    func grants(ofType recordType: String) throws -> SecurityGrants? {
        let rows = try rows(
            "SELECT role, permissions FROM grants WHERE container = ? AND environment = ? AND type = ?",
            place + [recordType])
        guard !rows.isEmpty else { return nil }
        var grants = SecurityGrants(byRole: [:])
        for row in rows { grants.add(role: row[0], RolePermissions(rawValue: row[1])) }
        return grants
    }

    func roles() throws -> [String] {
        try rows("SELECT role FROM roles WHERE container = ? AND environment = ? ORDER BY role", place).map { $0[0] }
    }

    func roles(ofUser userRecordName: String) throws -> Set<String> {
        Set(
            try rows(
                "SELECT role FROM role_members WHERE container = ? AND environment = ? AND name = ?",
                place + [userRecordName]
            ).map { $0[0] })
    }

    func userSince(_ userRecordName: String) throws -> Int64? {
        try rows(
            """
            SELECT a.created FROM user_names n JOIN accounts a ON a.account = n.account
            WHERE n.container = ? AND n.name = ?
            UNION ALL SELECT created FROM server_keys WHERE container = ? AND name = ?
            """, [partition.containerIdentifier, userRecordName, partition.containerIdentifier, userRecordName]
        ).first.map { $0[0] }
    }

    func quota(ofUser userRecordName: String) throws -> Int64? {
        let container = partition.containerIdentifier
        return try remembered(.quota(containerIdentifier: container, userRecordName: userRecordName)) {
            try row(
                "SELECT a.quota FROM user_names n JOIN accounts a ON a.account = n.account WHERE n.container = ? AND n.name = ?",
                [container, userRecordName]
            ).flatMap { $0[0] }
        }
    }

    func setGrants(_ grants: SecurityGrants, ofType recordType: String) throws {
        try run("DELETE FROM grants WHERE container = ? AND environment = ? AND type = ?", place + [recordType])
        for (role, permissions) in [("", RolePermissions())] + grants.byRole.sorted(by: { $0.key < $1.key }) {
            try run(
                "INSERT INTO grants (container, environment, type, role, permissions) VALUES (?, ?, ?, ?, ?)",
                place + [recordType, role, permissions.rawValue])
        }
    }

    func addRole(_ role: String) throws {
        try run("INSERT OR IGNORE INTO roles (container, environment, role) VALUES (?, ?, ?)", place + [role])
    }

    func removeRole(_ role: String) throws {
        try run("DELETE FROM roles WHERE container = ? AND environment = ? AND role = ?", place + [role])
        try run("DELETE FROM role_members WHERE container = ? AND environment = ? AND role = ?", place + [role])
        try run("DELETE FROM grants WHERE container = ? AND environment = ? AND role = ?", place + [role])
    }

    func setRoles(_ roles: Set<String>, ofUser userRecordName: String) throws {
        try run(
            "DELETE FROM role_members WHERE container = ? AND environment = ? AND name = ?", place + [userRecordName])
        for role in roles.sorted() {
            try run(
                "INSERT INTO role_members (container, environment, name, role) VALUES (?, ?, ?, ?)",
                place + [userRecordName, role])
        }
    }
}
