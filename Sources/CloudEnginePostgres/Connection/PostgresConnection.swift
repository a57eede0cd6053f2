// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CLibPQ
import CloudEngine
import Foundation

/// A statement for which a connection waited for longer than a second.
package struct SlowStatement: Hashable, Sendable {
    /// With places instead of values.
    package var sql: String
    package var milliseconds: Int
}

/// A connection in pipeline mode: statements are sent without waiting for the results of those before.
///
/// ```
/// send(A), send(B), query(C)   →  A B C in one packet; one round trip; the rows of C
/// ```
///
/// Its calls wait for the network, so it belongs to one worker thread of the pool, never to a thread of Swift's tasks.
///
/// After a failed statement the server skips all that follows, until ``recover()``.
///
/// Source: PostgreSQL's documentation, "libpq - Pipeline Mode".
final class PostgresConnection: @unchecked Sendable {
    /// Pending responses of the server, in order.
    private final class Ticket {
        enum Kind { case prepare(String), statement, sync }

        let kind: Kind
        var rows: [PostgresRow] = []
        /// Rows that the statement changed.
        var count = 0
        /// The tag of the command, such as `COMMIT`.
        var tag = ""
        var isDone = false
        var hasResult = false

        init(_ kind: Kind) { self.kind = kind }
    }

    struct Result {
        var rows: [PostgresRow]
        var count: Int
        var tag: String
    }

    /// Of one wait at most: its milliseconds are 32 bits.
    private static let pollSeconds = 1000.0
    /// How often a wait looks whether another host is the primary.
    private static let supersessionSeconds = 0.25
    /// For every session: a statement ends, and the transaction of a process that hangs loses its locks.
    private static let settings = UnitLimits.session.sessionSettings + "; SET client_encoding = 'UTF8'"
    private static let slowMilliseconds = 1000.0
    /// An address may have others: the last value of a name counts.
    ///
    /// The pool uses the connection that was idle last, so others are idle for days. A NAT drops them after minutes, without a sign, and
    /// Linux probes a connection after two hours.
    private static let defaults = [
        PostgresAddress.Parameter(name: "application_name", value: "tarn"),
        PostgresAddress.Parameter(name: "keepalives_idle", value: "60"),
    ]

    private let handle: OpaquePointer
    private var owed: [Ticket] = []
    private var owedStart = 0
    private var prepared: [String: String] = [:]
    /// Names are never used again: a failed preparation may have left one.
    private var statements = 0
    private var failure: PostgresError?
    private(set) var isBroken = false
    /// Round trips so far: waits for the server.
    private(set) var waits = 0
    private let onSlowStatement: (@Sendable (SlowStatement) -> Void)?
    /// Nil if the connection broke early.
    private(set) var canceller: PostgresCanceller?
    /// Where the connection comes from, with the primary's number then; nil for an address of one host.
    var primary: (finder: PostgresPrimary, number: Int)?
    /// Seconds for a response, and for that to a commit. The server has no limit for a commit that waits for a standby.
    var answerSeconds = UnitLimits.session.answerSeconds
    var commitSeconds = UnitLimits.session.answerSeconds
    /// In force inside the database: of the transaction that ``begin(_:)`` began, otherwise of the session.
    private var limits = UnitLimits.session
    /// Warnings without a code of their own so far.
    private var warnings = 0

    /// Connects to the first host of an address.
    ///
    /// - Parameter address: `postgres://user@host:port/name`, or another connection string of libpq.
    /// - Throws: `StorageFailure` with `.unavailable`.
    convenience init(_ address: String) throws { try self.init(PostgresAddress(address).hosts[0]) }

    /// Connects and waits for the server.
    ///
    /// - Throws: `StorageFailure` with `.unavailable`.
    init(
        _ parameters: [PostgresAddress.Parameter], connectSeconds: Double = 10, onSlowStatement: (@Sendable (SlowStatement) -> Void)? = nil
    ) throws {
        self.onSlowStatement = onSlowStatement
        let deadline = ContinuousClock.now + .seconds(connectSeconds)
        let all = Self.defaults + parameters
        let names = all.map { strdup($0.name) } + [nil]
        let values = all.map { strdup($0.value) } + [nil]
        defer {
            for text in names { free(text) }
            for text in values { free(text) }
        }
        let started = names.map { $0.map { UnsafePointer($0) } }.withUnsafeBufferPointer { names in
            values.map { $0.map { UnsafePointer($0) } }.withUnsafeBufferPointer {
                PQconnectStartParams(names.baseAddress, $0.baseAddress, 0)
            }
        }
        guard let started else { throw StorageFailure(.unavailable, "out of memory for a connection") }
        handle = started
        PQsetNoticeReceiver(
            handle,
            { context, result in
                guard let context, let result else { return }
                Unmanaged<PostgresConnection>.fromOpaque(context).takeUnretainedValue().receive(notice: result)
            }, Unmanaged.passUnretained(self).toOpaque())
        // From here on a failure deinitializes the connection, which frees the handle.
        try connect(before: deadline, connectSeconds)
        guard PQserverVersion(handle) >= 130_000 else {
            throw StorageFailure(.unavailable, "the database server is older than PostgreSQL 13")
        }
        let result = PQexec(handle, Self.settings)
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_COMMAND_OK, PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
            throw StorageFailure(.unavailable, "the database session could not be set up")
        }
        canceller = PostgresCanceller(handle)
    }

    deinit { if !isClosed { PQfinish(handle) } }

    private var isClosed = false

    func close() {
        guard !isClosed else { return }
        isClosed = true
        isBroken = true
        PQfinish(handle)
    }

    /// Makes the connection unusable; its worker connects again.
    func discard() { isBroken = true }

    /// Whether another host took over from this one.
    var isSuperseded: Bool { primary.map { $0.finder.number != $0.number } ?? false }

    private func connect(before deadline: ContinuousClock.Instant, _ seconds: Double) throws {
        var wanted = PGRES_POLLING_WRITING
        while true {
            guard PQstatus(handle) != CONNECTION_BAD, wanted != PGRES_POLLING_FAILED else { throw refusal() }
            if wanted == PGRES_POLLING_OK { return }
            // The socket changes between the IP addresses of one host.
            let events = wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT
            guard try wait(for: Int16(events), before: deadline) != 0 else {
                throw StorageFailure(.unavailable, "the database server did not answer within \(Int(seconds)) s")
            }
            wanted = PQconnectPoll(handle)
        }
    }

    /// libpq's words for a failed connection: hosts, roles and databases, never a password.
    private func refusal() -> StorageFailure {
        let words = PQerrorMessage(handle).map { String(cString: $0) } ?? ""
        let line = words.split(separator: "\n").first.map(String.init) ?? "unknown reason"
        return StorageFailure(.unavailable, "no connection to the database: \(line)")
    }

    /// - Returns: The events that happened; 0 at the deadline.
    /// - Throws: `PostgresError`, also once the connection is superseded: the server may never respond.
    private func wait(for events: Int16, before deadline: ContinuousClock.Instant) throws -> Int16 {
        while true {
            let socket = PQsocket(handle)
            guard socket >= 0 else { throw lost() }
            var entry = pollfd(fd: socket, events: events, revents: 0)
            let rest = max(0, (deadline - .now) / .milliseconds(1))
            let milliseconds = min(rest, 1000 * (primary == nil ? Self.pollSeconds : Self.supersessionSeconds))
            let ready = poll(&entry, 1, Int32(milliseconds.rounded(.up)))
            if ready < 0, errno == EINTR { continue }
            guard ready >= 0 else { throw lost() }
            if ready > 0 { return entry.revents }
            if isSuperseded { throw lost() }
            if milliseconds >= rest { return 0 }
        }
    }

    private func lost() -> PostgresError {
        isBroken = true
        return .connectionLost
    }

    // MARK: Statements

    /// Sends a statement. Its rows are dropped; its failure is that of the next wait.
    func send(_ sql: String, _ values: PostgresValues = []) throws { _ = try enqueue(sql, values) }

    /// Sends a statement and waits for its result, and so for all before it.
    func query(_ sql: String, _ values: PostgresValues = []) throws -> Result {
        let ticket = try enqueue(sql, values)
        try finish(PQsendFlushRequest(handle) == 1, until: ticket, sql)
        return Result(rows: ticket.rows, count: ticket.count, tag: ticket.tag)
    }

    /// Sends statements in one round trip.
    func queries(_ statements: [(sql: String, values: PostgresValues)]) throws -> [Result] {
        let tickets = try statements.map { try enqueue($0.sql, $0.values) }
        guard let last = tickets.last else { return [] }
        try finish(PQsendFlushRequest(handle) == 1, until: last, statements.map(\.sql).joined(separator: "; "))
        return tickets.map { Result(rows: $0.rows, count: $0.count, tag: $0.tag) }
    }

    // MARK: Transactions

    /// Begins a transaction.
    func begin(_ mode: String) throws {
        try send("BEGIN \(mode)")
        limits = .session
    }

    /// Sets the limits of the next statements of the transaction. No savepoint may be open: its undoing would restore the limits before.
    func limit(to limits: UnitLimits) throws {
        if limits != self.limits { try send(UnitLimits.statement, limits.values) }
        self.limits = limits
        answerSeconds = limits.answerSeconds
    }

    /// Sends the end of a transaction and waits until it is carried out.
    ///
    /// - Parameter willSend: Called when a loss of the connection leaves open whether it was.
    /// - Throws: Also if the server rolled it back, or if its wait for a synchronous standby was cancelled: then the standby, and so the next
    ///   primary, may lack it.
    func commit(_ willSend: () -> Void = {}) throws {
        let ticket = try enqueue("COMMIT", [])
        let warningsBefore = warnings
        willSend()
        try synchronize(within: commitSeconds)
        guard ticket.tag == "COMMIT" else { throw PostgresError(state: "25P02") }
        guard warnings == warningsBefore else { throw lost() }
    }

    /// Counts warnings of the class of the one that PostgreSQL sends with a cancelled wait for a standby. It names no other code.
    ///
    /// Source: PostgreSQL's documentation, appendix "PostgreSQL Error Codes": 01000 is `warning`.
    private func receive(notice: OpaquePointer) {
        let state = PQresultErrorField(notice, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
        let severity = PQresultErrorField(notice, Int32(UInt8(ascii: "V"))).map { String(cString: $0) }
        if state == "01000", severity == "WARNING" { warnings += 1 }
    }

    /// Sends the end of a transaction that only read, without waiting.
    ///
    /// - Parameter isExplicit: Whether it began with `BEGIN`.
    func endReading(isExplicit: Bool) throws {
        if isExplicit { _ = try enqueue("COMMIT", []) }
        try expectSync()
        if PQflush(handle) < 0 { throw lost() }
    }

    /// Waits for all results, and ends a failed sequence.
    func synchronize() throws { try synchronize(within: answerSeconds) }

    private func synchronize(within seconds: Double) throws {
        let ticket = try expectSync()
        try finish(true, until: ticket, "COMMIT", within: seconds)
    }

    /// Undoes the transaction, so that the connection can be used again; a broken one stays broken.
    func recover() {
        guard !isBroken else { return }
        do {
            let ticket = try expectSync()
            try pump(until: ticket, within: answerSeconds)
            failure = nil
            _ = try enqueue("ROLLBACK", [])
            try synchronize()
        } catch {
            isBroken = true
        }
    }

    @discardableResult
    private func expectSync() throws -> Ticket {
        guard PQpipelineSync(handle) == 1 else { throw lost() }
        let ticket = Ticket(.sync)
        owed.append(ticket)
        return ticket
    }

    private func enqueue(_ sql: String, _ values: PostgresValues) throws -> Ticket {
        if isBroken { throw PostgresError.connectionLost }
        if let failure { throw failure }
        let cells = try values.values.map { try $0.encoded() }
        let name: String
        if let known = prepared[sql] {
            name = known
        } else {
            statements += 1
            name = "s\(statements)"
            let types = values.values.map(\.type)
            guard PQsendPrepare(handle, name, sql, Int32(types.count), types) == 1 else { throw lost() }
            owed.append(Ticket(.prepare(sql)))
            prepared[sql] = name
        }
        try Self.withPointers(to: cells) { pointers, lengths, formats in
            guard PQsendQueryPrepared(handle, name, Int32(cells.count), pointers, lengths, formats, 1) == 1 else { throw lost() }
        }
        let ticket = Ticket(.statement)
        owed.append(ticket)
        return ticket
    }

    private static func withPointers(
        to cells: [[UInt8]?],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) throws -> Void
    ) throws {
        let buffer: [UInt8] = cells.reduce(into: []) { $0 += $1 ?? [] } + [0]
        let lengths = cells.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: cells.count)
        try buffer.withUnsafeBytes { bytes in
            let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            var offset = 0
            let pointers = cells.map { cell -> UnsafePointer<CChar>? in
                defer { offset += cell?.count ?? 0 }
                return cell == nil ? nil : start.map { $0 + offset }
            }
            try body(pointers, lengths, formats)
        }
    }

    // MARK: Results

    private func finish(_ isSent: Bool, until ticket: Ticket, _ sql: @autoclosure () -> String, within seconds: Double? = nil) throws {
        guard isSent else { throw lost() }
        let began = ContinuousClock.now
        try pump(until: ticket, within: seconds ?? answerSeconds)
        let milliseconds = (ContinuousClock.now - began) / .milliseconds(1)
        if milliseconds >= Self.slowMilliseconds { onSlowStatement?(SlowStatement(sql: sql(), milliseconds: Int(milliseconds))) }
        if let failure { throw failure }
    }

    /// Sends and receives by turns, until a ticket is done: a server with unread results stops reading, too.
    private func pump(until ticket: Ticket, within seconds: Double) throws {
        waits += 1
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            let unsent = PQflush(handle)
            guard unsent >= 0 else { throw lost() }
            try takeResults()
            if ticket.isDone { return }
            let events = try wait(for: Int16(unsent == 1 ? POLLIN | POLLOUT : POLLIN), before: deadline)
            guard events != 0 else { throw lost() }
            if events & Int16(POLLIN | POLLHUP | POLLERR) != 0, PQconsumeInput(handle) == 0 {
                // Messages that arrived before the end have the reason.
                try? takeResults()
                isBroken = true
                throw failure ?? PostgresError.connectionLost
            }
        }
    }

    private func takeResults() throws {
        while owedStart < owed.count, PQisBusy(handle) == 0 {
            let ticket = owed[owedStart]
            guard let result = PQgetResult(handle) else {
                // The end of one command, or nothing more for now.
                guard ticket.hasResult else { return }
                end(ticket)
                continue
            }
            defer { PQclear(result) }
            ticket.hasResult = true
            take(result, ticket)
            if case .sync = ticket.kind { end(ticket) }
            if PQstatus(handle) == CONNECTION_BAD { throw lost() }
        }
    }

    private func end(_ ticket: Ticket) {
        ticket.isDone = true
        owedStart += 1
        if owedStart == owed.count || owedStart > 1000 {
            owed.removeFirst(owedStart)
            owedStart = 0
        }
    }

    private func take(_ result: OpaquePointer, _ ticket: Ticket) {
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK:
            let columns = PQnfields(result)
            ticket.rows = (0..<PQntuples(result)).map { row in
                PostgresRow(
                    cells: (0..<columns).map { column in
                        guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else { return nil }
                        return Array(UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column))))
                    })
            }
            note(result, ticket)
        case PGRES_COMMAND_OK: note(result, ticket)
        case PGRES_PIPELINE_SYNC: break
        case PGRES_PIPELINE_ABORTED: forget(ticket)
        default:
            forget(ticket)
            let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
            failure = failure ?? PostgresError(state: state ?? "08006")
        }
    }

    private func note(_ result: OpaquePointer, _ ticket: Ticket) {
        ticket.tag = PQcmdStatus(result).map { String(cString: $0) } ?? ""
        ticket.count = PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
    }

    private func forget(_ ticket: Ticket) { if case .prepare(let sql) = ticket.kind { prepared[sql] = nil } }

    // MARK: Notifications

    /// Waits for notifications of the channels that this connection listens to.
    ///
    /// - Returns: Payloads; empty after the time.
    func notifications(within seconds: Double) throws -> [String] {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            if isBroken { throw PostgresError.connectionLost }
            var payloads: [String] = []
            while let notification = PQnotifies(handle) {
                payloads.append(String(cString: notification.pointee.extra))
                PQfreemem(notification)
            }
            if !payloads.isEmpty { return payloads }
            guard try wait(for: Int16(POLLIN), before: deadline) != 0 else { return [] }
            guard PQconsumeInput(handle) == 1 else { throw lost() }
        }
    }
}
