// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// Ends a unit of work that has used up its processor time, or has lost its client: between statements, between rows, and inside
/// statements by SQLite's progress handler.
///
/// A statement that writes is never interrupted: SQLite would undo the transaction, with the units of others in it.
///
/// Only the thread that runs the unit uses it, but for ``Cancellation``.
///
/// Source: SQLite's documentation, "sqlite3_progress_handler", "sqlite3_interrupt".
final class UnitClock {
    /// Set when the client of a unit disconnects.
    final class Cancellation: Sendable {
        private let state = Atomic(false)

        var isCancelled: Bool { state.load(ordering: .relaxed) }

        func cancel() { state.store(true, ordering: .relaxed) }
    }

    /// A unit has used up its processor time. No `WireError`, which the engine would take for the failure of one item.
    struct TimeIsUp: Error {
        static var wireError: WireError {
            WireError(
                .badRequest, "the request takes more processor time than allowed: send less in one request, or narrow the query",
                nativeCode: .limitExceeded)
        }
    }

    /// Instructions of SQLite's virtual machine between two looks at the clock; about a tenth of a millisecond.
    private static let instructionsPerCheck: Int32 = 10_000

    private let started = UnitClock.threadTime
    private let nanoseconds: Int64?
    private let cancellation: Cancellation
    /// Whether the statement that runs now must not be interrupted.
    var isWriting = false

    init(_ terms: WorkTerms, _ cancellation: Cancellation) {
        nanoseconds = terms.milliseconds.map { Int64($0) * 1_000_000 }
        self.cancellation = cancellation
    }

    /// Processor time of the calling thread in nanoseconds.
    static var threadTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Nanoseconds of processor time since the unit began.
    var used: Int64 { Self.threadTime - started }

    private var isTimeUp: Bool { nanoseconds.map { used > $0 } ?? false }

    /// - Throws: ``TimeIsUp``, or `CancellationError` if the client is gone.
    func check() throws {
        if cancellation.isCancelled { throw CancellationError() }
        if isTimeUp { throw TimeIsUp() }
    }

    /// Runs a unit with the clock watching the connection's statements.
    ///
    /// - Throws: What `body` throws; ``TimeIsUp`` or `CancellationError` for a statement that was interrupted.
    func watch<Value>(_ db: Database, _ body: () throws -> Value) throws -> Value {
        let handle = db.sqliteConnection
        sqlite3_progress_handler(
            handle, Self.instructionsPerCheck,
            { context in
                guard let context else { return 0 }
                let clock = Unmanaged<UnitClock>.fromOpaque(context).takeUnretainedValue()
                return !clock.isWriting && (clock.cancellation.isCancelled || clock.isTimeUp) ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
        defer { sqlite3_progress_handler(handle, 0, nil, nil) }
        do {
            return try withExtendedLifetime(self) { try body() }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
            try check()
            throw error
        }
    }
}
