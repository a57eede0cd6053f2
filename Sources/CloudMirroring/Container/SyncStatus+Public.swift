// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import MirroringCore

extension NSPersistentCloudKitContainer {
    /// What syncing does at the moment, for people.
    ///
    /// Differs: Apple's container has events only; see ``NSPersistentCloudKitContainer/Event``.
    public struct SyncStatus: Hashable, Sendable {
        public enum Activity: Hashable, Sendable {
            /// Everything that was known is exchanged.
            case idle
            /// The mirror is being set up.
            case starting
            /// - Parameters:
            ///   - done: Records so far.
            ///   - total: All that will have come; nil where the server does not say, and while more than 20,000 are still
            ///     to come. It grows while others write, and from one shared zone to the next.
            case importing(done: Int, total: Int?)
            /// - Parameters:
            ///   - done: Records that the server has. Those of a save that it rejects are sent, and counted, again.
            case exporting(done: Int, total: Int)
            /// The server cannot be reached; it is tried again by itself.
            case offline
            case paused
            /// - Parameter reason: A sentence for people. What the app saves is kept and sent later.
            case error(reason: String)
        }

        public var activity: Activity
        /// Objects and links of objects that wait to be sent.
        public var pendingCount: Int
        /// When everything was last exchanged, since the app was started.
        public var lastSuccess: Date?
        /// Objects that have come and are not shown yet, because something that they must have has not come, or values that must be
        /// unique are not free. See ``NSPersistentCloudKitContainerOptions/ModelExtensions/requiredValues`` and
        /// ``NSPersistentCloudKitContainerOptions/ModelExtensions/uniquenessConstraints``.
        public var incompleteCount = 0
        /// Changes that the server rejected permanently and that are still on this device; see
        /// ``NSPersistentCloudKitContainer/rejectedChanges(in:)``.
        public var rejectedCount = 0
        /// The latest change of account, or deletion of the app's data elsewhere, that the app has not acknowledged; see
        /// ``NSPersistentCloudKitContainer/accountChanges(in:)``.
        public var accountChange: NSPersistentCloudKitContainer.AccountChange?
    }
}

extension NSPersistentCloudKitContainer.SyncStatus: CustomStringConvertible {
    /// The status as a line for people, such as `exporting 20 of 200` or `offline, 3 waiting`.
    public var description: String {
        let waiting = (pendingCount > 0 ? ", \(pendingCount) waiting" : "") + (incompleteCount > 0 ? ", \(incompleteCount) incomplete" : "")
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
        accountChange = status.accountChange.map { NSPersistentCloudKitContainer.AccountChange($0) }
    }

    /// One status for several stores: what most deserves attention, and all that is pending. Idle without stores.
    ///
    /// A store in whose way stands only that nobody is signed in, and of which nothing waits to be sent, doesn't count beside others.
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
        accountChange = statuses.compactMap(\.accountChange).max { $0.date < $1.date }.map { NSPersistentCloudKitContainer.AccountChange($0) }
        let successes = statuses.map(\.lastSuccess)
        lastSuccess = successes.contains(nil) ? nil : successes.compactMap(\.self).min()
    }
}
