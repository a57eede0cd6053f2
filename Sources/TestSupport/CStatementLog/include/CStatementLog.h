// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#ifndef C_STATEMENT_LOG_H
#define C_STATEMENT_LOG_H

/// Records the text of every statement that SQLite runs on connections opened from now on to files whose path contains
/// `part`. Each text is recorded once. If `TARN_STATEMENTS` names a file, the process also appends the texts run on all
/// connections to that file from its start: `database file <tab> statement`, line breaks as spaces.
void statement_log_watch(const char *part);

/// Copies the texts recorded for paths that contain `part`, in the order of their first run.
///
/// @return The text at `index`; NULL after the last. It stays valid.
const char *statement_log_text(const char *part, long index);

/// The instructions of SQLite's virtual machine that statements took so far on connections that were watched for `part`.
long long statement_log_steps(const char *part);

#endif
