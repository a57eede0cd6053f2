// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import GRDB

extension SQLiteUnit {
    func sources(
        ofReferencesTo recordName: String, _ action: RecordReference.Action, in zone: Int64, after name: String, limit: Int
    ) throws -> [String] {
        guard let part else { return [] }
        return try rows(
            """
            SELECT source FROM record_references WHERE part = ? AND zone = ? AND target = ? AND action = ? AND source > ?
            ORDER BY source LIMIT ?
            """, [part, zone, recordName, action.rawValue, name, limit]
        ).map { $0[0] }
    }

    func apply(_ changes: [ReferenceChange], in zone: Int64) throws {
        try keeping {
            for change in changes {
                try run(
                    change.isAdded
                        ? "INSERT OR IGNORE INTO record_references (part, zone, target, action, source) VALUES (?, ?, ?, ?, ?)"
                        : "DELETE FROM record_references WHERE part = ? AND zone = ? AND target = ? AND action = ? AND source = ?",
                    [writtenPart, zone, change.target, change.action.rawValue, change.source])
            }
        }
    }

    // MARK: Query subscriptions on the public database

    /// Keeps a subscription where a change of a record finds it.
    func listPublicly(_ subscription: Subscription) throws {
        guard partition.scope == .public else { return }
        try unlistPublicly(subscription.subscriptionID, part: writtenPart)
        guard case .query(let query) = subscription.kind else { return }
        try run(
            "INSERT INTO public_subscriptions (container, environment, type, part, id) VALUES (?, ?, ?, ?, ?)",
            [
                partition.containerIdentifier, partition.environment.rawValue, query.query.recordType, writtenPart,
                subscription.subscriptionID,
            ])
    }

    func unlistPublicly(_ id: String, part: Int64) throws {
        guard partition.scope == .public else { return }
        try run("DELETE FROM public_subscriptions WHERE part = ? AND id = ?", [part, id])
    }

    func publicQuerySubscriptions(ofType recordType: String) throws -> [OwnedSubscription] {
        var owned: [OwnedSubscription] = []
        try visitPublicSubscriptions(ofType: recordType) { owner, _, decode in
            owned.append(OwnedSubscription(owner: owner, subscription: try decode()))
            return true
        }
        return owned
    }

    func visitPublicSubscriptions(
        ofType recordType: String, _ visit: (_ owner: String, _ bytes: Int, _ subscription: () throws -> Subscription) throws -> Bool
    ) throws {
        try self.visit(
            """
            SELECT p.owner, s.body FROM public_subscriptions l
            JOIN partitions p ON p.part = l.part JOIN subscriptions s ON s.part = l.part AND s.id = l.id
            WHERE l.container = ? AND l.environment = ? AND l.type = ? ORDER BY l.part, l.id
            """, [partition.containerIdentifier, partition.environment.rawValue, recordType]
        ) { handle in
            let body = StoredRow.bytes(handle, 1)
            let owner = String(decoding: StoredRow.bytes(handle, 0), as: UTF8.self)
            return try visit(owner, body.count) { try Self.decode(Subscription.self, Array(body)) }
        }
    }

    func retire(_ subscription: OwnedSubscription) throws {
        var partition = partition
        partition.owner = subscription.owner
        guard let part = try Self.part(of: partition, db) else { return }
        let id = subscription.subscription.subscriptionID
        try run("DELETE FROM subscriptions WHERE part = ? AND id = ?", [part, id])
        try unlistPublicly(id, part: part)
    }
}
