// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The protocol that a client speaks.
package enum ServiceDialect: Hashable, Sendable {
    /// Apple's documented protocol with Tarn's capabilities, which the client requests and the server may lack.
    case tarn
    /// Only what Apple documents: no header and no member of Tarn's is sent, and no capability is assumed. For iCloud.
    case webServices

    /// The limits that a client keeps to, which may be set for a Tarn server.
    package func limits(_ limits: Limits = Limits()) -> Limits { self == .tarn ? limits : .documentedWebServices }

    // MARK: What the service has

    /// Whether requests have Tarn's headers: capabilities, idempotency keys, the device.
    var hasTarnHeaders: Bool { self == .tarn }

    /// Whether notifications arrive on a stream. Apple documents polling at the web courier.
    var hasPushStream: Bool { self == .tarn }

    /// Whether a push token must be registered before notifications are sent to it, as the documents say.
    var registersPushTokens: Bool { self == .webServices }

    /// Whether the public database may have a change feed.
    var mayHavePublicFeed: Bool { self == .tarn }

    /// Whether the service may reject subscriptions to a database: Apple's documents name those to queries and zones, and CloudKit JS one
    /// to a database without its wire value.
    package var mayLackDatabaseSubscriptions: Bool { self == .webServices }

    /// Whether notifications may miss changes, so that stores poll as well.
    package var mayMissNotifications: Bool { self == .webServices }

    /// Whether other devices can read values that this device encrypts. An app on an Apple device encrypts with keys of the account's
    /// keychain, which only Apple's frameworks have.
    package var sharesEncryptionKeys: Bool { self == .tarn }

    /// Whether the limits are the documented ones. The operator of a Tarn server may set others.
    var hasFixedLimits: Bool { self == .webServices }

    /// Whether Tarn's commands change the schema.
    package var hasSchemaCommands: Bool { self == .tarn }

    // MARK: Requests

    package func request(_ request: ModifyRecordsRequest) -> ModifyRecordsRequest {
        guard self == .webServices else { return request }
        var request = request
        (request.clientChangeToken, request.saveGroup, request.historyToken) = (nil, nil, nil)
        return request
    }

    func request(_ request: ZoneChangesRequest) -> ZoneChangesRequest {
        guard self == .webServices else { return request }
        var request = request
        let recordsMax = limits().recordsPerResponse
        request.resultsLimit = request.resultsLimit.map { min($0, recordsMax) }
        for index in request.zones.indices {
            request.zones[index].savedSyncToken = nil
            request.zones[index].resultsLimit = request.zones[index].resultsLimit.map { min($0, recordsMax) }
        }
        return request
    }

    func request(_ request: QueryRecordsRequest) -> QueryRecordsRequest {
        guard self == .webServices else { return request }
        var request = request
        request.resultsLimit = request.resultsLimit.map { min($0, limits().recordsPerResponse) }
        return request
    }

    // MARK: Responses

    /// The error of a request for changes. No documented code says that a sync token has expired: a rejected request with a token is
    /// repeated without one, which fails again if the token was not the reason.
    ///
    /// Differs: Apple's framework has a private protocol. Source of the lack: the error codes of the *CloudKit Web Services Reference*.
    func changesError(_ error: WireError, hasToken: Bool) -> WireError {
        guard self == .webServices, hasToken, error.code == .badRequest, error.nativeCode == nil else { return error }
        var error = error
        error.nativeCode = .changeTokenExpired
        return error
    }
}
