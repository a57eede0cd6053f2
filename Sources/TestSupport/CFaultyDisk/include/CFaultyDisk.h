// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#pragma once

/// What a disk may fail at.
enum FaultyDiskOperation {
    FaultyDiskWrite = 1,
    FaultyDiskSync = 2,
    /// A write that makes a file longer: there is no space left.
    FaultyDiskGrowth = 4,
    FaultyDiskTruncate = 8,
    FaultyDiskDelete = 16
};

/// Puts a layer between SQLite and the disk, for connections that are opened from now on. Calling again is harmless.
void faulty_disk_install(void);

/// Makes the n-th operation of some kinds fail, counted from now, on files whose path begins with a text.
///
/// Negative: it and all that follow fail, as on a disk that is gone or stays full. 0 only counts. One such plan at a time.
void faulty_disk_plan(const char *prefix, int operations, int n);

/// How many such operations there were since the plan was made.
int faulty_disk_count(void);

void faulty_disk_clear(void);

/// Makes a plan of its own for files whose path begins with a text and that are opened from now on; nothing fails yet.
///
/// Returns its number, or -1 when there are too many.
int faulty_disk_add(const char *prefix);

/// Lets operations fail as `faulty_disk_plan` says, counted from now.
void faulty_disk_change(int plan, int operations, int n);

/// How many such operations there were since the plan was changed.
int faulty_disk_count_of(int plan);

/// To be called when its files are closed.
void faulty_disk_remove(int plan);
