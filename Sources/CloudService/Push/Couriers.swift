// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import SystemSupport

/// The address of a web courier: a page that has it waits there for notifications, without other credentials.
///
/// It is authenticated, expires, and names the credential it was made with: when that is revoked, the address ends with it.
struct CourierAddress: Hashable, Sendable {
    static let prefix = "/courier/1/"

    var audience: PushAudience
    var deviceID: String
    var credential: CredentialReference
    /// Milliseconds since 1970 UTC.
    var expires: Int64

    /// Addresses of the first version named no credential.
    private static let version = "2"
    /// How long an address is good for.
    static let lifetime: Int64 = 30 * 86_400_000

    func sealed(by sealer: Sealer) -> String {
        let words = [
            Self.version, audience.containerIdentifier, audience.environment.rawValue, audience.userRecordName, credential.text,
            "\(expires)",
            deviceID,
        ]
        let plain = Array(words.joined(separator: " ").utf8)
        return Hex.text(plain + sealer.code(of: plain, purpose: .courier))
    }

    /// - Throws: `WireError` with `.notFound` for a text that this server did not make.
    init(opening text: some StringProtocol, by sealer: Sealer) throws(WireError) {
        let unknown = WireError(.notFound, "no courier exists at this address")
        guard text.utf8.count < 4096, let bytes = Hex.bytes(text), bytes.count > Sealer.codeBytes else { throw unknown }
        let plain = Array(bytes.dropLast(Sealer.codeBytes))
        guard sealer.isCode(bytes.suffix(Sealer.codeBytes), of: plain, purpose: .courier) else { throw unknown }
        let parts = String(decoding: plain, as: UTF8.self).split(
            separator: " ", maxSplits: 6, omittingEmptySubsequences: false)
        guard parts.count == 7, parts[0] == Self.version, let environment = CloudEnvironment(rawValue: String(parts[2])),
            let credential = CredentialReference(text: parts[4]), let expires = Int64(parts[5])
        else { throw unknown }
        audience = PushAudience(
            containerIdentifier: String(parts[1]), environment: environment, userRecordName: String(parts[3]))
        self.credential = credential
        self.expires = expires
        deviceID = String(parts[6])
    }

    init(audience: PushAudience, deviceID: String, credential: CredentialReference, expires: Int64) {
        self.audience = audience
        self.deviceID = deviceID
        self.credential = credential
        self.expires = expires
    }
}

/// Web couriers: addresses at which pages wait for notifications.
struct Couriers: ServiceSubject {
    let core: ServiceCore
    let revocations: Revocations

    /// Makes a push token, or takes one that was made before or elsewhere. The token and its courier stand for the user
    /// and the page; nothing is stored. From now on notifications are kept for the page.
    ///
    /// - Throws: `WireError` with `.badRequest` for an invalid token to register; with `.authenticationRequired` for an anonymous request.
    func courier(for message: PushTokenRequest, _ call: Call, _ credentials: Credentials) throws(WireError) -> PushTokenResponse {
        guard let credential = credentials.reference(hash: accounts.sha256) else {
            throw WireError(.authenticationRequired, "request needs authorization")
        }
        if let clientID = message.clientID, !RequestText.isShortText(clientID) {
            throw WireError(.badRequest, "a clientId has 1 to 128 printable ASCII characters")
        }
        if let token = message.apnsToken, token.isEmpty || token.utf8.count > 4096 {
            throw WireError(.badRequest, "the apnsToken is invalid")
        }
        let address = CourierAddress(
            audience: PushAudience(of: call), deviceID: message.clientID ?? call.caller.deviceID, credential: credential,
            expires: surroundings.now() + CourierAddress.lifetime)
        // What happens before the page first asks is news to it, too.
        push.expectPolls(address.audience, deviceID: address.deviceID, credential: credential)
        let sealed = address.sealed(by: engine.sealer)
        return PushTokenResponse(
            apnsEnvironment: message.apnsEnvironment,
            apnsToken: message.apnsToken ?? Base64.encode(engine.sealer.code(of: Array(sealed.utf8), purpose: .courier)),
            webcourierURL: "\(call.baseURL)\(CourierAddress.prefix)\(sealed)")
    }

    /// Waits for the next notification of a page: one for each answer; an empty answer when the wait was in vain.
    ///
    /// Between two waits notifications are kept, one for each subscription, for as long as
    /// ``PushBus/poll(_:deviceID:)`` says.
    func respond(to request: ServiceRequest) async throws -> ServiceResponse {
        guard request.method == "GET" else { throw WireError(.notFound, "could not find handler for endpoint") }
        let address = try CourierAddress(
            opening: request.path.dropFirst(CourierAddress.prefix.count), by: engine.sealer)
        let ended = WireError(
            .authenticationFailed,
            "the courier address has expired, or the credential it was made with was revoked: tokens/create makes a new one")
        guard surroundings.now() < address.expires, await revocations.mayListen(address.audience, address.credential) else { throw ended }
        let notification = await push.poll(address.audience, deviceID: address.deviceID, credential: address.credential)
        // The credential may have been revoked during the wait.
        guard await revocations.mayListen(address.audience, address.credential) else { throw ended }
        return .json(notification?.encoded() ?? [], endpoint: "courier")
    }
}
