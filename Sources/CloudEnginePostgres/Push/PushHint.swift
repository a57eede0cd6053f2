// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import Foundation

/// Notifications that one process published, for the others.
struct PushHint: Sendable {
    var process: String
    var audience: PushAudience
    var exceptDevice: String
    var notifications: [PushNotification]
    /// Change numbers of the audience's partitions when the hint was sent. A device that fetches after it sees all changes up to them.
    var counters: [DatabaseScope: Int64] = [:]

    private struct Wire: Codable {
        var process: String
        var container: String
        var environment: String
        var user: String
        var except: String
        var notifications: [String]
        var counters: [String: Int64]
    }

    init(process: String, audience: PushAudience, exceptDevice: String, notifications: [PushNotification]) {
        self.process = process
        self.audience = audience
        self.exceptDevice = exceptDevice
        self.notifications = notifications
    }

    /// - Returns: Nil for text that isn't a hint.
    init?(_ payload: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(payload.utf8)),
            let environment = CloudEnvironment(rawValue: wire.environment)
        else { return nil }
        self.init(
            process: wire.process,
            audience: PushAudience(containerIdentifier: wire.container, environment: environment, userRecordName: wire.user),
            exceptDevice: wire.except, notifications: wire.notifications.compactMap { try? PushNotification(json: Array($0.utf8)) })
        for (name, counter) in wire.counters { if let scope = DatabaseScope(rawValue: name) { counters[scope] = counter } }
    }

    /// The hint in payloads of at most `bytesMax` bytes. A notification that is longer alone is left out: the counter announces it.
    func payloads(bytesMax: Int) -> [String] {
        guard let text = payload() else { return [] }
        if text.utf8.count <= bytesMax { return [text] }
        guard notifications.count > 1 else { return [] }
        return [notifications[..<(notifications.count / 2)], notifications[(notifications.count / 2)...]].flatMap { half in
            var hint = self
            hint.notifications = Array(half)
            return hint.payloads(bytesMax: bytesMax)
        }
    }

    private func payload() -> String? {
        let wire = Wire(
            process: process, container: audience.containerIdentifier, environment: audience.environment.rawValue,
            user: audience.userRecordName, except: exceptDevice,
            notifications: notifications.map { notification in
                // Devices of other processes fetch the changes themselves.
                var notification = notification
                notification.changes = nil
                return String(decoding: notification.encoded(), as: UTF8.self)
            }, counters: Dictionary(uniqueKeysWithValues: counters.map { ($0.key.rawValue, $0.value) }))
        return (try? JSONEncoder().encode(wire)).map { String(decoding: $0, as: UTF8.self) }
    }
}
