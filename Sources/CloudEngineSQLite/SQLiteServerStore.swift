// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
package import CloudStorageSupport
import Crypto
import Foundation
import GRDB
import Synchronization

/// Everything a server keeps, in one folder: an SQLite database and the files of assets.
///
/// One writer connection does all writes and all checkpoints; several read. Commits are durable before they are
/// answered (write-ahead log with full synchronisation).
package final class SQLiteServerStore: Sendable {
    package enum Use: Sendable {
        /// A server: no other server may use the folder at the same time.
        case server
        /// A command while a server may be running.
        case command
    }

    /// Version of the database's format.
    package static let databaseFormat = DatabaseFormat.current.rawValue

    let folder: DataFolder
    let pool: DatabasePool
    let readers: ReaderGate
    let writer: GroupCommit
    /// For what a request looks up by its key while all of ``briefReaders`` are in use, and for the version of the data, which SQLite counts
    /// for each connection.
    let lookups: DatabaseQueue
    let briefReaders: BriefReaders
    let staged: StagedRequests
    let parts = PartitionKeys()
    let userNames = Mutex<[UserNameKey: String]>([:])
    /// Users with restricted data; nil until they were first read.
    let restrictions = Mutex<Set<Restriction>?>(nil)
    package let uploads = UploadTurns()
    package let assetObjects: (any AssetObjects)?
    /// Whether this process is the folder's server. Commands open the store as well.
    var isServer: Bool { serverLock != nil }
    let writeLock: FolderLock
    private let serverLock: FolderLock?
    let sealingKeys: SealingKeys
    /// Revocations when the keys were last read.
    let keysSeen = Mutex<Int64?>(nil)
    /// Of new password hashes.
    let passwordParameters: PasswordHash.Parameters

    /// Opens the store, and makes it if the folder is new.
    ///
    /// - Throws: `StorageFailure` with `.notWritable`, `.inUse`, `.corrupt`, `.newerFormat` or `.unavailable`.
    /// - Parameters:
    ///   - passwordRounds: The cost factor of new password hashes; nil for the recommended one. Tests take fewer.
    ///   - objects: Where complete files of assets go; nil for the folder.
    ///   - firstKey: The authentication key of a new folder, 32 bytes; nil for a random one. Simulations take a reproducible one.
    package init(path: String, use: Use, objects: (any AssetObjects)? = nil, passwordRounds: Int? = nil, firstKey: [UInt8]? = nil) throws {
        assetObjects = objects
        passwordParameters = PasswordHash.Parameters(rounds: passwordRounds ?? PasswordHash.Parameters.rounds)
        folder = try DataFolder(path: path)
        staged = StagedRequests(folder: folder.staged)
        switch use {
        case .server:
            let lock = try FolderLock(path: folder.serverLock)
            guard lock.tryLock() else { throw StorageFailure(.inUse, "another server uses the data folder") }
            serverLock = lock
            folder.files.removeLeftovers()
            staged.removeFiles()
        case .command:
            serverLock = nil
        }
        let folder = folder
        writeLock = try FolderLock(path: folder.writeLock)
        do {
            let ring: SealingKeys.Ring
            (pool, ring) = try writeLock.withLock { try Self.open(folder.database, firstKey) }
            sealingKeys = SealingKeys(ring)
            var configuration = Configuration()
            configuration.label = "tarn.lookups"
            configuration.busyMode = .timeout(10)
            configuration.readonly = true
            lookups = try DatabaseQueue(path: folder.database, configuration: configuration)
            configuration.label = "tarn.brief"
            briefReaders = BriefReaders(path: folder.database, configuration)
        } catch let error as DatabaseError {
            throw StorageFailure(error)
        }
        readers = ReaderGate(pool)
        writer = GroupCommit(pool, lock: writeLock)
    }

    /// Closes all connections once running reads have ended. Requests after it fail.
    package func close() throws {
        readers.close()
        do {
            try lookups.close()
            try briefReaders.close()
            try writeLock.withLock { try pool.close() }
            // A request that has just ended may still hold the store itself.
            serverLock?.unlock()
        } catch let error as DatabaseError {
            throw StorageFailure(error)
        }
    }

    /// Commits so far.
    package var commits: Int { writer.commits }

    private static func open(_ path: String, _ firstKey: [UInt8]?) throws -> (DatabasePool, SealingKeys.Ring) {
        var configuration = Configuration()
        configuration.label = "tarn"
        configuration.busyMode = .timeout(10)
        let pool = try DatabasePool(path: path, configuration: configuration)
        let ring = try pool.writeWithoutTransaction { db in
            // Set after the pool chose NORMAL for its journal: a server that acknowledges writes needs FULL.
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try DatabaseFormat.prepare(db)
            if let state = try SQLiteMoveEnd.state(db) { try state.checkUse() }
            return try SealingKeys.read(SQLiteMeta(db))
                ?? SealingKeys.make(firstKey.map { SymmetricKey(data: $0) } ?? SymmetricKey(size: .bits256), SQLiteMeta(db))
        }
        return (pool, ring)
    }
}

extension SQLiteServerStore: ServerStorage {}

extension SQLiteServerStore: EngineStorage {
    package func read<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionReader) throws -> Value
    ) async throws -> Value {
        do {
            return try await readers.read(terms) { [parts] db, clock in try body(try parts.unit(reading: partition, db, clock: clock)) }
        } catch let error as DatabaseError {
            throw StorageFailure(error)
        }
    }

    package func readBriefly<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionReader) throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        do {
            let value = try briefReaders.read { db, allowance in
                try body(try parts.unit(reading: partition, db, allowance: allowance))
            }
            if let value { return value }
        } catch let error as DatabaseError {
            throw StorageFailure(error)
        }
        return try await read(partition, terms, body)
    }

    package func write<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionWriter) throws -> Value
    ) async throws -> Value {
        do {
            let known = parts[partition]
            let account = terms.account
            let (value, part) = try await PendingAudit.store { event in
                try await writer.submit(terms) { [staged] db, memory, clock in
                    if let account { try Self.checkExistence(of: account, db, memory) }
                    let unit = try SQLiteUnit(writing: partition, part: known, db, staged, memory, clock)
                    let value = try body(unit)
                    if let event { try Self.insert(event, db) }
                    return (value, unit.writtenPart)
                }
            }
            if known == nil { parts[partition] = part }
            return value
        } catch let error as DatabaseError {
            throw StorageFailure(error)
        }
    }
}

extension StorageFailure {
    /// What went wrong, without statement, values and paths.
    init(_ error: DatabaseError) {
        // Errors of the unit's own statements have no message of the trigger. The only other one that rejects rows is that of the audit log,
        // which no statement updates.
        if error.extendedResultCode == .SQLITE_CONSTRAINT_TRIGGER {
            self = .moved
            return
        }
        let code: Code =
            switch error.resultCode {
            case .SQLITE_BUSY, .SQLITE_LOCKED: .busy
            case .SQLITE_FULL: .full
            case .SQLITE_CORRUPT, .SQLITE_NOTADB: .corrupt
            case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM: .notWritable
            default: .unavailable
            }
        self.init(code, "SQLite result \(error.extendedResultCode.rawValue)")
    }
}
