// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
public import Foundation
import MirroringCore
package import PredicateKit

extension NSPersistentCloudKitContainer {
    /// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainer/eventtype
    public enum EventType: Int, Sendable {
        case setup = 0
        case `import` = 1
        case export = 2
    }

    /// One step of syncing, posted at its start and at its end.
    ///
    /// At its start ``endDate`` is nil and ``succeeded`` is false: look at ``endDate`` first.
    ///
    /// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainer/event
    open class Event: NSObject, NSCopying, @unchecked Sendable {
        // Unchecked: nothing of it changes. A subclass is as thread-safe as it makes itself.
        private let content: Content

        private struct Content: Sendable {
            var identifier: UUID
            var storeIdentifier: String
            var type: EventType
            var startDate: Date
            var endDate: Date?
            var error: (any Error)?
            var accountChange: AccountChange?
        }

        open var identifier: UUID { content.identifier }
        open var storeIdentifier: String { content.storeIdentifier }
        open var type: EventType { content.type }
        open var startDate: Date { content.startDate }
        open var endDate: Date? { content.endDate }
        open var succeeded: Bool { content.endDate != nil && content.error == nil }
        open var error: (any Error)? { content.error }
        /// Of a set-up that found another account: the accounts, and the archive of the store. nil for all other events, and for events
        /// that are fetched later; see ``NSPersistentCloudKitContainer/accountChanges(in:)``.
        open var accountChange: AccountChange? { content.accountChange }

        init(
            identifier: UUID, storeIdentifier: String, type: EventType, startDate: Date, endDate: Date? = nil,
            error: (any Error)? = nil, accountChange: AccountChange? = nil
        ) {
            content = Content(
                identifier: identifier, storeIdentifier: storeIdentifier, type: type, startDate: startDate, endDate: endDate, error: error,
                accountChange: accountChange)
        }

        /// Returns the event itself, which never changes.
        open func copy(with zone: NSZone? = nil) -> Any { self }

        /// nil for a kind of event that this version does not know.
        convenience init?(_ row: EventTable.Row, storeIdentifier: String, accountChange: MirroringCore.AccountChange? = nil) {
            guard let type = EventType(rawValue: row.type) else { return nil }
            self.init(
                identifier: row.identifier, storeIdentifier: storeIdentifier, type: type,
                startDate: Date(timeIntervalSinceReferenceDate: row.started),
                endDate: row.ended.map { Date(timeIntervalSinceReferenceDate: $0) }, error: row.failure.map { CKError($0) },
                accountChange: accountChange.map { AccountChange($0) })
        }
    }

    /// Posted with the container as object, on a queue of the container's own.
    public static let eventChangedNotification = NSNotification.Name("NSPersistentCloudKitContainerEventChangedNotification")
    /// Key of the ``Event`` in the user info.
    public static let eventNotificationUserInfoKey = "event"
}

extension NSPersistentCloudKitContainer.Event: PredicateSubject {
    package func predicateValue(forKey key: String) -> PredicateValue {
        switch key {
        case "identifier": .uuid(identifier)
        case "storeIdentifier": .string(storeIdentifier)
        case "type": .int(Int64(type.rawValue))
        case "startDate": .date(startDate.timeIntervalSinceReferenceDate)
        case "endDate": endDate.map { .date($0.timeIntervalSinceReferenceDate) } ?? .null
        case "succeeded": .bool(succeeded)
        default: .null
        }
    }
}

extension NSPersistentCloudKitContainer.EventType {
    /// nil for what happens on this device only.
    init?(_ operation: SyncMachine.Operation) {
        switch operation {
        case .setUp: self = .setup
        case .fetchChanges, .fetchPushed: self = .import
        case .sendBatch: self = .export
        case .planExport, .planRoom, .quarantine, .reset: return nil
        }
    }
}
