// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Foundation
import GRDB

/// One partition inside a transaction.
struct SQLiteUnit: UnitOfWork {
    let db: Database
    let partition: Partition
    /// Key of the partition; nil while it was never written to.
    let part: Int64?

    init(reading partition: Partition, _ db: Database) throws {
        self.db = db
        self.partition = partition
        part = try Self.part(of: partition, db)
    }

    init(writing partition: Partition, _ db: Database) throws {
        self.db = db
        self.partition = partition
        if let part = try Self.part(of: partition, db) {
            self.part = part
            return
        }
        try db.execute(
            sql: "INSERT INTO partitions (container, environment, scope, owner) VALUES (?, ?, ?, ?)",
            arguments: Self.key(of: partition))
        part = db.lastInsertedRowID
    }

    /// The key of a partition that is written to.
    var writtenPart: Int64 {
        guard let part else { preconditionFailure("a unit of work was opened for reading only") }
        return part
    }

    func run(_ sql: String, _ arguments: StatementArguments) throws {
        try db.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    func rows(_ sql: String, _ arguments: StatementArguments) throws -> [Row] {
        try Row.fetchAll(try db.cachedStatement(sql: sql), arguments: arguments)
    }

    static func key(of partition: Partition) -> StatementArguments {
        [partition.containerIdentifier, partition.environment.rawValue, partition.scope.rawValue, partition.owner]
    }

    static func part(of partition: Partition, _ db: Database) throws -> Int64? {
        let statement = try db.cachedStatement(
            sql: "SELECT part FROM partitions WHERE container = ? AND environment = ? AND scope = ? AND owner = ?")
        return try Int64.fetchOne(statement, arguments: key(of: partition))
    }

    /// Reads what this server wrote as JSON.
    static func decode<Message: WireMessage>(_ type: Message.Type, _ body: Data) throws -> Message {
        do {
            return try Message(json: [UInt8](body))
        } catch {
            throw StorageFailure(.corrupt, "a stored message could not be read")
        }
    }
}
