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

    private static let connectSeconds = 10.0
    /// Longer than the server's own limit for a statement, so that the server's error arrives first.
    private static let answerSeconds = 75.0
    /// For every session: a statement ends, and the transaction of a process that hangs loses its locks.
    private static let settings = UnitLimits.session.sessionSettings + "; SET client_encoding = 'UTF8'"
    private static let slowMilliseconds = 1000.0

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

    /// Connects and waits for the server.
    ///
    /// - Parameter address: `postgres://user@host:port/name`, or another connection string of libpq.
    /// - Throws: `StorageFailure` with `.unavailable`.
    init(_ address: String, onSlowStatement: (@Sendable (SlowStatement) -> Void)? = nil) throws {
        self.onSlowStatement = onSlowStatement
        try Self.check(address)
        let deadline = ContinuousClock.now + .seconds(Self.connectSeconds)
        let names: [UnsafeMutablePointer<CChar>?] = [strdup("application_name"), strdup("dbname"), nil]
        let values: [UnsafeMutablePointer<CChar>?] = [strdup("tarn"), strdup(address), nil]
        defer {
            for text in names { free(text) }
            for text in values { free(text) }
        }
        let started = names.map { $0.map { UnsafePointer($0) } }.withUnsafeBufferPointer { names in
            values.map { $0.map { UnsafePointer($0) } }.withUnsafeBufferPointer {
                PQconnectStartParams(names.baseAddress, $0.baseAddress, 1)
            }
        }
        guard let started else { throw StorageFailure(.unavailable, "out of memory for a connection") }
        handle = started
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
        // From here on a failure deinitializes the connection, which frees the handle.
        try connect(before: deadline)
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

    /// Checks the form of an address. libpq's words for a wrong one show parts of it, and so of the password.
    private static func check(_ address: String) throws {
        guard let options = PQconninfoParse(address, nil) else {
            throw StorageFailure(
                .unavailable, "its address is malformed: percent-encode names and passwords, and use parameters of libpq after the ?")
        }
        PQconninfoFree(options)
    }

    private func connect(before deadline: ContinuousClock.Instant) throws {
        var wanted = PGRES_POLLING_WRITING
        while true {
            guard PQstatus(handle) != CONNECTION_BAD, wanted != PGRES_POLLING_FAILED else { throw refusal() }
            if wanted == PGRES_POLLING_OK { return }
            // The socket changes between the hosts of one address.
            let events = wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT
            guard try wait(for: Int16(events), before: deadline) != 0 else {
                throw StorageFailure(.unavailable, "the database server did not answer within \(Int(Self.connectSeconds)) s")
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
    private func wait(for events: Int16, before deadline: ContinuousClock.Instant) throws -> Int16 {
        while true {
            let socket = PQsocket(handle)
            guard socket >= 0 else { throw lost() }
            var entry = pollfd(fd: socket, events: events, revents: 0)
            let milliseconds = max(0, (deadline - .now) / .milliseconds(1))
            let ready = poll(&entry, 1, Int32(min(milliseconds.rounded(.up), 1_000_000)))
            if ready < 0, errno == EINTR { continue }
            guard ready >= 0 else { throw lost() }
            return ready == 0 ? 0 : entry.revents
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

    /// Sends the end of a transaction and waits until it is carried out.
    ///
    /// - Parameter willSend: Called when a loss of the connection leaves open whether it was.
    /// - Throws: Also if the server rolled it back.
    func commit(_ willSend: () -> Void = {}) throws {
        let ticket = try enqueue("COMMIT", [])
        willSend()
        try synchronize()
        guard ticket.tag == "COMMIT" else { throw PostgresError(state: "25P02") }
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
    func synchronize() throws {
        let ticket = try expectSync()
        try finish(true, until: ticket, "COMMIT")
    }

    /// Undoes the transaction, so that the connection can be used again; a broken one stays broken.
    func recover() {
        guard !isBroken else { return }
        do {
            let ticket = try expectSync()
            try pump(until: ticket)
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

    private func finish(_ isSent: Bool, until ticket: Ticket, _ sql: @autoclosure () -> String) throws {
        guard isSent else { throw lost() }
        let began = ContinuousClock.now
        try pump(until: ticket)
        let milliseconds = (ContinuousClock.now - began) / .milliseconds(1)
        if milliseconds >= Self.slowMilliseconds { onSlowStatement?(SlowStatement(sql: sql(), milliseconds: Int(milliseconds))) }
        if let failure { throw failure }
    }

    /// Sends and receives by turns, until a ticket is done: a server with unread results stops reading, too.
    private func pump(until ticket: Ticket) throws {
        waits += 1
        let deadline = ContinuousClock.now + .seconds(Self.answerSeconds)
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
