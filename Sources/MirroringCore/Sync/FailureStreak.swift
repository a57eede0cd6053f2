// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Failures in a row, which decide how long the next attempt waits.
struct FailureStreak: Hashable {
    /// Failures since the server accepted something.
    var attempts = 0
    /// Full fetches that began since the last complete import.
    ///
    /// Change pages in between don't reset the number: of servers behind one address, one may reject the token that the other issued.
    var fullFetches = 0
    /// Exports in a row in which the server had newer versions of records.
    var conflictRounds = 0
    /// The activity that the last failure caused. It stays the status while the next attempt runs, until the server responds.
    var activity: SyncStatus.Activity?

    /// After an import or an export came to its end.
    mutating func settle() {
        attempts = 0
        conflictRounds = 0
    }

    /// After an event that may have removed the cause of the failures.
    mutating func reset() {
        settle()
        activity = nil
    }
}
