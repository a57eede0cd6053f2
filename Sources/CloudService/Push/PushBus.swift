// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudWire

/// Carries notifications from requests that wrote to the devices that listen. A lost one costs nothing, since change
/// tokens catch up.
package protocol PushBus: Sendable {
    /// Notifies the listening devices of an audience, except the one that made the change.
    func publish(_ notifications: [PushNotification], to audience: PushAudience, exceptDevice deviceID: String)

    /// Listens to the notifications of audiences.
    ///
    /// - Parameters:
    ///   - credential: The credential that the listener ends with; nil for an anonymous client.
    ///   - wantsChanges: Whether notifications are to bring what changed.
    func listen(_ audiences: [PushAudience], deviceID: String, credential: CredentialReference?, wantsChanges: Bool) -> PushListener

    /// Closes listeners and removes polled devices with revoked credentials.
    func endListeners(where isRevoked: @Sendable (PushAudience, CredentialReference) async -> Bool) async

    /// Whether a device listens that requests the changes of other devices.
    func isFollowed(_ audience: PushAudience, exceptDevice deviceID: String) -> Bool

    /// Stores notifications from now on for a device that is about to poll.
    func expectPolls(_ audience: PushAudience, deviceID: String, credential: CredentialReference?)

    /// Waits for the next notification of a device that polls. Notifications between two polls are stored.
    ///
    /// - Returns: Nil after two or three heartbeats without news.
    func poll(_ audience: PushAudience, deviceID: String, credential: CredentialReference?) async -> PushNotification?
}

/// A bus between processes.
package protocol FollowingPushBus: PushBus {
    /// Delivers what other processes publish, until the task is cancelled.
    func followOtherProcesses() async
}

extension PushBus {
    package func listen(_ audience: PushAudience, deviceID: String, wantsChanges: Bool = false) -> PushListener {
        listen([audience], deviceID: deviceID, credential: nil, wantsChanges: wantsChanges)
    }
}

/// A user in a container and environment.
package struct PushAudience: Hashable, Sendable {
    package var containerIdentifier: String
    package var environment: CloudEnvironment
    package var userRecordName: String

    /// All listeners of the public database of a container and environment.
    package static func `public`(containerIdentifier: String, environment: CloudEnvironment) -> PushAudience {
        PushAudience(containerIdentifier: containerIdentifier, environment: environment, userRecordName: Partition.publicOwner)
    }

    package var isPublic: Bool { userRecordName == Partition.publicOwner }

    package init(containerIdentifier: String, environment: CloudEnvironment, userRecordName: String) {
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.userRecordName = userRecordName
    }
}

package enum PushEvent: Hashable, Sendable {
    /// The connection is alive; an empty line on the wire.
    case heartbeat
    /// Indirect: a listener that waits holds room for several events, and a notification may bring records.
    indirect case notification(PushNotification)
}

/// One device's side of the bus.
package struct PushListener: Sendable {
    /// Ends when the bus closes or `close` is called. One iteration only.
    package let events: AsyncStream<PushEvent>
    package let close: @Sendable () -> Void

    package init(events: AsyncStream<PushEvent>, close: @escaping @Sendable () -> Void) {
        self.events = events
        self.close = close
    }

    /// The same listener, which ends a place when it is closed.
    func holding(_ place: OpenCounts.Place) -> PushListener {
        let close = close
        return PushListener(events: events) {
            place.end()
            close()
        }
    }

    /// The same listener, closed at the first notification for which `mayRead` returns `false`.
    func guarded(_ mayRead: @escaping @Sendable () async -> Bool) -> PushListener {
        let (events, close) = (events, close)
        let allowed: @Sendable () async -> PushEvent? = {
            var iterator = events.makeAsyncIterator()
            let event = await iterator.next()
            guard case .notification? = event else { return event }
            if await mayRead() { return event }
            close()
            return nil
        }
        return PushListener(events: AsyncStream(unfolding: allowed, onCancel: close), close: close)
    }
}
