// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension CloudService {
    func audience(of call: Call) -> PushAudience {
        PushAudience(
            containerIdentifier: call.partition.containerIdentifier, environment: call.partition.environment,
            // A participant's change is news for the owner of the zone, too.
            userRecordName: call.partition.scope == .public ? call.caller.userRecordName : call.partition.owner)
    }

    /// Notifies listeners of the public database, without a subscription.
    func tellEverybody(_ call: Call) {
        let everybody = PushAudience.public(
            containerIdentifier: call.partition.containerIdentifier, environment: call.partition.environment)
        let notification = PushNotification(
            notificationID: call.makeIdentifier(), containerIdentifier: call.partition.containerIdentifier,
            subscriptionID: Capability.publicChanges.rawValue, subject: .database(.public))
        push.publish([notification], to: everybody, exceptDevice: "")
    }
}
