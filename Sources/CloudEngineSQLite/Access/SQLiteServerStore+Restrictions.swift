// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudWire
import GRDB
import Synchronization

struct Restriction: Hashable, Sendable {
    var containerIdentifier: String
    var environment: CloudEnvironment
    var user: String
}

/// Only the server changes restrictions, and it asks at each request, so it knows them by heart.
extension SQLiteServerStore {
    package func isRestricted(
        user userRecordName: String, containerIdentifier: String, environment: CloudEnvironment
    ) async throws -> Bool {
        let restriction = Restriction(containerIdentifier: containerIdentifier, environment: environment, user: userRecordName)
        if let known = restrictions.withLock({ $0 }) { return known.contains(restriction) }
        let stored = try await reading { db in
            try Row.fetchAll(db, sql: "SELECT container, environment, user FROM restrictions").compactMap { row in
                CloudEnvironment(rawValue: row[1]).map { Restriction(containerIdentifier: row[0], environment: $0, user: row[2]) }
            }
        }
        return restrictions.withLock { known in
            // A concurrent reader may have loaded them, and a concurrent writer changed them.
            if known == nil { known = Set(stored) }
            return known?.contains(restriction) ?? false
        }
    }

    package func setRestricted(
        _ isRestricted: Bool, user userRecordName: String, containerIdentifier: String, environment: CloudEnvironment, now: Int64
    ) async throws {
        let restriction = Restriction(containerIdentifier: containerIdentifier, environment: environment, user: userRecordName)
        let key: StatementArguments = [containerIdentifier, environment.rawValue, userRecordName]
        _ = try await self.isRestricted(
            user: userRecordName, containerIdentifier: containerIdentifier, environment: environment)
        try await writing { db in
            guard isRestricted else {
                return try db.execute(
                    sql: "DELETE FROM restrictions WHERE container = ? AND environment = ? AND user = ?", arguments: key)
            }
            try db.execute(
                sql: "INSERT OR IGNORE INTO restrictions (container, environment, user, since) VALUES (?, ?, ?, ?)",
                arguments: key + [now])
        }
        restrictions.withLock { known in
            if isRestricted { known?.insert(restriction) } else { known?.remove(restriction) }
        }
    }
}
