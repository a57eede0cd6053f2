// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import GRDB

extension SQLiteServerStore: AuditStorage {
    /// Rows are never updated, which a trigger sees to.
    static let auditTable = """
        CREATE TABLE audit (
            number INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, actor TEXT NOT NULL, network TEXT NOT NULL,
            action TEXT NOT NULL, subject TEXT NOT NULL, outcome TEXT NOT NULL);
        CREATE INDEX audit_time ON audit (time);
        CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
        """

    package func append(_ event: AuditEvent) async throws { try await writing { try Self.insert(event, $0) } }

    static func insert(_ event: AuditEvent, _ db: Database) throws {
        try db.cachedStatement(
            sql: "INSERT INTO audit (time, actor, network, action, subject, outcome) VALUES (?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [event.time, event.actor, event.network, event.action, event.subject, event.outcome.rawValue])
    }

    package func auditEvents(before number: Int64?, limit: Int) async throws -> [(number: Int64, event: AuditEvent)] {
        try await reading { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT number, time, actor, network, action, subject, outcome FROM audit WHERE number < ? ORDER BY number DESC LIMIT ?
                    """, arguments: [number ?? .max, limit]
            ).map { row in
                (
                    row[0],
                    AuditEvent(
                        time: row[1], actorText: row[2], network: row[3], action: row[4], subject: row[5],
                        outcome: AuditEvent.Outcome(rawValue: row[6]) ?? .done)
                )
            }
        }
    }

    package func removeAuditEvents(before time: Int64) async throws {
        try await repeating { db in
            try db.run(
                "DELETE FROM audit WHERE number IN (SELECT number FROM audit WHERE time < ? ORDER BY time LIMIT ?)",
                [time, UnitOfWork.removedRowsMax])
            return db.changesCount
        }
    }
}
