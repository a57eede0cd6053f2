// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import MirroringCore

extension NSPersistentCloudKitContainer {
    /// The state of syncing, for people.
    ///
    /// Differs: Apple's container has events only; see ``NSPersistentCloudKitContainer/Event``.
    public struct SyncStatus: Hashable, Sendable {
        /// What a store does now.
        public enum Activity: Hashable, Sendable {
            /// Import and export are complete.
            case idle
            /// The set-up of account and zone runs.
            case starting
            /// An import runs.
            ///
            /// - Parameters:
            ///   - done: Records so far.
            ///   - total: Records of the whole import; nil if the server does not count them, or while more than 20,000 remain. It grows
            ///     with concurrent changes, and from one shared zone to the next.
            case importing(done: Int, total: Int?)
            /// An export runs.
            ///
            /// - Parameters:
            ///   - done: Records that the server has. Records of a rejected save are sent, and counted, again.
            ///   - total: Records of the whole export.
            case exporting(done: Int, total: Int)
            /// The server cannot be reached; sync retries with backoff.
            case offline
            /// ``NSPersistentCloudKitContainer/pauseSyncing()`` paused sync.
            case paused
            /// Sync failed, and retries or needs an action. Saves are kept and sent later.
            ///
            /// - Parameter reason: A sentence for people.
            case error(reason: String)
        }

        /// What the store does now.
        public var activity: Activity
        /// Objects, and links between objects, that are not on the server.
        public var pendingCount: Int
        /// When import and export were last complete, since the launch of the app.
        public var lastSuccess: Date?
        /// Withheld objects: a required value has not arrived, or a unique value is not free. See
        /// ``NSPersistentCloudKitContainerOptions/ModelExtensions/requiredValues`` and
        /// ``NSPersistentCloudKitContainerOptions/ModelExtensions/uniquenessConstraints``.
        public var incompleteCount = 0
        /// Changes that the server rejected permanently and that are still on this device; see
        /// ``NSPersistentCloudKitContainer/rejectedChanges(in:)``.
        public var rejectedCount = 0
        /// Objects with values on the server that this device cannot import, since it does not accept them or their assets are missing; see
        /// ``NSPersistentCloudKitContainer/unreadableValues(in:)``.
        public var unreadableCount = 0
        /// The latest change of account, or deletion of the app's data elsewhere, that the app has not acknowledged; see
        /// ``NSPersistentCloudKitContainer/accountChanges(in:)``.
        public var accountChange: NSPersistentCloudKitContainer.AccountChange?
    }
}

extension NSPersistentCloudKitContainer.SyncStatus: CustomStringConvertible {
    /// The status as a line for people, such as `exporting 20 of 200` or `offline, 3 waiting`.
    public var description: String {
        let waiting =
            (pendingCount > 0 ? ", \(pendingCount) waiting" : "") + (incompleteCount > 0 ? ", \(incompleteCount) incomplete" : "")
            + (unreadableCount > 0 ? ", \(unreadableCount) unreadable" : "")
        return switch activity {
        case .idle: "idle\(waiting)"
        case .starting: "starting\(waiting)"
        case .importing(let done, let total): total.map { "importing \(done) of \($0)" } ?? "importing, \(done) done"
        case .exporting(let done, let total): "exporting \(done) of \(total)"
        case .offline: "offline\(waiting)"
        case .paused: "paused\(waiting)"
        case .error(let reason): "error: \(reason)\(waiting)"
        }
    }
}

extension NSPersistentCloudKitContainer.SyncStatus {
    init(_ status: SyncStatus) {
        activity =
            switch status.activity {
            case .idle: .idle
            case .starting: .starting
            case .importing(let done, let total): .importing(done: done, total: total)
            case .exporting(let done, let total): .exporting(done: done, total: total)
            case .offline: .offline
            case .paused: .paused
            case .error(let reason): .error(reason: reason)
            }
        pendingCount = status.pendingCount
        lastSuccess = status.lastSuccess
        incompleteCount = status.incompleteCount
        rejectedCount = status.rejectedCount
        unreadableCount = status.unreadableCount
        accountChange = status.accountChange.map { NSPersistentCloudKitContainer.AccountChange($0) }
    }

    /// One status for several stores: what most deserves attention, and all that is pending. Idle without stores.
    ///
    /// A signed-out store without pending changes counts only if all stores are such.
    init(combining all: [SyncStatus]) {
        let awake = all.filter { !$0.isSignedOutAndEmpty }
        let statuses = awake.isEmpty ? all : awake
        func rank(_ status: SyncStatus) -> Int {
            switch status.activity {
            case .error: 6
            case .offline: 5
            case .exporting: 4
            case .importing: 3
            case .starting: 2
            case .paused: 1
            case .idle: 0
            }
        }
        guard let foremost = statuses.max(by: { rank($0) < rank($1) }) else {
            self.init(activity: .idle, pendingCount: 0)
            return
        }
        self.init(foremost)
        pendingCount = statuses.reduce(0) { $0 + $1.pendingCount }
        incompleteCount = statuses.reduce(0) { $0 + $1.incompleteCount }
        rejectedCount = statuses.reduce(0) { $0 + $1.rejectedCount }
        unreadableCount = statuses.reduce(0) { $0 + $1.unreadableCount }
        accountChange = statuses.compactMap(\.accountChange).max { $0.date < $1.date }.map {
            NSPersistentCloudKitContainer.AccountChange($0)
        }
        let successes = statuses.map(\.lastSuccess)
        lastSuccess = successes.contains(nil) ? nil : successes.compactMap(\.self).min()
    }
}
