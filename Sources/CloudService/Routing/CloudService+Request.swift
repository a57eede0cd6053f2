// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension CloudService {
    /// - Throws: `WireError` with `.authenticationRequired` without a token, `.authenticationFailed` for an unknown one.
    func authenticate(_ request: ServiceRequest) async throws -> DeviceIdentity {
        guard let header = request.header(HeaderNames.authorization) else {
            throw WireError(.authenticationRequired, "the request needs a device token: Authorization: Bearer TOKEN")
        }
        guard let token = HeaderNames.token(inAuthorization: header),
            var device = try await accounts.device(forToken: token, now: surroundings.now())
        else {
            throw WireError(
                .authenticationFailed, "the device token is not known to this server, or has expired; make one there with 'tarn user token'"
            )
        }
        uses.note(device.credential, CredentialUse(of: request, time: surroundings.now()))
        if let name = request.header(HeaderNames.device), RequestText.isShortText(name) { device.deviceID = name }
        return device
    }

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
