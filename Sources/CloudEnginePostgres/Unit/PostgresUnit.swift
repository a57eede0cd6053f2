// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import Synchronization

/// The tables that a statement reads or changes, for the unit's cache.
enum PostgresTable: Hashable {
    case meta, partitions, zones, records, schema, subscriptions, uploads, assets, assetLinks, answers, indexes, indexEntries
    case clientTokens, grants, roles, accounts, shares, sharedRecords, parents, news, references, publicSubscriptions, staged, history
    case changeLog

    /// Whether units of several partitions write the same rows.
    var isShared: Bool { [.schema, .grants, .roles].contains(self) }
}

/// A statement with its values.
struct PostgresStatement: Hashable, Sendable {
    var sql: String
    var values: PostgresValues
}

/// Which small rows the last unit of each partition read: the next one requests them with its first statement.
///
/// Values are never remembered, only the questions, so nothing can be stale.
final class PostgresPrefetch: Sendable {
    struct Question: Hashable, Sendable {
        var statement: PostgresStatement
        var tables: [PostgresTable]
    }

    static let questionsMax = 24
    private static let partitionsMax = 10_000

    private let questions = Mutex<[Partition: [Question]]>([:])

    subscript(_ partition: Partition) -> [Question] {
        get { questions.withLock { $0[partition] ?? [] } }
        set {
            questions.withLock { questions in
                if questions.count >= Self.partitionsMax { questions.removeAll() }
                questions[partition] = newValue
            }
        }
    }
}

/// One partition inside a transaction.
///
/// ```
/// BEGIN, partition's row (locked by a unit that writes), what the last unit read   1 round trip
/// records by name, the idempotency key's answer, what is not in the cache          1 each
/// all writes, the partition's row, COMMIT                                          1
/// ```
///
/// Units that write may share a transaction (``PartitionTransaction``): the first statement of the next unit also reads what the unit before it
/// changed. Only the worker's thread uses it.
final class PostgresUnit: PartitionWriter {
    /// Where a unit's changes begin in its transaction.
    private enum Start {
        /// With the transaction.
        case transaction
        /// With a savepoint that its first write sets.
        case unsetSavepoint
        case savepoint
    }

    let connection: PostgresConnection
    let partition: Partition
    let part: Int64
    private let isWriting: Bool
    private let terms: WorkTerms
    private var start: Start
    /// Accounts that exist: the partition's lock comes before the removal of an account in the order of locks.
    private var accounts: Set<Int64> = []
    private let cancellation: PostgresCancellation?
    private let started = PostgresPool.threadTime
    /// When the unit's time in the database ends; nil for never.
    private let deadline: ContinuousClock.Instant?
    private var cache: [PostgresStatement: (rows: [PostgresRow], tables: [PostgresTable])] = [:]
    private var asked: [PostgresPrefetch.Question] = []
    /// Asked with the unit's first statement: the unit before it in the transaction changed the tables.
    private var outdated: [PostgresPrefetch.Question] = []
    /// Keys of zones by name, as far as the unit read or wrote them: no other zone has the name.
    var zoneKeys: [String: Int64] = [:]
    private(set) var loaded: PartitionState
    private var isChanged = false
    /// Whether the unit wrote rows outside of its partition. Others wait for these locks until the commit, so no unit joins after it: if
    /// one did, two transactions might wait for each other.
    var writesOutside = false
    /// When the partition has rows that expire, in milliseconds since 1970 UTC; nil for none from this unit.
    private var due: Int64?
    /// Whether an idempotency key was looked up and its answer stored: executing the unit again returns the stored answer.
    private(set) var isIdempotent = false
    /// Idempotency keys that the unit looked up, and whether they have an answer now.
    private var lookedUp: [String: Bool] = [:]

    /// - Parameters:
    ///   - exists: Whether the partition's row is known to exist.
    ///   - firstEpoch: The epoch of a partition without a row.
    ///   - prefetched: Questions that are asked with the first statement.
    init(
        _ partition: Partition, isWriting: Bool, exists: Bool, _ terms: WorkTerms, _ connection: PostgresConnection,
        firstEpoch: Int64, prefetched: [PostgresPrefetch.Question] = [], cancellation: PostgresCancellation? = nil
    ) throws {
        self.connection = connection
        self.partition = partition
        self.isWriting = isWriting
        self.terms = terms
        self.cancellation = cancellation
        loaded = PartitionState(epoch: firstEpoch)
        start = .transaction
        let limits = UnitLimits(terms)
        deadline = limits.unit.map { .now + .milliseconds($0) }
        var candidate = PartitionKey(partition)
        try connection.begin(isWriting ? "ISOLATION LEVEL READ COMMITTED" : "ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try connection.limit(to: limits)
        while true {
            if isWriting, !exists { try connection.send(PartitionRows.make, candidate.values(partition) + [firstEpoch]) }
            var statements = [(sql: isWriting ? PartitionRows.lock : PartitionRows.read, values: [candidate.part] as PostgresValues)]
            let account = isWriting ? terms.account : nil
            if let account { statements.append((AccountRows.exists, [account, AccountRows.removalKey(account)])) }
            statements += prefetched.map { ($0.statement.sql, $0.statement.values) }
            var results = try connection.queries(statements)
            let row = results.removeFirst().rows.first
            if let account {
                guard !results.removeFirst().rows.isEmpty else { throw Self.accountWasRemoved }
                accounts.insert(account)
            }
            if let row, !PartitionRows.isRow(row, of: partition) {
                // Two partitions have one hash: the second one has the next candidate.
                candidate = candidate.next(partition)
                continue
            }
            if row == nil, isWriting {
                guard exists else { throw StorageFailure(.corrupt, "a partition has no row") }
                throw PartitionVanished()
            }
            if let row { loaded = PartitionRows.state(row) }
            for (question, result) in zip(prefetched, results) { cache[question.statement] = (result.rows, question.tables) }
            break
        }
        part = candidate.part
    }

    /// The next unit of a transaction. It reads what the units before it wrote.
    init(after previous: PostgresUnit, _ terms: WorkTerms) throws {
        connection = previous.connection
        partition = previous.partition
        part = previous.part
        isWriting = true
        self.terms = terms
        cancellation = nil
        start = .unsetSavepoint
        let limits = UnitLimits(terms)
        deadline = limits.unit.map { .now + .milliseconds($0) }
        (loaded, isChanged, due) = (previous.loaded, previous.isChanged, previous.due)
        (cache, accounts, zoneKeys) = (previous.cache, previous.accounts, previous.zoneKeys)
        outdated = previous.asked.filter { previous.cache[$0.statement] == nil }
        try connection.limit(to: limits)
        guard let account = terms.account, !accounts.contains(account) else { return }
        guard try !connection.query(AccountRows.exists, [account, AccountRows.removalKey(account)]).rows.isEmpty else {
            throw Self.accountWasRemoved
        }
        accounts.insert(account)
    }

    private static var accountWasRemoved: WireError { WireError(.authenticationFailed, "the account was removed") }

    /// - Throws: `WireError` with the native code `limitExceeded`, `StorageFailure` with `.busy`, or `CancellationError`.
    private func check() throws {
        if cancellation?.isCancelled == true { throw CancellationError() }
        if let deadline, .now > deadline { throw StorageFailure.slow }
        guard let milliseconds = terms.milliseconds, PostgresPool.threadTime - started > Int64(milliseconds) * 1_000_000 else { return }
        throw PostgresTimeIsUp()
    }

    // MARK: Statements

    /// Reads rows.
    ///
    /// - Parameter isRepeated: Whether units of this partition ask it again and again, and the rows are few and small.
    func rows(_ sql: String, _ values: PostgresValues, from tables: PostgresTable..., isRepeated: Bool = false) throws -> [PostgresRow] {
        try check()
        let statement = PostgresStatement(sql: sql, values: values)
        if isRepeated {
            let question = PostgresPrefetch.Question(statement: statement, tables: tables)
            if asked.count < PostgresPrefetch.questionsMax, !asked.contains(question) { asked.append(question) }
            if let known = cache[statement] { return known.rows }
        }
        let ahead = outdated.filter { $0.statement != statement }
        outdated = []
        var results = try connection.queries([(sql, values)] + ahead.map { ($0.statement.sql, $0.statement.values) })
        let rows = results.removeFirst().rows
        for (question, result) in zip(ahead, results) { cache[question.statement] = (result.rows, question.tables) }
        if isRepeated { cache[statement] = (rows, tables) }
        return rows
    }

    /// Writes; the server carries it out with the next read or the commit.
    func run(_ sql: String, _ values: PostgresValues, changing table: PostgresTable) throws {
        try check()
        precondition(isWriting, "a unit of work was opened for reading only")
        try willWrite(to: table)
        try connection.send(sql, values)
    }

    /// Writes and waits for it.
    ///
    /// - Returns: Rows that it returns.
    func written(_ sql: String, _ values: PostgresValues, changing table: PostgresTable) throws -> [PostgresRow] {
        try check()
        try willWrite(to: table)
        return try connection.query(sql, values).rows
    }

    /// Drops the rows that the unit read, after changes that are not of one table.
    func forgetRows() {
        cache.removeAll()
        zoneKeys.removeAll()
    }

    private func willWrite(to table: PostgresTable) throws {
        try setSavepoint()
        if table.isShared { writesOutside = true }
        cache = cache.filter { !$0.value.tables.contains(table) }
    }

    // MARK: The partition's row

    func state() throws -> PartitionState { loaded }

    func checkIsLatest() throws {
        guard let (finder, number) = connection.primary, finder.hasSuccessor(to: number) else { return }
        throw PostgresError.connectionLost
    }

    func change(_ body: (inout PartitionState) -> Void) {
        body(&loaded)
        isChanged = true
    }

    /// Remembers that the partition has rows that expire a day after `now`.
    func expires(after now: Int64) { due = min(due ?? .max, now + PostgresServerStore.unusedMilliseconds) }

    func note(lookUpOf key: String, isStored: Bool) { lookedUp[key] = isStored }

    func note(answerTo key: String) {
        if lookedUp[key] != nil { isIdempotent = true }
        lookedUp[key] = true
    }

    func isKnownAbsent(_ key: String) -> Bool { lookedUp[key] == false }

    // MARK: The transaction

    private func setSavepoint() throws {
        guard case .unsetSavepoint = start else { return }
        try connection.send("SAVEPOINT unit")
        start = .savepoint
    }

    func append(_ event: AuditEvent) throws {
        try setSavepoint()
        writesOutside = true
        try connection.append(event)
    }

    /// Ends a unit that succeeded.
    func end() throws { if case .savepoint = start { try connection.send("RELEASE SAVEPOINT unit") } }

    /// Undoes the unit alone, unless the transaction began with it.
    func undo() throws {
        guard case .savepoint = start else { return }
        try connection.send("ROLLBACK TO SAVEPOINT unit")
        try connection.send("RELEASE SAVEPOINT unit")
    }

    /// Writes the partition's row, and commits.
    ///
    /// - Parameter willSend: Called when a loss of the connection leaves open whether it was carried out.
    func commit(_ willSend: () -> Void) throws {
        if isChanged || due != nil { try connection.send(PartitionRows.write, PartitionRows.values(loaded, due: due, part: part)) }
        try connection.commit(willSend)
    }

    /// Rows that the next unit of the partition will probably read.
    var questions: [PostgresPrefetch.Question] { asked }

    /// Reads what this server wrote as JSON.
    static func decode<Message: WireMessage>(_ type: Message.Type, _ body: [UInt8]) throws -> Message {
        do {
            return try Message(json: body)
        } catch {
            throw StorageFailure(.corrupt, "a stored message could not be read")
        }
    }
}

/// The row of a partition that was known to exist is missing: it was removed by another process.
struct PartitionVanished: Error {}

/// A unit used up its processor time. Not a `WireError`, which the engine would take for the failure of one item.
struct PostgresTimeIsUp: Error {
    static var wireError: WireError {
        WireError(
            .badRequest, "the request takes more processor time than allowed: send less in one request, or narrow the query",
            nativeCode: .limitExceeded)
    }
}
