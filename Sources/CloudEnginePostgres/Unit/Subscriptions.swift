// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The tables of subscriptions. Those on a public database are also listed by record type, in the list's own small table.
enum SubscriptionRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS subscriptions (
            part bigint NOT NULL, id text COLLATE "C" NOT NULL, body bytea NOT NULL, PRIMARY KEY (part, id))
        """,
        """
        CREATE TABLE IF NOT EXISTS public_subscriptions (
            container text COLLATE "C" NOT NULL, environment text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL,
            part bigint NOT NULL, id text COLLATE "C" NOT NULL, PRIMARY KEY (container, environment, type, part, id))
        """,
        "CREATE INDEX IF NOT EXISTS public_subscriptions_id ON public_subscriptions (part, id)",
    ]

    static let replaceText = """
        UPDATE subscriptions t SET body = convert_to(replace(convert_from(body, 'UTF8'), $1, $2), 'UTF8')
        WHERE position(convert_to($1, 'UTF8') IN t.body) > 0
        """
}

extension PostgresUnit {
    func subscriptions() throws -> [Subscription] {
        try rows("SELECT body FROM subscriptions WHERE part = $1 ORDER BY id", [part], from: .subscriptions, isRepeated: true).map {
            try Self.decode(Subscription.self, $0[0])
        }
    }

    func subscription(id: String) throws -> Subscription? {
        try rows("SELECT body FROM subscriptions WHERE part = $1 AND id = $2", [part, id], from: .subscriptions).first.map {
            try Self.decode(Subscription.self, $0[0])
        }
    }

    func save(_ subscription: Subscription) throws {
        try run(
            "INSERT INTO subscriptions (part, id, body) VALUES ($1, $2, $3) ON CONFLICT (part, id) DO UPDATE SET body = excluded.body",
            [part, subscription.subscriptionID, subscription.encoded()], changing: .subscriptions)
        guard partition.scope == .public else { return }
        try unlist(subscription.subscriptionID, part: part)
        guard case .query(let query) = subscription.kind else { return }
        try run(
            "INSERT INTO public_subscriptions (container, environment, type, part, id) VALUES ($1, $2, $3, $4, $5)",
            place + [query.query.recordType, part, subscription.subscriptionID], changing: .publicSubscriptions)
    }

    func removeSubscription(id: String) throws { try removeSubscription(id: id, part: part) }

    private func removeSubscription(id: String, part: Int64) throws {
        try run("DELETE FROM subscriptions WHERE part = $1 AND id = $2", [part, id], changing: .subscriptions)
        try unlist(id, part: part)
    }

    private func unlist(_ id: String, part: Int64) throws {
        guard partition.scope == .public else { return }
        try run("DELETE FROM public_subscriptions WHERE part = $1 AND id = $2", [part, id], changing: .publicSubscriptions)
    }

    func publicQuerySubscriptions(ofType recordType: String) throws -> [OwnedSubscription] {
        try rows(
            """
            SELECT p.owner, s.body FROM public_subscriptions l
            JOIN partitions p ON p.part = l.part JOIN subscriptions s ON s.part = l.part AND s.id = l.id
            WHERE l.container = $1 AND l.environment = $2 AND l.type = $3 ORDER BY l.part, l.id
            """, place + [recordType], from: .publicSubscriptions, .subscriptions
        ).map { OwnedSubscription(owner: $0[0], subscription: try Self.decode(Subscription.self, $0[1])) }
    }

    func retire(_ subscription: OwnedSubscription) throws {
        var other = partition
        other.owner = subscription.owner
        var key = PartitionKey(other)
        while let row = try rows(PartitionRows.read, [key.part], from: .partitions).first {
            guard !PartitionRows.isRow(row, of: other) else {
                writesOutside = true
                return try removeSubscription(id: subscription.subscription.subscriptionID, part: key.part)
            }
            key = key.next(other)
        }
    }
}
