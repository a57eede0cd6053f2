// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CSQLite

/// SQLite's journals of statements and savepoints.
enum StatementJournals {
    /// SQLite allocates as much for each journal at once, so it must stay below the size from which ``FreedMemory`` lets an allocation
    /// have a mapping of its own.
    private static let memoryBytes: Int32 = 1 << 20

    /// Keeps up to 1 MiB of each journal in memory.
    ///
    /// A commit of several saves has a savepoint for each of them. By default its journal moves to a temporary file at 64 KiB, which a
    /// save of one record comes close to. Later saves of the commit then took two system calls more for each page that they changed:
    /// 17 in a save of one record.
    ///
    /// Has no effect once the process has used SQLite.
    static func keepInMemory() { _ = tarn_sqlite_statement_journal_bytes(memoryBytes) }
}
