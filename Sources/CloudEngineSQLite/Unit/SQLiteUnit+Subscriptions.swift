// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import GRDB
import GRDBSQLite

/// Subscriptions of a partition. A save needs to know only which changes and types they are about; filters, which may be long, are
/// decoded when they are listed or evaluated.
extension SQLiteUnit {
    func subscriptions() throws -> [Subscription] {
        var subscriptions: [Subscription] = []
        try visitSubscriptions { bytes, decode in
            try allowance?.take(4 * bytes)
            subscriptions.append(try decode())
            return true
        }
        return subscriptions
    }

    func visitSubscriptions(_ visit: (_ bytes: Int, _ subscription: () throws -> Subscription) throws -> Bool) throws {
        guard let part else { return }
        try self.visit("SELECT body FROM subscriptions WHERE part = ? ORDER BY id", [part]) { handle in
            let body = StoredRow.bytes(handle, 0)
            return try visit(body.count) { try Self.decode(Subscription.self, Array(body)) }
        }
    }

    func subscription(id: String) throws -> Subscription? {
        guard let part else { return nil }
        return try rows("SELECT body FROM subscriptions WHERE part = ? AND id = ?", [part, id]).first.map {
            try Self.decode(Subscription.self, $0[0])
        }
    }

    func subscriptionIDs() throws -> Set<String> {
        guard let part else { return [] }
        return Set(try rows("SELECT id FROM subscriptions WHERE part = ?", [part]).map { $0[0] as String })
    }

    func changeSubscriptions() throws -> [Subscription] {
        guard let part else { return [] }
        return try remembered(.changeSubscriptions(part: part)) {
            try rows(
                """
                SELECT body FROM subscriptions
                WHERE part = ? AND json_extract(CAST(body AS TEXT), '$.subscriptionType') <> 'query' ORDER BY id
                """, [part]
            ).map {
                let body: [UInt8] = $0[0]
                try allowance?.take(4 * body.count)
                return try Self.decode(Subscription.self, body)
            }
        }
    }

    func queriedTypes() throws -> Set<String> {
        guard let part else { return [] }
        return try remembered(.queriedTypes(part: part)) {
            let rows = try rows(
                "SELECT DISTINCT json_extract(CAST(body AS TEXT), '$.query.recordType') FROM subscriptions WHERE part = ?", [part])
            return Set(rows.compactMap { row -> String? in row[0] })
        }
    }
}
