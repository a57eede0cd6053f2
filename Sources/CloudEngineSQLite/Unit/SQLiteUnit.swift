// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Foundation
import GRDB

/// One partition inside a transaction.
struct SQLiteUnit: PartitionWriter {
    let db: Database
    let partition: Partition
    /// Key of the partition; nil while it was never written to.
    let part: Int64?

    /// What a brief read may still take; nil for reads that may be long.
    let allowance: ReadAllowance?
    /// What the writer remembers; nil for reads, and for what is done once in a while.
    private let memory: WriterMemory?

    /// - Parameter part: The partition's key, if it is known.
    init(reading partition: Partition, part: Int64? = nil, _ db: Database, allowance: ReadAllowance? = nil) throws {
        self.db = db
        self.partition = partition
        self.allowance = allowance
        memory = nil
        self.part = try part ?? Self.part(of: partition, db)
    }

    init(writing partition: Partition, part: Int64? = nil, _ db: Database, _ memory: WriterMemory? = nil) throws {
        self.db = db
        self.partition = partition
        allowance = nil
        self.memory = memory
        if let part = try part ?? Self.part(of: partition, db) {
            self.part = part
            return
        }
        try db.run("INSERT INTO partitions (container, environment, scope, owner) VALUES (?, ?, ?, ?)", Self.key(of: partition))
        self.part = db.lastInsertedRowID
    }

    /// The key of a partition that is written to.
    var writtenPart: Int64 {
        guard let part else { preconditionFailure("a unit of work was opened for reading only") }
        return part
    }

    func run(_ sql: String, _ arguments: Arguments) throws { try db.run(sql, arguments) }

    /// A value that is read once, and then again when something else changed than what ``keeping(_:)`` changes.
    func remembered<Value>(_ key: WriterMemory.Key, _ read: () throws -> Value) rethrows -> Value {
        guard let memory else { return try read() }
        return try memory.value(key, db, read)
    }

    /// Makes changes to which nothing that is ``remembered(_:_:)`` owes anything.
    func keeping<Value>(_ write: () throws -> Value) rethrows -> Value {
        guard let memory else { return try write() }
        return try memory.keeping(db, write)
    }

    func rows(_ sql: String, _ arguments: Arguments) throws -> [StoredRow] { try db.rows(sql, arguments) }

    func row(_ sql: String, _ arguments: Arguments) throws -> StoredRow? { try db.row(sql, arguments) }

    static func key(of partition: Partition) -> Arguments {
        [partition.containerIdentifier, partition.environment.rawValue, partition.scope.rawValue, partition.owner]
    }

    static func part(of partition: Partition, _ db: Database) throws -> Int64? {
        try db.row(
            "SELECT part FROM partitions WHERE container = ? AND environment = ? AND scope = ? AND owner = ?", key(of: partition)
        ).map { $0[0] }
    }

    /// Reads what this server wrote as JSON.
    static func decode<Message: WireMessage>(_ type: Message.Type, _ body: [UInt8]) throws -> Message {
        do {
            return try Message(json: body)
        } catch {
            throw StorageFailure(.corrupt, "a stored message could not be read")
        }
    }
}
