// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import Synchronization

/// The table of accepted requests of senders that send much. It has hashes of senders, and no log: a crash empties it.
enum RequestCountRows {
    static let tables = [
        """
        CREATE UNLOGGED TABLE IF NOT EXISTS request_counts (
            sender bigint NOT NULL PRIMARY KEY, total bigint NOT NULL, at bigint NOT NULL)
        """
    ]

    /// Rows in the order of their keys, so that two processes do not wait for each other.
    fileprivate static let add = """
        INSERT INTO request_counts (sender, total, at)
        SELECT s::bigint, c::bigint, $3 FROM unnest($1::text[], $2::text[]) AS t (s, c) ORDER BY 1
        ON CONFLICT (sender) DO UPDATE SET total = request_counts.total + excluded.total, at = excluded.at RETURNING sender, total
        """
    fileprivate static let forget = "DELETE FROM request_counts WHERE at < $1"
}

/// The totals of senders when this process last asked for them.
struct SeenRequests {
    /// Longer than a budget takes to fill.
    fileprivate static let keptMilliseconds: Int64 = 120_000

    private var totals: [Int64: (total: Int64, at: Int64)] = [:]
    private var forgotten: Int64 = 0

    /// Returns the requests of others since the last call.
    ///
    /// - Parameter own: Requests of this process in the total.
    mutating func others(in total: Int64, of sender: Int64, own: Int, now: Int64) -> Int {
        defer { totals[sender] = (total, now) }
        guard let last = totals[sender] else { return 0 }
        // The table may have been emptied.
        return Int(max(0, total - last.total - Int64(own)))
    }

    /// Once a minute.
    mutating func isDue(now: Int64) -> Bool {
        guard abs(now - forgotten) >= Self.keptMilliseconds / 2 else { return false }
        forgotten = now
        totals = totals.filter { now - $0.value.at < Self.keptMilliseconds }
        return true
    }
}

extension PostgresServerStore: BudgetExchange {
    private static let sendersMax = 1000

    package func exchangeRequests(_ counts: [SharedSender: Int], now: Int64) async throws -> [SharedSender: Int] {
        // Others are limited by each process itself.
        let largest = counts.sorted { $0.value > $1.value }.prefix(Self.sendersMax)
        let senders = Dictionary(largest.map { (Self.number(of: $0.key), $0) }, uniquingKeysWith: { first, _ in first })
        let isDue = seenRequests.withLock { $0.isDue(now: now) }
        let keys = senders.keys.sorted()
        let values =
            PostgresValues.texts(keys.map(String.init)) + .texts(keys.map { String(senders[$0]?.value ?? 0) }) + ([now] as PostgresValues)
        let rows = try await writing { connection in
            if isDue { try connection.send(RequestCountRows.forget, [now - SeenRequests.keptMilliseconds]) }
            return try connection.query(RequestCountRows.add, values).rows
        }
        var others: [SharedSender: Int] = [:]
        seenRequests.withLock { seen in
            for row in rows {
                guard let (sender, own) = senders[row[0]].map({ ($0.key, $0.value) }) else { continue }
                others[sender] = seen.others(in: row[1], of: row[0], own: own, now: now)
            }
        }
        return others
    }

    private static func number(of sender: SharedSender) -> Int64 { PartitionKey.number(of: "\(sender.isNetwork) \(sender.key)") }
}
