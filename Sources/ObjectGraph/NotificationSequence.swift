// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

extension NotificationCenter {
    /// Returns the notifications of a name as an asynchronous sequence, which Foundation on Linux lacks.
    ///
    ///     for await _ in NotificationCenter.default.notifications(named: .NSPersistentStoreRemoteChange) { … }
    ///
    /// - Parameters:
    ///   - name: The name of the notifications.
    ///   - object: The sender of the notifications; nil for every sender.
    ///
    /// Source: developer.apple.com/documentation/foundation/notificationcenter/notifications(named:object:)
    public func notifications(named name: Notification.Name, object: AnyObject? = nil) -> Notifications {
        Notifications(center: self, name: name, object: object)
    }

    /// Notifications in the order in which they are posted. Each iterator observes from the moment it is made until it is
    /// released or its task is cancelled, and buffers every notification that its loop has not read yet (unverified).
    public final class Notifications: AsyncSequence, @unchecked Sendable {
        // Unchecked: nothing changes after `init`, and a notification center is used from any thread.

        /// A notification.
        public typealias Element = Notification

        private let center: NotificationCenter
        private let name: Notification.Name
        private let object: AnyObject?

        init(center: NotificationCenter, name: Notification.Name, object: AnyObject?) {
            self.center = center
            self.name = name
            self.object = object
        }

        /// Reads the notifications posted since it was made, in their order.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var posted: AsyncStream<PostedNotification>.AsyncIterator

            /// - Returns: The next notification; nil once the task is cancelled.
            public mutating func next() async -> Notification? { await posted.next()?.notification }

            /// - Parameter actor: The actor on which the caller runs.
            /// - Returns: The next notification; nil once the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
                await posted.next(isolation: actor)?.notification
            }
        }

        /// - Returns: An iterator that observes the center from now on.
        public func makeAsyncIterator() -> Iterator {
            let (stream, continuation) = AsyncStream.makeStream(of: PostedNotification.self)
            let observer = Observer(
                center: center,
                token: center.addObserver(forName: name, object: object, queue: nil) {
                    continuation.yield(PostedNotification(notification: $0))
                })
            continuation.onTermination = { _ in observer.center.removeObserver(observer.token) }
            return Iterator(posted: stream.makeAsyncIterator())
        }

        private struct Observer: @unchecked Sendable {
            // Unchecked: the token is only handed back to the center.
            let center: NotificationCenter
            let token: any NSObjectProtocol
        }
    }
}

private struct PostedNotification: @unchecked Sendable {
    // Unchecked: as on Apple's platforms, the poster of a notification answers for what it holds.
    let notification: Notification
}
