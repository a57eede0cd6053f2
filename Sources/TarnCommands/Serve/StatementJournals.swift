// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CSQLite

/// SQLite's journals of statements and savepoints.
enum StatementJournals {
    /// SQLite allocates as much for each journal at once. It writes it to the file by one call, which takes less than 128 KiB: a journal
    /// that may be larger ends in `SQLITE_FULL`.
    private static let memoryBytes: Int32 = 120 << 10

    /// Keeps up to 120 KiB of each journal in memory.
    ///
    /// A commit of several saves has a savepoint for each of them. By default its journal moves to a temporary file at 64 KiB, which a
    /// save of one record comes close to. Later saves of the commit then took two system calls more for each page that they changed:
    /// 17 in a save of one record.
    ///
    /// - Returns: False, without an effect, once the process has used SQLite.
    static func keepInMemory() -> Bool { tarn_sqlite_statement_journal_bytes(memoryBytes) == 0 }
}
