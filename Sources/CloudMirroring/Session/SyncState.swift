// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import MirroringCore

/// All mutable state of a store's sync except its ``SyncMachine``, behind one lock.
///
/// Operations run one at a time, so that only one of them changes ``exporter``, ``importer`` and ``step``. The lock is for callers on
/// other threads: the container, the push stream, and the code that cancels everything.
///
/// Rule: no callback, I/O or cancellation inside the lock.
struct SyncState {
    var tasks = SyncTasks()
    var exporter = Exporter.State()
    var importer = Importer.State()
    var details = StatusDetails()
    /// The event of the operation that runs; nil for an operation that is local.
    var step: EventRecorder.Step?
    /// Finished by the next set-up, after an archive has replaced the store's file.
    var restoration: StoreRestoration?
}

/// Tasks of a store's sync. None begins once it is stopped.
struct SyncTasks {
    var loop: Task<Void, Never>?
    var operation: Task<Void, Never>?
    var listener: Task<Void, Never>?
    /// Listens to the feed of the public database, if the server has one.
    var feedListener: Task<Void, Never>?
    /// Only the last timer counts; the machine ignores earlier ones.
    var timer: Task<Void, Never>?
    var pendingCount: Task<Void, Never>?
    var isStopped = false

    var all: [Task<Void, Never>] { [loop, operation, listener, feedListener, pendingCount, timer].compactMap(\.self) }
}

/// Details of the status that the machine does not have.
struct StatusDetails {
    /// Withheld records, which no row shows.
    var withheldCount = 0
    /// Changes that the server rejected permanently.
    var rejectedCount = 0
    /// Objects with quarantined values.
    var unreadableCount = 0
    /// Values that the present operation has quarantined.
    var newlyUnreadable: Set<UnreadableValues.Unreadable> = []
    /// The latest account change that the app has not acknowledged.
    var accountChange: AccountChange?
    /// The last status of the machine, without these details.
    var lastReport: SyncStatus?
    /// The event of the operation that made ``accountChange``.
    var accountChangeEvent: UUID?
    /// The failure of the last operation that reached the server; nil if it succeeded.
    var lastFailure: CloudFailure?
    /// The last success that is stored in the file.
    var storedSuccess = Date.distantPast
}
