// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// A place where a page waits for notifications, as the address of the web courier says it, sealed.
struct CourierAddress: Hashable, Sendable {
    static let prefix = "/courier/1/"

    var audience: PushAudience
    var deviceID: String

    func sealed(by sealer: Sealer) -> String {
        let plain = Array(
            "\(audience.containerIdentifier) \(audience.environment.rawValue) \(audience.userRecordName) \(deviceID)".utf8)
        return Hex.text(plain + sealer.code(of: plain, purpose: .courier))
    }

    /// - Throws: `WireError` with `.notFound` for a text that this server did not make.
    init(opening text: some StringProtocol, by sealer: Sealer) throws(WireError) {
        let unknown = WireError(.notFound, "there is no courier at this address")
        guard text.utf8.count < 4096, let bytes = Hex.bytes(text), bytes.count > Sealer.codeBytes else { throw unknown }
        let plain = Array(bytes.dropLast(Sealer.codeBytes))
        guard sealer.isCode(bytes.suffix(Sealer.codeBytes), of: plain, purpose: .courier) else { throw unknown }
        let parts = String(decoding: plain, as: UTF8.self).split(
            separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let environment = CloudEnvironment(rawValue: String(parts[1])) else { throw unknown }
        audience = PushAudience(
            containerIdentifier: String(parts[0]), environment: environment, userRecordName: String(parts[2]))
        deviceID = String(parts[3])
    }

    init(audience: PushAudience, deviceID: String) {
        self.audience = audience
        self.deviceID = deviceID
    }
}

extension CloudService {
    /// Where addresses of couriers begin.
    package static let courierPrefix = CourierAddress.prefix

    /// Makes a push token, or takes one that was made before or elsewhere. The token and its courier stand for the user
    /// and the page; nothing is stored. From now on notifications are kept for the page.
    ///
    /// - Throws: `WireError` with `.badRequest` for a token to register that is none.
    func courier(for message: PushTokenRequest, _ call: Call) throws(WireError) -> PushTokenResponse {
        if let clientID = message.clientID, !Self.isShortText(clientID) {
            throw WireError(.badRequest, "a clientId has 1 to 128 printable ASCII characters")
        }
        if let token = message.apnsToken, token.isEmpty || token.utf8.count > 4096 {
            throw WireError(.badRequest, "the apnsToken is none")
        }
        let address = CourierAddress(audience: audience(of: call), deviceID: message.clientID ?? call.caller.deviceID)
        // What happens before the page first asks is news to it, too.
        push.expectPolls(address.audience, deviceID: address.deviceID)
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
    func respondToCourier(_ request: ServiceRequest) async throws -> ServiceResponse {
        guard request.method == "GET" else { throw WireError(.notFound, "could not find handler for endpoint") }
        let address = try CourierAddress(
            opening: request.path.dropFirst(CourierAddress.prefix.count), by: engine.sealer)
        let notification = await push.poll(address.audience, deviceID: address.deviceID)
        return .json(notification?.encoded() ?? [], endpoint: "courier")
    }
}
