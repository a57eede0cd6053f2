// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Foundation
import GRDB

/// One partition inside a transaction.
final class SQLiteUnit: PartitionWriter {
    let db: Database
    let partition: Partition
    /// Key of the partition; nil while it was never written to.
    let part: Int64?

    /// The remaining allowance of a brief read; nil for reads that may be long.
    let allowance: ReadAllowance?
    /// The writer's cache; nil for reads, and for rare writes.
    private let memory: WriterMemory?
    /// The files of staged requests; nil for reads.
    private let staged: StagedRequests?
    /// Ends the unit when its time is up; nil for units that are brief, or the server's own.
    let clock: UnitClock?

    /// - Parameter part: The partition's key, if it is known.
    init(reading partition: Partition, part: Int64? = nil, _ db: Database, allowance: ReadAllowance? = nil, clock: UnitClock? = nil) throws
    {
        self.db = db
        self.partition = partition
        self.allowance = allowance
        self.clock = clock
        memory = nil
        staged = nil
        self.part = try part ?? Self.part(of: partition, db)
    }

    init(
        writing partition: Partition, part: Int64? = nil, _ db: Database, _ staged: StagedRequests, _ memory: WriterMemory? = nil,
        _ clock: UnitClock? = nil
    ) throws {
        self.staged = staged
        self.db = db
        self.partition = partition
        allowance = nil
        self.memory = memory
        self.clock = clock
        if let part = try part ?? Self.part(of: partition, db) {
            self.part = part
            return
        }
        // SQLite would give the number of a removed partition again, which other processes may still know.
        let removed = try SQLiteServerStore.greatestRemoved(.part, db)
        let greatest: Int64 = try db.row("SELECT max(part) FROM partitions", []).map { $0[0] } ?? 0
        let number = max(removed, greatest, try ObjectParts.greatest(db)) + 1
        try db.run(
            "INSERT INTO partitions (part, epoch, container, environment, scope, owner) VALUES (?, ?, ?, ?, ?, ?)",
            [number, try SQLiteServerStore.firstEpoch(db)] + Self.key(of: partition)
        )
        self.part = number
    }

    /// The key of a partition that is written to.
    var writtenPart: Int64 {
        guard let part else { preconditionFailure("a unit of work was opened for reading only") }
        return part
    }

    /// The files of staged requests, for a unit that writes.
    var writtenStaged: StagedRequests {
        guard let staged else { preconditionFailure("a unit of work was opened for reading only") }
        return staged
    }

    /// Runs a statement that writes.
    func run(_ sql: String, _ arguments: Arguments) throws {
        try clock?.check()
        clock?.isWriting = true
        defer { clock?.isWriting = false }
        try db.run(sql, arguments)
    }

    /// A value that is read once, and then again when something else changed than what ``keeping(_:)`` changes.
    func remembered<Value>(_ key: WriterMemory.Key, _ read: () throws -> Value) rethrows -> Value {
        guard let memory else { return try read() }
        return try memory.value(key, db, read)
    }

    /// Stores a value of ``remembered(_:_:)`` after the write that changed it.
    func remember<Value>(_ value: Value, as key: WriterMemory.Key) { memory?.set(key, value, db) }

    /// Makes changes to which nothing that is ``remembered(_:_:)`` owes anything, unless ``remember(_:as:)`` follows.
    func keeping<Value>(_ write: () throws -> Value) rethrows -> Value {
        guard let memory else { return try write() }
        return try memory.keeping(db, write)
    }

    func rows(_ sql: String, _ arguments: Arguments) throws -> [StoredRow] {
        try clock?.check()
        return try db.rows(sql, arguments)
    }

    func row(_ sql: String, _ arguments: Arguments) throws -> StoredRow? {
        try clock?.check()
        return try db.row(sql, arguments)
    }

    /// Visits the rows of a statement until `visit` returns false. Nothing may run the same statement at the same time.
    func visit(_ sql: String, _ arguments: Arguments, _ visit: (OpaquePointer) throws -> Bool) throws {
        try db.visit(sql, arguments) { handle in
            try clock?.check()
            return try visit(handle)
        }
    }

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
