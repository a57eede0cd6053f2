// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Swift can't call functions with a variable number of arguments.
extern int sqlite3_config(int option, ...);

// SQLITE_CONFIG_STMTJRNL_SPILL: bytes of a statement journal beyond which it moves from memory to a file.
// Returns SQLITE_MISUSE if SQLite was initialized before. Source: SQLite's documentation, "Configuration Options".
static inline int tarn_sqlite_statement_journal_bytes(int bytes) { return sqlite3_config(26, bytes); }
