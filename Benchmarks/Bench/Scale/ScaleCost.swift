// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDBSQLite
import Synchronization

/// The cost of a phase for the process: both devices and the engine.
struct ScaleCost: Sendable {
    /// Seconds, with waits for the disk and for other processes.
    var elapsed: Double
    /// Seconds of all threads on a processor. Other processes disturb it less.
    var processor: Double
    /// Instructions of SQLite's virtual machine. Other processes don't change it.
    var steps: Double
    /// Rows that statements visited by scanning a table.
    var scanned: Double

    /// The lesser of each.
    static func least(_ one: ScaleCost, _ other: ScaleCost) -> ScaleCost {
        ScaleCost(
            elapsed: min(one.elapsed, other.elapsed), processor: min(one.processor, other.processor), steps: min(one.steps, other.steps),
            scanned: min(one.scanned, other.scanned))
    }

    static func measured(_ body: () throws -> Void) rethrows -> ScaleCost {
        let clock = ContinuousClock(), start = clock.now, processor = processorSeconds(), steps = SQLiteSteps.now
        try body()
        let counted = SQLiteSteps.now
        return ScaleCost(
            elapsed: (clock.now - start).nanoseconds / 1e9, processor: processorSeconds() - processor,
            steps: Double(counted.all - steps.all),
            scanned: Double(counted.scanned - steps.scanned))
    }

    /// POSIX: `CLOCKS_PER_SEC` is a million.
    private static func processorSeconds() -> Double { Double(clock()) / 1e6 }
}

/// Counts the work of all statements of the process, once ``install()`` was called. Connections that are open by then are left out.
enum SQLiteSteps {
    private static let steps = Atomic<Int>(0)
    private static let scannedRows = Atomic<Int>(0)

    static var now: (all: Int, scanned: Int) { (steps.load(ordering: .relaxed), scannedRows.load(ordering: .relaxed)) }

    /// Counts each execution as it ends.
    static func install() {
        typealias Entry = @convention(c) () -> Void
        let entry: @convention(c) (OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, OpaquePointer?) -> Int32 = {
            database, _, _ in
            sqlite3_trace_v2(
                database, UInt32(SQLITE_TRACE_PROFILE),
                { _, _, statement, _ in
                    let statement = OpaquePointer(statement)
                    SQLiteSteps.steps.add(Int(sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1)), ordering: .relaxed)
                    SQLiteSteps.scannedRows.add(Int(sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1)), ordering: .relaxed)
                    return 0
                }, nil)
        }
        sqlite3_auto_extension(unsafeBitCast(entry, to: Entry.self))
    }
}
