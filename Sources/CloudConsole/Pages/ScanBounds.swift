// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Bounds of the scans with which lists of records find those of a type.
struct ScanBounds: Sendable {
    /// Records of one unit of work. Others have their turn after it.
    var recordsPerRead = 20_000
    /// Records that a page of the list examines; the next page goes on behind them.
    var recordsPerPage = 200_000
    var millisecondsPerPage: Int64 = 1000
    /// Records that a count or an export examines.
    var recordsPerCount = 1_000_000
    var millisecondsPerCount: Int64 = 3000
}
