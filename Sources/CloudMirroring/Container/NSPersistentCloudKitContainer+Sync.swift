// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import MirroringCore
import Synchronization

extension NSPersistentCloudKitContainer {
    /// Syncs now, and returns when both directions of every synced store are quiet: what was saved before the call is on
    /// the server, and what was on the server is here.
    ///
    ///     try await container.sync(timeout: .seconds(30))
    ///
    /// Objects that the server refuses for good do not hold it up: ``syncStatus`` tells of them. At most one round after
    /// another is made, so that calling it often costs little more than calling it once.
    ///
    /// - Parameter timeout: How long to wait. Syncing goes on after it.
    /// - Throws: ``CKError`` with what stands in the way: at once when nothing will happen by itself (nobody is signed in,
    ///   the configuration is wrong, syncing is paused), else when the time is over. `CancellationError` when the task is
    ///   cancelled.
    ///
    /// Differs: Apple's container cannot be asked.
    public func sync(timeout: Duration) async throws {
        let mirrors = allMirrors
        try await withThrowingTaskGroup(of: Bool.self) { [surroundings] group in
            group.addTask {
                try await withThrowingTaskGroup(of: Void.self) { quiet in
                    for mirror in mirrors { quiet.addTask { try await mirror.becomeQuiet() } }
                    try await quiet.waitForAll()
                }
                return true
            }
            group.addTask {
                try await surroundings.sleep(timeout.seconds)
                return false
            }
            defer { group.cancelAll() }
            do {
                if try await group.next() == true { return }
            } catch let failure as CloudFailure {
                throw CKError(failure)
            }
            throw CKError(obstacle)
        }
    }

    /// Why the time was over.
    private var obstacle: CloudFailure {
        switch syncStatus.activity {
        case .offline:
            // Why: nobody answers, or a certificate is not trusted.
            CloudFailure(
                .networkUnavailable,
                allMirrors.lazy.compactMap { $0.lastFailure.withLock { $0?.reason } }.first ?? "the server cannot be reached")
        case .error(let reason):
            allMirrors.lazy.compactMap { $0.lastFailure.withLock { $0 } }.first { $0.reason == reason } ?? CloudFailure(.serviceUnavailable, reason)
        case .idle, .starting, .importing, .exporting, .paused: CloudFailure(.operationCancelled, "syncing took longer than it was given")
        }
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
