// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A device that holds a push stream of this process, or polls it.
package struct PushConnection: Hashable, Sendable {
    /// The user's, or that of a public database for a device that listens to it alone.
    package var audience: PushAudience
    /// The name under which the device hears of changes, which a request may choose.
    package var deviceID: String
    /// Nil for an anonymous client.
    package var credential: CredentialReference?
    /// Milliseconds since 1970 UTC.
    package var began: Int64
    /// Rises with each connection of the process.
    package var number: Int

    /// ``AccountAccess/id`` of the device token or web session; nil for other clients.
    package var accessID: String? { credential?.accessID }

    /// Whether the connection is that of an account's device or session.
    ///
    /// - Parameter access: ``AccountAccess/id``. Devices of two accounts may have one identifier.
    package func isOf(_ access: String, ofAccount account: Int64) -> Bool {
        if case .device(let owner, _)? = credential, owner != account { return false }
        return accessID == access
    }

    /// Lists mailboxes once each, the newest first.
    static func all(of audiences: [(audience: PushAudience, mailboxes: [PushMailbox])]) -> [PushConnection] {
        var found: [Int: PushConnection] = [:]
        for (audience, mailboxes) in audiences {
            for mailbox in mailboxes where found[mailbox.number]?.audience.isPublic ?? true {
                found[mailbox.number] = PushConnection(
                    audience: audience, deviceID: mailbox.deviceID, credential: mailbox.credential, began: mailbox.began,
                    number: mailbox.number)
            }
        }
        return found.values.sorted { $0.number > $1.number }
    }
}
