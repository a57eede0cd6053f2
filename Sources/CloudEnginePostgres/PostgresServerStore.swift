// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
package import CloudStorageSupport
package import CloudWire
import Foundation
import Synchronization
import SystemSupport

/// Everything a server keeps, in a PostgreSQL database, with the files of assets in a folder. Any number of processes use one database.
///
/// Units of work run on the threads of the pool. Units that write to one partition share transactions (``PartitionTransaction``). A unit
/// that loses to another one, or whose connection is lost before its commit, is executed again; see ``write(_:_:_:)``.
package final class PostgresServerStore: Sendable {
    /// Version of the tables' format.
    package static let databaseFormat = Int(PostgresFormat.current)
    /// Attempts of a unit at most.
    private static let attemptsMax = 10
    /// Seconds after which no further attempt begins: the client retries instead, at any server.
    private static let attemptSeconds = 10.0
    private static let backoff = Backoff(firstSeconds: 0.004, longestSeconds: 1)
    /// Connections of a process.
    package static let connectionsDefault = 16
    /// Seconds since the lock of a partition in which units join its transaction.
    package static let joinSecondsDefault = 0.02

    package enum Use: Hashable, Sendable {
        case server
        /// A command while servers may be running. It doesn't make the folder of assets.
        ///
        /// - Parameter makesTables: Whether it may be the first to use the database.
        case command(makesTables: Bool)
    }

    /// For connections outside of the pool.
    let primary: PostgresPrimary
    let pool: PostgresPool
    package let assetFolder: AssetFolder
    package let assetObjects: (any AssetObjects)?
    let units: PostgresUnits
    let userNames = Mutex<[String: String]>([:])
    let restrictions = Mutex<RestrictionMemory?>(nil)
    let seenRequests = Mutex(SeenRequests())
    package let uploads = UploadTurns()
    let passwordParameters: PasswordHash.Parameters
    let sealingKeys: SealingKeys
    /// Revocations when the keys and the epoch were last read.
    let valuesSeen = Mutex<Int64?>(nil)

    /// Opens the database and makes its tables if it is empty.
    ///
    /// - Parameters:
    ///   - address: `postgres://user@host:port/name`; with several hosts, the primary among them is used.
    ///   - assets: The folder of assets. All processes of one database have the same, unless they have `objects`.
    ///   - objects: Where complete files of assets go; nil for the folder.
    ///   - onSlowStatement: Called on a thread of the storage.
    ///   - passwordRounds: The cost factor of new password hashes; nil for the recommended one. Tests take fewer.
    ///   - joinSeconds: Seconds in which units join a transaction. Tests take others.
    ///   - waits: Called around each wait for the database. Simulations wait, too.
    /// - Throws: `StorageFailure` with `.unavailable`, `.newerFormat`, `.notWritable`; `noData` for an empty database whose tables aren't
    ///   made.
    package init(
        address: String, assets: String, objects: (any AssetObjects)? = nil, use: Use = .server, connections: Int = connectionsDefault,
        passwordRounds: Int? = nil, joinSeconds: Double = joinSecondsDefault, waits: WaitObserver? = nil,
        onSlowStatement: (@Sendable (SlowStatement) -> Void)? = nil
    ) throws {
        assetObjects = objects
        passwordParameters = PasswordHash.Parameters(rounds: passwordRounds ?? PasswordHash.Parameters.rounds)
        primary = try PostgresPrimary(address)
        assetFolder = try AssetFolder(path: assets, makesFolders: use == .server)
        let first = try primary.connect()
        defer { first.close() }
        do {
            try PostgresFormat.prepare(first, makesTables: use != .command(makesTables: false))
            try PostgresMoveEnd.state(first)?.checkUse()
            sealingKeys = SealingKeys(try PostgresFormat.sealingKeys(first))
            units = PostgresUnits(firstEpoch: try PostgresMeta(first).number(PartitionRows.firstEpochKey) ?? PartitionState().epoch)
            try first.synchronize()
        } catch let error as PostgresError {
            throw error.storageFailure
        }
        pool = try PostgresPool(
            primary, units, joinTime: .seconds(joinSeconds), size: connections, waits: waits, onSlowStatement: onSlowStatement)
        if use == .server { primary.watch() }
    }

    deinit {
        // Threads have the connections, so nothing else ends them for a store that nobody closed. This may be one of these threads.
        pool.beginClosing()
        primary.beginClosing()
    }

    package func close() throws {
        pool.close()
        primary.close()
    }

    package var commits: Int { units.commits }

    // MARK: Attempts

    /// Makes attempts until one does not ask for another.
    ///
    /// After a commit with an unknown outcome, only a result of the unit itself shows whether it was carried out: the unit looks for its
    /// stored answer. If no later attempt executes the unit to its end, the request stays in doubt.
    ///
    /// - Parameter attempt: Throws ``PostgresRetry`` or `PostgresUnreachable` for another attempt.
    /// - Throws: What `attempt` throws; `StorageFailure.inDoubt`.
    private func retrying<Value: Sendable>(_ attempt: @Sendable (_ isRepeated: Bool) async throws -> Value) async throws -> Value {
        var failure = StorageFailure(.busy, "the transaction lost to others too often")
        var (isRepeated, isInDoubt) = (false, false)
        let end = ContinuousClock.now + .seconds(Self.attemptSeconds)
        for number in 0..<Self.attemptsMax {
            if number > 0, .now >= end { break }
            do {
                if number > 0 { try await Task.sleep(for: Self.backoff.delay(attempt: number, jitter: Double.random(in: 0...1))) }
                return try await attempt(isRepeated)
            } catch let retry as PostgresRetry {
                failure = retry.failure
                isRepeated = true
                isInDoubt = isInDoubt || retry.isInDoubt
            } catch let unreachable as PostgresUnreachable {
                failure = unreachable.storageFailure
            } catch let error where isInDoubt && !Self.isOfUnit(error) {
                throw StorageFailure.inDoubt
            }
        }
        throw isInDoubt ? StorageFailure.inDoubt : failure
    }

    /// Whether a unit threw the error after it looked for its stored answer.
    private static func isOfUnit(_ error: any Error) -> Bool {
        guard let error = error as? WireError else { return false }
        return error != PostgresTimeIsUp.wireError
    }

    /// Runs a transaction until it commits.
    ///
    /// - Parameter body: May run several times, but not after an unknown outcome.
    private func attempting<Value: Sendable>(
        _ requester: String = "",
        _ body: @escaping @Sendable (PostgresConnection, _ commit: () throws -> Void) throws -> Value
    ) async throws -> Value {
        try await retrying { _ in
            try await self.pool.run(requester) { connection in
                connection.answerSeconds = UnitLimits.session.answerSeconds
                connection.commitSeconds = UnitLimits.commitSeconds
                var isSent = false
                do {
                    return try body(connection) { try connection.commit { isSent = true } }
                } catch {
                    connection.recover()
                    throw (error as? PostgresError)?.failure(isCommitSent: isSent) ?? error
                }
            }
        }
    }

    /// Reads outside of partitions.
    func reading<Value: Sendable>(_ body: @escaping @Sendable (PostgresConnection) throws -> Value) async throws -> Value {
        try await attempting { connection, _ in
            let value = try body(connection)
            try connection.endReading(isExplicit: false)
            return value
        }
    }

    /// Writes outside of partitions. The body may run several times.
    func writing<Value: Sendable>(_ body: @escaping @Sendable (PostgresConnection) throws -> Value) async throws -> Value {
        try await PendingAudit.store { event in
            try await attempting { [self] connection, commit in
                try connection.begin("ISOLATION LEVEL READ COMMITTED")
                let value = try body(connection)
                if let event { try connection.append(event) }
                try commit()
                units.countCommit()
                return value
            }
        }
    }
}

extension PostgresServerStore: ServerStorage {}

extension PostgresServerStore: EngineStorage {
    package func read<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionReader) throws -> Value
    ) async throws -> Value {
        try await readUnit(partition, terms) { try body($0) }
    }

    /// Reads by statements of this storage.
    func readUnit<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms = .maintenance, _ body: @escaping @Sendable (PostgresUnit) throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let cancellation = PostgresCancellation()
        return try await withTaskCancellationHandler {
            try await attempting(terms.requester) { [units] connection, _ in
                do {
                    return try cancellation.run(on: connection) {
                        let unit = try units.open(reading: partition, terms, on: connection, cancellation)
                        let value = try body(unit)
                        try connection.endReading(isExplicit: true)
                        units.didRead(unit)
                        return value
                    }
                } catch is PostgresTimeIsUp {
                    throw PostgresTimeIsUp.wireError
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    package func readBriefly<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionReader) throws -> Value
    ) async throws -> Value {
        try await read(partition, terms, body)
    }

    /// A unit may run more than once: after a conflict, after the loss of its connection before the commit, and after an unknown outcome
    /// if it stores the answer to an idempotency key, which it finds then. Its results are those of the last run.
    package func write<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionWriter) throws -> Value
    ) async throws -> Value {
        try await write(partition, terms, makesPartition: true) { try body($0) }
    }

    /// Writes by statements of this storage, as ``write(_:_:_:)`` does.
    func writeUnit<Value: Sendable>(
        _ partition: Partition, _ body: @escaping @Sendable (PostgresUnit) throws -> Value
    ) async throws -> Value {
        try await write(partition, .maintenance, makesPartition: true, body)
    }

    private func write<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, makesPartition: Bool, _ body: @escaping @Sendable (PostgresUnit) throws -> Value
    ) async throws -> Value {
        try await PendingAudit.store { event in
            try await retrying { isRepeated in
                try await self.pool.write(
                    partition, terms, audited: event, isRepeated: isRepeated, makesPartition: makesPartition, body)
            }
        }
    }

    /// Maintains a partition that was found by its row.
    ///
    /// - Returns: Nil if the partition was removed concurrently. Its row has the name of its owner, so it must not be made again.
    func maintain<Value: Sendable>(
        _ partition: Partition, _ body: @escaping @Sendable (PostgresUnit) throws -> Value
    ) async throws -> Value? {
        do {
            return try await write(partition, .maintenance, makesPartition: false, body)
        } catch is PartitionVanished {
            return nil
        }
    }

    package func partitions(containerIdentifier: String, environment: CloudEnvironment) async throws -> [Partition] {
        try await reading { connection in
            try connection.query(
                "SELECT container, environment, scope, owner FROM partitions WHERE container = $1 AND environment = $2 ORDER BY part",
                [containerIdentifier, environment.rawValue]
            ).rows.map(PartitionRows.partition)
        }
    }

    package func erase(containerIdentifier: String, environment: CloudEnvironment) async throws {
        for partition in try await partitions(containerIdentifier: containerIdentifier, environment: environment) {
            // A transaction for each partition: none spans two.
            _ = try await maintain(partition) { try $0.erase() }
        }
    }

    // MARK: Sharing

    package func target(ofLink link: Int64) async throws -> LinkTarget? {
        try await reading { connection in
            try connection.query(
                """
                SELECT p.container, p.environment, p.scope, p.owner, z.name, l.name FROM share_links l
                JOIN partitions p ON p.part = l.part
                JOIN zones z ON z.part = l.part AND z.zone = l.zone AND NOT z.deleted
                WHERE l.link = $1 AND p.scope = 'private'
                """, [link]
            ).rows.first.map { LinkTarget(partition: try PartitionRows.partition($0), zoneName: $0[4], recordName: $0[5]) }
        }
    }

    package func zonesToEmpty(limit: Int) async throws -> [ZoneToEmpty] {
        try await reading { connection in
            try connection.query(
                """
                SELECT p.container, p.environment, p.scope, p.owner, z.zone, z.at FROM zones z JOIN partitions p ON p.part = z.part
                WHERE z.deleted AND EXISTS (SELECT 1 FROM records r WHERE r.part = z.part AND r.zone = z.zone) LIMIT $1
                """, [limit]
            ).rows.map { ZoneToEmpty(partition: try PartitionRows.partition($0), key: $0[4], time: $0[5]) }
        }
    }

    package func pendingNews(limit: Int) async throws -> [(partition: Partition, news: ShareNews)] {
        try await reading { connection in
            try connection.query(
                """
                SELECT p.container, p.environment, p.scope, p.owner, n.user_name, n.zone_name, n.gone, n.change FROM share_news n
                JOIN partitions p ON p.part = n.part LIMIT $1
                """, [limit]
            ).rows.map {
                (try PartitionRows.partition($0), ShareNews(user: $0[4], zoneName: $0[5], isGone: $0[6], change: $0[7]))
            }
        }
    }
}
