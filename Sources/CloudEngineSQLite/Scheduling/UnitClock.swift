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

    private let started: Int64
    private let nanoseconds: Int64?
    private let cancellation: Cancellation
    /// Wall time before which the processor time cannot be used up: a thread uses no more of it than time passes. The clock of a thread
    /// takes a system call, about a microsecond, and a unit asks before each statement and row.
    private var timeOfNextLook: Int64
    /// Whether the statement that runs now must not be interrupted.
    var isWriting = false

    /// - Parameter started: Processor time of the calling thread at which the unit begins.
    init(_ terms: WorkTerms, _ cancellation: Cancellation, started: Int64 = UnitClock.threadTime) {
        self.started = started
        let nanoseconds = terms.milliseconds.map { Int64($0) * 1_000_000 }
        self.nanoseconds = nanoseconds
        self.cancellation = cancellation
        timeOfNextLook = Self.wallTime + (nanoseconds ?? 0)
    }

    /// Processor time of the calling thread in nanoseconds.
    static var threadTime: Int64 { time(of: CLOCK_THREAD_CPUTIME_ID) }

    private static var wallTime: Int64 { time(of: CLOCK_MONOTONIC) }

    private static func time(of clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private var isTimeUp: Bool {
        guard let nanoseconds else { return false }
        let now = Self.wallTime
        guard now >= timeOfNextLook else { return false }
        let remaining = nanoseconds - (Self.threadTime - started)
        timeOfNextLook = now + max(0, remaining)
        return remaining < 0
    }

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
