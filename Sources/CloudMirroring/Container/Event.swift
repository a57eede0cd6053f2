// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
public import Foundation
import MirroringCore
package import PredicateKit

extension NSPersistentCloudKitContainer {
    /// The kind of an event.
    ///
    /// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainer/eventtype
    public enum EventType: Int, Sendable {
        /// Account, zone and subscription are set up.
        case setup = 0
        /// Changes are fetched and applied.
        case `import` = 1
        /// Changes are sent.
        case export = 2
    }

    /// One operation of sync, posted at its start and at its end.
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

        /// Identifies the event at its start, at its end, and in the store's file.
        open var identifier: UUID { content.identifier }
        /// The identifier of the store.
        open var storeIdentifier: String { content.storeIdentifier }
        /// The kind of the event.
        open var type: EventType { content.type }
        /// When the operation began.
        open var startDate: Date { content.startDate }
        /// When the operation ended; nil while it runs.
        open var endDate: Date? { content.endDate }
        /// Whether the operation ended without an error; false while it runs.
        open var succeeded: Bool { content.endDate != nil && content.error == nil }
        /// Why the operation failed; nil while it runs, and if it succeeded.
        open var error: (any Error)? { content.error }
        /// The account change that a set-up found, with the store's archive. nil for all other events, and for fetched events; see
        /// ``NSPersistentCloudKitContainer/accountChanges(in:)``.
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

        /// nil for a kind of event that this version does not have.
        convenience init?(_ row: EventTable.Row, storeIdentifier: String, accountChange: MirroringCore.AccountChange? = nil) {
            guard let type = EventType(rawValue: row.type) else { return nil }
            self.init(
                identifier: row.identifier, storeIdentifier: storeIdentifier, type: type,
                startDate: Date(timeIntervalSinceReferenceDate: row.started),
                endDate: row.ended.map { Date(timeIntervalSinceReferenceDate: $0) }, error: row.failure.map { CKError($0) },
                accountChange: accountChange.map { AccountChange($0) })
        }
    }

    /// Posted at the start and at the end of an event, with the container as object, on a queue of the container.
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
    /// nil for an operation that is local to this device.
    init?(_ operation: SyncMachine.Operation) {
        switch operation {
        case .setUp: self = .setup
        case .fetchPage: self = .import
        case .send: self = .export
        case .plan, .quarantine, .reset: return nil
        }
    }
}
