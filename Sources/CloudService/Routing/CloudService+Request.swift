// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension CloudService {
    /// Whether a request may take long and changes nothing that its client needs to know, so that it has a task of its own, which is
    /// cancelled when the client disconnects.
    ///
    /// A stream is one of them: the task of its connection, which goes on for days, would keep the memory of the calls that open it.
    package static func endsWithItsClient(_ request: ServiceRequest) -> Bool {
        request.path.hasPrefix(CourierAddress.prefix) || request.path.hasSuffix("/\(DevicePath.Operation.pushStream.rawValue)")
            || longOperations.contains { request.path.hasSuffix($0) }
    }

    /// Ends of the paths of operations that may read for long. A page of changes is bounded, and takes less time than the switches of threads
    /// that a task of its own costs.
    private static let longOperations = [ServicePath.Operation.queryRecords, .zoneSnapshot].map { "/\($0.rawValue)" }

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
        if let name = request.header(HeaderNames.device), Self.isShortText(name) { device.deviceID = name }
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

    /// A body without the byte order mark that some libraries write first. Spaces replace it, so
    /// that offsets in errors stay correct.
    ///
    /// Source: RFC 8259, section 8.1.
    static func withoutMark(_ body: [UInt8]) -> [UInt8] {
        guard body.starts(with: [0xEF, 0xBB, 0xBF]) else { return body }
        var body = body
        for index in 0..<3 { body[index] = UInt8(ascii: " ") }
        return body
    }

    func idempotencyKey(_ request: ServiceRequest) throws(WireError) -> String? {
        guard let key = request.header(HeaderNames.idempotencyKey) else { return nil }
        guard Self.isShortText(key) else {
            throw WireError(.badRequest, "an idempotency key has 1 to \(Self.shortTextBytes) printable ASCII characters")
        }
        return key
    }

    private static let shortTextBytes = 128

    static func isShortText(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= shortTextBytes && text.utf8.allSatisfy { (33...126).contains($0) }
    }
}

extension ServicePath.Operation {
    package func accepts(method: String) -> Bool {
        method == self.method || self == .listZones && method == "POST" || self == .discoverUsers && method == "GET"
    }

    /// The result of the same signed request if it is repeated, with any body.
    package var repetition: Repetition {
        switch self {
        case .lookupRecords, .queryRecords, .recordChanges, .changedZones, .listZones, .lookupZones, .databaseChanges, .zoneChanges,
            .zoneSnapshot, .listSubscriptions, .lookupSubscriptions, .caller, .currentUser, .discoverUsers, .lookupUsersByEmail,
            .lookupUsersByID,
            .lookupUsersByContacts:
            .harmless
        case .modifyRecords, .uploadAssets, .rereferenceAssets, .modifyZones, .modifySubscriptions: .answeredAsBefore
        case .resolveRecords, .acceptRecords, .requestAccess, .restrictUser, .unrestrictUser: .refused
        }
    }

    /// Subscriptions to the public database are each user's own: they are in a partition of the user's.
    var isAboutSubscriptions: Bool {
        self == .listSubscriptions || self == .lookupSubscriptions || self == .modifySubscriptions
    }
}
