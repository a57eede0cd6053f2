// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The protocol that a client speaks.
package enum ServiceDialect: Hashable, Sendable {
    /// Apple's documented protocol with Tarn's capabilities, which the client requests and the server may lack.
    case tarn
    /// Only what Apple documents: no header and no member of Tarn's is sent, and no capability is assumed. For iCloud.
    case webServices

    /// The limits that the client keeps to.
    package var limits: Limits { self == .tarn ? Limits() : .documentedWebServices }

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
        for index in request.zones.indices { request.zones[index].savedSyncToken = nil }
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
